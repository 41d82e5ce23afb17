package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReadGo(t *testing.T) {
	for _, c := range []struct {
		name, events string
		want         tally
		says         string
	}{
		{"leaves count, parents do not", `
{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/x"}
{"Action":"pass","Package":"p","Test":"A/x"}
{"Action":"run","Package":"p","Test":"A/y"}
{"Action":"output","Package":"p","Test":"A/y","Output":"it broke\n"}
{"Action":"fail","Package":"p","Test":"A/y"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"B"}
{"Action":"pass","Package":"p","Test":"B"}
{"Action":"run","Package":"p","Test":"C"}
{"Action":"skip","Package":"p","Test":"C"}
{"Action":"fail","Package":"p","Elapsed":1.5}`, tally{2, 1, 1}, "it broke"},
		{"a parent that fails by itself", `
{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/x"}
{"Action":"pass","Package":"p","Test":"A/x"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}`, tally{1, 1, 0}, "FAIL"},
		{"a subtest with a slash in its name", `
{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/x/y"}
{"Action":"fail","Package":"p","Test":"A/x/y"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}`, tally{0, 1, 0}, "FAIL"},
		{"a package that does not build", `
{"ImportPath":"p [p.test]","Action":"build-output","Output":"p/a.go:1:1: expected 'package'\n"}
{"ImportPath":"p [p.test]","Action":"build-fail"}
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Output":"FAIL\tp [build failed]\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`, tally{0, 1, 0}, "expected 'package'"},
		{"a panic that ends the run", `
{"Action":"run","Package":"p","Test":"A"}
{"Action":"output","Package":"p","Test":"A","Output":"panic: boom\n"}
{"Action":"fail","Package":"p"}`, tally{0, 1, 0}, "panic: boom"},
		{"no test files", `
{"Action":"start","Package":"p"}
{"Action":"skip","Package":"p"}`, tally{}, ""},
		{"go's own words", "pattern ./...: nothing here", tally{}, "nothing here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			if got := readGo(strings.NewReader(c.events), "go test",
				newScreen(&out)); got != c.want {
				t.Errorf("counted %+v, want %+v", got, c.want)
			}
			if !strings.Contains(out.String(), c.says) {
				t.Errorf("%q is not in the output:\n%s", c.says, out.String())
			}
		})
	}
}

func TestRepeat(t *testing.T) {
	var out strings.Builder
	show := newScreen(&out)
	readGo(strings.NewReader(`
{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/x"}
{"Action":"output","Package":"p","Test":"A/x","Output":"    a_test.go:7: it is 2, not 3\n"}
{"Action":"output","Package":"p","Test":"A/x","Output":"    testing.go:9: the end of the log:\n        INFO  starting a.go:3\n"}
{"Action":"fail","Package":"p","Test":"A/x"}
{"Action":"fail","Package":"p","Test":"A"}
{"Action":"fail","Package":"p"}
{"Action":"run","Package":"q","Test":"B"}
{"Action":"output","Package":"q","Test":"B","Output":"panic: boom\n"}
{"Action":"fail","Package":"q"}`), "go test", show)
	out.Reset()
	show.repeat()
	if want := "p A/x\n    a_test.go:7: it is 2, not 3\n    testing.go:9: the end of the " +
		"log:\nq\n    panic: boom\n" +
		"again: go test -run '^A$/^x$' ./p\nagain: go test -run '^B$' ./q\n"; out.String() != want {
		t.Errorf("it says\n%swant\n%s", out.String(), want)
	}
}

// TestAgain: the line is one for a shell, and -run takes it for these tests alone.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		pkg   string
		tests []string
		want  string
	}{
		{"store", nil, "go test ./store"},
		{"", []string{"TestX/a+b_(c)/it's"}, `go test -run '^TestX$/^a\+b_\(c\)$/^it'\''s$' .`},
		{"dev/dist", []string{"TestA"}, "(cd dev/dist && go test -run '^TestA$')"},
		{"api/promapi", []string{"TestA", "TestB"}, "go test -run '^TestA$|^TestB$' ./api/promapi"},
	} {
		if got := againGo("go test", strings.TrimSuffix("github.com/ringwatch/ringwatch/"+c.pkg,
			"/"), c.tests...); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestSlowest(t *testing.T) {
	var out strings.Builder
	show := newScreen(&out)
	readGo(strings.NewReader(`
{"Action":"run","Package":"p","Test":"A"}
{"Action":"run","Package":"p","Test":"A/x"}
{"Action":"pass","Package":"p","Test":"A/x","Elapsed":8}
{"Action":"pass","Package":"p","Test":"A","Elapsed":9}
{"Action":"run","Package":"q","Test":"B"}
{"Action":"pass","Package":"q","Test":"B","Elapsed":70}
{"Action":"pass","Package":"q"}`), "go test", show)
	out.Reset()
	show.nameSlowest()
	if want := "slowest: q B (70 s), p A (9 s)\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("it says %q, want %q at the end", out.String(), want)
	}
}

func TestReadReports(t *testing.T) {
	project := t.TempDir()
	reports := filepath.Join(project, "target", "surefire-reports")
	if err := os.MkdirAll(reports, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"TEST-a.xml": `<?xml version="1.0" encoding="UTF-8"?><testsuite name="a" tests="5" errors="1" skipped="1" failures="1"><testcase name="x"/>
			<testcase classname="dev.a.A" name="y(RepetitionInfo)[2]"><failure message="no">it is 2
	at x</failure></testcase><testcase classname="dev.a.A$B" name=""><error>boom</error></testcase></testsuite>`,
		"TEST-b.xml": `<testsuite name="b" tests="2" errors="0" skipped="0" failures="0"/>`,
		"other.txt":  `nothing`,
	} {
		if err := os.WriteFile(filepath.Join(reports, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, failed, err := readReports(project)
	if want := (tally{passed: 4, failed: 2, skipped: 1}); got != want || err != nil {
		t.Errorf("counted %+v, %v, want %+v", got, err, want)
	}
	var out strings.Builder
	show := newScreen(&out)
	tellFailed(show, "agent", "mvn -q test", failed)
	out.Reset()
	show.repeat()
	if want := "agent A.y: it is 2\nagent A$B: boom\n" +
		"again: cd agent && mvn -q test -Dtest='A#y'\nagain: cd agent && mvn -q test " +
		"-Dtest='A$B'\n"; out.String() != want {
		t.Errorf("it says\n%swant\n%s", out.String(), want)
	}
	if err := os.WriteFile(filepath.Join(reports, "TEST-c.xml"), []byte("<testsuite"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readReports(project); err == nil {
		t.Error("a torn report was accepted")
	}
}

func TestOrder(t *testing.T) {
	const module = "github.com/ringwatch/ringwatch/"
	got := slowFirst([]string{module + "account", module + "agent", module + "api", module + "ring",
		module + "window"}, slow)
	if want := []string{module + "agent", module + "ring", module + "api", module + "account",
		module + "window"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, name := range slices.Concat(slow, slowShort) {
		if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
			t.Errorf("a package that takes long is none: %v", err)
		}
	}
	for _, c := range []struct {
		processors int
		memory     int64
		want       int
		why        string
	}{
		{2, 16 << 30, 3, "memory for all"}, {2, 8 << 30, 2, "memory for two"},
		{2, 0, 2, "unknown memory"}, {64, 128 << 30, 64, "many processors"},
	} {
		if got := atOnce(c.processors, c.memory); got != c.want {
			t.Errorf("%s: %d packages at once, want %d", c.why, got, c.want)
		}
	}
	if memory() <= 0 {
		t.Error("the kernel does not say how much memory there is")
	}
}

// TestParts: each package is tested once, tests apart are there, and so are those of --full alone.
func TestParts(t *testing.T) {
	const module = "github.com/ringwatch/ringwatch/"
	tests, long := apart["cmd/ringwatch"], onlyFull["cmd/ringwatch"]
	for full, want := range map[bool][]string{
		true: {"-skip " + tests + " cmd/ringwatch", "-run " + tests + " cmd/ringwatch"},
		false: {"-skip " + long + "|" + tests + " cmd/ringwatch",
			"-run " + tests + " -skip " + long + " cmd/ringwatch"},
	} {
		var said []string
		for _, p := range parts([]string{module + "cmd/ringwatch", module + "store", module + "a",
			module + "b", module + "c"}, 2, full) {
			said = append(said, strings.ReplaceAll(
				strings.Join(append(p.flags, p.packages...), " "), module, ""))
		}
		if want = append(want, "store", "a c", "b"); !slices.Equal(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
	}
	named := maps.Clone(onlyFull)
	for name, tests := range apart {
		named[name] += "|" + tests
	}
	for name, tests := range named {
		tests = strings.Trim(strings.NewReplacer("^", "", "$", "", "(", "", ")", "").Replace(
			tests), "|")
		list, err := exec.CommandContext(t.Context(), "grep", "-ohE", "^func Test[A-Za-z0-9]+",
			"-r", filepath.Join("../..", name)).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range strings.Split(tests, "|") {
			test, _, _ = strings.Cut(test, "/")
			if !strings.Contains(string(list), "func "+test+"\n") {
				t.Errorf("%s has no %s", name, test)
			}
		}
	}
}
