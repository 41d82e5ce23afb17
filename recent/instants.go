package recent

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/frame"
)

// instantsAtOnce is of how many nodes instants are asked for in one pipeline: some 10 KB each.
const instantsAtOnce = 256

// Instants returns when nodes sent frames from from to to, both inclusive and in milliseconds, by
// ascending time, and of which of the nodes these are surely all. One pipeline asks for the names
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
		if err := r.instantsOf(ctx, account, nodes[at:end], from, to, instants[at:end], whole[at:end]); err != nil {
			return nil, nil, err
		}
	}
	proved = !slices.Contains(whole, false)
	return instants, whole, nil
}

func (r *Reader) instantsOf(
	ctx context.Context, account string, nodes []uuid.UUID, from, to int64, instants [][]int64, whole []bool,
) error {
	call, cancel := context.WithTimeout(ctx, r.config.ReadTimeout)
	defer cancel()
	client, err := r.link.get(call)
	if err != nil {
		return err
	}
	now := r.config.millis()
	times, err := r.times(call, client, account, nodes, span(from, to, now, &r.config))
	if err != nil {
		return r.judge(ctx, err)
	}
	var commands rueidis.Commands
	var asked []edges
	for i, list := range times {
		e, some := edgesOf(list, from, to)
		if !some {
			continue
		}
		e.node = i
		for _, at := range []int64{list[e.first], list[e.last]} {
			commands = append(commands, client.B().Hget().Key(windowKey(account, nodes[i], frame.WindowOf(at))).
				Field(strconv.FormatInt(at, 10)).Build())
		}
		asked = append(asked, e)
	}
	if len(commands) == 0 {
		return nil
	}
	answers := client.DoMulti(call, commands...)
	for k, e := range asked {
		first, failed := header(answers[2*k])
		if failed != nil {
			return r.judge(ctx, failed)
		}
		last, failed := header(answers[2*k+1])
		if failed != nil {
			return r.judge(ctx, failed)
		}
		if e.proved(first, last, to, now) {
			list := times[e.node]
			i, _ := slices.BinarySearch(list, from)
			j, _ := slices.BinarySearch(list, to+1)
			instants[e.node], whole[e.node] = list[i:max(i, j)], true
		}
	}
	return nil
}

// times returns by node the times of all frames in some windows, ascending.
func (r *Reader) times(
	ctx context.Context, client rueidis.Client, account string, nodes []uuid.UUID, windows []int64,
) ([][]int64, error) {
	times := make([][]int64, len(nodes))
	commands := make(rueidis.Commands, 0, len(nodes)*len(windows))
	for _, n := range nodes {
		for _, w := range windows {
			commands = append(commands, client.B().Hkeys().Key(windowKey(account, n, w)).Build())
		}
	}
	if len(commands) == 0 {
		return times, nil
	}
	for i, result := range client.DoMulti(ctx, commands...) {
		names, err := result.ToArray()
		if err != nil {
			return nil, err
		}
		for k := range names {
			name, err := names[k].ToString()
			if err != nil {
				return nil, err
			}
			if at, err := strconv.ParseInt(name, 10, 64); err == nil { // else last, key, seen
				times[i/len(windows)] = append(times[i/len(windows)], at)
			}
		}
	}
	for i := range times {
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
func header(result rueidis.RedisResult) (*frame.Header, error) {
	b, err := result.AsBytes()
	if rueidis.IsRedisNil(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if h, _, err := frame.Parse(b); err == nil {
		return &h, nil
	}
	return nil, nil
}
