package bench

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// Main is main for a driver that `make TARGET` runs, and whose flags are declared. What run finds
// it adds to the result, which is kept and printed when run has ended without an error; a run that
// adds nothing, such as a process that the driver starts, keeps nothing.
func Main(target string, run func(context.Context, *Result) error, checks ...func() error) {
	r := &Result{Name: strings.TrimPrefix(target, "bench-"), target: target}
	flag.StringVar(&r.dir, "results", "bench/results", "folder for the result; empty: none is kept")
	Run(target, func(ctx context.Context, dir string) error {
		r.Dir = dir
		if err := run(ctx, r); err != nil || r.kept || len(r.Values) == 0 {
			return err
		}
		return r.Keep()
	}, checks...)
}

// Child runs this program again with a task, so that what it needs is that process's alone, and
// decodes what it found. env are more variables of its environment, which are wanted anew.
func Child(ctx context.Context, task, found any, env ...string) error {
	text, err := json.Marshal(task)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, self, "-child", string(text))
	c.Stderr, c.Env = os.Stderr, append(os.Environ(), env...)
	out, err := c.Output()
	if err != nil {
		return err
	}
	return json.Unmarshal(out, found)
}

// ChildTask declares the flag of Child's process.
func ChildTask(text *string) {
	flag.StringVar(text, "child", "", "a task for a process that the program starts itself")
}

// Run is Main for what has no figures as its result. dir is a folder for what it needs: that of
// -work, or one that is removed in the end.
func Run(target string, run func(ctx context.Context, dir string) error, checks ...func() error) {
	flag.Parse()
	fail := func(code int, err error) {
		fmt.Fprintln(os.Stderr, strings.TrimPrefix(target, "bench-")+":", err)
		os.Exit(code)
	}
	if flag.NArg() > 0 {
		fail(2, fmt.Errorf("%q is no flag: there are flags only, see --help", flag.Arg(0)))
	}
	for _, check := range checks {
		if err := check(); err != nil {
			fail(2, err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, remove, err := folder()
	if err == nil {
		err = run(ctx, dir)
		remove()
	}
	if err != nil {
		fail(1, err)
	}
}

// folder makes the folder that -work names, or a temporary one, which remove removes.
func folder() (dir string, remove func(), err error) {
	if f := flag.Lookup("work"); f != nil && f.Value.String() != "" {
		if dir, err = filepath.Abs(f.Value.String()); err == nil {
			err = os.MkdirAll(dir, 0o755)
		}
		return dir, func() {}, err
	}
	dir, err = os.MkdirTemp("", "ringwatch-bench-")
	return dir, func() { os.RemoveAll(dir) }, err
}

// local are flags that name what is this machine's: they change no figure.
var local = []string{"results", "work", "picture", "screenshot"}

// command is what runs the driver with the flags of now.
func command(target string) string {
	var args []string
	flag.Visit(func(f *flag.Flag) {
		if slices.Contains(local, f.Name) {
			return
		}
		arg := "-" + f.Name + "=" + f.Value.String()
		if b, is := f.Value.(interface{ IsBoolFlag() bool }); !is || !b.IsBoolFlag() {
			arg = "-" + f.Name + " " + f.Value.String()
		}
		args = append(args, arg)
	})
	if len(args) == 0 {
		return "make " + target
	}
	return "make " + target + " ARGS='" + strings.Join(args, " ") + "'"
}

// These declare the flags that several drivers have.

// Recordings is the folder with what bench/record made.
func Recordings(dir *string) {
	flag.StringVar(dir, "recordings", "bench/recordings", "folder with idle.rwf and busy.rwf")
}

// Binary is the ringwatch that is measured.
func Binary(file *string) {
	flag.StringVar(file, "binary", "bin/ringwatch", "the program that is measured")
}

// Agent is the agent's jar.
func Agent(jar *string) {
	flag.StringVar(jar, "agent", "agent/target/ringwatch-agent.jar", "the agent")
}

// Heap is a Cassandra's.
func Heap(size *string, usual string) {
	flag.StringVar(size, "heap", usual, "each Cassandra's heap")
}

// Seed is the noise's.
func Seed(seed *uint64) { flag.Uint64Var(seed, "seed", 1, "of what is random") }

// Work lets who runs the driver say where its folder is.
func Work() {
	flag.String("work", "", "folder for all data, which is left there; empty: a temporary one")
}

// Tables is of a fleet's nodes.
func Tables(tables *int, usual int) {
	flag.IntVar(tables, "tables", usual, "tables of a node, of the recordings' 71 and "+
		"148; each has 100 series, the rest of a node 1,100")
}

// Nodes is of a fleet that package fleet makes.
func Nodes(nodes *int, usual int) {
	flag.IntVar(nodes, "nodes", usual,
		"nodes of the fleet, fifty in a cluster, every second one idle")
}

// Dashboards is the folder of those whose panels are asked.
func Dashboards(dir *string) {
	flag.StringVar(dir, "dashboards", "api/dashboards", "folder of the dashboards that are asked")
}

// list is a flag of words with commas between them.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(text string) error {
	*l = strings.Split(text, ",")
	return nil
}

// List declares a flag of words with commas between them, such as -sides.
func List(words *[]string, name, usual, usage string) {
	if usual != "" {
		*words = strings.Split(usual, ",")
	}
	flag.Var((*list)(words), name, usage)
}

// numbers is a flag of numbers with commas between them.
type numbers []int

func (n *numbers) String() string {
	var words []string
	for _, number := range *n {
		words = append(words, strconv.Itoa(number))
	}
	return strings.Join(words, ",")
}

func (n *numbers) Set(text string) error {
	*n = nil
	for word := range strings.SplitSeq(text, ",") {
		number, err := strconv.Atoi(word)
		if err != nil || number < 1 {
			return fmt.Errorf("%q is no number from 1 on: give some, as in 3,6", word)
		}
		*n = append(*n, number)
	}
	return nil
}

// Numbers declares a flag of numbers from 1 on with commas between them.
func Numbers(list *[]int, name string, usual []int, usage string) {
	*list = usual
	flag.Var((*numbers)(list), name, usage)
}

var began = time.Now()

// Progress prints a line of what goes on.
func Progress(format string, args ...any) { Say(fmt.Sprintf(format, args...)) }

// Say is Progress without a format; engines take it.
func Say(line string) {
	fmt.Fprintf(os.Stderr, "%7.1f s  %s\n", time.Since(began).Seconds(), line)
}

// CPU is what this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Pass lets time pass. It returns why ctx ended, if that was before.
func Pass(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AtOnce calls do for 0 … n-1, at most limit of them at once. After an error it begins no more.
func AtOnce(ctx context.Context, n, limit int, do func(ctx context.Context, i int) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	for i := 0; i < n && ctx.Err() == nil; i++ {
		g.Go(func() error { return do(ctx, i) })
	}
	return g.Wait()
}

// Millis is a time in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Bytes is the size of the files below a folder, which may go meanwhile.
func Bytes(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				sum += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return sum, err
}
