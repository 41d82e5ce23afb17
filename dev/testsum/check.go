package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/dev/pictured"
)

// staticcheck runs at this version; go run fetches it once, and go.mod need not know it.
const staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"

// linter is one thing that make check does beside tests. It returns what is wrong; nothing is fine.
type linter struct {
	name  string
	again string // what runs it alone
	run   func(context.Context) string
}

// goLinters are Go's. They share the compiler's cache with the tests, so go vet, which fills it,
// runs before the tests, and staticcheck beside them.
func goLinters() (before []linter, beside linter) {
	return []linter{
			{"format", "make check", func(context.Context) string { return untidy(".") }},
			{"names in comments", "make check", func(context.Context) string {
				return unnamed(".")
			}},
			// Prometheus's iterators have a Seek that is not io.Seeker's, which is what stdmethods
			// looks for.
			{"go vet", "go vet -stdmethods=false ./...", func(ctx context.Context) string {
				return complaints(ctx, ".", "go", "vet", "-stdmethods=false", "./...") +
					complaints(ctx, distModule, "go", "vet", "./...")
			}},
		}, linter{"staticcheck", "go run " + staticcheck + " ./...",
			func(ctx context.Context) string {
				return complaints(ctx, ".", "go", "run", staticcheck, "./...") +
					complaints(ctx, distModule, "go", "run", staticcheck, "./...")
			}}
}

// runCheck runs the linters and the tests that need no engines. Go's run beside those of Java and
// the console, since each of them waits for its own compiler most of the time.
func runCheck(ctx context.Context, o options, show *screen) (linted, tested tally) {
	var java, javaTests, beside tally
	var others sync.WaitGroup
	others.Go(func() {
		java.add(checkConsole(ctx, show))
		if _, err := os.Stat(filepath.Join(o.Java, "pom.xml")); err == nil {
			warned, tests := checkJava(ctx, o, show)
			java.add(warned)
			javaTests.add(tests)
		}
	})
	before, last := goLinters()
	for _, l := range before {
		linted.add(lint(ctx, show, l))
	}
	others.Go(func() { beside = lint(ctx, show, last) })
	tested = shortTests(ctx, o, show)
	others.Wait()
	// It is said and is no failure: who changes the console need not wait for its pictures.
	if old, err := pictured.Old(pictured.Screens, pictured.Console); err == nil && old != "" {
		show.say("note  " + old)
	}
	linted.add(java)
	linted.add(beside)
	tested.add(javaTests)
	return linted, tested
}

// lint runs one linter and shows how long it took, and what it found.
func lint(ctx context.Context, show *screen, l linter) tally {
	began := time.Now()
	if found := l.run(ctx); found != "" {
		show.fail(l.name, found, l.again)
		return tally{failed: 1}
	}
	show.say(fmt.Sprintf("ok    %-28s %7.1f s", l.name, time.Since(began).Seconds()))
	return tally{passed: 1}
}

// complaints runs a command in a directory and returns what it says if it fails.
func complaints(ctx context.Context, dir, name string, args ...string) string {
	cmd := command(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s\n%s: %v", bytes.TrimSpace(out), strings.Join(cmd.Args, " "), err)
}

// shortTests runs the Go tests that need no engine. go test's cache answers for what has not
// changed. Examples are left out: they show engines at work, and nothing can leave one of them
// out.
func shortTests(ctx context.Context, o options, show *screen) (sum tally) {
	packages := o.Packages
	if len(packages) == 0 {
		packages = allPackages(ctx, slowShort)
	}
	// go vet has run already. Some tests wait for a clock, so there is one more than processors.
	args := []string{"test", "-short", "-run", "^(Test|Fuzz)", "-json", "-timeout", "20m",
		"-vet=off", "-p", strconv.Itoa(runtime.NumCPU() + 1)}
	sum = shortIn(ctx, "", show, append(args, packages...))
	if len(o.Packages) == 0 {
		sum.add(shortIn(ctx, distModule, show, append(args, "./...")))
	}
	return sum
}

// shortIn runs go test with those arguments in a module.
func shortIn(ctx context.Context, dir string, show *screen, args []string) (sum tally) {
	const again = "go test -short"
	cmd := command(ctx, "go", args...)
	cmd.Dir = dir
	err := stream(cmd, func(out io.Reader) { sum = readGo(out, again, show) })
	if err != nil && sum.failed == 0 {
		show.fail("go test", "go test ended with "+err.Error()+" and named no failed test",
			again+" ./...")
		sum.failed++
	}
	return sum
}

// checkConsole has the compiler and the linters of the console's sources look at them, unless they
// are as they were when these found nothing.
func checkConsole(ctx context.Context, show *screen) tally {
	passed := filepath.Join("console", "node_modules", ".checked")
	sources, err := consoleSources("console")
	if err != nil {
		show.say("console: left out, its modules are not there: make console fetches them")
		return tally{}
	}
	if unchanged(passed, sources...) {
		show.say(fmt.Sprintf("ok    %-28s (cached)", "console"))
		return tally{passed: 1}
	}
	began := time.Now()
	sum := lint(ctx, show, linter{"console", "cd console && npm run check",
		func(ctx context.Context) string {
			return complaints(ctx, "console", "npm", "run", "--silent", "check")
		}})
	if sum.failed == 0 {
		stamp(passed, began)
	}
	return sum
}

// consoleSources are what the linters read: all but the modules, of which the lock file tells, and
// what is built. Without modules there is an error.
func consoleSources(dir string) (list []string, err error) {
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != "node_modules" && e.Name() != "dist" {
			list = append(list, filepath.Join(dir, e.Name()))
		}
	}
	return list, err
}

// stamp notes that what was there at that time has passed; what is saved while it is looked at
// counts as changed.
func stamp(file string, at time.Time) {
	if err := os.WriteFile(file, nil, 0o644); err == nil {
		_ = os.Chtimes(file, at, at)
	}
}

// checkJava compiles the agent, where a warning is an error, and runs its tests but those with the
// tag "full". What has not changed since it passed is not run again, as go test does it.
func checkJava(ctx context.Context, o options, show *screen) (linted, tested tally) {
	began := time.Now()
	// as the profile says; of its own, for make test may run beside
	target := filepath.Join(o.Java, "target", "check")
	passed := filepath.Join(target, "passed")
	if unchanged(passed, filepath.Join(o.Java, "src"), filepath.Join(o.Java, "pom.xml"),
		"frame/testdata") {
		if tested, _, err := readReports(target); err == nil && tested.failed == 0 &&
			tested.passed > 0 {
			show.say(fmt.Sprintf("ok    %-28s (cached)", "java"))
			return tally{passed: 1}, tested
		}
	}
	_ = os.Remove(passed)
	_ = os.RemoveAll(filepath.Join(target, "surefire-reports"))
	const again = "mvn -q -Pcheck test"
	cmd := command(ctx, "mvn", "-B", "-ntp", "-Pcheck", "test")
	cmd.Dir = o.Java
	var said strings.Builder
	err := stream(cmd, func(out io.Reader) {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			line := lines.Text()
			if strings.HasPrefix(line, "[ERROR]") && !mavenAdvice.MatchString(line) {
				fmt.Fprintln(&said, line)
			}
		}
		_, _ = io.Copy(io.Discard, out) // after a line too long to scan
	})
	tested, failed, readErr := readReports(target)
	switch {
	case readErr != nil:
		show.fail("java", readErr.Error(), "cd "+o.Java+" && "+again)
		return tally{failed: 1}, tested
	case err != nil && tested.failed == 0: // it did not compile, or not without a warning
		show.fail("java", said.String()+again+": "+err.Error(), "cd "+o.Java+" && "+again)
		return tally{failed: 1}, tested
	case tested.failed > 0:
		tellFailed(show, o.Java, again, failed)
		return tally{passed: 1}, tested
	}
	stamp(passed, began)
	show.say(fmt.Sprintf("ok    %-28s %7.1f s", "java", time.Since(began).Seconds()))
	return tally{passed: 1}, tested
}

// unchanged reports whether nothing below the roots is younger than the file stamp.
func unchanged(stamp string, roots ...string) bool {
	since, err := os.Stat(stamp)
	if err != nil {
		return false
	}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			at, err := d.Info() // of a folder, too: a file that went changes it
			if err == nil && at.ModTime().After(since.ModTime()) {
				err = fs.SkipAll
				since = nil
			}
			return err
		})
		if err != nil || since == nil {
			return false
		}
	}
	return true
}
