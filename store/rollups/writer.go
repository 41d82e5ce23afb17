package rollups

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Writer writes a run as it is encoded.
type Writer struct {
	to      spans.Writer
	runs    Runs
	level   *Table
	encoder *rollup.RunEncoder
}

// Writer returns a writer of the run that begins at start, as it was read at stamp (µs).
func (r Runs) Writer(level rollup.Level, account string, node uuid.UUID,
	start, stamp int64) *Writer {
	t := r.tables.Of(level)
	return &Writer{runs: r, level: t, encoder: rollup.NewRunEncoder(level, start, t.Run),
		to: spans.Writer{Task: r.task, Start: start, Stamp: stamp,
			Place:   spans.NewPartition(t.Rows, account, node, t.BucketOf(start)),
			Edition: spans.DrawEdition(t.Run), TTL: calendar.TimeLeft(start+t.Run, stamp, t.TTL)}}
}

// Add adds some metrics of the run's periods, as rollup.RunEncoder.Add has them.
func (w *Writer) Add(ctx context.Context, list []*rollup.Rollup, names ...string) error {
	return w.to.Add(ctx, w.encoder.Add(list, names...))
}

// Finish writes the dictionaries, what is left of the rows, and the head.
func (w *Writer) Finish(ctx context.Context) error {
	enc := w.encoder.Finish()
	ttl := w.level.TTL + time.Duration(w.level.bucket)*time.Millisecond
	place := &w.to.Place
	if err := w.runs.tables.series.WriteMissing(ctx, w.runs.task.Work,
		dictionaries.InRollups(place.Table, place.Account, place.Node, place.Bucket, ttl),
		enc.Dictionaries, nil); err != nil {
		return err
	}
	if err := w.to.Finish(ctx, layout.Head{Blob: enc.Head}); err != nil {
		return fmt.Errorf("write rollups of %s: %w", w.level.Name, err)
	}
	w.runs.tables.written.WithLabelValues(w.level.Name).Add(float64(w.to.Bytes))
	return nil
}

// Write writes the periods of a run, in any order.
func (r Runs) Write(ctx context.Context, level rollup.Level, account string, node uuid.UUID,
	start int64, list []*rollup.Rollup, stamp int64) error {
	w := r.Writer(level, account, node, start, stamp)
	if err := w.Add(ctx, list); err != nil {
		return err
	}
	return w.Finish(ctx)
}
