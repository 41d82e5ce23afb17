package fresh

import (
	"context"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
)

// recentMillis is how far back LatestFrames and LastSeen look.
const recentMillis = 15 * 60_000

// Latest returns the node's newest frame of the last 15 minutes and, if that is a delta frame, its
// key frame before it; and when the node was heard of by it, in ms. If the newest one's key frame
// is not there it is the newest that can be read, and newer says so. None: no frames and no error.
func (s *Frames) Latest(ctx context.Context, work rows.Work, lease *memory.Lease, account string,
	node uuid.UUID, now int64) (frames [][]byte, heard int64, newer bool, err error) {
	take := func(w int64) error {
		more, at, keyless, err := s.latestIn(ctx, work, lease, account, node, w)
		if err == nil && at > heard {
			frames, heard = more, at
		}
		newer = newer || keyless
		return err
	}
	for _, w := range presentWindows(now) {
		if err := take(w); err != nil {
			return nil, 0, false, err
		}
		if heard >= w {
			break // all that is older was heard of before the window began
		}
	}
	if heard >= now-silentMillis {
		return frames, heard, newer, nil
	}
	for _, w := range aheadWindows(now) {
		if err := take(w); err != nil {
			return nil, 0, false, err
		}
	}
	return frames, heard, newer, nil
}

// latestIn is LatestFrames of one window; keyless says that its newest frame cannot be read yet.
func (s *Frames) latestIn(ctx context.Context, w rows.Work, lease *memory.Lease, account string,
	node uuid.UUID, window int64) (frames [][]byte, heard int64, keyless bool, err error) {
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
		if newest, err = s.One(ctx, w, account, node, window, from.at); err != nil {
			return nil, 0, false, err
		}
	}
	h, _, err := frame.Parse(newest)
	if err == nil && h.IsKey() {
		return [][]byte{newest}, from.by, false, nil
	}
	if err == nil {
		key, err := s.One(ctx, w, account, node, window, h.KeyAt())
		if err != nil {
			return nil, 0, false, err
		}
		if NamesKey(&h, key) {
			return [][]byte{key, newest}, from.by, false, nil
		}
	}
	frames, err = s.latestReadable(ctx, w, lease, account, node, window)
	if err != nil || len(frames) == 0 {
		return nil, 0, true, err
	}
	if h, _, err = frame.Parse(frames[len(frames)-1]); err != nil {
		return nil, 0, true, err
	}
	return frames, min(h.At, from.by), true, nil
}

// latestReadable looks through a whole window, for the rare case that the newest frame's key frame
// is lost or late.
func (s *Frames) latestReadable(ctx context.Context, w rows.Work, lease *memory.Lease,
	account string, node uuid.UUID, window int64) ([][]byte, error) {
	frames, err := s.InWindow(ctx, w, lease, account, node, window)
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
			if NamesKey(&h, key) {
				return [][]byte{key, b}, nil
			}
		}
	}
	return nil, nil
}
