package store

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Hours and runs of rollups lie in tables of one form: in a node's partition a row for each part of
// each span, by type, part and time, and a head row. See package layout for what a row holds. A
// metric's spans are neighbours: a read of one metric is one slice, and compression sees what
// repeats from hour to hour.

// spanBatchBytes bounds the batches that rows of a span are written in. All go to one partition, so
// that a batch is one mutation.
const spanBatchBytes = 128 << 10

// spanTable is such a table.
func spanTable(name, comment string, ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name: name, Comment: comment,
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node"),
			rows.TimeColumn("bucket")},
		Clustering: []rows.Column{rows.TextColumn("entity_type"), rows.TextColumn("part"),
			rows.TimeColumn("at")},
		Values: []rows.Column{{Name: "blob", Kind: rows.Blob}},
		TTL:    ttl, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Zip(3, 64),
	}
}

// drawEdition returns a number for the rows of a span that lasts so long, milliseconds.
func drawEdition(length int64) int64 { return 1 + rand.Int64N(min(length, window.HourMillis)-1) }

// spanPartition is one partition of a table of spans.
type spanPartition struct {
	table   string
	account string
	node    uuid.UUID
	bucket  int64
}

func (p *spanPartition) key() []any { return []any{p.account, p.node, p.bucket} }

// spanWriter writes one span.
type spanWriter struct {
	task
	spanPartition
	start, edition int64
	stamp          int64
	ttl            time.Duration // as timeLeft has it
	packer         layout.Packer
	rows           []layout.Row // that are not written yet
	waiting        int          // their bytes
	bytes          int64        // of all rows
}

// add writes the rows of some parts, some of them later.
func (w *spanWriter) add(ctx context.Context, parts []blobs.Part) error {
	return w.queue(ctx, w.packer.Add(parts))
}

func (w *spanWriter) queue(ctx context.Context, list []layout.Row) error {
	for _, row := range list {
		size := len(row.Blob) + len(row.Type) + len(row.Part) + rowBytes
		if w.waiting > 0 && w.waiting+size > spanBatchBytes {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
		w.rows = append(w.rows, row)
		w.waiting += size
		w.bytes += int64(size)
	}
	return nil
}

func (w *spanWriter) flush(ctx context.Context) error {
	if len(w.rows) == 0 {
		return nil
	}
	list := make([]rows.Row, 0, len(w.rows))
	for _, row := range w.rows {
		at := w.start + w.edition
		if row.Type == "" { // the head
			at = w.start
		}
		list = append(list, rows.Row{Key: append(w.key(), row.Type, row.Part, at),
			Values: []any{row.Blob}, Stamp: w.stamp, TTL: w.ttl})
	}
	w.rows, w.waiting = nil, 0
	return w.session.Put(ctx, w.work, w.byName[w.table], list...)
}

// finish writes what is left and the head row last: who sees it finds the rest. In a span of few
// rows all is one mutation.
func (w *spanWriter) finish(ctx context.Context, head layout.Head) error {
	if err := w.queue(ctx, w.packer.Flush()); err != nil {
		return err
	}
	if w.bytes > int64(w.waiting) { // others were written before
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	head.Edition, head.Bytes = w.edition, w.bytes+int64(len(head.Blob))
	if err := w.queue(ctx, []layout.Row{{Blob: head.Append(nil)}}); err != nil {
		return err
	}
	return w.flush(ctx)
}

// storedHead is a head row and where it was found.
type storedHead struct {
	spanPartition
	start  int64
	stamp  int64 // its write time, µs
	row    layout.Head
	damage error // why row cannot be read
}

// at is where the span's rows are.
func (h *storedHead) at() int64 { return h.start + h.row.Edition }

// heads reads the head rows of some partitions that begin at from ≤ start ≤ to, by start. Of two
// the newest counts.
func (s task) heads(ctx context.Context, places []spanPartition,
	from, to int64) (map[int64]*storedHead, error) {
	var mu sync.Mutex
	found := map[int64]*storedHead{}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(readsInFlight)
	for _, p := range places {
		eg.Go(func() error {
			query := rows.Query{Table: s.byName[p.table], Key: p.key(), Equal: []any{"", ""},
				From: from, To: to, Columns: []string{"at", "blob"}, Written: "blob"}
			return s.session.Read(gctx, s.work, query, func(scan func(...any) bool) bool {
				h := &storedHead{spanPartition: p}
				var b []byte
				if !scan(&h.start, &b, &h.stamp) {
					return false
				}
				h.row, h.damage = layout.ReadHead(b)
				mu.Lock()
				defer mu.Unlock()
				if known := found[h.start]; known == nil || known.stamp < h.stamp {
					found[h.start] = h
				}
				return true
			})
		})
	}
	return found, eg.Wait()
}

// partsInQuery is up to how many parts of a type are named in a query.
const partsInQuery = 64

// spanParts reads what is wanted of spans in one partition that begin at from ≤ start ≤ to, and
// calls take with each part and where its span's rows are (storedHead.at). cost is what a byte of a
// part comes to when it is decoded; the task's lease gives that. bad is called with what cannot be
// read or is not there.
func (s task) spanParts(ctx context.Context, p spanPartition, from, to int64, want *layout.Wanted,
	cost int64, take func(at int64, part blobs.StoredPart), bad func(at int64, err error)) error {
	var full error
	for typ, names := range want.Rows() {
		slices.Sort(names)
		// by name: a partition holds many spans of each metric
		for some := range slices.Chunk(names, partsInQuery) {
			// Editions are behind the start.
			query := rows.Query{Table: s.byName[p.table], Key: p.key(), Equal: []any{typ}, In: some,
				From: from, To: to + window.HourMillis - 1, Columns: []string{"part", "at", "blob"}}
			err := s.session.Read(ctx, s.work, query, func(scan func(...any) bool) bool {
				var part string
				var at int64
				var b []byte
				if !scan(&part, &at, &b) {
					return false
				}
				err := want.Take(typ, part, at, b, func(sp blobs.StoredPart) {
					if full = cmp.Or(full, s.lease.Take(cost*int64(len(sp.Blob)))); full == nil {
						take(at, sp)
					}
				})
				if err != nil {
					bad(at, fmt.Errorf("part %q of type %s: %w", part, typ, err))
				}
				return full == nil
			})
			if err = cmp.Or(err, full); err != nil {
				return err
			}
		}
	}
	want.Missing(func(typ, part string, at int64) {
		bad(at, fmt.Errorf("part %q of type %s in %s is not there", part, typ, p.table))
	})
	return nil
}
