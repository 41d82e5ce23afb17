// Command testsum runs every test there is, Go's and then Java's, shows what goes on, and ends
// with a line for each failed test that runs it again, and one that counts:
//
//	again: go test -run '^TestX$' ./store
//	N passed, N failed
//
// With --check it runs the linters and the tests that need no engines instead, and counts both.
//
// A test is one that has no subtests. A package that does not build, and a run that ends without
// saying which test failed, count as one failure each. It exits with 1 when anything failed.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/dev/engines"
)

type options struct {
	Check   bool          `help:"The linters and the tests that need no engines, in three minutes on two cores."`
	Full    bool          `help:"Also with the race detector, with RINGWATCH_TEST_FULL=1 for the tests that take long, and each fuzz test for a minute."`
	Timeout time.Duration `help:"Bound for the tests of one Go package; an hour by default, 4 hours with --full."`
	Build   []string      `help:"A command that builds what tests run, e.g. make,build; counts as one failure when it fails." sep:","`
	Java    string        `help:"The Maven project with the Java tests; left out where it does not exist." default:"agent"`

	Packages []string `arg:"" optional:"" help:"Go packages; all by default."`
}

func main() {
	var o options
	kong.Parse(&o, kong.Description("Runs every test and sums up."), kong.UsageOnError())
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	do := run
	if o.Check {
		do = check
	}
	if sum := do(ctx, o); sum.failed > 0 {
		os.Exit(1)
	}
}

// check is run for --check.
func check(ctx context.Context, o options) tally {
	show := newScreen(os.Stdout)
	show.brief = true
	go show.watch(ctx)
	linted, tested := runCheck(ctx, o, show)
	if ctx.Err() != nil {
		show.say("interrupted")
		tested.failed++
	}
	show.repeat()
	fmt.Printf("%d linters and %d tests passed, %d failed; make test runs %d more, which need "+
		"engines or long\n",
		linted.passed, tested.passed, linted.failed+tested.failed, tested.skipped)
	linted.add(tested)
	return linted
}

func run(ctx context.Context, o options) tally {
	show := newScreen(os.Stdout)
	go show.watch(ctx)
	// Before the tests' time limits begin to count. What fails here fails again in the tests that
	// need it, with its remedy.
	for _, prepare := range []func(context.Context, func(string)) error{
		engines.Fetch, fetchVersions,
		engines.EnsureRedis, engines.EnsurePrometheus, engines.EnsureAlertmanager,
		engines.EnsureRedisExporter,
		engines.EnsureTargets,
	} {
		if err := prepare(ctx, show.say); err != nil {
			show.say("error: " + err.Error())
		}
	}
	var sum tally
	if len(o.Build) > 0 {
		sum.add(runBuild(ctx, o.Build, show))
	}
	// Java's tests mostly wait, so they run beside Go's.
	var java tally
	var beside sync.WaitGroup
	if _, err := os.Stat(filepath.Join(o.Java, "pom.xml")); err == nil {
		beside.Go(func() { java = runJava(ctx, o, show) })
	}
	sum.add(runGo(ctx, o, show))
	beside.Wait()
	sum.add(java)
	if o.Full {
		sum.add(runFuzz(ctx, o, show))
	}
	if ctx.Err() != nil {
		show.say("interrupted")
		sum.failed++
	}
	show.nameSlowest()
	if sum.skipped > 0 {
		show.say(fmt.Sprintf("%d skipped", sum.skipped))
	}
	show.repeat()
	fmt.Printf("%d passed, %d failed\n", sum.passed, sum.failed)
	return sum
}

// fetchVersions fetches the other versions of Cassandra that the agent's tests start.
func fetchVersions(ctx context.Context, progress func(string)) error {
	var errs []error
	for _, version := range engines.CassandraVersions() {
		errs = append(errs, engines.FetchCassandra(ctx, version, progress))
	}
	return errors.Join(errs...)
}

// tally counts tests.
type tally struct{ passed, failed, skipped int }

func (t *tally) add(other tally) {
	t.passed += other.passed
	t.failed += other.failed
	t.skipped += other.skipped
}

// runBuild runs before the tests, which go on without it: most need nothing built.
func runBuild(ctx context.Context, build []string, show *screen) tally {
	show.say(strings.Join(build, " "))
	err := stream(command(ctx, build[0], build[1:]...), func(out io.Reader) {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			show.say(lines.Text())
		}
		// after a line too long to scan; the command must not block on a full pipe
		_, _ = io.Copy(io.Discard, out)
	})
	if err != nil {
		again := strings.Join(build, " ")
		show.fail(again, "the build failed: "+err.Error(), again)
		return tally{failed: 1}
	}
	return tally{}
}

func runGo(ctx context.Context, o options, show *screen) tally {
	if o.Timeout == 0 {
		// the slowest takes some twenty minutes; other work may make the machine several times
		// slower
		o.Timeout = time.Hour
		if o.Full {
			o.Timeout = 4 * time.Hour // the agent is idle for one, and creates 8,000 tables
		}
	}
	// make check has go vet, which looks at every package that ours are made of.
	args, again := []string{"test", "-json", "-count=1", "-vet=off",
		"-timeout", o.Timeout.String()}, "go test"
	if o.Full {
		args, again = append(args, "-race"), "RINGWATCH_TEST_FULL=1 go test -race -timeout "+
			o.Timeout.String()
		os.Setenv("CGO_ENABLED", "1") // the race detector needs it
	}
	all := len(o.Packages) == 0
	if all {
		o.Packages = allPackages(ctx, slow)
	}
	show.say("Go tests (the first build takes some minutes)")
	build := []string{"build"}
	if o.Full {
		build = append(build, "-race")
	}
	// So that parts need not build the same at the same time. What does not build they tell.
	_ = command(ctx, "go", append(build, o.Packages...)...).Run()
	slots := atOnce(runtime.NumCPU(), memory())
	var sum tally
	var mu sync.Mutex
	var running errgroup.Group
	running.SetLimit(slots)
	list := parts(o.Packages, slots, o.Full)
	if all {
		// after the slowest, which end last
		dist := part{nil, []string{"."}, distModule}
		if !o.Full {
			dist.flags = []string{"-skip", onlyFull[distModule]}
		}
		list = slices.Insert(list, min(3, len(list)), dist)
	}
	for _, p := range list {
		running.Go(func() error {
			cmd := command(ctx, "go", slices.Concat(args, p.flags, []string{"-p", "1"},
				p.packages)...)
			cmd.Dir = p.dir
			if o.Full {
				cmd.Env = append(os.Environ(), "RINGWATCH_TEST_FULL=1")
			}
			var its tally
			err := stream(cmd, func(out io.Reader) { its = readGo(out, again, show) })
			if err != nil && its.failed == 0 {
				line := strings.Join(append([]string{again}, p.packages...), " ")
				if p.dir != "" {
					line = "(cd " + p.dir + " && " + line + ")"
				}
				show.fail("go test", "go test ended with "+err.Error()+" and named no failed test",
					line)
				its.failed++
			}
			mu.Lock()
			defer mu.Unlock()
			sum.add(its)
			return nil
		})
	}
	_ = running.Wait() // failures are counted
	return sum
}

func runJava(ctx context.Context, o options, show *screen) tally {
	show.say("Java tests")
	for _, dir := range reportDirs(o.Java) {
		if err := os.RemoveAll(dir); err != nil { // an old report would be counted again
			show.say("error: " + err.Error())
			return tally{failed: 1}
		}
	}
	// The profile compiles into a folder of its own: Go's tests run what is in target.
	cmd := command(ctx, "mvn", "-B", "-ntp", "-Pbeside", "test")
	cmd.Dir = o.Java
	err := stream(cmd, func(out io.Reader) { showMaven(out, show) })
	again := "mvn -q -Pbeside test"
	if home := os.Getenv("RINGWATCH_JAVA17"); home != "" {
		again = "RINGWATCH_JAVA17=" + quoted(home) + " " + again
	}
	sum, failed, readErr := readReports(o.Java)
	tellFailed(show, o.Java, again, failed)
	if readErr != nil {
		show.say("error: " + readErr.Error())
		sum.failed++
	}
	if err != nil && sum.failed == 0 {
		show.fail("mvn test", "mvn test ended with "+err.Error()+" and named no failed test",
			"cd "+o.Java+" && "+again)
		sum.failed++
	}
	return sum
}

// command makes a command that is asked to end, before it is killed, when ctx ends.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	return cmd
}

// stream runs cmd while read takes what it writes.
func stream(cmd *exec.Cmd, read func(io.Reader)) error {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	read(out)
	return cmd.Wait()
}
