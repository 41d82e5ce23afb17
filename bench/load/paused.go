package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/node"
)

// runPaused compares each node with itself.
func runPaused(ctx context.Context, o options, r *bench.Result) error {
	if len(o.tables) > 1 {
		return errors.New("-tables: one number with -paused")
	}
	tables := o.tables[0]
	rounds := map[string][]round{} // by work and whether the agent works: "readpaused"
	for repeat := range o.repeats {
		fmt.Printf("%d tables, repeat %d of %d\n", tables, repeat+1, o.repeats)
		if err := takeTurns(ctx, o, tables, repeat, rounds); err != nil {
			return err
		}
	}
	for _, work := range works {
		on, off := rounds[work+atWork], rounds[work+paused]
		low, high := likely(on, off, round.rate)
		r.Add(work+"_ratio", bench.RatioOf(on, off, round.rate))
		r.Add(work+"_ratio_low", low)
		r.Add(work+"_ratio_high", high)
		r.Add(work+"_cpu_ratio", bench.RatioOf(on, off, round.cpuPerOp))
		r.Add(work+"_p99_ratio", bench.RatioOf(on, off, round.p99))
		r.Add(work+"_agent_cpu_share", bench.MedianOf(on, round.share))
		r.Add(work+"_per_s", bench.MedianOf(off, round.rate))
		r.Add(work+"_seconds",
			bench.MedianOf(off, func(r round) float64 { return r.took.Seconds() }))
	}
	r.Notes = fmt.Sprintf(
		"One node of %d tables with the agent at work (every %v) over the same node with it "+
			"paused, in turns: medians of %d pairs in all from %d JVMs, %d operations of a kind, "+
			"half of them on each side; low and high: where the median of such pairs lies 19 "+
			"times of 20, by their order. *_agent_cpu_share: of what Cassandra's process used, "+
			"what the agent's threads did. %d operations in flight, closed loop, own generator "+
			"(gocql) on the same two cores; *_seconds: how long a round lasts.",
		tables, o.interval, o.rounds*o.repeats, o.repeats, o.ops, o.clients)
	return r.Keep()
}

const (
	atWork = "at work"
	paused = "paused" // as the agent calls it
)

func takeTurns(ctx context.Context, o options, tables, repeat int,
	rounds map[string][]round) error {
	ingest := node.Discard()
	defer ingest.Close()
	side, err := node.Push(o.dir, o.jar, ingest.URL, o.interval)
	if err != nil {
		return err
	}
	perRound := max(1, o.ops/o.rounds/o.repeats/2)
	c, end, err := startWarm(ctx, o, tables, perRound, side)
	if err != nil {
		return err
	}
	defer end()
	for _, work := range works {
		for k := range o.rounds {
			turns := []string{atWork, paused}
			if (k+repeat)%2 == 1 {
				slices.Reverse(turns)
			}
			for _, turn := range turns {
				if err := c.become(ctx, turn); err != nil {
					return err
				}
				found, err := c.round(ctx, o, tables, work, perRound)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", turn, work, err)
				}
				rounds[work+turn] = append(rounds[work+turn], found)
			}
			on, off := rounds[work+atWork], rounds[work+paused]
			fmt.Printf("%s: round %d of %d: %.0f/s at work, %.0f/s paused; so far %.3f\n", work,
				k+1, o.rounds, on[len(on)-1].rate(), off[len(off)-1].rate(),
				bench.RatioOf(on, off, round.rate))
		}
	}
	return nil
}

// become pauses the agent or lets it work, and waits until it says so. That takes two to three
// seconds either way: waiting for the first frame would give the rounds at work up to five
// seconds more in which Cassandra catches up with its compactions.
func (c contestant) become(ctx context.Context, want string) error {
	text, err := os.ReadFile(c.Side.Config)
	if err != nil {
		return err
	}
	const setting = "paused: true\n"
	now := strings.TrimSuffix(string(text), setting)
	if want == paused {
		now += setting
	}
	if err := os.WriteFile(c.Side.Config, []byte(now), 0o600); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	return line.Until(ctx, "the agent to be "+want, func(ctx context.Context) error {
		var state string
		err := c.session.Query("SELECT value FROM system_ringwatch.agent WHERE name = "+
			"'ringwatch_agent_state_info'").ScanContext(ctx, &state)
		if err == nil && (state == paused) != (want == paused) {
			err = errors.New("it is " + state)
		}
		return err
	})
}

// likely bounds the median of the pairs' ratios at 95 % without a word on how they are spread:
// the number of pairs below the true median is binomial.
func likely(a, b []round, of func(round) float64) (low, high float64) {
	var values []float64
	for i := range min(len(a), len(b)) {
		values = append(values, of(a[i])/of(b[i]))
	}
	slices.Sort(values)
	n := len(values)
	tail, ways := 0.0, math.Pow(0.5, float64(n)) // of i below the median
	cut := 0
	for ; cut < n/2 && tail+ways <= 0.025; cut++ {
		tail += ways
		ways *= float64(n-cut) / float64(cut+1)
	}
	cut = max(cut-1, 0)
	return values[cut], values[n-1-cut]
}
