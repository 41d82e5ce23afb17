package recent

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// instantsAtOnce is of how many nodes instants are asked for at once: some 10 KB each.
const instantsAtOnce = 256

// Instants returns when nodes sent frames from from to to, both inclusive and in milliseconds, by
// ascending time, and of which of the nodes these are surely all. One question is for the times
// of all nodes' frames, and a second one for two frames of each: the one before the range, and the
// one after it or the newest. If one run of the agent sent both, and as many frames lie between
// them as their sequence numbers say, none is missing. A frame counts though its key frame is not
// here. Of a node of which that does not hold, such as one whose agent started within the range,
// Frames may still know all.
func (r *Reader) Instants(
	ctx context.Context, account string, nodes []uuid.UUID, from, to int64,
) (instants [][]int64, whole []bool, err error) {
	proved := true
	defer r.observe("instants", time.Now(), &err, &proved)
	instants, whole = make([][]int64, len(nodes)), make([]bool, len(nodes))
	for at := 0; at < len(nodes); at += instantsAtOnce {
		end := min(at+instantsAtOnce, len(nodes))
		if err := r.instantsOf(ctx, account, nodes[at:end], from, to, instants[at:end],
			whole[at:end]); err != nil {
			return nil, nil, err
		}
	}
	proved = !slices.Contains(whole, false)
	return instants, whole, nil
}

func (r *Reader) instantsOf(
	ctx context.Context, account string, nodes []uuid.UUID, from, to int64, instants [][]int64,
	whole []bool,
) error {
	call, cancel := within(ctx, r.config.ReadTimeout)
	defer cancel()
	now := r.config.millis()
	times, err := r.times(call, account, nodes, span(from, to, now, &r.config))
	if err != nil {
		return r.failed(ctx, err)
	}
	var picked []frameID
	var asked []edges
	for i, list := range times {
		e, some := edgesOf(list, from, to)
		if !some {
			continue
		}
		e.node = i
		for _, at := range []int64{list[e.first], list[e.last]} {
			picked = append(picked, frameID{windowID{account, nodes[i], frame.WindowOf(at)}, at})
		}
		asked = append(asked, e)
	}
	if len(picked) == 0 {
		return nil
	}
	frames, err := r.backend.frameAt(call, picked)
	if err != nil {
		return r.failed(ctx, err)
	}
	for k, e := range asked {
		if e.proved(header(frames[2*k]), header(frames[2*k+1]), to, now) {
			list := times[e.node]
			i, _ := slices.BinarySearch(list, from)
			j, _ := slices.BinarySearch(list, to+1)
			instants[e.node], whole[e.node] = list[i:max(i, j)], true
		}
	}
	return nil
}

// times returns by node the times of all frames in some windows, ascending.
func (r *Reader) times(ctx context.Context, account string, nodes []uuid.UUID,
	windows []int64) ([][]int64, error) {
	times := make([][]int64, len(nodes))
	if len(windows) == 0 {
		return times, nil
	}
	var asked []windowID
	for _, n := range nodes {
		asked = append(asked, windowIDs(account, n, windows)...)
	}
	found, err := r.backend.times(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i := range times {
		times[i] = slices.Concat(found[i*len(windows) : (i+1)*len(windows)]...)
		slices.Sort(times[i])
	}
	return times, nil
}

// edges are the two frames of a node, by their places among its frames, between which a range lies.
type edges struct{ node, first, last int }

// edgesOf returns the edges of a range; false if no frame before it is here.
func edgesOf(times []int64, from, to int64) (edges, bool) {
	before, _ := slices.BinarySearch(times, from)
	if before == 0 {
		return edges{}, false
	}
	after, _ := slices.BinarySearch(times, to+1)
	return edges{first: before - 1, last: min(after, len(times)-1)}, true
}

// proved reports whether no frame is missing between the edges, nor up to the range's end.
func (e edges) proved(first, last *frame.Header, to, now int64) bool {
	if first == nil || last == nil || first.Started != last.Started ||
		int64(last.Sequence)-int64(first.Sequence) != int64(e.last-e.first) {
		return false
	}
	return reaches(last, to, now)
}

// header reads the header of a frame; nil if it is not there or cannot be read.
func header(b []byte) *frame.Header {
	if h, _, err := frame.Parse(b); err == nil {
		return &h
	}
	return nil
}
