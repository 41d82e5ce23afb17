package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
)

// MaxFrameBytes is the longest frame that is stored: half of what Cassandra takes in one mutation by default. A node of 10,000 tables sends key frames
// of about a tenth of it.
const MaxFrameBytes = 8 << 20

func asError[T error](err error, target *T) bool { return errors.As(err, target) }

// WriteFrame stores a frame as it was received; a key frame also renews what is known of its node. The error wraps one of package frame's if the bytes are
// no frame, or ErrTooLarge; else it is Cassandra's, see Retryable. Writing a frame twice is the same as writing it once.
func (s *Store) WriteFrame(ctx context.Context, account string, b []byte) error {
	h, _, err := frame.Parse(b)
	if err != nil {
		return err
	}
	return s.writeFrame(ctx, account, &h, b, s.config.Now())
}

// writeFrame also keeps when the frame was received: a replay writes the same again.
func (s *Store) writeFrame(ctx context.Context, account string, h *frame.Header, b []byte, received time.Time) error {
	if len(b) > MaxFrameBytes {
		return fmt.Errorf("%w: %d bytes, and %d are allowed", ErrTooLarge, len(b), MaxFrameBytes)
	}
	if err := s.markLate(ctx, account, h); err != nil {
		return err
	}
	err := s.exec(ctx, "INSERT INTO "+s.table(freshTable)+" (account, node, window, at, frame, key_at, received) VALUES (?, ?, ?, ?, ?, ?, ?)",
		account, gocql.UUID(h.Node), h.Window(), h.At, b, h.KeyAt(), received.UnixMilli())
	if err != nil {
		return err
	}
	if !h.IsKey() {
		s.announceDelta(ctx, account, h, b)
		return nil
	}
	return s.writeNode(ctx, account, h, b, seenBy(h, received))
}

// writeNode renews a node's row. The write carries when the node was heard of by the frame, so that an old key frame that is read again never hides a newer one, nor does one that is
// dated ahead.
func (s *Store) writeNode(ctx context.Context, account string, h *frame.Header, b []byte, seen int64) error {
	id, err := frame.ReadIdentity(b)
	if err != nil { // what its header says is stored; its values will be missed when the window is closed, and counted then
		s.metrics.BadKeyPayload.Inc()
		return nil
	}
	facts := make(map[string]string, len(id.Facts))
	for _, fact := range id.Facts {
		facts[fact.Name] = fact.Value
	}
	err = s.exec(ctx, "INSERT INTO "+s.table(nodesTable)+" (account, cluster, node, datacenter, rack, facts, interval_ms, last_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
		account, h.Cluster, gocql.UUID(h.Node), id.Datacenter, id.Rack, facts, h.Interval, seen, seen*1000)
	if err == nil {
		s.announceKey(ctx, account, h, b)
	}
	return err
}

// freshFrames returns the frames of a window that are in fresh, newest first.
func (s *Store) freshFrames(ctx context.Context, account string, node uuid.UUID, window int64) ([][]byte, error) {
	var frames [][]byte
	var full error
	lease := memory.Of(ctx)
	err := s.each(ctx, func(scan func(...any) bool) bool {
		var b []byte
		if !scan(&b) {
			return false
		}
		frames = append(frames, b)
		full = lease.Take(int64(len(b)))
		return full == nil
	}, "SELECT frame FROM "+s.table(freshTable)+" WHERE account = ? AND node = ? AND window = ?", account, gocql.UUID(node), window)
	return frames, errors.Join(err, full)
}

// askedAlone is of how many windows frames are asked for without asking first which of them have some.
const askedAlone = 3

// windowsInQuery bounds how many partitions one query names.
const windowsInQuery = 48

// havingFrames returns those of a node's windows that have frames in fresh, in no order; all, if
// there are so few that asking would cost more than it spares. Most windows that have no columns and
// no rollup have no frames either: the node was not there.
func (s *Store) havingFrames(ctx context.Context, account string, node uuid.UUID, windows []int64) ([]int64, error) {
	if len(windows) <= askedAlone {
		return windows, nil
	}
	var list []int64
	for some := range slices.Chunk(windows, windowsInQuery) {
		err := s.each(ctx, func(scan func(...any) bool) bool {
			var account string
			var node gocql.UUID
			var start int64
			if !scan(&account, &node, &start) {
				return false
			}
			list = append(list, start)
			return true
		}, "SELECT DISTINCT account, node, window FROM "+s.table(freshTable)+" WHERE account = ? AND node = ? AND window IN ?", account, gocql.UUID(node), some)
		if err != nil {
			return nil, fmt.Errorf("store: read which windows have frames: %w", err)
		}
	}
	return list, nil
}

// recentMillis is how far back LatestFrames and LastSeen look; aheadMillis is how far the clocks of our own processes may differ.
const (
	recentMillis = 15 * 60_000
	aheadMillis  = 60_000
)

// LatestFrames returns the node's newest frame of the last 15 minutes and, if that is a delta frame, its key frame before it: enough for window.Build and
// Latest; and when the node was heard of by it, in ms: its time, but when it arrived if it is dated ahead of that. If the newest one's key frame is not there it is the newest that
// can be read. None: no frames and no error.
func (s *Store) LatestFrames(ctx context.Context, account string, node uuid.UUID) (frames [][]byte, seen int64, err error) {
	ctx = dashboard(ctx, account)
	now := s.millis()
	take := func(w int64) error {
		more, at, err := s.latestIn(ctx, account, node, w)
		if err == nil && at > seen {
			frames, seen = more, at
		}
		return err
	}
	for _, w := range presentWindows(now) {
		if err := take(w); err != nil {
			return nil, 0, err
		}
		if seen >= w {
			break // all that is older was heard of before the window began
		}
	}
	if seen >= now-silentMillis {
		return frames, seen, nil
	}
	for _, w := range aheadWindows(now) {
		if err := take(w); err != nil {
			return nil, 0, err
		}
	}
	return frames, seen, nil
}

func (s *Store) latestIn(ctx context.Context, account string, node uuid.UUID, window int64) ([][]byte, int64, error) {
	var newest []byte
	var at, received int64
	err := s.each(ctx, func(scan func(...any) bool) bool { return scan(&at, &received, &newest) },
		"SELECT at, received, frame FROM "+s.table(freshTable)+" WHERE account = ? AND node = ? AND window = ? LIMIT 1", account, gocql.UUID(node), window)
	if newest == nil || err != nil {
		return nil, 0, err
	}
	from := heardAt(at, received)
	if from.ahead() {
		if from, err = s.newestOf(ctx, account, node, window); err != nil {
			return nil, 0, err
		}
		if newest, err = s.frameRow(ctx, "AND at = ?", account, gocql.UUID(node), window, from.at); err != nil {
			return nil, 0, err
		}
	}
	h, _, err := frame.Parse(newest)
	if err == nil && h.IsKey() {
		return [][]byte{newest}, from.seen, nil
	}
	if err == nil {
		key, err := s.frameRow(ctx, "AND at = ?", account, gocql.UUID(node), window, h.KeyAt())
		if err != nil {
			return nil, 0, err
		}
		if names(&h, key) {
			return [][]byte{key, newest}, from.seen, nil
		}
	}
	frames, err := s.latestReadable(ctx, account, node, window)
	if err != nil || len(frames) == 0 {
		return nil, 0, err
	}
	if h, _, err = frame.Parse(frames[len(frames)-1]); err != nil {
		return nil, 0, err
	}
	return frames, min(h.At, from.seen), nil
}

// latestReadable looks through a whole window, for the rare case that the newest frame's key frame is lost or late.
func (s *Store) latestReadable(ctx context.Context, account string, node uuid.UUID, window int64) ([][]byte, error) {
	frames, err := s.freshFrames(ctx, account, node, window)
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
			if names(&h, key) {
				return [][]byte{key, b}, nil
			}
		}
	}
	return nil, nil
}

// names reports whether a delta frame's header names the key frame in b.
func names(h *frame.Header, b []byte) bool {
	if b == nil {
		return false
	}
	k, _, err := frame.Parse(b)
	return err == nil && k.IsKey() && k.At == h.KeyAt() && k.Check == h.KeyCheck
}

// frameRow returns one frame of a window, or nil.
func (s *Store) frameRow(ctx context.Context, rest string, args ...any) ([]byte, error) {
	var b []byte
	err := s.each(ctx, func(scan func(...any) bool) bool { return scan(&b) },
		"SELECT frame FROM "+s.table(freshTable)+" WHERE account = ? AND node = ? AND window = ? "+rest, args...)
	return b, err
}
