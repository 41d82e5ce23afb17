// Command run does to all of Ringwatch what may happen to it, for an hour in all: see package
// chaos.
package main

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
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
	bench.Binary(&o.binary)
	bench.Work()
	bench.Main("chaos", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	if o.seed == 0 {
		o.seed = rand.Uint64()>>1 | 1
	}
	switch {
	case o.nodes < 10 || o.nodes%10 != 0:
		return errors.New("-nodes must be a multiple of 10")
	case o.minutes <= 0 || o.away < 0 || o.kills < 0 || o.pause <= 0:
		return errors.New("-minutes and -pause must be more than 0, -away and -kills not less")
	case o.embedded != "both" && o.embedded != "only" && o.embedded != "no":
		return errors.New("-embedded must be both, only or no")
	}
	return nil
}

func run(ctx context.Context, o options, result *bench.Result) error {
	found := map[string]*chaos.Report{}
	for _, side := range []string{"line", "embedded"} {
		if o.embedded == "only" && side == "line" || o.embedded == "no" && side == "embedded" {
			continue
		}
		dir := filepath.Join(result.Dir, side)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		bench.Say(side + ":")
		r, err := chaos.Run(ctx, chaos.Config{Dir: dir, Binary: o.binary, Seed: o.seed,
			Embedded: side == "embedded", Length: time.Duration(o.minutes * float64(time.Minute)),
			Kills: o.kills, Nodes: o.nodes, Interval: o.interval, Pause: o.pause,
			Away: time.Duration(o.away * float64(time.Minute)), Progress: bench.Say})
		if err != nil {
			return err
		}
		found[side] = r
	}
	return keep(o, result, found)
}

// keep prints the result and keeps it. What was wrong is an error.
func keep(o options, result *bench.Result, found map[string]*chaos.Report) error {
	result.Detail = found
	result.Notes = "Every role as two processes, with Kafka, Cassandra and Redis, then one " +
		"ringwatch all with a directory (embedded_). Nodes of two accounts send ids, and readers " +
		"check every answer. lost, doubled and wrong are values, holes are answers that call " +
		"themselves complete and lack what was acknowledged 15 s before. recovery is from a " +
		"fault's end until a frame was taken and a question had a right and complete answer, " +
		"whatever else was wrong then."
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
			{Key: "recovery_p50_s", Value: bench.Median(r.Recovery)},
			{Key: "holes", Value: r.Holes}, {Key: "ended", Value: r.Ended},
			{Key: "again", Value: r.Again},
			{Key: "answers", Value: r.Answers}, {Key: "partial", Value: r.Partial},
			{Key: "failed", Value: r.Failed}, {Key: "minutes", Value: r.Seconds / 60},
		} {
			result.Add(prefix+v.Key, v.Value)
		}
	}
	result.Add("seed", o.seed)
	if err := result.Keep(); err != nil {
		return err
	}
	if !whole {
		return errors.New("not everything is whole: the result's detail says what")
	}
	return nil
}
