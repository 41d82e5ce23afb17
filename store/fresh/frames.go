// Package fresh keeps frames as they came, until their window is closed: a row per frame, a
// partition per window. Start with Frames.
//
// It imports frame, memory and store/rows alone.
package fresh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
)

// TableName is the table of frames.
const TableName = "fresh"

// Layout is the table of frames, which live for ttl.
func Layout(ttl time.Duration) *rows.Table {
	// Frames are packed already: chunks that zstd does not make smaller are kept as they are, so
	// that reading them costs nothing.
	packed := rows.Zip(1, 16)
	packed.Packed = true
	return &rows.Table{
		Name:    TableName,
		Comment: "Ringwatch: frames as they came, until their window is closed",
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node"),
			rows.TimeColumn("window")},
		// Newest first: the present state is the first row and its key frame's.
		Clustering: []rows.Column{{Name: "at", Kind: rows.Time, Descending: true}},
		Values: []rows.Column{{Name: "frame", Kind: rows.Blob}, rows.TimeColumn("key_at"),
			rows.TimeColumn("received")},
		TTL: ttl, AgeUnit: time.Minute, Grace: 10 * time.Minute, Compression: packed,
	}
}

// Frames keeps frames as they came.
type Frames struct {
	engine rows.Engine
	table  *rows.Table
}

// New keeps frames in an engine for ttl.
func New(engine rows.Engine, ttl time.Duration) *Frames {
	return &Frames{engine: engine, table: Layout(ttl)}
}

// Put writes a frame, and when it was received: a replay writes the same again.
func (s *Frames) Put(ctx context.Context, w rows.Work, account string, h *frame.Header, b []byte,
	received time.Time) error {
	return s.engine.Put(ctx, w, s.table, rows.Row{Key: []any{account, h.Node, h.Window(), h.At},
		Values: []any{b, h.KeyAt(), received.UnixMilli()}})
}

// InWindow returns the frames of a window, newest first. They are taken from the lease.
func (s *Frames) InWindow(ctx context.Context, w rows.Work, lease *memory.Lease, account string,
	node uuid.UUID, window int64) ([][]byte, error) {
	var frames [][]byte
	var full error
	query := rows.Query{Table: s.table, Key: []any{account, node, window},
		Columns: []string{"frame"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		var b []byte
		if !scan(&b) {
			return false
		}
		frames = append(frames, b)
		full = lease.Take(int64(len(b)))
		return full == nil
	})
	return frames, errors.Join(err, full)
}

// askedAlone is of how many windows frames are asked for without asking first which of them have
// some.
const askedAlone = 3

// Holding returns those of a node's windows that have frames, in no order. If there are so few
// that asking would cost more than it spares, it returns all. Most windows that have no columns and
// no rollup have no frames either: the node was not there.
func (s *Frames) Holding(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	windows []int64) ([]int64, error) {
	if len(windows) <= askedAlone {
		return windows, nil
	}
	var list []int64
	err := s.engine.Partitions(ctx, w, s.table, []any{account, node}, windows,
		func(scan func(...any) bool) bool {
			var start int64
			if !scan(&start) {
				return false
			}
			list = append(list, start)
			return true
		})
	if err != nil {
		return nil, fmt.Errorf("store: read which windows have frames: %w", err)
	}
	return list, nil
}

// NamesKey reports whether a delta frame's header names the key frame in b.
func NamesKey(h *frame.Header, b []byte) bool {
	if b == nil {
		return false
	}
	k, _, err := frame.Parse(b)
	return err == nil && k.IsKey() && k.At == h.KeyAt() && k.Check == h.KeyCheck
}

// One returns one frame of a window, or nil.
func (s *Frames) One(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	window, at int64) ([]byte, error) {
	var b []byte
	query := rows.Query{Table: s.table, Key: []any{account, node, window}, Equal: []any{at},
		Columns: []string{"frame"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool { return scan(&b) })
	return b, err
}
