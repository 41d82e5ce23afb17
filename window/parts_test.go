package window_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/uniting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

func TestPartsGiveTheWindowBack(t *testing.T) {
	eachSpan(t, func(t *rapid.T, pick windowtest.Pick, w *window.Window, rep window.Report,
		want windowtest.Samples) {
		enc := blobs.Encode(w, rep)
		k := keep(enc)
		if !slices.IsSortedFunc(enc.Parts, func(a, b blobs.Part) int {
			return a.Compare(b.PartID)
		}) {
			t.Fatal("parts are not in order")
		}
		h := k.head(t, w.Start)
		if h.Length != w.Length || h.Report != rep || !slices.Equal(h.Times, w.Times) ||
			len(h.Types) != len(w.Types) {
			t.Fatalf("head %+v of window %+v", h, w)
		}
		got := k.open(t, w.Start)
		check(t, "from parts", all(got), want)
		if got.Node.ID != w.Node.ID || got.Node.Cluster != w.Node.Cluster ||
			got.Node.Rack != w.Node.Rack || got.Node.Interval != w.Node.Interval ||
			got.Length != w.Length {
			t.Fatalf("node %+v", got.Node)
		}
		if again := blobs.Encode(got, rep); !reflect.DeepEqual(again, enc) {
			t.Fatal("the window read back encodes otherwise")
		}
		// The same from parts in any order.
		parts := k.parts(nil)
		for i := len(parts) - 1; i > 0; i-- {
			j := pick(i + 1)
			parts[i], parts[j] = parts[j], parts[i]
		}
		got, damage := blobs.FromParts("acme", h, nil, k.find, parts)
		if len(damage) > 0 {
			t.Fatal(damage)
		}
		check(t, "from parts in another order", all(got), want)
	})
}

// TestPartsOfOneMetric: the parts that the head names for a metric are those that there are, and
// with them alone the metric is there and no other stored one is.
func TestPartsOfOneMetric(t *testing.T) {
	eachSpan(t, func(t *rapid.T, pick windowtest.Pick, w *window.Window, rep window.Report,
		_ windowtest.Samples) {
		k := keep(blobs.Encode(w, rep))
		h := k.head(t, w.Start)
		whole, err := windowtest.Of(all(w))
		if err != nil {
			t.Fatal(err)
		}
		for i, typ := range w.Types {
			for m := range typ.Metrics {
				ids := h.PartsOf(i, typ.Dictionary, m, nil)
				found := k.named(ids)
				small := 0
				for _, p := range k.Parts {
					if p.Type == i && p.PartID.Metric == m {
						if small += len(p.Blob); p.Small != h.Types[i].Small(m) ||
							p.Key != typ.Key || p.Metric != typ.MetricKey(m) {
							t.Fatalf("part %+v", p.PartID)
						}
					}
				}
				if len(found) != len(ids) || (len(ids) > 0) != h.Types[i].Stored(m) ||
					h.Types[i].Small(m) != (small > 0 && small <= blobs.SmallBytes) {
					t.Fatalf("metric %d of type %s: parts %v, %d found, %d bytes", m, typ.Key, ids,
						len(found), small)
				}
				got, damage := blobs.FromParts("acme", h, []int{i}, k.find, found)
				if len(damage) > 0 || len(got.Types) != 1 {
					t.Fatal(damage)
				}
				some, err := windowtest.Of(all(got))
				if err != nil {
					t.Fatal(err)
				}
				for series, values := range some {
					for at, v := range values {
						if whole[series][at] != v {
							t.Fatalf("%s at %d: %s, want %s", series, at, v, whole[series][at])
						}
					}
				}
				sameCells(t, got, got.Types[0], w, typ, m)
			}
		}
	})
}

// sameCells fails unless a metric has the same values in both windows.
func sameCells(t *rapid.T, a *window.Window, of *window.Type, b *window.Window, same *window.Type,
	m int) {
	x, y := selecting.CellsOf(a, of, m), selecting.CellsOf(b, same, m)
	if x == nil || y == nil {
		t.Fatalf("metric %d of type %s is not there", m, of.Key)
	}
	for row := range of.Rows {
		x.Row(row)
		y.Row(row)
		for x.Next() {
			if !y.Next() || x.At() != y.At() ||
				x.Word() != y.Word() && of.Metrics[m].Kind != frame.String ||
				!slices.Equal(x.Counts(), y.Counts()) {
				t.Fatalf("metric %d of type %s: %d at %d in row %d", m, of.Key, x.Word(),
					x.At(), row)
			}
		}
		if y.Next() {
			t.Fatalf("metric %d of type %s: nothing at %d in row %d", m, of.Key, y.At(), row)
		}
	}
}

// TestValuesAlone: without their buckets histograms have counts and sums, all else has what it has.
func TestValuesAlone(t *testing.T) {
	eachSpan(t, func(t *rapid.T, _ windowtest.Pick, w *window.Window, rep window.Report,
		_ windowtest.Samples) {
		enc := blobs.Encode(w, rep)
		k := keep(enc)
		bare := k.openSome(t, w.Start, func(p *blobs.Part) bool {
			return p.Facet == blobs.Values
		})
		got, want := all(bare), all(w)
		if len(got) != len(want) {
			t.Fatalf("%d series, want %d", len(got), len(want))
		}
		for i := range want {
			a, b := &got[i], &want[i]
			if !slices.Equal(a.At, b.At) || !slices.Equal(a.Ints, b.Ints) ||
				!slices.Equal(a.Strings, b.Strings) || len(a.Histograms) != len(b.Histograms) {
				t.Fatalf("%s differs", b.Labels)
			}
			for j := range a.Histograms {
				x, y := &a.Histograms[j], &b.Histograms[j]
				if x.Count() != y.Count() || x.Sum != y.Sum || x.Size != y.Size {
					t.Fatalf("%s at %d: count %d and sum %d, want %d and %d", b.Labels, a.At[j],
						x.Count(), x.Sum, y.Count(), y.Sum)
				}
			}
		}
		// What has no buckets is not written, walked or merged as if they were empty.
		h := k.head(t, w.Start)
		for _, p := range blobs.Encode(bare, rep).Parts {
			if k.dictionaries[h.Types[p.Type].Hash].Metrics[p.PartID.Metric].Kind.IsHistogram() {
				bareBuckets(t, enc, p)
			}
		}
		selecting.Walk(bare, func(_ *window.Dictionary, _, _ int, s *window.Series) {
			for _, of := range s.Histograms {
				if of.Total != 0 {
					t.Fatal("a histogram without buckets is walked")
				}
			}
		})
		merged := all(uniting.Merge(bare, w))
		of, err := windowtest.Of(merged)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := windowtest.Of(want)
		if d := windowtest.Diff(of, whole); d != "" {
			t.Fatal(d)
		}
	})
}

// bareBuckets fails unless a part that is written of a window without buckets is one of the whole.
func bareBuckets(t *rapid.T, whole blobs.Encoded, p blobs.Part) {
	for _, o := range whole.Parts {
		if o.PartID == p.PartID {
			if !slices.Equal(o.Blob, p.Blob) {
				t.Fatalf("part %+v is written otherwise", p.PartID)
			}
			return
		}
	}
	t.Fatalf("part %+v is new", p.PartID)
}

// TestChunksEqualTheWhole: a window that is encoded a few metrics at a time has the same bytes.
func TestChunksEqualTheWhole(t *testing.T) {
	eachSpan(t, func(t *rapid.T, pick windowtest.Pick, w *window.Window, rep window.Report,
		_ windowtest.Samples) {
		want := blobs.Encode(w, rep)
		k := keep(want)
		h := k.head(t, w.Start)
		chunks := 1 + pick(4)
		of := func(p *blobs.Part) int { return (p.PartID.Metric*7 + p.Type) % chunks }
		byType := pick(2) == 0
		e := blobs.NewEncoder(w.Node, w.Start, w.Length, w.Times, rep)
		var parts []blobs.Part
		add := func(types []int, chunk int) {
			some, damage := blobs.FromParts("acme", h, types, k.find,
				k.parts(func(p *blobs.Part) bool {
					return of(p) == chunk && (types == nil || types[0] == p.Type)
				}))
			if len(damage) > 0 {
				t.Fatal(damage)
			}
			parts = append(parts, e.Add(some)...)
		}
		if byType {
			for i := range h.Types {
				for c := range chunks {
					add([]int{i}, c)
				}
			}
		} else {
			for c := range chunks {
				add(nil, c)
			}
		}
		if e.Err() != nil {
			t.Fatal(e.Err())
		}
		got := e.Finish()
		slices.SortFunc(parts, func(a, b blobs.Part) int { return a.Compare(b.PartID) })
		got.Parts = parts
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%d chunks differ from the whole", chunks)
		}
	})
}

// TestEncoderRefuses: parts that are not of one window make none.
func TestEncoderRefuses(t *testing.T) {
	pick := windowtest.Pick(func(n int) int { return n - 1 })
	w, rep, _ := span(t, pick, false)
	other := *w
	other.Times = w.Times[:len(w.Times)-1]
	fewer := *w
	fewer.Types = nil
	for _, typ := range w.Types {
		d := *typ.Dictionary
		d.Rack = "elsewhere"
		of := *typ
		of.Dictionary = &d
		fewer.Types = append(fewer.Types, &of)
	}
	for name, second := range map[string]*window.Window{"instants": &other, "entities": &fewer} {
		e := blobs.NewEncoder(w.Node, w.Start, w.Length, w.Times, rep)
		e.Add(w)
		if parts := e.Add(second); len(parts) > 0 || e.Err() == nil || e.Finish().Head != nil {
			t.Errorf("other %s: %d parts, %v", name, len(parts), e.Err())
		}
	}
	if len(w.Types) < 2 {
		t.Fatal("the window has one type")
	}
	back := *w
	back.Types = slices.Clone(w.Types)
	slices.Reverse(back.Types)
	e := blobs.NewEncoder(w.Node, w.Start, w.Length, w.Times, rep)
	if parts := e.Add(&back); len(parts) > 0 || e.Err() == nil {
		t.Errorf("types in descending order: %d parts, %v", len(parts), e.Err())
	}
}

// TestSamplesGiveTheWindowBack: a head and the series of its metrics are the window.
func TestSamplesGiveTheWindowBack(t *testing.T) {
	eachSpan(t, func(t *rapid.T, _ windowtest.Pick, w *window.Window, rep window.Report,
		want windowtest.Samples) {
		type cell struct {
			key         string
			metric, row int
		}
		found := map[cell]*window.Series{}
		selecting.Walk(w, func(d *window.Dictionary, metric, row int, s *window.Series) {
			of := *s
			of.At, of.Ints, of.Doubles = slices.Clone(s.At), slices.Clone(s.Ints),
				slices.Clone(s.Doubles)
			of.Strings, of.Histograms = slices.Clone(s.Strings), slices.Clone(s.Histograms)
			found[cell{d.Key, metric, row}] = &of
		})
		enc := blobs.Encode(w, rep)
		k := keep(enc)
		got, damage := blobs.FromSamples("acme", k.head(t, w.Start), k.find,
			func(*window.Dictionary, int) bool { return true },
			func(d *window.Dictionary, metric, row int) *window.Series {
				return found[cell{d.Key, metric, row}]
			})
		if len(damage) > 0 {
			t.Fatal(damage)
		}
		check(t, "from samples", all(got), want)
		if !reflect.DeepEqual(blobs.Encode(got, rep), enc) {
			t.Fatal("the window of samples encodes otherwise")
		}
	})
}

func TestFramesInAnyOrderGiveEqualBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		_, sent := history(pick)
		var frames [][]byte
		for _, s := range sent {
			frames = append(frames, s.Bytes)
		}
		w, rep, err := building.Window(window.Node{Account: "acme"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		if w.Length != frame.WindowMillis {
			t.Fatalf("its length is %d", w.Length)
		}
		for i := len(frames) - 1; i > 0; i-- {
			j := pick(i + 1)
			frames[i], frames[j] = frames[j], frames[i]
		}
		again, _, err := building.Window(window.Node{Account: "acme"}, append(frames, frames[0]))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(blobs.Encode(w, rep), blobs.Encode(again, rep)) {
			t.Fatal("another order of frames gives other bytes")
		}
	})
}
