package dictionary_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const processesHead = `# What Ringwatch's processes say of their own metrics, from the HELP texts in the sources, for an
# API that runs without the other roles: go test ./dictionary -update
`

// TestProcesses holds processes.txt to the metrics that the sources declare: constructors of
// client_golang with names and texts that are constants, or parameters of helpers called with such.
func TestProcesses(t *testing.T) {
	s := readSources(t)
	helps := map[string]string{}
	for _, d := range s.declared() {
		names, texts := s.values(d.name, d.within), s.values(d.help, d.within)
		if len(names) == 0 || len(names) != len(texts) && len(texts) != 1 {
			t.Errorf("%s: %d names and %d texts of a metric: write them where they can be found",
				s.files.Position(d.at), len(names), len(texts))
			continue
		}
		for i, name := range names {
			help := texts[min(i, len(texts)-1)]
			if known, twice := helps[name]; twice && known != help || help == "" {
				t.Errorf("%s: %s has the texts %q and %q", s.files.Position(d.at), name,
					known, help)
			}
			helps[name] = help
		}
	}
	if len(helps) < 120 {
		t.Errorf("only %d metrics were found", len(helps))
	}
	var b strings.Builder
	b.WriteString(processesHead)
	for _, name := range slices.Sorted(maps.Keys(helps)) {
		b.WriteString(name + " " + helps[name] + "\n")
	}
	mustHold(t, "processes.txt", b.String())
}

// sources are the repository's Go files, without tests and benchmarks.
type sources struct {
	files   *token.FileSet
	all     []*source
	parents map[ast.Node]ast.Node
}

type source struct {
	dir  string // the package's
	file *ast.File
}

func readSources(t *testing.T) *sources {
	s := &sources{files: token.NewFileSet(), parents: map[ast.Node]ast.Node{}}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() &&
			(path == "../bench" || path == "../dev" || path == "../console" || path == "../agent" ||
				path != ".." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(s.files, path, nil, 0)
		if err != nil {
			return err
		}
		s.all = append(s.all, &source{filepath.Dir(path), f})
		var stack []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				stack = stack[:len(stack)-1]
				return true
			}
			if len(stack) > 0 {
				s.parents[n] = stack[len(stack)-1]
			}
			stack = append(stack, n)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// declaration is a metric's name and text as the source has them.
type declaration struct {
	name, help ast.Expr
	within     *source
	at         token.Pos
}

// declared returns each prometheus.…Opts and each prometheus.NewDesc.
func (s *sources) declared() (list []declaration) {
	for _, in := range s.all {
		ast.Inspect(in.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if !strings.HasSuffix(ofPrometheus(n.Type), "Opts") || ofPrometheus(n.Type) ==
					"ProcessCollectorOpts" {
					return true
				}
				d := declaration{within: in, at: n.Pos()}
				parts := map[string]ast.Expr{}
				for _, e := range n.Elts {
					if of, is := e.(*ast.KeyValueExpr); is {
						parts[of.Key.(*ast.Ident).Name] = of.Value
					}
				}
				d.name, d.help = parts["Name"], parts["Help"]
				for _, before := range []string{"Subsystem", "Namespace"} {
					if parts[before] != nil {
						d.name = sum(sum(parts[before], &ast.BasicLit{Kind: token.STRING,
							Value: `"_"`}), d.name)
					}
				}
				list = append(list, d)
			case *ast.CallExpr:
				if ofPrometheus(n.Fun) == "NewDesc" {
					list = append(list, declaration{n.Args[0], n.Args[1], in, n.Pos()})
				}
			}
			return true
		})
	}
	return list
}

func sum(a, b ast.Expr) ast.Expr { return &ast.BinaryExpr{X: a, Op: token.ADD, Y: b} }

func ofPrometheus(e ast.Expr) string {
	if of, is := e.(*ast.SelectorExpr); is {
		if pkg, is := of.X.(*ast.Ident); is && pkg.Name == "prometheus" {
			return of.Sel.Name
		}
	}
	return ""
}

// values returns what a text is: one constant, or one for each call of the helper that has it as a
// parameter.
func (s *sources) values(e ast.Expr, in *source) []string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return []string{text}
		}
	case *ast.BinaryExpr:
		a, b := s.values(e.X, in), s.values(e.Y, in)
		var list []string
		for i := range max(len(a), len(b)) {
			if len(a) == 0 || len(b) == 0 || len(a) != len(b) && len(a) != 1 && len(b) != 1 {
				return nil
			}
			list = append(list, a[min(i, len(a)-1)]+b[min(i, len(b)-1)])
		}
		return list
	case *ast.Ident:
		return s.ofParameter(e, in)
	}
	return nil
}

// ofParameter returns the values of a parameter of the function around it.
func (s *sources) ofParameter(e *ast.Ident, in *source) (list []string) {
	for n := s.parents[e]; n != nil; n = s.parents[n] {
		var of *ast.FuncType
		name, where := "", s.all
		switch n := n.(type) {
		case *ast.FuncDecl:
			of, name = n.Type, n.Name.Name
		case *ast.FuncLit:
			of, where = n.Type, []*source{in}
			if a, is := s.parents[n].(*ast.AssignStmt); is {
				name = a.Lhs[0].(*ast.Ident).Name
			}
		default:
			continue
		}
		i := position(of, e.Name)
		if i < 0 {
			continue
		}
		for _, from := range where {
			ast.Inspect(from.file, func(call ast.Node) bool {
				if c, is := call.(*ast.CallExpr); is && s.calls(c, name, n, from, in) &&
					i < len(c.Args) {
					list = append(list, s.values(c.Args[i], from)...)
				}
				return true
			})
		}
		return list
	}
	return nil
}

func position(of *ast.FuncType, name string) int {
	i := 0
	for _, field := range of.Params.List {
		for _, p := range field.Names {
			if p.Name == name {
				return i
			}
			i++
		}
	}
	return -1
}

// calls reports whether a call is one of the function: a literal's within the function around it, a
// package's by its name there, and by package and name elsewhere.
func (s *sources) calls(c *ast.CallExpr, name string, of ast.Node, from, in *source) bool {
	if _, literal := of.(*ast.FuncLit); literal {
		id, is := c.Fun.(*ast.Ident)
		return is && id.Name == name && s.function(c) == s.function(s.parents[of])
	}
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name == name && from.dir == in.dir
	case *ast.SelectorExpr:
		pkg, is := f.X.(*ast.Ident)
		return is && f.Sel.Name == name && pkg.Name == in.file.Name.Name
	}
	return false
}

// function returns the declaration around a node.
func (s *sources) function(n ast.Node) ast.Node {
	for ; n != nil; n = s.parents[n] {
		if _, is := n.(*ast.FuncDecl); is {
			return n
		}
	}
	return nil
}
