// Command rollup measures what closing windows and rolling them up costs the store: CPU per
// window of a recorded node at 20 s, alone and with a real Cassandra, and memory per open window;
// and says whether 10,000 nodes of 2,000 series fit a process of two cores and 2 GB. The last is
// extrapolated.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/selecting"
)

const (
	interval = 20 // seconds
	nodes    = 10_000
	series   = 2_000
)

func main() {
	var recordings string
	bench.Recordings(&recordings)
	copies := flag.Int("copies", 20, "nodes that live through an hour on a real Cassandra")
	bench.Main("bench-rollup", func(ctx context.Context, r *bench.Result) error {
		r.Notes = "A recorded node of 100 tables, every fourth frame, so 20 s. cpu_ms_per_window " +
			"is the whole process, from frame to rows with the driver, on a real Cassandra, and " +
			"scaled to 2,000 series in proportion; what a window costs whatever its series is " +
			"scaled, too, so cores_10000_unscaled, for the recorded node's own series, is the " +
			"bound that fits_2_cores_2_gb goes by. cores are for 33.3 windows a second; it was " +
			"not run at that rate. Days are computed once an hour here, so 24 times too often."
		return measure(ctx, r, recordings, *copies)
	})
}

func measure(ctx context.Context, r *bench.Result, recordings string, copies int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	cassandra, err := engines.StartCassandra(ctx, engines.CassandraConfig{Dir: r.Dir, Heap: "512M"})
	if err != nil {
		return err
	}
	defer cassandra.Stop(context.WithoutCancel(ctx))
	worst := 0.0
	for _, name := range []string{"idle", "busy"} {
		frames, err := bench.Recording(recordings + "/" + name + ".rwf")
		if err != nil {
			return err
		}
		hour, n, err := hourOf(frames)
		if err != nil {
			return err
		}
		scale := float64(series) / float64(n)
		fmt.Printf("%s: %d frames a window, %d series\n", name, len(hour[0]), n)
		pure, err := compute(hour)
		if err != nil {
			return err
		}
		r.Add(name+"_series", n)
		for _, f := range pure.figures() {
			r.Add(name+"_"+f.Key, f.Value)
		}
		perWindow := pure.five + pure.hour/12 + pure.day/288
		cores := 1000.0 / 300 * perWindow.Seconds() * scale
		r.Add(name+"_rollup_cores_per_1000_nodes", cores)
		whole, bytes, err := onCassandra(ctx, cassandra.Addr(), name, hour, copies)
		if err != nil {
			return err
		}
		all := nodes / 300.0 * whole.Seconds() * scale
		r.Add(name+"_cores_10000_unscaled", nodes/300.0*whole.Seconds())
		worst = max(worst, nodes/300.0*whole.Seconds())
		r.Add(name+"_cpu_ms_per_window", whole.Seconds()*1e3*scale)
		r.Add(name+"_cores_10000", all)
		for level, b := range bytes {
			r.Add(name+"_bytes_"+level, float64(b)*scale)
		}
	}
	perOpen, err := openWindows(ctx, cassandra.Addr())
	if err != nil {
		return err
	}
	peak := float64(bench.Number("/proc/self/status", "VmHWM"))
	memory := (peak*1024 + 2*nodes*perOpen) / 1e9
	r.Add("bytes_per_open_window", perOpen)
	r.Add("peak_rss_mb", peak/1024)
	r.Add("fits_2_cores_2_gb", fmt.Sprint(worst <= 2 && memory <= 2))
	r.Add("memory_gb_10000", memory)
	fmt.Printf("10,000 nodes at 20 s: at most %.2f cores, %.2f GB with two windows of each node "+
		"open; extrapolated\n", worst, memory)
	return nil
}

// hourOf returns twelve windows of frames, each the recording's fullest window at 20 s, and how
// many series that has.
func hourOf(frames [][]byte) ([][][]byte, int, error) {
	byWindow := map[int64][]*frame.Frame{}
	var key *frame.Frame
	best := int64(0)
	for _, b := range frames {
		f, err := frame.Decode(b, key)
		if err != nil {
			return nil, 0, err
		}
		if f.IsKey() {
			key = f
		}
		w := f.Window()
		if n := len(byWindow[w]); f.IsKey() ||
			n > 0 && f.At-byWindow[w][n-1].At >= (interval-1)*1000 {
			byWindow[w] = append(byWindow[w], f)
		}
		if len(byWindow[w]) > len(byWindow[best]) {
			best = w
		}
	}
	list := byWindow[best]
	start := rollup.Hour.Start(best)
	var hour [][][]byte
	count := 0
	for i := range int64(12) {
		shift := start + i*frame.WindowMillis - best
		var encoded [][]byte
		var shifted *frame.Frame
		for _, f := range list {
			c := *f
			c.At += shift
			b, err := c.Append(nil, shifted)
			if err != nil {
				return nil, 0, err
			}
			if shifted == nil {
				shifted = &c
			}
			encoded = append(encoded, b)
		}
		hour = append(hour, encoded)
	}
	w, _, err := building.Window(window.Node{}, hour[0])
	if err != nil {
		return nil, 0, err
	}
	for _, s := range selecting.Select(w, 0, math.MaxInt64) {
		if s.Metric.Kind != frame.String {
			count++
		}
	}
	return hour, count, nil
}

// clock is what the store takes for now.
type clock struct{ millis, reads atomic.Int64 }

func (c *clock) now() time.Time {
	return time.UnixMilli(c.millis.Load()).Add(time.Duration(c.reads.Add(1)) * time.Microsecond)
}

func open(ctx context.Context, addr, keyspace string,
	c *clock) (*store.Store, *store.Metrics, error) {
	config := store.DefaultConfig()
	config.Hosts, config.Keyspace, config.Now = []string{addr}, keyspace, c.now
	config.Timeout = 30 * time.Second
	config.Log = slog.New(slog.DiscardHandler)
	m := store.NewMetrics(nil)
	s, err := node.OpenStore(ctx, config, m)
	return s, m, err
}

// onCassandra lets copies of the node live through the hour and returns this process's CPU per
// window, all in, and the bytes of a rollup by level.
func onCassandra(ctx context.Context, addr, name string, hour [][][]byte,
	copies int) (time.Duration, map[string]int64, error) {
	c := &clock{}
	h, _, err := frame.Parse(hour[0][0])
	if err != nil {
		return 0, nil, err
	}
	c.millis.Store(h.At)
	s, m, err := open(ctx, addr, "bench_"+name, c)
	if err != nil {
		return 0, nil, err
	}
	defer s.Close()
	w := store.NewWriter(s)
	offset := int64(0)
	before := bench.CPU()
	give := func(frames [][]byte) error {
		for _, b := range frames {
			var records []stream.Record
			for i := range copies {
				records = append(records, stream.Record{Account: fmt.Sprint("bench-", i),
					Offset: offset, Value: b})
				offset++
			}
			if err := w.Handle(ctx, records); err != nil {
				return err
			}
		}
		return nil
	}
	if err := give(hour[0][:1]); err != nil {
		return 0, nil, err
	}
	for i, frames := range hour {
		if err := give(frames[1:]); err != nil {
			return 0, nil, err
		}
		end := h.Window() + int64(i+1)*frame.WindowMillis
		c.millis.Store(end + 1000)
		if i+1 < len(hour) { // the next window has begun when this one is closed
			if err := give(hour[i+1][:1]); err != nil {
				return 0, nil, err
			}
		}
		c.millis.Store(end + 25_000)
		if i+1 == len(hour) {
			c.millis.Store(end + 600_000)
		}
		if err := w.CloseDue(ctx, c.now()); err != nil {
			return 0, nil, err
		}
	}
	if _, open := w.LowWater(0); open {
		return 0, nil, fmt.Errorf("windows stayed open")
	}
	spent := bench.CPU() - before
	bytes := map[string]int64{}
	for level, of := range map[string]int{"5m": 12 * copies, "1h": copies, "1d": copies} {
		bytes[level] = int64(counter(m.RollupBytes.WithLabelValues(level))) / int64(of)
	}
	return spent / time.Duration(copies*len(hour)), bytes, nil
}

// openWindows returns the heap that an open window takes, in bytes.
func openWindows(ctx context.Context, addr string) (float64, error) {
	const n = 20_000
	c := &clock{}
	c.millis.Store(time.Now().UnixMilli())
	s, _, err := open(ctx, addr, "bench_open", c)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	w := store.NewWriter(s)
	f := frame.Frame{Header: frame.Header{Node: [16]byte{1}, Cluster: "bench", Started: 1,
		At: c.millis.Load(), Interval: interval * 1000}}
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	var records []stream.Record
	for i := range n {
		f.Node[14], f.Node[15], f.Node[13] = byte(i>>8), byte(i), byte(i>>16)
		b, err := f.Append(nil, nil)
		if err != nil {
			return 0, err
		}
		records = append(records, stream.Record{Account: "bench", Offset: int64(i), Value: b})
	}
	if err := w.Handle(ctx, records[:100]); err != nil { // what the driver keeps
		return 0, err
	}
	before := heap()
	if err := w.Handle(ctx, records[100:]); err != nil {
		return 0, err
	}
	after := heap()
	runtime.KeepAlive(records)
	runtime.KeepAlive(w)
	return (after - before) / (n - 100), nil
}

func counter(c prometheus.Counter) float64 {
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		return 0
	}
	return m.GetCounter().GetValue()
}
