// Package docs_test keeps the documents true: what they name exists, and imports point the way
// the design says.
package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ringwatch/ringwatch/"

// mayImport says which of our packages each package imports outside its tests, no more and no less.
// No two import each other, and no role imports another: what it needs of one, it declares, and cmd
// passes it in. Only cmd, bench and the programs that docs/ shows may import all.
var mayImport = map[string][]string{
	"access":     {},
	"disk":       {},
	"frame":      {},
	"console":    {},
	"memory":     {},
	"ring":       {},
	"window":     {"frame"},
	"stream":     {"access", "disk"},
	"notify":     {"disk"},
	"dictionary": {"frame", "window", "memory"},
	"ingest":     {"frame", "access", "memory"},
	"store":      {"frame", "window", "ring", "memory", "access", "stream", "disk"},
	"recent":     {"frame", "access", "stream"},
	"doctor":     {"frame", "dictionary", "access"},
	"query":      {"dictionary", "frame", "window", "access", "memory"},
	"rules":      {"frame", "window", "memory", "stream", "query", "access"},
	"api": {"query", "dictionary", "console", "frame", "window", "access",
		"memory", "ring"},
	"watch": {"frame", "access", "stream", "dictionary"},
}

// knowKafka are the packages that may speak Kafka's protocol.
var knowKafka = []string{"stream/kafka", "watch/kafka", "access/broker"}

// eachFile parses every Go file of the repository.
func eachFile(t *testing.T, visit func(dir string, test bool, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		dir, _ := filepath.Rel("..", filepath.Dir(path))
		visit(filepath.ToSlash(dir), strings.HasSuffix(path, "_test.go"), f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestImportsPointOneWay(t *testing.T) {
	used := map[string]map[string]bool{}
	eachFile(t, func(dir string, test bool, f *ast.File) {
		top, _, _ := strings.Cut(dir, "/")
		if test || slices.Contains([]string{"cmd", "bench", "dev", "docs"}, top) {
			return
		}
		allowed, known := mayImport[top]
		if !known {
			t.Errorf("%s is a package that the design and mayImport do not name", dir)
		}
		if used[top] == nil {
			used[top] = map[string]bool{}
		}
		for _, imp := range f.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			if ours, ok := strings.CutPrefix(path, module); ok {
				pkg, _, _ := strings.Cut(ours, "/")
				if pkg == "dev" && strings.HasSuffix(dir, "test") {
					continue // what tests are made of
				}
				if used[top][pkg] = true; pkg != top && !slices.Contains(allowed, pkg) {
					t.Errorf("%s imports %s, which mayImport does not allow", dir, pkg)
				}
			}
			if strings.Contains(path, "franz-go") && !slices.Contains(knowKafka, dir) {
				t.Errorf("%s imports %s: only %v talk to Kafka", dir, path, knowKafka)
			}
		}
	})
	for pkg, allowed := range mayImport {
		if used[pkg] == nil {
			t.Errorf("mayImport names package %s, which is not there", pkg)
			continue
		}
		for _, other := range allowed {
			if !used[pkg][other] {
				t.Errorf("mayImport allows %s to import %s, and it does not: remove the allowance",
					pkg, other)
			}
			if slices.Contains(mayImport[other], pkg) {
				t.Errorf("mayImport allows %s and %s to import each other", pkg, other)
			}
		}
	}
	for _, role := range roles {
		for _, other := range roles {
			if used[role] == nil || slices.Contains(mayImport[role], other) {
				t.Errorf("role %s is not there, or may import role %s", role, other)
			}
		}
	}
}

// notLinked are packages that the program must not have in it, with the reason: one careless
// import brings megabytes.
var notLinked = map[string]string{
	"github.com/getkin/kin-openapi":        "only tests read OpenAPI",
	"github.com/prometheus/prometheus/cmd": "promtool is a program of its own",
	"github.com/prometheus/prometheus/discovery": "Alertmanagers and targets are found by " +
		"DNS, files and HTTP",
	"github.com/prometheus/prometheus/plugins":        "it registers every discovery",
	"github.com/prometheus/prometheus/storage/remote": "promapi has its two messages",
	"github.com/prometheus/prometheus/web":            "promapi answers Prometheus's API",
	"k8s.io/api":                                      "nothing speaks to Kubernetes",
	"k8s.io/client-go/kubernetes":                     "nothing speaks to Kubernetes",
}

// linked are those of them that notify and watch need, and those that Prometheus's config brings
// along.
var linked = []string{
	"github.com/prometheus/prometheus/discovery",
	"github.com/prometheus/prometheus/discovery/dns",
	"github.com/prometheus/prometheus/discovery/file",
	"github.com/prometheus/prometheus/discovery/http",
	"github.com/prometheus/prometheus/discovery/refresh",
	"github.com/prometheus/prometheus/discovery/targetgroup",
	"github.com/prometheus/prometheus/storage/remote/azuread",
	"github.com/prometheus/prometheus/storage/remote/googleiam",
}

func TestWhatTheProgramLinks(t *testing.T) {
	// A newer library may import more. Reading go.sum makes it count for the cache of test results.
	if _, err := os.ReadFile("../go.sum"); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../cmd/ringwatch").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	for _, dep := range deps {
		for root, why := range notLinked {
			if (dep == root || strings.HasPrefix(dep, root+"/")) && !slices.Contains(linked, dep) {
				t.Errorf("cmd/ringwatch links %s: %s", dep, why)
			}
		}
	}
	for _, dep := range linked {
		if !slices.Contains(deps, dep) {
			t.Errorf("cmd/ringwatch does not link %s: remove the allowance", dep)
		}
	}
}

// otherYAML says which of our packages read Prometheus's own forms with the YAML library that
// Prometheus reads them with, no more and no less. All others use goccy's.
var otherYAML = map[string]string{
	"rules":          "go.yaml.in/yaml/v3",
	"rules/notify":   "go.yaml.in/yaml/v2",
	"rules/ruletest": "go.yaml.in/yaml/v2",
	"store/loki":     "go.yaml.in/yaml/v2",
	"watch/scrape":   "go.yaml.in/yaml/v2",
}

func TestOneYAMLLibrary(t *testing.T) {
	used := map[string]string{}
	eachFile(t, func(dir string, _ bool, f *ast.File) {
		for _, imp := range f.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			if !strings.Contains(path, "yaml") ||
				strings.HasPrefix(path, "github.com/goccy/go-yaml") {
				continue
			}
			if used[dir] = path; otherYAML[dir] != path {
				t.Errorf("%s imports %s: use github.com/goccy/go-yaml", dir, path)
			}
		}
	})
	for dir, path := range otherYAML {
		if used[dir] == "" {
			t.Errorf("otherYAML allows %s to import %s, and it does not: remove the allowance", dir,
				path)
		}
	}
}

// levels says which of our packages the levels within a room import, no more and no less: a waist
// knows nothing above it, and an engine knows the waist.
var levels = map[string][]string{
	"access/account":  {},
	"access/broker":   {"access/certs"},
	"access/certs":    {},
	"access/limit":    {},
	"access/listener": {"access/account", "access/certs"},
	"api/activity": {"access/account", "access/listener", "api/fleet", "api/instant", "api/reply",
		"api/request"},
	"api/advice": {"access/account", "access/listener", "api/fleet", "api/instant", "api/reply",
		"api/report", "api/request", "query/catalog", "window/events"},
	"api/budget": {"api/refusal"},
	"api/exposition": {"api/budget", "api/literal", "api/reply", "dictionary", "dictionary/profile",
		"frame", "query/read", "query/series", "window"},
	"api/fleet": {"access/account", "access/listener", "api/refusal", "api/reply", "frame",
		"query/read", "query/roster", "window"},
	"api/instant": {"access/account", "access/listener", "api/refusal", "memory", "query",
		"query/limit", "query/read"},
	"api/latest": {"access/account", "api/budget", "api/exposition", "api/payload", "api/reply",
		"dictionary/profile", "memory", "query/read", "query/share", "window", "window/selecting"},
	"api/literal": {"frame", "window"},
	"api/loki": {"access/account", "access/listener", "frame", "memory", "query/selector", "window",
		"window/events"},
	"api/lookup": {"access/account", "access/certs", "access/listener", "api/literal",
		"api/refusal", "api/reply", "api/request", "query/nearest", "ring", "ring/throttle"},
	"api/payload": {"api/budget", "api/literal", "frame", "window", "window/rollup"},
	"api/promapi": {"access/account", "access/listener", "memory", "query", "query/expression",
		"query/index", "query/limit", "query/metadata", "query/read", "query/selector",
		"query/series", "window"},
	"api/refusal": {"access/account", "access/listener", "memory", "query/limit", "query/nearest"},
	"api/reply":   {},
	"api/report": {"access/account", "access/listener", "api/fleet", "api/refusal", "api/reply",
		"api/request", "query/catalog"},
	"api/request": {"access/listener", "api/refusal", "query/selector"},
	"api/safe": {"access/account", "access/listener", "api/fleet", "api/instant", "api/refusal",
		"api/reply", "api/request", "frame", "query/catalog", "query/roster", "window"},
	"dictionary":         {},
	"dictionary/profile": {"frame", "memory", "window"},
	"disk":               {"disk/durable"},
	"disk/durable":       {},
	"frame":              {},
	"frame/codec":        {},
	"notify":             {"disk", "disk/durable"},
	"query/cache":        {},
	"query/catalog":      {"query/nearest"},
	"query/expression":   {"memory", "query/limit", "query/selector", "query/series"},
	"query/fleet":        {"access/account", "frame", "window"},
	"query/index":        {"frame", "window"},
	"query/kernel":       {},
	"query/kernel/run": {"frame", "memory", "query/expression", "query/kernel", "query/plan",
		"query/read", "query/selection", "query/series", "query/share", "window", "window/blobs",
		"window/selecting"},
	"query/limit": {},
	"query/live":  {"frame", "query/plan", "query/series", "window"},
	"query/metadata": {"access/account", "dictionary", "frame", "memory", "query/index",
		"query/limit", "query/plan", "query/read", "query/selection", "query/series", "window"},
	"query/nearest": {},
	"query/plan": {"access/account", "frame", "query/expression", "query/fleet", "query/index",
		"query/read", "query/series", "window", "window/blobs", "window/rollup"},
	"query/read": {"access/account", "frame", "memory", "query/cache", "query/fleet",
		"query/results", "query/roster", "query/series", "query/share", "window", "window/blobs",
		"window/building", "window/rollup", "window/selecting"},
	"query/results": {"query/series"},
	"query/roster":  {},
	"query/selection": {"access/account", "frame", "memory", "query/expression", "query/fleet",
		"query/index", "query/limit", "query/plan", "query/read", "query/series", "window",
		"window/rollup", "window/selecting"},
	"query/selector": {"query/cache"},
	"query/series":   {"frame", "window", "window/selecting"},
	"query/share":    {"memory"},
	"rules/notify":   {"stream"},
	"rules/relabel":  {"query/selector"},
	"store/cache":    {},
	"store/calendar": {"frame", "store/rows", "window"},
	"store/closing": {"frame", "memory", "ring/throttle", "store/calendar", "store/dictionaries",
		"store/fresh", "store/generations", "store/rows", "store/schedule", "store/spans", "stream",
		"window", "window/blobs", "window/building", "window/uniting"},
	"store/columns": {"store/calendar", "store/dictionaries", "store/layout", "store/rows",
		"store/spans", "window", "window/blobs"},
	"store/cutovers": {"store/calendar", "store/rows"},
	"store/dictionaries": {"frame", "memory", "store/cache", "store/calendar", "store/fresh",
		"store/rows", "window", "window/blobs", "window/building"},
	"store/events": {"frame", "memory", "store/cache", "store/calendar", "store/rows", "window",
		"window/events"},
	"store/fresh": {"frame", "memory", "store/rows"},
	"store/generations": {"store/calendar", "store/columns", "store/cutovers", "store/rows",
		"store/samples", "store/spans", "window"},
	"store/hours": {"frame", "store/calendar", "store/columns", "store/dictionaries",
		"store/generations", "store/layout", "store/rollups", "store/rows", "store/spans", "window",
		"window/blobs", "window/rollup", "window/uniting"},
	"store/keys":     {"access/account", "store/calendar", "store/rows"},
	"store/late":     {"frame", "store/cache", "store/calendar", "store/rows"},
	"store/layout":   {"frame/codec", "window/blobs"},
	"store/loki":     {"frame", "stream", "window/events"},
	"store/moving":   {"store/calendar", "store/cutovers", "store/rows", "store/rows/files"},
	"store/nodes":    {"frame", "store/rows", "window"},
	"store/progress": {"store/rows", "stream"},
	"store/reading": {"frame", "memory", "store/calendar", "store/dictionaries", "store/fresh",
		"store/generations", "store/late", "store/rollups", "store/spans", "window", "window/blobs",
		"window/building", "window/rollup", "window/selecting", "window/uniting"},
	"store/rollups": {"memory", "store/calendar", "store/dictionaries", "store/layout",
		"store/rows", "store/spans", "window/rollup"},
	"store/rows":           {},
	"store/rows/cassandra": {"access/certs", "ring", "ring/throttle", "store/rows"},
	"store/rows/files": {"disk", "disk/durable", "store/rows", "store/rows/files/cells",
		"store/rows/files/compaction", "store/rows/files/failure", "store/rows/files/ledger",
		"store/rows/files/log", "store/rows/files/memtable", "store/rows/files/sorted",
		"store/rows/files/table", "store/rows/files/tree"},
	"store/rows/files/block": {"disk", "store/rows"},
	"store/rows/files/cells": {},
	"store/rows/files/compaction": {"disk/durable", "store/rows/files/cells",
		"store/rows/files/failure", "store/rows/files/ledger", "store/rows/files/log",
		"store/rows/files/memtable", "store/rows/files/sorted", "store/rows/files/table",
		"store/rows/files/tree"},
	"store/rows/files/failure": {"disk", "store/rows"},
	"store/rows/files/ledger":  {"disk", "store/rows"},
	"store/rows/files/log":     {"disk", "disk/durable", "frame/codec"},
	"store/rows/files/memtable": {"store/rows/files/cells", "store/rows/files/table",
		"store/rows/files/values"},
	"store/rows/files/sorted": {"disk", "disk/durable", "frame/codec", "store/rows",
		"store/rows/files/block", "store/rows/files/cells", "store/rows/files/values"},
	"store/rows/files/table": {"disk", "frame/codec", "store/rows", "store/rows/files/cells",
		"store/rows/files/failure", "store/rows/files/values"},
	"store/rows/files/tree": {"disk", "disk/durable", "store/rows/files/block",
		"store/rows/files/cells", "store/rows/files/ledger", "store/rows/files/memtable",
		"store/rows/files/sorted", "store/rows/files/table", "store/rows/files/values"},
	"store/rows/files/values": {"disk", "frame/codec", "store/rows"},
	"store/rows/rowstest":     {"store/rows"},
	"store/samples": {"frame", "store/calendar", "store/dictionaries", "store/rows", "store/spans",
		"window", "window/blobs", "window/selecting"},
	"store/schedule": {"memory", "ring/throttle", "store/calendar", "store/hours", "store/rows",
		"store/spans", "window", "window/rollup"},
	"store/schema": {"frame", "store/calendar", "store/cutovers", "store/generations", "store/keys",
		"store/nodes", "store/rows", "store/rows/cassandra", "store/spans"},
	"store/spans": {"frame", "memory", "store/cache", "store/calendar", "store/dictionaries",
		"store/layout", "store/rows", "window", "window/blobs", "window/rollup"},
	"stream":            {},
	"stream/files":      {"disk", "disk/durable", "stream"},
	"stream/kafka":      {"access/broker", "access/certs", "stream"},
	"stream/streamtest": {"dev/eventually", "stream"},
	"watch/kafka":       {"access/broker", "access/certs", "frame", "watch/reading"},
	"window":            {"frame", "window/columns"},
	"window/blobs":      {"frame", "frame/codec", "window", "window/columns"},
	"window/building":   {"frame", "window", "window/columns", "window/numbering"},
	"window/columns":    {},
	"window/events":     {"frame"},
	"window/following":  {"frame", "window", "window/numbering"},
	"window/numbering":  {"frame", "window", "window/columns"},
	"window/rollup": {"frame", "frame/codec", "window", "window/blobs",
		"window/selecting"},
	"window/selecting": {"frame", "window", "window/columns"},
	"window/uniting":   {"frame", "window", "window/columns"},
}

func TestLevels(t *testing.T) {
	used := map[string]map[string]bool{}
	eachFile(t, func(dir string, test bool, f *ast.File) {
		top, _, _ := strings.Cut(dir, "/")
		for _, imp := range f.Imports {
			if strings.Contains(imp.Path.Value, "gocql") && top == "store" &&
				dir != "store/rows/cassandra" && !test {
				t.Errorf("%s imports %s: only store/rows/cassandra talks to Cassandra", dir,
					imp.Path.Value)
			}
		}
		if !test && slices.Contains([]string{"store", "window"}, top) {
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				of, _ := call.X.(*ast.Ident)
				if of != nil &&
					slices.Contains([]string{"context.WithValue", "memory.With", "memory.Of"},
						of.Name+"."+call.Sel.Name) || call.Sel.Name == "Value" && of != nil &&
					strings.HasSuffix(of.Name, "ctx") {
					t.Errorf("%s uses %s.%s: what a call is for, and its lease, are parameters",
						dir, of.Name, call.Sel.Name)
				}
				return true
			})
		}
		if levels[dir] == nil || test {
			return
		}
		if used[dir] == nil {
			used[dir] = map[string]bool{}
		}
		for _, imp := range f.Imports {
			if ours, ok := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module); ok {
				used[dir][ours] = true
			}
		}
	})
	for dir, want := range levels {
		if got := slices.Sorted(maps.Keys(used[dir])); used[dir] == nil ||
			!slices.Equal(got, want) {
			t.Errorf("%s imports %q, want %q", dir, got, want)
		}
	}
}

// roles are the packages of the six roles.
var roles = []string{"ingest", "store", "recent", "rules", "api", "watch"}

// declared collects package.Type, package.Func and package.Type.Method, methods of what a struct
// has embedded among them, and every string constant in the code.
func declared(t *testing.T) (names, literals map[string]bool) {
	names, literals = map[string]bool{}, map[string]bool{}
	embedded := map[string][]string{} // of its own package, by package.Type
	eachFile(t, func(dir string, test bool, f *ast.File) {
		pkg := f.Name.Name
		if test {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Test") {
					names[fn.Name.Name] = true
				}
			}
			return
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					recv := d.Recv.List[0].Type
					if star, ok := recv.(*ast.StarExpr); ok {
						recv = star.X
					}
					if id, ok := recv.(*ast.Ident); ok {
						name = id.Name + "." + name
					}
				}
				names[pkg+"."+name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					ts, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					name := pkg + "." + ts.Name.Name
					names[name] = true
					if of, ok := ts.Type.(*ast.StructType); ok {
						for _, field := range of.Fields.List {
							typ := field.Type
							if star, ok := typ.(*ast.StarExpr); ok {
								typ = star.X
							}
							if id, ok := typ.(*ast.Ident); ok && len(field.Names) == 0 {
								embedded[name] = append(embedded[name], pkg+"."+id.Name)
							}
						}
					}
				}
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				literals[strings.Trim(lit.Value, "`\"")] = true
			}
			return true
		})
	})
	for outer, list := range embedded {
		for _, inner := range list {
			for name := range maps.Clone(names) {
				if method, of := strings.CutPrefix(name, inner+"."); of {
					names[outer+"."+method] = true
				}
			}
		}
	}
	return names, literals
}

func mustRead(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	code      = regexp.MustCompile("`([^`]+)`")
	goName    = regexp.MustCompile(`^[a-z]+\.[A-Z][A-Za-z]*(\.[A-Z][A-Za-z]*)?$`)
	javaName  = regexp.MustCompile(`^[A-Z][A-Za-z]+(\.[a-z][A-Za-z]*)?$`)
	testName  = regexp.MustCompile(`^Test[A-Z]`)
	ourMetric = regexp.MustCompile(`^ringwatch_[a-z_]+$`)
)

// hopPages returns the pages that have a section for each hop.
func hopPages(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob("hops/*.md")
	if err != nil || len(list) == 0 {
		t.Fatalf("no pages of hops: %v", err)
	}
	return list
}

// TestDataPathNamesExist looks up every name that DATAPATH.md and the pages of hops put in code
// type: Go names in the code, Java classes among the agent's files, metrics in either.
func TestDataPathNamesExist(t *testing.T) {
	names, literals := declared(t)
	var java strings.Builder
	files := map[string]string{}
	filepath.WalkDir("../agent/src/main", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".java") {
			text := mustRead(t, path)
			files[strings.TrimSuffix(filepath.Base(path), ".java")] = text
			java.WriteString(text)
		}
		return nil
	})
	checked := 0
	check := func(page, name string) {
		switch {
		case goName.MatchString(name), testName.MatchString(name):
			if !names[name] {
				t.Errorf("%s names %s, which is not declared", page, name)
			}
		case ourMetric.MatchString(name):
			// A package writes a metric in one piece, or its own prefix once and leaves _total to
			// a helper.
			_, own, _ := strings.Cut(strings.TrimPrefix(name, "ringwatch_"), "_")
			if !literals[name] && !literals[own] && !literals[strings.TrimSuffix(own, "_total")] &&
				!strings.Contains(java.String(), strings.TrimPrefix(name, "ringwatch_agent_")) {
				t.Errorf("%s names metric %s, which nothing makes", page, name)
			}
		case javaName.MatchString(name):
			class, method, _ := strings.Cut(name, ".")
			text, ok := files[class]
			if !ok || !strings.Contains(text, method) {
				t.Errorf("%s names %s, which the agent does not have", page, name)
			}
		default:
			return
		}
		checked++
	}
	for _, page := range append(hopPages(t), "DATAPATH.md") {
		for _, m := range code.FindAllStringSubmatch(mustRead(t, page), -1) {
			check(page, m[1])
		}
	}
	if checked < 170 {
		t.Errorf("only %d names found in DATAPATH.md and the pages of hops", checked)
	}
}

// hopLines are what the pages say of every hop, in this order.
var hopLines = []string{"Runs in", "Bound", "May drop", "Counted by", "Promise"}

// TestDataPathHopsAreComplete wants a title with a name in code type and all five lines in each
// section of a hop.
func TestDataPathHopsAreComplete(t *testing.T) {
	var hops []string
	for _, page := range hopPages(t) {
		hops = append(hops, strings.Split(mustRead(t, page), "\n### ")[1:]...)
	}
	label := regexp.MustCompile(`(?m)^- \*\*([^*]+):\*\* \S`)
	for _, hop := range hops {
		title, rest, _ := strings.Cut(hop, "\n")
		rest, _, _ = strings.Cut(rest, "\n## ")
		if !code.MatchString(title) {
			t.Errorf("the hop %q names nothing in code type", title)
		}
		var lines []string
		for _, m := range label.FindAllStringSubmatch(rest, -1) {
			lines = append(lines, m[1])
		}
		if !slices.Equal(lines, hopLines) {
			t.Errorf("the hop %q has the lines %q, want %q", title, lines, hopLines)
		}
	}
	if len(hops) < 45 {
		t.Errorf("the pages have only %d hops", len(hops))
	}
}

var makeTarget = regexp.MustCompile("(?m)(?:`|^ *|\\$ )make ([a-z][a-z-]*[a-z])")

// TestReadmeCommandsExist looks up every make target that a document names.
func TestReadmeCommandsExist(t *testing.T) {
	makefile := mustRead(t, "../Makefile")
	for _, doc := range pages(t) {
		for _, m := range makeTarget.FindAllStringSubmatch(mustRead(t, doc), -1) {
			if !regexp.MustCompile(`(?m)^`+m[1]+`( [a-z -]*)?:`).MatchString(makefile) &&
				!(strings.HasPrefix(m[1], "bench-") && strings.Contains(makefile, "bench-%:")) {
				t.Errorf("%s names `make %s`, which the Makefile does not have", doc, m[1])
			}
		}
	}
	for _, must := range []string{"make up", "make test"} {
		if !strings.Contains(mustRead(t, "../README.md"), must) {
			t.Errorf("README.md does not name `%s`", must)
		}
	}
}
