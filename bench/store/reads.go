package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

// reads are the three that are timed. times is how often compared with -rounds.
var reads = [3]struct {
	title, key string
	times      int
	call       func(ctx context.Context, s side, d *dataset, round int, metric string) (series, points int, err error)
}{
	{"all latest of a node", "latest", 30, func(ctx context.Context, s side, d *dataset, round int, _ string) (int, int, error) {
		return s.latest(ctx, d, round%len(d.nodes))
	}},
	{"one metric of all nodes", "metric", 1, func(ctx context.Context, s side, d *dataset, _ int, metric string) (int, int, error) {
		var some []int
		for i := range min(metricNodes, len(d.nodes)) {
			some = append(some, i)
		}
		return s.metric(ctx, d, some, metric)
	}},
	{"a node at 5 min", "coarse", 1, func(ctx context.Context, s side, d *dataset, round int, _ string) (int, int, error) {
		return s.coarse(ctx, d, round%len(d.nodes))
	}},
}

// metricNodes is of how many nodes one metric is read.
const metricNodes = 50

// A side whose reads took this long is asked no more once it has been timed so often.
const (
	patience    = time.Minute
	leastRounds = 3
)

// read times the reads. Sides take turns, each round begins with another one, and all ask for the same in a round; the first round is not counted.
func (f *findings) read(ctx context.Context, sides []measured) error {
	for i, what := range reads {
		took := make([][]float64, len(sides))
		total := make([]time.Duration, len(sides))
		for round := range f.rounds*what.times + 1 {
			for n := range sides {
				n = (n + round) % len(sides)
				s, row := sides[n].side, sides[n].row
				if total[n] > patience && len(took[n]) >= leastRounds {
					continue
				}
				start := time.Now()
				series, points, err := what.call(ctx, s, f.data, round, f.metric)
				spent := time.Since(start)
				if err != nil {
					return fmt.Errorf("%s: read %s: %w", row.name, what.title, err)
				}
				if points == 0 {
					return fmt.Errorf("%s: read %s found nothing", row.name, what.title)
				}
				if round > 0 {
					took[n] = append(took[n], spent.Seconds()*1000)
				}
				total[n] += spent
				row.series[i], row.points[i] = series, points
			}
		}
		for n, m := range sides {
			m.row.readMillis[i] = bench.Quantile(took[n], 0.5)
			progress("%s: %s: %.1f ms (%.1f to %.1f, %d rounds), %d series, %d points", m.row.name, what.title, m.row.readMillis[i], bench.Quantile(took[n], 0.25),
				bench.Quantile(took[n], 0.75), len(took[n]), m.row.series[i], m.row.points[i])
		}
	}
	return nil
}
