package recent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// neighbour is how far beyond a range its neighbouring frames are looked for, in ms: the frame before the range and the one after it
// show by their sequence numbers that nothing is missing at its edges. An agent slower than this is read from the store.
const neighbour = 60_000

// lag is how much later than two intervals the newest frame may be before the end of a range is no longer taken as complete, in ms.
const lag = 2_000

// Frames returns the node's frames from from to to, both inclusive and in milliseconds, by ascending time, each delta frame's key frame
// among them even when it is older than from. complete says that no frame of the range is missing: their sequence numbers run without a
// gap from the frame before the range to the one after it, or to one that is not older than two intervals. An agent that started
// again or lost a frame makes a range incomplete; it is the store's then. The error is ErrMiss when Redis knows nothing of the range.
func (r *Reader) Frames(ctx context.Context, account string, node uuid.UUID, from, to int64) (frames [][]byte, complete bool, err error) {
	defer r.observe("frames", time.Now(), &err, &complete)
	now := r.config.millis()
	first := max(frame.WindowOf(from-neighbour), frame.WindowOf(now-r.config.Keep.Milliseconds()))
	last := min(frame.WindowOf(to+neighbour), frame.WindowOf(now+maxAhead))
	if first > last {
		return nil, false, ErrMiss
	}
	found, err := r.fetch(ctx, account, node, first, last)
	if err != nil {
		return nil, false, err
	}
	headers := make([]frame.Header, 0, len(found))
	for _, b := range found {
		if h, _, err := frame.Parse(b); err == nil {
			headers = append(headers, h)
		}
	}
	slices.SortFunc(headers, func(a, b frame.Header) int { return byTime(a, b.At) })
	complete = len(headers) == len(found) && unbroken(headers, from, to, now)
	taken := map[int64]bool{}
	take := func(at int64) {
		if !taken[at] {
			taken[at] = true
			frames = append(frames, found[at])
		}
	}
	for _, h := range headers {
		if h.At < from || h.At > to {
			continue
		}
		if !h.IsKey() {
			i, ok := slices.BinarySearchFunc(headers, h.KeyAt(), byTime)
			if !ok || headers[i].Check != h.KeyCheck {
				complete = false
				continue
			}
			take(h.KeyAt())
		}
		take(h.At)
	}
	if len(frames) == 0 && !complete {
		return nil, false, ErrMiss
	}
	return frames, complete, nil
}

// unbroken reports whether headers, by ascending time, hold every frame of a range.
func unbroken(headers []frame.Header, from, to, now int64) bool {
	before, _ := slices.BinarySearchFunc(headers, from, byTime) // the number of frames before the range
	if before == 0 {
		return false // what came before the range is not known
	}
	before--
	h := headers[before]
	for _, next := range headers[before+1:] {
		if next.Started != h.Started || next.Sequence != h.Sequence+1 {
			return false
		}
		h = next
		if h.At > to {
			return true
		}
	}
	fresh := now - 2*h.Interval - lag
	return h.At >= fresh && to >= fresh
}

func byTime(h frame.Header, at int64) int { return cmp.Compare(h.At, at) }
