package recent

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// neighbour is how far beyond a range its neighbouring frames are looked for, in ms: the frame
// before the range and the one after it show by their sequence numbers that nothing is missing at
// its edges. An agent slower than this is read from the store.
const neighbour = 60_000

// newestLag is how much later than two intervals the newest frame may be before the end of a range
// is no longer taken as complete, in ms.
const newestLag = 2_000

// Frames returns the node's frames from from to to, both inclusive and in milliseconds, by
// ascending time, each delta frame's key frame among them even when it is older than from.
// complete says that no frame of the range is missing: their sequence numbers run without a gap
// from the frame before the range to the one after it, or to one that is not older than two
// intervals. Where an agent started within the range, the cluster's writer must have said that
// the log has nothing between the run's first frame and what lies before it here. A frame that
// was lost makes a range incomplete; it is the store's then. The error is ErrMiss when nothing of
// the range is kept.
func (r *Reader) Frames(ctx context.Context, account string, node uuid.UUID,
	from, to int64) (frames [][]byte, complete bool, err error) {
	defer r.observe("frames", time.Now(), &err, &complete)
	now := r.config.millis()
	windows := span(from, to, now, &r.config)
	if len(windows) == 0 {
		return nil, false, ErrMiss
	}
	found, err := r.fetch(ctx, account, node, windows)
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
	runs, unbroken := runs(headers, from, to, now)
	complete = len(headers) == len(found) && unbroken
	if complete && len(runs) > 0 {
		if complete, err = r.began(ctx, account, headers, runs); err != nil {
			return nil, false, err
		}
	}
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

// span returns the windows that a range and the frames beside it lie in.
func span(from, to, now int64, c *Config) (windows []int64) {
	first := max(frame.WindowOf(from-neighbour), frame.WindowOf(now-c.Keep.Milliseconds()))
	for w := first; w <= min(frame.WindowOf(to+neighbour),
		frame.WindowOf(now+maxAhead)); w += frame.WindowMillis {
		windows = append(windows, w)
	}
	return windows
}

// runs reports whether headers, by ascending time, hold every frame of a range, if nothing is
// missing before each of the returned runs of an agent that start in it.
func runs(headers []frame.Header, from, to, now int64) (begin []runStart, unbroken bool) {
	if len(headers) == 0 {
		return nil, false
	}
	// the number of frames before the range
	before, _ := slices.BinarySearchFunc(headers, from, byTime)
	if before == 0 {
		if headers[0].Sequence != 0 {
			return nil, false
		}
		begin = append(begin, runStart{from - 1, headers[0].At})
		before = 1
	}
	h, rest := headers[before-1], headers[before:]
	for i := 0; h.At <= to && i < len(rest); i++ {
		next := rest[i]
		switch {
		case next.Started == h.Started && next.Sequence == h.Sequence+1:
		case next.Started != h.Started && next.Sequence == 0:
			begin = append(begin, runStart{h.At, next.At})
		default:
			return nil, false
		}
		h = next
	}
	return begin, reaches(&h, to, now)
}

// reaches reports whether nothing can be missing between a frame, after which no other is here,
// and the end of a range.
func reaches(h *frame.Header, to, now int64) bool {
	fresh := now - 2*h.Interval - newestLag
	return h.At > to || h.At >= fresh && to >= fresh
}

// began reports whether the writer of the node's cluster says that the log has no frame before
// each of the runs, back to what is here. It is asked after the frames were read, so that it
// knows of all that is missing among them.
func (r *Reader) began(ctx context.Context, account string, headers []frame.Header,
	runs []runStart) (bool, error) {
	for i := range headers {
		if headers[i].Cluster != headers[0].Cluster {
			return false, nil // two writers' logs
		}
	}
	known, err := r.starts(ctx, clusterKey(account, headers[0].Cluster), headers[0].Node)
	if err != nil {
		return false, err
	}
	for _, run := range runs {
		if !proves(known, run) {
			return false, nil
		}
	}
	return true, nil
}

func byTime(h frame.Header, at int64) int { return cmp.Compare(h.At, at) }
