package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// goEvent is a line of `go test -json`; see `go doc test2json` and `go help buildjson`.
type goEvent struct {
	Action      string
	Package     string
	ImportPath  string // of build-output and build-fail
	FailedBuild string // of a package's fail: what did not build
	Test        string
	Elapsed     float64
	Output      string
}

// goPackage is what is known about a package under test.
type goPackage struct {
	tally
	command  string // that runs its tests, e.g. go test -short
	tests    map[string]*goTest
	output   strings.Builder // what belongs to no test, e.g. a panic
	anyFails bool
}

type goTest struct {
	output      strings.Builder
	hasSubtests bool
	failedBelow bool // a subtest failed, so this failure is told already
}

// readGo counts the tests of a `go test -json` run and shows each package as it ends and the
// output of what failed. What failed runs again by command, a test and a package.
func readGo(out io.Reader, command string, show *screen) tally {
	var sum tally
	packages := map[string]*goPackage{}
	builds := map[string]*strings.Builder{}
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), 16<<20)
	for lines.Scan() {
		var e goEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Action == "" {
			show.say(lines.Text()) // go itself, about what it could not load
			continue
		}
		switch e.Action {
		case "build-output":
			if builds[e.ImportPath] == nil {
				builds[e.ImportPath] = &strings.Builder{}
			}
			builds[e.ImportPath].WriteString(e.Output)
			continue
		case "build-fail":
			continue // the packages that need it fail next
		}
		p := packages[e.Package]
		if p == nil {
			p = &goPackage{command: command, tests: map[string]*goTest{}}
			packages[e.Package] = p
		}
		if e.Test != "" {
			p.take(e, show)
			continue
		}
		if e.Action == "fail" && e.FailedBuild != "" {
			if text := builds[e.FailedBuild]; text != nil {
				show.block(text.String())
			}
		}
		if done := p.takeOwn(e, show); done {
			sum.add(p.tally)
		}
	}
	if err := lines.Err(); err != nil {
		show.say("error: cannot read go test's output: " + err.Error())
		sum.failed++
	}
	return sum
}

// take is an event of a test.
func (p *goPackage) take(e goEvent, show *screen) {
	t := p.tests[e.Test]
	if t == nil {
		t = &goTest{}
		p.tests[e.Test] = t
	}
	parent := p.parent(e.Test)
	switch e.Action {
	case "run":
		show.running(e.Package, e.Test)
		if parent != nil {
			parent.hasSubtests = true
		}
	case "cont":
		show.running(e.Package, e.Test)
	case "pause":
		show.ended(e.Package, e.Test)
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "skip", "fail":
		show.ended(e.Package, e.Test)
		if parent == nil {
			show.measured(e.Package, e.Test, e.Elapsed)
		}
		p.count(t, e, parent, show)
		delete(p.tests, e.Test)
	}
}

func (p *goPackage) count(t *goTest, e goEvent, parent *goTest, show *screen) {
	switch {
	case e.Action == "fail":
		p.anyFails = true
		if parent != nil {
			parent.failedBelow = true
		}
		if t.failedBelow {
			show.block(t.output.String())
			break
		}
		show.fail(short(e.Package)+" "+e.Test, t.output.String(),
			againGo(p.command, e.Package, e.Test))
		p.failed++
	case t.hasSubtests:
	case e.Action == "pass":
		p.passed++
	default:
		p.skipped++
		if !show.brief {
			show.block(t.output.String())
		}
	}
}

// parent is the test that runs this one, or nil. A subtest's own name may have slashes.
func (p *goPackage) parent(test string) *goTest {
	for i := strings.LastIndex(test, "/"); i >= 0; i = strings.LastIndex(test[:i], "/") {
		if t := p.tests[test[:i]]; t != nil {
			return t
		}
	}
	return nil
}

// takeOwn is an event of the package itself; it returns true when that was its last.
func (p *goPackage) takeOwn(e goEvent, show *screen) (done bool) {
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
		return false
	case "pass", "fail":
		if e.Action == "fail" && !p.anyFails {
			// It did not build, panicked outside of a test, or ran out of time.
			p.failed++
			text := p.output.String()
			running := map[string]bool{}
			for name, t := range p.tests {
				show.ended(e.Package, name)
				text = t.output.String() + text
				top, _, _ := strings.Cut(name, "/")
				running[top] = true
			}
			show.fail(short(e.Package), text,
				againGo(p.command, e.Package, slices.Sorted(maps.Keys(running))...))
		}
		word := "ok    "
		if p.failed > 0 {
			word = "FAIL  "
		}
		if show.brief && p.failed == 0 && e.Elapsed < 5 {
			return true
		}
		show.say(fmt.Sprintf("%s%-28s %4d passed %3d failed %7.1f s", word, short(e.Package),
			p.passed, p.failed, e.Elapsed))
		return true
	}
	return false // "start", and "skip": no test files
}

// againGo is a line to paste into a shell that runs one test again, or several without subtests,
// or a whole package.
func againGo(command, pkg string, tests ...string) string {
	var patterns []string
	for _, name := range tests {
		parts := strings.Split(name, "/")
		for i := range parts {
			parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
		}
		patterns = append(patterns, strings.Join(parts, "/"))
	}
	if len(patterns) > 0 {
		command += " -run " + quoted(strings.Join(patterns, "|"))
	}
	switch pkg = short(pkg); pkg {
	case ".":
	case distModule:
		return "(cd " + pkg + " && " + command + ")"
	default:
		pkg = "./" + pkg
	}
	return command + " " + pkg
}

// quoted makes one word of a shell's.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// short leaves the module's name out.
func short(pkg string) string {
	const module = "github.com/ringwatch/ringwatch"
	if pkg == module {
		return "."
	}
	return strings.TrimPrefix(pkg, module+"/")
}
