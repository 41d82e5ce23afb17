package encoder

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
)

var target = reading.Target{Kind: reading.Redis, Cluster: "shop", Datacenter: "dc1", Rack: "r1",
	Job: "redis", Instance: "10.0.0.1:6379", Interval: 20 * time.Second}

const epoch = 1_790_000_100_000 // the start of a window

// state is what frames say, by series.
type state map[string]string

// readers decodes frames as those who read them do.
type readers struct {
	follower *following.Follower
	keys     int
}

func newReaders() *readers {
	return &readers{follower: following.New(window.Node{Account: "a", ID: target.ID()}, nil)}
}

func (r *readers) read(t *testing.T, b []byte) state {
	t.Helper()
	h, _, err := frame.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if h.IsKey() {
		r.keys++
	}
	got := state{}
	if _, err := r.follower.Frame(nil, b, func(c *following.Cell) {
		m := c.Of.Metrics[c.Metric]
		var v any
		switch m.Kind {
		case frame.Counter, frame.Gauge:
			v = frame.Scale(c.Int, m.Exponent)
		case frame.GaugeDouble:
			v = c.Double
		case frame.Histogram:
			counts := make([]int64, len(m.Bounds.Upper)+1)
			for i, bucket := range c.Histogram.Filled {
				counts[bucket] = c.Histogram.Counts[i]
			}
			v = fmt.Sprint(counts, c.Histogram.Sum)
		}
		got[c.Labels().String()] = fmt.Sprint(v)
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

// said is what a reading says, in the same form.
func said(r *reading.Reading) state {
	want := state{}
	for i := range r.Tables {
		t := &r.Tables[i]
		for row := range t.Rows {
			for j := range t.Columns {
				c := &t.Columns[j]
				if !present(c, row) {
					continue
				}
				labels := map[string]string{"cluster": target.Cluster, "datacenter": "dc1",
					"rack": "r1", "node": target.ID().String(), "__name__": c.Name,
					"job": target.Job, "instance": target.Instance}
				for k, name := range t.Labels {
					labels[name] = t.Rows[row][k]
				}
				var text []string
				for _, name := range slices.Sorted(maps.Keys(labels)) {
					if v := labels[name]; v != "" {
						text = append(text, fmt.Sprintf("%s=%q", name, v))
					}
				}
				var v any
				switch c.Kind {
				case frame.Counter, frame.Gauge:
					v = frame.Scale(c.Ints[row], c.Exponent)
				case frame.GaugeDouble:
					v = c.Doubles[row]
				default:
					v = fmt.Sprint(c.Histograms[row].Counts, c.Histograms[row].Sum)
				}
				want["{"+strings.Join(text, ", ")+"}"] = fmt.Sprint(v)
			}
		}
	}
	return want
}

func mustEncoder() *Encoder {
	return New(target, epoch, frame.Fact{Name: "job", Value: target.Job},
		frame.Fact{Name: "instance", Value: target.Instance})
}

// life changes a reading as targets do: entities come, go and move, values change, some have none,
// and now and then the shape is another.
type life struct {
	*rand.Rand
	now     *reading.Reading
	unusual int
}

func (l *life) step() {
	next := &reading.Reading{}
	if l.now == nil || l.IntN(30) == 0 {
		l.unusual++
	}
	for i := range 1 + l.IntN(3) {
		t := reading.Table{Type: fmt.Sprintf("type_%d", i), Labels: []string{"name", "part"}[:i%3]}
		switch {
		case len(t.Labels) == 0:
			t.Rows = [][]string{{}}
		default:
			for n := range 8 {
				if l.IntN(5) > 0 {
					t.Rows = append(t.Rows, []string{fmt.Sprint("n", n), ""}[:len(t.Labels)])
				}
			}
			if l.IntN(2) == 0 {
				l.Shuffle(len(t.Rows), func(a, b int) {
					t.Rows[a], t.Rows[b] = t.Rows[b], t.Rows[a]
				})
			}
		}
		rows := len(t.Rows)
		add := func(kind frame.Kind, fill func(*reading.Column)) {
			c := reading.Column{Name: fmt.Sprintf("m_%d_%d", i, len(t.Columns)), Kind: kind}
			fill(&c)
			t.Columns = append(t.Columns, c)
		}
		add(frame.Counter, func(c *reading.Column) {
			c.Exponent = -l.unusual % 4
			for range rows {
				c.Ints = append(c.Ints, []int64{0, 1, 7, 1 << 50, reading.NoInt, -3}[l.IntN(6)])
			}
		})
		add(frame.Gauge, func(c *reading.Column) {
			for range rows {
				c.Ints = append(c.Ints, []int64{0, -5, 12, reading.NoInt}[l.IntN(4)])
			}
		})
		add(frame.GaugeDouble, func(c *reading.Column) {
			for range rows {
				c.Doubles = append(c.Doubles, []float64{0, 0.1, math.Inf(1), math.NaN()}[l.IntN(4)])
			}
		})
		add(frame.Histogram, func(c *reading.Column) {
			c.Bounds, c.HasSum = frame.Bounds{Upper: []int64{1, 2, int64(5 + l.unusual)}}, true
			for range rows {
				h := reading.Histogram{Sum: int64(l.IntN(3)),
					Counts: []int64{int64(l.IntN(2)), 0, int64(l.IntN(3)), 1}}
				if l.IntN(4) == 0 {
					h = reading.Histogram{}
				}
				c.Histograms = append(c.Histograms, h)
			}
		})
		next.Tables = append(next.Tables, t)
	}
	l.now = next
}

// TestFrames: whatever a target does, each frame says what was read, and most are delta frames.
func TestFrames(t *testing.T) {
	for seed := range uint64(60) {
		l := &life{Rand: rand.New(rand.NewPCG(seed, 7))}
		e, r := mustEncoder(), newReaders()
		for pass := range 40 {
			l.step()
			b, left, err := e.Frame(epoch+int64(pass)*10_000, 0, l.now)
			if err != nil || left != 0 {
				t.Fatalf("seed %d, pass %d: %d left, %v", seed, pass, left, err)
			}
			if got, want := r.read(t, b), said(l.now); !maps.Equal(got, want) {
				t.Fatalf("seed %d, pass %d: got\n%v\nwant\n%v", seed, pass, got, want)
			}
		}
		if r.keys > 30 {
			t.Errorf("seed %d: %d of 40 frames are key frames", seed, r.keys)
		}
	}
}

// TestStill: what stands still costs a header. A lost key frame is followed by another.
func TestStill(t *testing.T) {
	rows := make([][]string, 20_000)
	ints := make([]int64, len(rows))
	for i := range rows {
		rows[i], ints[i] = []string{fmt.Sprint("topic-", i)}, int64(i)*1000
	}
	r := &reading.Reading{Facts: []frame.Fact{{Name: "version", Value: "7.0.15"}},
		Tables: []reading.Table{{Type: "topic", Labels: []string{"topic"}, Rows: rows,
			Columns: []reading.Column{{Name: "offset", Kind: frame.Gauge, Ints: ints}}}}}
	e := mustEncoder()
	frames := newReaders()
	pass := func(at int64) int {
		t.Helper()
		b, _, err := e.Frame(at, 0, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := frames.read(t, b); len(got) != len(rows) {
			t.Fatalf("%d series of %d", len(got), len(rows))
		}
		return len(b)
	}
	key := pass(epoch)
	if n := pass(epoch + 20_000); n > 120 || key < 10_000 {
		t.Errorf("a frame of what stands still has %d bytes, the key frame %d", n, key)
	}
	ints[3]++
	if n := pass(epoch + 40_000); n > 130 {
		t.Errorf("a frame with one change has %d bytes", n)
	}
	e.Lost(epoch + 40_000) // a delta frame, which nobody needs
	pass(epoch + 50_000)
	e.Lost(epoch)
	pass(epoch + 60_000)
	pass(epoch + 300_000) // the next window
	if frames.keys != 3 {
		t.Errorf("%d key frames, want 3", frames.keys)
	}
	r.Facts[0].Value = "7.2"
	pass(epoch + 320_000)
	if frames.keys != 4 {
		t.Errorf("%d key frames: another version must be said", frames.keys)
	}
	b, _, err := e.Frame(epoch+300_000, 0, r) // a clock that went back a little
	if err != nil {
		t.Fatal(err)
	}
	if h, _, _ := frame.Parse(b); h.At != epoch+320_001 {
		t.Errorf("the frame is of %d", h.At)
	}
	if h, _, _ := frame.Parse(b); h.IsKey() {
		t.Error("it should be a delta frame")
	}
	if b, _, err = e.Frame(epoch, 0, r); err != nil { // and one that was set back
		t.Fatal(err)
	}
	if h, _, _ := frame.Parse(b); h.At != epoch || !h.IsKey() || h.Sequence != 0 {
		t.Errorf("after the clock was set back the frame is %+v", h)
	}
	moved := target
	moved.Rack = "r2"
	e.Of(moved)
	if b, _, err = e.Frame(epoch+1, 0, r); err != nil {
		t.Fatal(err)
	}
	if id, err := frame.ReadIdentity(b); err != nil || id.Rack != "r2" {
		t.Errorf("%+v, %v", id, err)
	}
}

// TestUnfit: what a frame cannot hold is left out and counted, and the rest arrives.
func TestUnfit(t *testing.T) {
	one := func(name, kind string, labels ...string) reading.Table {
		row := make([]string, len(labels))
		for i := range row {
			row[i] = "v\xff" + strings.Repeat("x", 2000)
		}
		return reading.Table{Type: kind, Labels: labels, Rows: [][]string{row, row},
			Columns: []reading.Column{{Name: name, Kind: frame.Gauge, Ints: []int64{1, 2}}}}
	}
	r := &reading.Reading{Tables: []reading.Table{
		one("a", "a", "cluster", "quantile"), one("b", "B", "x"), one("a", "c", "x"),
		one("c", "d", "job"), one("no name", "e", "x"), one("f", "f", "__x"),
		one("g", "a", "x"),
		one("h", "h", strings.Split("a b c d e f g h i j k l m n o p", " ")...),
	}}
	b, left, err := mustEncoder().Frame(epoch, 0, r)
	if err != nil {
		t.Fatal(err)
	}
	if left != 14 {
		t.Errorf("%d series were left out, want 14", left)
	}
	got := newReaders().read(t, b)
	if len(got) != 1 {
		t.Fatalf("%v", got)
	}
	for labels := range got {
		if !strings.Contains(labels, `exported_cluster="vx`) || strings.Contains(labels, "\xff") ||
			!strings.Contains(labels, `cluster="shop"`) || !strings.Contains(labels, "quantile=") {
			t.Errorf("%s", labels)
		}
	}
}

// BenchmarkFrame makes frames of a Kafka cluster with 180,000 series of groups' partitions, of
// which half change from one reading to the next.
func BenchmarkFrame(b *testing.B) {
	const rows = 60_000
	t := reading.Table{Type: "group", Labels: []string{"consumergroup", "topic", "partition"}}
	names := []string{"kafka_consumergroup_current_offset", "kafka_consumergroup_lag",
		"kafka_consumergroup_partition_lag_seconds"}
	columns := make([][]int64, len(names))
	for i := range rows {
		t.Rows = append(t.Rows, []string{fmt.Sprint("group-", i/1000),
			fmt.Sprint("topic-", i/100%10), fmt.Sprint(i % 100)})
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range names {
		for range rows {
			columns[i] = append(columns[i], random.Int64N(1e9))
		}
	}
	e := mustEncoder()
	bytes, pass := 0, int64(0)
	for b.Loop() {
		next := t
		for i, name := range names {
			values := slices.Clone(columns[i])
			for row := 0; row < rows; row += 2 {
				values[row] += random.Int64N(1000)
			}
			next.Columns = append(next.Columns, reading.Column{Name: name, Kind: frame.Gauge,
				Ints: values})
		}
		made, _, err := e.Frame(epoch+pass%14*20_000, 0,
			&reading.Reading{Tables: []reading.Table{next}})
		if err != nil {
			b.Fatal(err)
		}
		if pass == 0 {
			h, _, _ := frame.Parse(made)
			b.ReportMetric(float64(h.RawLength), "key-raw-B")
			b.ReportMetric(float64(len(made)), "key-B")
		}
		bytes += len(made)
		pass++
	}
	b.ReportMetric(float64(bytes)/float64(pass), "B/frame")
}
