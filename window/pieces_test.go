package window_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// manyTables returns frames of a node with so many tables, all of which change all the time in a
// counter, a text and a histogram; every tenth has no histogram for some time.
func manyTables(t testing.TB, tables, instants int) (frames [][]byte) {
	rnd := rand.New(rand.NewPCG(7, 7))
	base := frame.WindowOf(start)
	bounds := frame.Bounds{}
	for u := range int64(40) {
		bounds.Upper = append(bounds.Upper, u)
	}
	header := frame.Header{Compression: frame.Zstd, Node: [16]byte{1}, Cluster: "c", Interval: 5000}
	key := &frame.Frame{Header: header, Bounds: []frame.Bounds{bounds},
		Templates: []frame.Template{{
			Type: "table", Labels: []string{"table"}, Metrics: []frame.Metric{
				{Name: "reads", Kind: frame.Counter},
				{Name: "state", Kind: frame.String},
				{Name: "latency", Kind: frame.Histogram, HasSum: true},
				{Name: "quiet", Kind: frame.Gauge},
			},
		}}}
	key.At = base
	key.Added = []frame.Entities{{}}
	for i := range tables {
		key.Added[0].Rows = append(key.Added[0].Rows, []string{fmt.Sprintf("t%05d", i)})
	}
	reads := make([]int64, tables)
	latency := make([][]int64, tables)
	for i := range latency {
		latency[i] = make([]int64, 41)
	}
	for tick := range instants {
		f := key
		if tick > 0 {
			f = &frame.Frame{Header: header}
			f.At = base + int64(tick)*5000
			f.KeyAge, f.KeyCheck = f.At-base, key.Check
		}
		c := []frame.Column{{Metric: 0, All: true}, {Metric: 1, All: true}, {Metric: 2}}
		away := frame.Column{Metric: 2}
		for i := range tables {
			reads[i] += 1 + rnd.Int64N(1000)
			c[0].Ints = append(c[0].Ints, reads[i])
			c[1].Strings = append(c[1].Strings, fmt.Sprintf("%d of table %d %s", tick, i%1500,
				strings.Repeat("x", 20)))
			if tick > 0 && tick < instants/2 && i%10 == 3 {
				away.Entities = append(away.Entities, i)
				continue
			}
			h := frame.Buckets{}
			for range 8 {
				n := 1 + rnd.Int64N(200)
				latency[i][rnd.IntN(41)] += n
			}
			for b, n := range latency[i] {
				if n != 0 {
					h.Index, h.Count = append(h.Index, int32(b)), append(h.Count, n)
					h.Sum += n * int64(b)
				}
			}
			c[2].Entities, c[2].Histograms = append(c[2].Entities, i), append(c[2].Histograms, h)
		}
		if len(c[2].Entities) == tables {
			c[2].All, c[2].Entities = true, nil
		}
		if len(away.Entities) > 0 {
			f.Presence = []frame.Group{{Columns: []frame.Column{away}}}
		}
		f.Values = []frame.Group{{Columns: c}}
		var of *frame.Frame
		if tick > 0 {
			of = key
		}
		b, err := f.Append(nil, of)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, b)
	}
	return frames
}

// TestPieces: a metric of thousands of entities is cut so that one of them is found in one piece.
func TestPieces(t *testing.T) {
	const tables = 3000
	w, rep := mustBuild(t, manyTables(t, tables, 12))
	enc := blobs.Encode(w, rep)
	k := keep(enc)
	h := k.head(t, w.Start)
	d := w.Types[0].Dictionary
	number := func(name string) int {
		return slices.IndexFunc(d.Metrics, func(m window.Metric) bool { return m.Name == name })
	}
	count := map[string][2]int{}
	for _, p := range enc.Parts {
		if len(p.Blob) > blobs.PieceBytes || p.Small {
			t.Errorf("%s, piece %d, has %d bytes", p.Metric, p.Piece, len(p.Blob))
		}
		n := count[p.Metric]
		n[p.Facet]++
		count[p.Metric] = n
	}
	t.Log(count)
	if n := count["latency"]; n[0] < 3 || n[0] != n[1] || count["state"][0] < 3 ||
		count["reads"] != [2]int{1, 0} {
		t.Errorf("pieces by facet: %v", count)
	}
	want, err := windowtest.Of(all(w))
	if err != nil {
		t.Fatal(err)
	}
	back := k.open(t, w.Start)
	got, err := windowtest.Of(all(back))
	if diff := windowtest.Diff(got, want); err != nil || diff != "" {
		t.Fatal(err, diff)
	}
	if !reflect.DeepEqual(blobs.Encode(back, rep), enc) {
		t.Error("the window read back encodes otherwise")
	}
	for _, row := range []int32{0, 3, 777, 1503, tables - 1} {
		for _, name := range []string{"latency", "state", "reads"} {
			m := number(name)
			ids := h.PartsOf(0, d, m, []int32{row})
			if want := d.Metrics[m].Kind.IsHistogram(); len(ids) != 1 && !want ||
				len(ids) != 2 && want {
				t.Fatalf("%s of row %d: parts %v", name, row, ids)
			}
			one, damage := blobs.FromParts("acme", h, nil, k.find, k.named(ids))
			if len(damage) > 0 {
				t.Fatal(damage)
			}
			is := equals("table", d.Rows[row][0])
			named := equals("__name__", name)
			a, errA := windowtest.Of(selecting.Select(one, 0, 1<<60, is, named))
			b, errB := windowtest.Of(selecting.Select(w, 0, 1<<60, is, named))
			if diff := windowtest.Diff(a, b); errA != nil || errB != nil || diff != "" ||
				len(a) != 1 {
				t.Errorf("%s of row %d: %v %v %s", name, row, errA, errB, diff)
			}
			others := len(selecting.Select(one, 0, 1<<60, named))
			whole := len(selecting.Select(w, 0, 1<<60, named))
			if name != "reads" && others >= whole || name == "reads" && others != whole {
				t.Errorf("%s of row %d: %d series come with it, there are %d", name, row,
					others, whole)
			}
			// A column of which pieces are missing is not written.
			for _, p := range blobs.Encode(one, rep).Parts {
				if name != "reads" {
					t.Errorf("part %+v of a column with one piece is written", p.PartID)
				}
			}
		}
	}
	// Two entities that are far apart come with two pieces.
	ids := h.PartsOf(0, d, number("latency"), []int32{tables - 1, 0}, blobs.Values)
	if len(ids) != 2 || ids[0].Piece != 0 || ids[1].Piece != count["latency"][0]-1 {
		t.Errorf("parts %v", ids)
	}
	// A piece that is damaged is left out, and its neighbours are there.
	parts := k.parts(func(p *blobs.Part) bool { return p.Metric == "latency" })
	hurt := slices.IndexFunc(parts, func(p blobs.StoredPart) bool {
		return p.Facet == blobs.Buckets && p.Piece == 1
	})
	parts[hurt].Blob = parts[hurt].Blob[:100]
	some, damage := blobs.FromParts("acme", h, nil, k.find, parts)
	if len(damage) != 1 {
		t.Fatal(damage)
	}
	left, err := windowtest.Of(selecting.Select(some, 0, 1<<60, equals("__name__", "latency")))
	if err != nil || len(left) == 0 || len(left) >= tables {
		t.Fatalf("%d series: %v", len(left), err)
	}
	for series, values := range left {
		if !reflect.DeepEqual(values, want[series]) {
			t.Fatalf("%s differs", series)
		}
	}
}

// TestDamagedPieces: a head that lies about where pieces begin is an error, or pieces are left out.
func TestDamagedPieces(t *testing.T) {
	w, rep := mustBuild(t, manyTables(t, 1500, 6))
	k := keep(blobs.Encode(w, rep))
	parts := k.parts(func(p *blobs.Part) bool { return p.Metric == "state" })
	if len(parts) < 2 {
		t.Fatalf("%d pieces", len(parts))
	}
	for i := range parts { // short ones, for what counts is where they stand
		parts[i].Blob = parts[i].Blob[:min(len(parts[i].Blob), 5000)]
	}
	whole := k.parts(func(p *blobs.Part) bool { return p.Metric == "state" && p.Piece == 1 })
	d := w.Types[0].Dictionary
	eachDamage(k.Head, func(what string, b []byte) {
		h, err := blobs.DecodeHead(w.Start, b)
		if err != nil || len(h.Types) != 1 {
			return
		}
		for _, of := range [][]blobs.StoredPart{parts, whole} {
			got, _ := blobs.FromParts("acme", h, nil, k.find, of)
			if _, err := windowtest.Of(all(got)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		for m := range d.Metrics {
			h.PartsOf(0, d, m, []int32{0, 700, 1499})
		}
	})
}
