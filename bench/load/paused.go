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
)

// addPaused adds what the node did with the agent at work over what it did with it paused.
func addPaused(r *bench.Result, o options, rounds map[string][]round) {
	r.Name = "load-paused"
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
		o.tables[0], o.interval, o.rounds*o.repeats, o.repeats, o.ops, o.clients)
}

const (
	atWork = "at work"
	paused = "paused" // as the agent calls it
)

// states are the turns of the only node.
func (t turn) states() (turns []turn) {
	for _, state := range []string{paused, atWork} {
		turns = append(turns, turn{t.contestant, state,
			func(ctx context.Context) error { return t.become(ctx, state) },
			func(context.Context) error { return nil }})
	}
	return turns
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
