// Command load measures what monitoring takes from a Cassandra's users: writes, reads and a mix
// of both against a node without an exporter, with the Ringwatch agent pushing and with the JMX
// exporter scraped, each at 5 s.
//
// The three nodes live side by side and take short rounds in turn; whoever is not in its round is
// stopped (SIGSTOP), so that a round has the machine as alone as the machine allows. A ratio is
// the median over the rounds of what one node did over what the node without an exporter did in
// the same round. JVMs differ by some percent from start to start, so all nodes are started anew
// for each repeat.
//
// With -paused there is one node, with the agent, and it is compared with itself: at work and
// paused in turns. What differs between JVMs is the same on both sides then, so that what the
// agent takes is told more finely.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
)

type options struct {
	tables   []int
	ops      int
	rounds   int
	repeats  int
	clients  int
	interval time.Duration
	heap     string
	jar      string
	dir      string
	paused   bool
}

var works = []string{"write", "read", "mixed"}

func main() {
	var o options
	bench.Numbers(&o.tables, "tables", []int{50, 1000},
		"how many tables the load goes to; one comparison for each number")
	flag.IntVar(&o.ops, "ops", 1_000_000,
		"writes, reads and mixed operations per node, over all rounds and repeats")
	flag.IntVar(&o.rounds, "rounds", 6, "rounds per repeat; each should last for an interval")
	flag.IntVar(&o.repeats, "repeats", 3,
		"how often all nodes are started anew: two JVMs of one kind differ by up to 8 %, as long "+
			"as they live")
	flag.IntVar(&o.clients, "clients", 32, "operations in flight")
	flag.DurationVar(&o.interval, "interval", 5*time.Second, "between passes and between scrapes")
	bench.Heap(&o.heap, "2G")
	bench.Agent(&o.jar)
	flag.BoolVar(&o.paused, "paused", false,
		"one node with the agent at work and paused, in turns, and no other")
	bench.Main("bench-load", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	if o.paused && len(o.tables) > 1 {
		return errors.New("-tables: one number with -paused")
	}
	return nil
}

func run(ctx context.Context, o options, r *bench.Result) error {
	o.dir = r.Dir
	detail := map[string]any{}
	r.Detail = detail
	for _, tables := range o.tables {
		rounds := map[string][]round{} // by work and side: "readnone", "readpaused"
		for repeat := range o.repeats {
			bench.Progress("%d tables, repeat %d of %d", tables, repeat+1, o.repeats)
			if err := takeTurns(ctx, o, tables, repeat, rounds); err != nil {
				return err
			}
		}
		for of, all := range rounds {
			detail[fmt.Sprint(of, "_", tables)] = map[string]float64{
				"per_s": bench.MedianOf(all, round.rate), "p50_ms": bench.MedianOf(all, round.p50),
				"p99_ms": bench.MedianOf(all, round.p99),
				"cpu_us": bench.MedianOf(all, round.cpuPerOp)}
		}
		if o.paused {
			addPaused(r, o, rounds)
		} else {
			addSides(r, o, tables, rounds)
		}
	}
	return nil
}

// addSides adds what the exporters' nodes did over the node without one.
func addSides(r *bench.Result, o options, tables int, rounds map[string][]round) {
	suffix := ""
	if tables != 50 {
		suffix = fmt.Sprint("_", tables)
	}
	for _, side := range []string{"push", "jmx"} {
		prefix := strings.TrimPrefix(side+"_", "push_")
		for _, work := range works {
			with, without := rounds[work+side], rounds[work+"none"]
			r.Add(prefix+work+"_ratio"+suffix, bench.RatioOf(with, without, round.rate))
			r.Add(prefix+work+"_cpu_ratio"+suffix, bench.RatioOf(with, without, round.cpuPerOp))
			r.Add(prefix+work+"_p99_ratio"+suffix, bench.RatioOf(with, without, round.p99))
		}
	}
	for _, work := range works {
		r.Add("none_"+work+"_spread"+suffix, spread(rounds[work+"none"]))
	}
	r.Notes = fmt.Sprintf(
		"Ratios of throughput, CPU per operation and p99 to a node without an exporter: medians "+
			"of pairs in turns, %d repeats (JVMs started anew) of %d rounds, %d operations per "+
			"node and kind in all, %d in flight, closed loop, own generator (gocql) on the same "+
			"two cores. Without a suffix: 50 tables. none_*_spread: interquartile range of the "+
			"node's own throughput over its median, the noise that the ratios stand in. JMX "+
			"exporter %s with the whitelist.",
		o.repeats, o.rounds, o.ops, o.clients, node.JMXVersion)
}

// contestant is one node with its connection.
type contestant struct {
	*node.Node
	session *gocql.Session
}

// turn is one of those that take rounds in turn: a node that stands still otherwise, or a state of
// the agent in the only node.
type turn struct {
	contestant
	name       string
	begin, end func(context.Context) error
}

// takeTurns starts the nodes anew and lets each do its rounds.
func takeTurns(ctx context.Context, o options, tables, repeat int,
	rounds map[string][]round) error {
	perRound := max(1, o.ops/o.rounds/o.repeats)
	if o.paused {
		perRound = max(1, perRound/2)
	}
	turns, stop, err := startTurns(ctx, o, tables, perRound)
	defer stop()
	if err != nil {
		return err
	}
	for _, work := range works {
		for k := range o.rounds {
			for i := range turns {
				t := turns[(i+k+repeat)%len(turns)] // each goes first as often
				if err := t.begin(ctx); err != nil {
					return err
				}
				found, err := t.round(ctx, o, tables, work, perRound)
				if err == nil {
					err = t.end(ctx)
				}
				if err != nil {
					return fmt.Errorf("%s, %s: %w", t.name, work, err)
				}
				rounds[work+t.name] = append(rounds[work+t.name], found)
			}
			text := ""
			for _, t := range turns[1:] {
				text += fmt.Sprintf("; %s does %.3f of %s", t.name, bench.RatioOf(
					rounds[work+t.name], rounds[work+turns[0].name], round.rate), turns[0].name)
			}
			bench.Progress("%s: round %d of %d%s", work, k+1, o.rounds, text)
		}
	}
	return nil
}

// startTurns starts the nodes, warm. stop ends what has started, also after an error.
func startTurns(ctx context.Context, o options, tables, perRound int) (turns []turn, stop func(),
	err error) {
	ingest := node.Discard()
	ends := []func(){ingest.Close}
	stop = func() {
		for _, end := range slices.Backward(ends) {
			end()
		}
	}
	push, err := node.Push(o.dir, o.jar, ingest.URL, o.interval)
	if err != nil {
		return nil, stop, err
	}
	sides := []node.Side{push}
	if !o.paused {
		jmx, err := node.JMX(ctx, o.dir, false, bench.Say)
		if err != nil {
			return nil, stop, err
		}
		sides = []node.Side{node.None(), push, jmx}
	}
	for _, side := range sides {
		c, end, err := startWarm(ctx, o, tables, perRound, side)
		if err != nil {
			return nil, stop, err
		}
		ends = append(ends, end)
		turns = append(turns, turn{c, side.Name, c.wake,
			func(context.Context) error { return c.Pause() }})
	}
	if o.paused {
		return turns[0].states(), stop, nil
	}
	// not before all have started: a connection does not outlive a long pause
	for _, t := range turns {
		if err := t.Pause(); err != nil {
			return nil, stop, err
		}
		// so that the sessions can close, which asks their nodes
		ends = append(ends, func() { _ = t.Resume() })
	}
	return turns, stop, nil
}

// startWarm starts a side's node and lets it do a round of each work, which compiles, and
// prepares every statement. end closes it.
func startWarm(ctx context.Context, o options, tables, perRound int, side node.Side,
) (c contestant, end func(), err error) {
	bench.Progress("starting the node for %s and warming it up", side.Name)
	n, err := node.Start(ctx, node.Config{Tables: tables, Dir: filepath.Join(o.dir, side.Name),
		Heap: o.heap, Side: side, Progress: bench.Say})
	if err != nil {
		return c, nil, err
	}
	session, err := node.Session(n.Cassandra)
	if err != nil {
		n.Kill()
		return c, nil, err
	}
	c, end = contestant{n, session}, func() { session.Close(); n.Kill() }
	for _, work := range works {
		if _, err := c.round(ctx, o, tables, work, max(perRound, 8*tables)); err != nil {
			end()
			return c, nil, err
		}
	}
	return c, end, nil
}

// wake resumes the node and waits until its connections answer again.
func (c contestant) wake(ctx context.Context) error {
	if err := c.Resume(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return line.Until(ctx, c.Side.Name+" to answer again", func(ctx context.Context) error {
		return c.session.Query("SELECT key FROM system.local").ExecContext(ctx)
	})
}

func spread(all []round) float64 {
	var values []float64
	for _, r := range all {
		values = append(values, r.rate())
	}
	return (bench.Quantile(values, 0.75) - bench.Quantile(values, 0.25)) / bench.Median(values)
}
