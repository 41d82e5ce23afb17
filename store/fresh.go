package store

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

// MaxFrameBytes is the longest frame that is stored: half of what Cassandra takes in one mutation
// by default. A node of 10,000 tables sends key frames of about a tenth of it.
const MaxFrameBytes = 8 << 20

// freshLayout is the table of frames.
func (c *Config) freshLayout() *rows.Table {
	// Frames are packed already: chunks that zstd does not make smaller are kept as they are, so
	// that reading them costs nothing.
	packed := rows.Zip(1, 16)
	packed.Packed = true
	return &rows.Table{
		Name:      freshTable,
		Comment:   "Ringwatch: frames as they came, until their window is closed",
		Partition: []rows.Column{textColumn("account"), idColumn("node"), timeColumn("window")},
		// Newest first: the present state is the first row and its key frame's.
		Clustering: []rows.Column{{Name: "at", Kind: rows.Time, Descending: true}},
		Values: []rows.Column{{Name: "frame", Kind: rows.Blob}, timeColumn("key_at"),
			timeColumn("received")},
		TTL: c.FreshTTL, AgeUnit: time.Minute, Grace: 10 * time.Minute, Compression: packed,
	}
}

// freshRows keeps frames as they came.
type freshRows struct {
	engine rows.Engine
	table  *rows.Table
}

// writeFrame also keeps when the frame was received: a replay writes the same again.
func (s *Store) writeFrame(ctx context.Context, w rows.Work, account string, h *frame.Header,
	b []byte, received time.Time) error {
	if len(b) > MaxFrameBytes {
		return fmt.Errorf("%w: %d bytes, and %d are allowed", ErrTooLarge, len(b), MaxFrameBytes)
	}
	if err := s.late.mark(ctx, w, account, h); err != nil {
		return err
	}
	if err := s.fresh.put(ctx, w, account, h, b, received); err != nil {
		return err
	}
	if err := s.events.put(ctx, w, account, h, b); err != nil {
		return err
	}
	if !h.IsKey() {
		s.announcer.delta(ctx, w, account, h, b)
		return nil
	}
	id, err := frame.ReadIdentity(b)
	// what its header says is stored; its values will be missed when the window is closed, and
	// counted then
	if err != nil {
		s.metrics.BadKeyPayload.Inc()
		return nil
	}
	if err := s.nodes.put(ctx, w, account, h, &id, seenBy(h, received)); err != nil {
		return err
	}
	s.announcer.key(ctx, w, account, h, b)
	return nil
}

func (s *freshRows) put(ctx context.Context, w rows.Work, account string, h *frame.Header, b []byte,
	received time.Time) error {
	return s.engine.Put(ctx, w, s.table, rows.Row{Key: []any{account, h.Node, h.Window(), h.At},
		Values: []any{b, h.KeyAt(), received.UnixMilli()}})
}

// frames returns the frames of a window, newest first. They are taken from the lease.
func (s *freshRows) frames(ctx context.Context, w rows.Work, lease *memory.Lease, account string,
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

// withFrames returns those of a node's windows that have frames, in no order. If there are so few
// that asking would cost more than it spares, it returns all. Most windows that have no columns and
// no rollup have no frames either: the node was not there.
func (s *freshRows) withFrames(ctx context.Context, w rows.Work, account string, node uuid.UUID,
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

// recentMillis is how far back LatestFrames and LastSeen look; aheadMillis is how far the clocks of
// our own processes may differ.
const (
	recentMillis = 15 * 60_000
	aheadMillis  = 60_000
)

// LatestFrames returns the node's newest frame of the last 15 minutes and, if that is a delta
// frame, its key frame before it: enough for a window and its newest values; and when the node was heard
// of by it, in ms: its time, but when it arrived if it is dated ahead of that. If the newest one's
// key frame is not there it is the newest that can be read, and newer says so. None: no frames and
// no error.
func (r Reader) LatestFrames(ctx context.Context, account string,
	node uuid.UUID) (frames [][]byte, seen int64, newer bool, err error) {
	return r.task.fresh.latest(ctx, r.task.work, r.task.lease, account, node, r.task.millis())
}

// latest is LatestFrames.
func (s *freshRows) latest(ctx context.Context, work rows.Work, lease *memory.Lease, account string,
	node uuid.UUID, now int64) (frames [][]byte, seen int64, newer bool, err error) {
	take := func(w int64) error {
		more, at, keyless, err := s.latestIn(ctx, work, lease, account, node, w)
		if err == nil && at > seen {
			frames, seen = more, at
		}
		newer = newer || keyless
		return err
	}
	for _, w := range presentWindows(now) {
		if err := take(w); err != nil {
			return nil, 0, false, err
		}
		if seen >= w {
			break // all that is older was heard of before the window began
		}
	}
	if seen >= now-silentMillis {
		return frames, seen, newer, nil
	}
	for _, w := range aheadWindows(now) {
		if err := take(w); err != nil {
			return nil, 0, false, err
		}
	}
	return frames, seen, newer, nil
}

// latestIn is LatestFrames of one window; keyless says that its newest frame cannot be read yet.
func (s *freshRows) latestIn(ctx context.Context, w rows.Work, lease *memory.Lease, account string,
	node uuid.UUID, window int64) (frames [][]byte, seen int64, keyless bool, err error) {
	var newest []byte
	var at, received int64
	query := rows.Query{Table: s.table, Key: []any{account, node, window},
		Columns: []string{"at", "received", "frame"}, Limit: 1}
	err = s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		return scan(&at, &received, &newest)
	})
	if newest == nil || err != nil {
		return nil, 0, false, err
	}
	from := heardAt(at, received)
	if from.ahead() {
		if from, err = s.newestOf(ctx, w, account, node, window); err != nil {
			return nil, 0, false, err
		}
		if newest, err = s.frame(ctx, w, account, node, window, from.at); err != nil {
			return nil, 0, false, err
		}
	}
	h, _, err := frame.Parse(newest)
	if err == nil && h.IsKey() {
		return [][]byte{newest}, from.seen, false, nil
	}
	if err == nil {
		key, err := s.frame(ctx, w, account, node, window, h.KeyAt())
		if err != nil {
			return nil, 0, false, err
		}
		if namesKey(&h, key) {
			return [][]byte{key, newest}, from.seen, false, nil
		}
	}
	frames, err = s.latestReadable(ctx, w, lease, account, node, window)
	if err != nil || len(frames) == 0 {
		return nil, 0, true, err
	}
	if h, _, err = frame.Parse(frames[len(frames)-1]); err != nil {
		return nil, 0, true, err
	}
	return frames, min(h.At, from.seen), true, nil
}

// latestReadable looks through a whole window, for the rare case that the newest frame's key frame
// is lost or late.
func (s *freshRows) latestReadable(ctx context.Context, w rows.Work, lease *memory.Lease,
	account string, node uuid.UUID, window int64) ([][]byte, error) {
	frames, err := s.frames(ctx, w, lease, account, node, window)
	if err != nil {
		return nil, err
	}
	for i, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			continue
		}
		if h.IsKey() {
			return [][]byte{b}, nil
		}
		for _, key := range frames[i+1:] {
			if namesKey(&h, key) {
				return [][]byte{key, b}, nil
			}
		}
	}
	return nil, nil
}

// namesKey reports whether a delta frame's header names the key frame in b.
func namesKey(h *frame.Header, b []byte) bool {
	if b == nil {
		return false
	}
	k, _, err := frame.Parse(b)
	return err == nil && k.IsKey() && k.At == h.KeyAt() && k.Check == h.KeyCheck
}

// frame returns one frame of a window, or nil.
func (s *freshRows) frame(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	window, at int64) ([]byte, error) {
	var b []byte
	query := rows.Query{Table: s.table, Key: []any{account, node, window}, Equal: []any{at},
		Columns: []string{"frame"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool { return scan(&b) })
	return b, err
}
