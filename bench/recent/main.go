// Command recent measures what the last fifteen minutes of nodes take in Redis and how many nodes
// a Redis and one writer keep up with.
//
// Memory: the frames of a busy node, through recent.Writer, beside the model that Redis is mostly
// used with: a sorted set per series, scored by time, whose members are the JSON of a value. Both
// in turn into Redis servers of their own, whose used_memory is read before and after. Writes:
// frames of 500 nodes again and again into a Redis with maxmemory, as fast as one writer goes; by
// one connection that all share, and by one each of four consumers.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
)

type options struct {
	recordings string
	rounds     int
	seconds    float64
}

// sizes are the nodes that are measured: tables of the recordings' and the series that come of it.
var sizes = []struct {
	name   string
	tables int
}{{"2000", 9}, {"10000", 90}}

// memoryNodes is how many nodes fill a Redis at 20 s, so that what it takes once is little; at 5
// s a quarter of them.
const memoryNodes = 8

func main() {
	var o options
	bench.Recordings(&o.recordings)
	flag.IntVar(&o.rounds, "rounds", 5, "rounds of writing, each way in turn")
	flag.Float64Var(&o.seconds, "seconds", 5, "how long a round writes")
	bench.Main("bench-recent", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	})
}

func run(ctx context.Context, o options, r *bench.Result) error {
	dir, err := os.MkdirTemp("", "ringwatch-recent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	least := 0.0
	for _, interval := range []int64{20_000, 5_000} {
		for _, size := range sizes {
			shape, err := fleet.Read(o.recordings+"/busy.rwf", "busy", size.tables, interval)
			if err != nil {
				return err
			}
			var fleet some
			for i := range int(memoryNodes * interval / 20_000) {
				f, err := fifteenMinutes(shape, i)
				if err != nil {
					return err
				}
				fleet = append(fleet, f)
			}
			key := fmt.Sprintf("%s_series_%ds", size.name, interval/1000)
			fmt.Printf("memory: %d nodes of %d series every %d s, %d frames each\n", len(fleet),
				shape.Series, interval/1000, len(fleet[0].frames))
			ours, err := fleet.memory(ctx, dir+"/ours-"+key, (*span).writeFrames)
			if err != nil {
				return err
			}
			zset, err := fleet.memory(ctx, dir+"/zset-"+key, (*span).writeSortedSets)
			if err != nil {
				return err
			}
			ratio := float64(zset) / float64(ours)
			fmt.Printf("  a node: ours %.2f MB, sorted sets of JSON %.1f MB: %.0f times\n",
				float64(ours)/1e6, float64(zset)/1e6, ratio)
			r.Add("series_"+key, shape.Series)
			r.Add("ours_bytes_"+key, ours)
			r.Add("zset_bytes_"+key, zset)
			r.Add("zset_over_ours_bytes_"+key, ratio)
			if least == 0 || ratio < least {
				least = ratio
			}
		}
	}
	w, err := writes(ctx, o, dir)
	if err != nil {
		return err
	}
	r.Values = append([]bench.Value{{Key: "zset_over_ours_bytes", Value: least},
		{Key: "nodes_at_20s", Value: w.nodes}, {Key: "client_gain", Value: w.gain}}, r.Values...)
	r.Add("shared_frames_per_s", w.shared)
	r.Add("each_frames_per_s", w.each)
	r.Add("write_cpu_cores", w.cores)
	r.Add("redis_cpu_cores", w.redisCores)
	r.Add("maxmemory_bytes", int64(maxMemory))
	r.Add("peak_bytes", w.peak)
	r.Add("evicted_keys", w.evicted)
	r.Notes = fmt.Sprintf(
		"zset_over_ours_bytes is the least of four: frames of a busy node (made from the "+
			"recording, bench/fleet), %s and %s series, every 20 and 5 s, the windows that 15 "+
			"minutes touch; bytes are of one node, the mean of several; a sorted set per series "+
			"with JSON members of value and time, histograms with "+
			"count, sum and buckets. nodes_at_20s: frames of 2,000 series a second through one "+
			"recent.Writer with the better kind of client, times 20; medians of %d rounds of %g "+
			"s, generator and Redis on the same two cores. client_gain: a client per consumer "+
			"over a shared one, four consumers. "+
			"peak_bytes: used_memory_peak under that load with maxmemory %d, less than the frames "+
			"need, and volatile-ttl.", sizes[0].name, sizes[1].name, o.rounds, o.seconds,
		int64(maxMemory))
	return nil
}

// span are the frames of one node.
type span struct {
	shape  *fleet.Shape
	node   *fleet.Node
	frames [][]byte
	now    time.Time // of the newest
}

// fifteenMinutes makes a node's frames up to now.
func fifteenMinutes(s *fleet.Shape, number int) (*span, error) {
	f := &span{shape: s, node: fleet.NewNode(s, 1, number)}
	now := time.Now().UnixMilli()
	for at := frame.WindowOf(now) - 2*frame.WindowMillis; at < frame.WindowOf(now)+
		frame.WindowMillis; at += s.Interval {
		b, err := f.node.Frame(at)
		if err != nil {
			return nil, err
		}
		f.frames = append(f.frames, append([]byte(nil), b...))
		f.now = time.UnixMilli(at)
		f.node.Step()
	}
	return f, nil
}
