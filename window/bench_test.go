package window_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// benchFrames are a window of a node with 200 tables of 60 counters and gauges and 20 histograms
// of 165 buckets, at 5 s. busy is how many tables of a hundred are worked on all the time; the
// rest stands still at values other than zero. That is 960,000 cells.
func benchFrames(b *testing.B, busy int) [][]byte {
	const tables, scalars, histograms = 200, 60, 20
	rnd := rand.New(rand.NewPCG(1, 2))
	bounds := frame.Bounds{Exponent: -6}
	for u := int64(1); len(bounds.Upper) < 164; u += max(u/5, 1) {
		bounds.Upper = append(bounds.Upper, u)
	}
	t := frame.Template{Type: "table", Labels: []string{"keyspace", "table"}}
	for i := range scalars {
		t.Metrics = append(t.Metrics, frame.Metric{Name: fmt.Sprintf("cassandra_table_%d", i),
			Kind: frame.Kind(i % 2)})
	}
	for i := range histograms {
		t.Metrics = append(t.Metrics,
			frame.Metric{Name: fmt.Sprintf("cassandra_table_latency_%d", i), Kind: frame.Histogram,
				HasSum: true, Exponent: -6})
	}
	base := frame.WindowOf(start)
	header := func(at int64) frame.Header {
		return frame.Header{Compression: frame.Zstd, Node: [16]byte{1}, Cluster: "c", At: at,
			Interval: 5000}
	}
	key := &frame.Frame{Header: header(base), Bounds: []frame.Bounds{bounds},
		Templates: []frame.Template{t}}
	key.Added = []frame.Entities{{Template: 0}}
	for i := range tables {
		key.Added[0].Rows = append(key.Added[0].Rows,
			[]string{fmt.Sprintf("ks%d", i/50), fmt.Sprintf("table_%03d", i)})
	}
	g := frame.Group{}
	for m := range t.Metrics {
		c := frame.Column{Metric: m, All: true}
		for range tables {
			if m < scalars {
				c.Ints = append(c.Ints, rnd.Int64N(1<<20)+1)
				continue
			}
			h := frame.Buckets{Sum: rnd.Int64N(1 << 30)}
			for k := 20; k < 60; k++ {
				h.Index, h.Count = append(h.Index, int32(k)), append(h.Count, rnd.Int64N(5000)+1)
			}
			c.Histograms = append(c.Histograms, h)
		}
		g.Columns = append(g.Columns, c)
	}
	key.Values = []frame.Group{g}
	first, err := key.Append(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	frames := [][]byte{first}
	n := tables * busy / 100
	ints := make([][]int64, scalars)
	counts := make([][][41]int64, histograms)
	for tick := int64(1); tick < 60; tick++ {
		f := &frame.Frame{Header: header(base + tick*5000 + rnd.Int64N(3))}
		f.KeyAge, f.KeyCheck = f.At-base, key.Check
		g := frame.Group{}
		for m := range t.Metrics {
			c := frame.Column{Metric: m, All: n == tables}
			for i := range n {
				if n < tables {
					c.Entities = append(c.Entities, i)
				}
				if m < scalars {
					if ints[m] == nil {
						ints[m] = make([]int64, n)
					}
					ints[m][i] += 1000 + rnd.Int64N(200)
					c.Ints = append(c.Ints, ints[m][i])
					continue
				}
				if counts[m-scalars] == nil {
					counts[m-scalars] = make([][41]int64, n)
				}
				of := &counts[m-scalars][i]
				for range 8 {
					of[rnd.IntN(20)+rnd.IntN(20)] += 1 + rnd.Int64N(30)
				}
				of[40] += 100_000 + rnd.Int64N(10_000)
				h := frame.Buckets{Sum: of[40]}
				for k, v := range of[:40] {
					if v != 0 {
						h.Index, h.Count = append(h.Index, int32(20+k)), append(h.Count, v)
					}
				}
				c.Histograms = append(c.Histograms, h)
			}
			if n > 0 {
				g.Columns = append(g.Columns, c)
			}
		}
		if n > 0 {
			f.Values = []frame.Group{g}
		}
		enc, err := f.Append(nil, key)
		if err != nil {
			b.Fatal(err)
		}
		frames = append(frames, enc)
	}
	return frames
}

const benchCells = 200 * 80 * 60

func eachBusy(b *testing.B, f func(b *testing.B, frames [][]byte)) {
	for _, busy := range []int{0, 10, 100} {
		b.Run(fmt.Sprintf("busy=%d%%", busy), func(b *testing.B) { f(b, benchFrames(b, busy)) })
	}
}

func BenchmarkBuild(b *testing.B) {
	eachBusy(b, func(b *testing.B, frames [][]byte) {
		b.ReportAllocs()
		for b.Loop() {
			mustBuild(b, frames)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchCells, "ns/cell")
	})
}

// BenchmarkDecode is Build's part that is not its own.
func BenchmarkDecode(b *testing.B) {
	eachBusy(b, func(b *testing.B, frames [][]byte) {
		b.ReportAllocs()
		for b.Loop() {
			key, _ := frame.Decode(frames[0], nil)
			for _, f := range frames[1:] {
				if _, err := frame.Decode(f, key); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchCells, "ns/cell")
	})
}

func BenchmarkEncode(b *testing.B) {
	eachBusy(b, func(b *testing.B, frames [][]byte) {
		w, rep := mustBuild(b, frames)
		var enc blobs.Encoded
		b.ReportAllocs()
		for b.Loop() {
			enc = blobs.Encode(w, rep)
		}
		size, in := len(enc.Head), 0
		for _, p := range enc.Parts {
			size += len(p.Blob)
		}
		for _, f := range frames {
			in += len(f)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchCells, "ns/cell")
		b.ReportMetric(float64(size), "B/window")
		b.ReportMetric(float64(size)/benchCells, "B/cell")
		b.ReportMetric(float64(size)/float64(max(1, len(enc.Parts))), "B/part")
		b.ReportMetric(float64(in), "frameB/window")
	})
}

func BenchmarkFromParts(b *testing.B) {
	eachBusy(b, func(b *testing.B, frames [][]byte) {
		w, rep := mustBuild(b, frames)
		k := keep(blobs.Encode(w, rep))
		h, parts := k.head(b, w.Start), k.parts(nil)
		b.ReportAllocs()
		for b.Loop() {
			if _, damage := blobs.FromParts("acme", h, nil, k.find, parts); len(damage) > 0 {
				b.Fatal(damage)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchCells, "ns/cell")
	})
}

func BenchmarkSelectOneMetric(b *testing.B) {
	eachBusy(b, func(b *testing.B, frames [][]byte) {
		w, _ := mustBuild(b, frames)
		m := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName,
			"cassandra_table_latency_3")
		b.ReportAllocs()
		for b.Loop() {
			selecting.Select(w, 0, 1<<60, m)
		}
	})
}

func BenchmarkLatest(b *testing.B) {
	eachBusy(b, func(b *testing.B, frames [][]byte) {
		b.ReportAllocs()
		for b.Loop() {
			w, _ := mustBuild(b, [][]byte{frames[0], frames[len(frames)-1]})
			selecting.Latest(w)
		}
	})
}
