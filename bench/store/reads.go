package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// question is what all sides are asked.
type question struct {
	key, title string
	times      int // how often, compared with -rounds
	ask        func(ctx context.Context, s side, round int) (series, points int, err error)
}

// questions are what is asked of a fleet: what the day or the six hours and as many nodes as there
// are allow.
func (f *findings) questions() []question {
	d := f.data
	hours := func(n float64) (from int64, title string) {
		n = min(n, f.hours)
		return d.end - int64(n*hourMillis), fmt.Sprintf("%g h", n)
	}
	// some are n nodes, others each round.
	some := func(n, round int) (list []int) {
		for i := range min(n, len(d.nodes)) {
			list = append(list, (round*n+i)%len(d.nodes))
		}
		return list
	}
	metric := func(key, name string, nodes int, span float64, counts bool) question {
		from, title := hours(span)
		title = fmt.Sprintf("%s of %d nodes over %s", name, min(nodes, len(d.nodes)), title)
		if counts {
			title += ", counts"
		}
		return question{key, title, 1,
			func(ctx context.Context, s side, round int) (int, int, error) {
				return s.read(ctx, d, some(nodes, round),
					selection{from, d.end - 1, map[string]string{"__name__": name}, counts})
			}}
	}
	list := []question{
		{"latest", "all latest of a node", 30,
			func(ctx context.Context, s side, round int) (int, int, error) {
				return s.latest(ctx, d, round%len(d.nodes))
			}},
		metric("metric", f.metric, 10, 6, false),
		metric("throughput", f.throughput, 10, 6, true),
	}
	if f.hours > 6 || len(d.nodes) > 10 {
		list = append(list, metric("throughput_day", f.throughput, 30, 24, true))
	}
	from, title := hours(1)
	if d.table != nil {
		list = append(list,
			question{"table", fmt.Sprintf("table %s of %d nodes over %s", d.table["table"],
				len(d.nodes), title), 1,
				func(ctx context.Context, s side, round int) (int, int, error) {
					return s.read(ctx, d, some(len(d.nodes), round),
						selection{from, d.end - 1, d.table, false})
				}})
	}
	list = append(list, question{"node", "everything of a node over " + title, 1,
		func(ctx context.Context, s side, round int) (int, int, error) {
			return s.read(ctx, d, some(1, round), selection{from, d.end - 1, nil, false})
		}})
	coarse, title := hours(6)
	return append(list, question{"coarse", "a node at 5 min over " + title, 1,
		func(ctx context.Context, s side, round int) (int, int, error) {
			return s.coarse(ctx, d, round%len(d.nodes), coarse)
		}})
}

// answered is what a side's answers to a question took.
type answered struct {
	millis      float64 // the median
	own, engine float64 // ms of CPU, the mean: this process's, the engine's
	rows        float64 // read, the mean; 0: the side does not say
	series      int
	points      int
}

// A side whose reads took this long is asked no more once it has been timed so often.
const (
	patience    = time.Minute
	leastRounds = 3
)

// timing is how far a side is with a question.
type timing struct {
	took        []float64
	total       time.Duration
	own, engine time.Duration
	rows        float64
	series      int
	points      int
}

// read times the questions. Sides take turns, each round begins with another one, and all ask for
// the same in a round; the first round is not counted.
func (f *findings) read(ctx context.Context, sides []measured) error {
	for _, q := range f.questions() {
		list := make([]timing, len(sides))
		for round := range f.rounds*q.times + 1 {
			for n := range sides {
				n = (n + round) % len(sides)
				t := &list[n]
				if t.total > patience && len(t.took) >= leastRounds {
					continue
				}
				if err := t.round(ctx, sides[n].side, &q, round); err != nil {
					return fmt.Errorf("%s: read %s: %w", sides[n].row.name, q.title, err)
				}
			}
		}
		for n, m := range sides {
			t := &list[n]
			rounds := float64(len(t.took))
			a := answered{bench.Median(t.took), bench.Millis(t.own) / rounds,
				bench.Millis(t.engine) / rounds,
				t.rows / rounds, t.series, t.points}
			m.row.reads[q.key] = a
			bench.Progress("%s: %s: %.1f ms (%.1f to %.1f, %.0f rounds), CPU %.1f ms here and "+
				"%.1f there, %.0f rows, %d series, %d points", m.row.name, q.title, a.millis,
				bench.Quantile(t.took, 0.25), bench.Quantile(t.took, 0.75), rounds, a.own, a.engine,
				a.rows, a.series, a.points)
		}
	}
	return nil
}

func (t *timing) round(ctx context.Context, s side, q *question, round int) error {
	engine, err := node.UsageOf(s.pid(), "")
	if err != nil {
		return err
	}
	rows, own, start := s.rows(), bench.CPU(), time.Now()
	series, points, err := q.ask(ctx, s, round)
	spent := time.Since(start)
	own, rows = bench.CPU()-own, s.rows()-rows
	if err != nil {
		return err
	}
	if points == 0 {
		return fmt.Errorf("found nothing")
	}
	after, err := node.UsageOf(s.pid(), "")
	if err != nil {
		return err
	}
	t.total += spent
	t.series, t.points = series, points
	if round > 0 {
		t.took = append(t.took, bench.Millis(spent))
		t.own, t.engine, t.rows = t.own+own, t.engine+after.CPU-engine.CPU, t.rows+rows
	}
	return nil
}
