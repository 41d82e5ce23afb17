package spans

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// batchBytes bounds the batches that rows of a span are written in. All go to one partition, so
// that a batch is one mutation.
const batchBytes = 128 << 10

// RowBytes is what a row takes beside its texts and its blob, in an SSTable.
const RowBytes = 40

// Writer writes one span.
type Writer struct {
	Task           Task
	Place          Partition
	Start, Edition int64
	Stamp          int64
	TTL            time.Duration // as calendar.TimeLeft has it
	Bytes          int64         // of all rows so far

	packer  layout.Packer
	rows    []layout.Row // that are not written yet
	waiting int          // their bytes
}

// Add writes the rows of some parts, some of them later.
func (w *Writer) Add(ctx context.Context, parts []blobs.Part) error {
	return w.queue(ctx, w.packer.Add(parts))
}

func (w *Writer) queue(ctx context.Context, list []layout.Row) error {
	for _, row := range list {
		size := len(row.Blob) + len(row.Type) + len(row.Part) + RowBytes
		if w.waiting > 0 && w.waiting+size > batchBytes {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
		w.rows = append(w.rows, row)
		w.waiting += size
		w.Bytes += int64(size)
	}
	return nil
}

func (w *Writer) flush(ctx context.Context) error {
	if len(w.rows) == 0 {
		return nil
	}
	list := make([]rows.Row, 0, len(w.rows))
	for _, row := range w.rows {
		at := w.Start + w.Edition
		if row.Type == "" { // the head
			at = w.Start
		}
		list = append(list, rows.Row{Key: append(w.Place.key(), row.Type, row.Part, at),
			Values: []any{row.Blob}, Stamp: w.Stamp, TTL: w.TTL})
	}
	w.rows, w.waiting = nil, 0
	return w.Task.Engine.Put(ctx, w.Task.Work, w.Place.Table, list...)
}

// Finish writes what is left and the head row last: who sees it finds the rest. In a span of few
// rows all is one mutation.
func (w *Writer) Finish(ctx context.Context, head layout.Head) error {
	if err := w.queue(ctx, w.packer.Flush()); err != nil {
		return err
	}
	if w.Bytes > int64(w.waiting) { // others were written before
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	head.Edition, head.Bytes = w.Edition, w.Bytes+int64(len(head.Blob))
	if err := w.queue(ctx, []layout.Row{{Blob: head.Append(nil)}}); err != nil {
		return err
	}
	return w.flush(ctx)
}
