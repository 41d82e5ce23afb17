package samples

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Generation is v1 or v2 at work: a row per sample, in partitions of one window, and a
// row per window with its meta blob, written last.
//
// A sample's value is a double in base units, as Prometheus has it, so that others can read the
// table. What a double does not hold exactly is there a second time: integers beyond 2^53, or whose
// decimal scaling does not round-trip, as the integer. A histogram's buckets are one blob: a series
// is one row at an instant here as everywhere; a row per bucket would be 165 of them, and then no
// fleet could have afforded these layouts.
type Generation struct {
	tables *Tables
	task   spans.Task
}

// At returns the tables at work for a task.
func (t *Tables) At(task spans.Task) Generation { return Generation{t, task} }

// Tables returns the layouts of its tables.
func (g Generation) Tables() []*rows.Table {
	return []*rows.Table{g.tables.Samples, g.tables.Windows}
}

// Write writes dictionaries, then a row per sample, then meta.
func (g Generation) Write(ctx context.Context, w *window.Window, rep window.Report,
	stamp int64) error {
	enc := blobs.Encode(w, rep)
	if err := g.tables.series.Write(ctx, g.task.Work, w.Node, w.Start,
		enc.Dictionaries); err != nil {
		return err
	}
	ttl := calendar.TimeLeft(w.Start+calendar.WindowMillis, stamp, g.tables.rawTTL)
	table := g.tables.Samples
	inFlight, limit := g.tables.layout.batches()
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(inFlight)
	var list []rows.Row
	size := 0
	flush := func() {
		if some := list; len(some) > 0 {
			eg.Go(func() error { return g.task.Engine.Put(gctx, g.task.Work, table, some...) })
		}
		list, size = nil, 0
	}
	samples := 0
	selecting.Walk(w, func(d *window.Dictionary, metric, row int, s *window.Series) {
		if gctx.Err() != nil {
			return
		}
		name := service(d, prefixOf(d.MetricKey(metric)), row)
		if !g.tables.layout.joins() {
			flush()
		}
		for i, at := range s.At {
			values := sampleValues(s, i)
			list = append(list, rows.Row{Key: []any{w.Node.Account, w.Node.ID, w.Start, name, at},
				Values: values, Stamp: stamp, TTL: ttl})
			counts, _ := values[2].([]byte)
			size += len(name) + 64 + len(counts)
			if size >= limit {
				flush()
			}
		}
		samples += len(s.At)
	})
	flush()
	if err := eg.Wait(); err != nil {
		return fmt.Errorf("store: write samples of window %d: %w", w.Start, err)
	}
	g.tables.written.Add(float64(samples))
	head := rows.Row{Key: []any{w.Node.Account, w.Node.ID, w.Start}, Values: []any{enc.Head},
		Stamp: stamp, TTL: ttl}
	err := g.task.Engine.Put(ctx, g.task.Work, g.tables.Windows, head)
	if err != nil {
		return fmt.Errorf("store: write meta of window %d: %w", w.Start, err)
	}
	return nil
}
