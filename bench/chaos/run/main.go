// Command run does to all of Ringwatch what may happen to it, for an hour in all: see package
// chaos.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/chaos"
)

type options struct {
	seed            uint64
	minutes, away   float64
	nodes, kills    int
	interval, pause time.Duration
	embedded        string
	binary          string
	work, results   string
}

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 0, "gives the same faults in the same order; 0: a new one")
	flag.Float64Var(&o.minutes, "minutes", 30, "how long faults come, of each side")
	flag.IntVar(&o.kills, "kills", 100, "faults come until there were so many kills, of each side")
	flag.IntVar(&o.nodes, "nodes", 40, "nodes of both accounts; a multiple of 10")
	flag.DurationVar(&o.interval, "interval", 500*time.Millisecond, "a node's interval")
	flag.DurationVar(&o.pause, "pause", 2*time.Second,
		"between two faults of processes, on average; of engines twice that")
	flag.Float64Var(&o.away, "away", 2, "minutes that Kafka is away, on average")
	flag.StringVar(&o.embedded, "embedded", "both",
		"both: the line and then one process with a directory; only: that alone; no: "+
			"the line alone")
	flag.StringVar(&o.binary, "binary", "bin/ringwatch", "the program")
	flag.StringVar(&o.work, "work", "",
		"folder for data and logs, which are left there; empty: a temporary one")
	flag.StringVar(&o.results, "results", "bench/results",
		"folder for the result; empty: none is kept")
	flag.Parse()
	if o.seed == 0 {
		o.seed = rand.Uint64()>>1 | 1
	}
	if err := o.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatalln("chaos:", err)
	}
}

func (o *options) check(args []string) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("%q is no flag: chaos takes flags only, see --help", args[0])
	case o.nodes < 10 || o.nodes%10 != 0:
		return errors.New("-nodes must be a multiple of 10")
	case o.minutes <= 0 || o.away < 0 || o.kills < 0 || o.pause <= 0:
		return errors.New("-minutes and -pause must be more than 0, -away and -kills not less")
	case o.embedded != "both" && o.embedded != "only" && o.embedded != "no":
		return errors.New("-embedded must be both, only or no")
	}
	return nil
}

var began = time.Now()

func progress(text string) { fmt.Printf("%7.1fs  %s\n", time.Since(began).Seconds(), text) }

func run(ctx context.Context, o options) error {
	work := o.work
	if work == "" {
		var err error
		if work, err = os.MkdirTemp("", "ringwatch-chaos-"); err != nil {
			return err
		}
		defer os.RemoveAll(work)
	}
	work, err := filepath.Abs(work)
	if err != nil {
		return err
	}
	found := map[string]*chaos.Report{}
	for _, side := range []string{"line", "embedded"} {
		if o.embedded == "only" && side == "line" || o.embedded == "no" && side == "embedded" {
			continue
		}
		dir := filepath.Join(work, side)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		progress(side + ":")
		r, err := chaos.Run(ctx, chaos.Config{Dir: dir, Binary: o.binary, Seed: o.seed,
			Embedded: side == "embedded", Length: time.Duration(o.minutes * float64(time.Minute)),
			Kills: o.kills, Nodes: o.nodes, Interval: o.interval, Pause: o.pause,
			Away: time.Duration(o.away * float64(time.Minute)), Progress: progress})
		if err != nil {
			return err
		}
		found[side] = r
	}
	return keep(o, found)
}

// keep prints the result and keeps it. What was wrong is an error.
func keep(o options, found map[string]*chaos.Report) error {
	result := &bench.Result{Name: "chaos", Command: "make chaos", Detail: found,
		Notes: "Every role as two processes, with Kafka, Cassandra and Redis, then one " +
			"ringwatch all " +
			"with a directory (embedded_). Nodes of two accounts send ids, and readers " +
			"check every " +
			"answer. lost, doubled and wrong are values, holes are answers that call themselves " +
			"complete " +
			"and lack what was acknowledged 15 s before. recovery is from a fault's end until a " +
			"frame was " +
			"taken and a question had a right and complete answer, whatever else was wrong then."}
	keeps := func(arg string) bool { return strings.HasPrefix(arg, "-work=") } // says nothing
	if args := slices.DeleteFunc(slices.Clone(os.Args[1:]), keeps); len(args) > 0 {
		result.Command += fmt.Sprintf(" ARGS='%s'", strings.Join(args, " "))
	}
	whole := true
	for _, side := range []string{"line", "embedded"} {
		r := found[side]
		if r == nil {
			continue
		}
		whole = whole && r.Whole()
		prefix := ""
		if side == "embedded" {
			prefix = "embedded_"
		}
		for _, v := range []bench.Value{
			{Key: "kills", Value: r.Kills}, {Key: "acked", Value: r.Acked},
			{Key: "lost", Value: r.Lost},
			{Key: "doubled", Value: r.Doubled}, {Key: "wrong", Value: r.Wrong},
			{Key: "recovery_p99_s", Value: bench.Quantile(r.Recovery, 0.99)},
			{Key: "recovery_p50_s", Value: bench.Quantile(r.Recovery, 0.5)},
			{Key: "holes", Value: r.Holes}, {Key: "ended", Value: r.Ended},
			{Key: "again", Value: r.Again},
			{Key: "answers", Value: r.Answers}, {Key: "partial", Value: r.Partial},
			{Key: "failed", Value: r.Failed}, {Key: "minutes", Value: r.Seconds / 60},
		} {
			result.Add(prefix+v.Key, v.Value)
		}
	}
	result.Add("seed", o.seed)
	if err := result.Keep(os.Stdout, o.results); err != nil {
		return err
	}
	if !whole {
		return errors.New("not everything is whole: the result's detail says what")
	}
	return nil
}
