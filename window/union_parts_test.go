package window_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/uniting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestUnionWithoutBuckets: where a span has read no buckets, the union has counts and sums; where
// others know its instants, it has all that they know.
func TestUnionWithoutBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		list, want := windowsOf(t, pick)
		if len(list) == 0 {
			return
		}
		whole := uniting.Windows(hour, window.HourMillis, list)
		var some, bare []*window.Window
		for _, w := range list {
			stored := keep(blobs.Encode(w, window.Report{}))
			read := stored.openSome(t, w.Start, func(p *blobs.Part) bool {
				return p.Facet == blobs.Values
			})
			if bare = append(bare, read); pick(2) == 0 {
				read = w
			}
			some = append(some, read)
		}
		for _, united := range []*window.Window{
			uniting.Windows(hour, window.HourMillis, some),
			uniting.Windows(hour, window.HourMillis, bare),
			uniting.Slice(uniting.Windows(hour, window.HourMillis, bare), hour,
				window.HourMillis-1),
		} {
			sameCounts(t, all(united), all(whole))
		}
		both := uniting.Windows(hour, window.HourMillis, slices.Concat(bare, list))
		check(t, "read twice", all(both), want)
		mustEqual(t, "read twice, made of its cells", both, windowtest.Canonical(both))
	})
}

// sameCounts compares series, of histograms counts and sums.
func sameCounts(t *rapid.T, got, want []window.Series) {
	t.Helper()
	bare := func(list []window.Series) []window.Series {
		list = slices.Clone(list)
		for i := range list {
			list[i].Histograms = slices.Clone(list[i].Histograms)
			for j := range list[i].Histograms {
				h := &list[i].Histograms[j]
				n := h.Count() // stands in the first bucket
				*h = window.Histogram{Size: h.Size, Sum: h.Sum, Filled: []uint16{0},
					Counts: []int64{n}}
			}
		}
		return list
	}
	samples, err := windowtest.Of(bare(want))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "counts and sums", bare(got), samples)
}

// TestUnionOfPieces: a union of columns of which some pieces were read has the entities in these,
// and is not written as if it had the others.
func TestUnionOfPieces(t *testing.T) {
	w, rep := mustBuild(t, manyTables(t, 3000, 12))
	k := keep(blobs.Encode(w, rep))
	h := k.head(t, w.Start)
	d := w.Types[0].Dictionary
	m := slices.IndexFunc(d.Metrics, func(m window.Metric) bool { return m.Name == "latency" })
	const row = 1700
	parts := k.named(h.PartsOf(0, d, m, []int32{row}))
	some, damage := blobs.FromParts("acme", h, nil, k.find, parts)
	if len(damage) > 0 {
		t.Fatal(damage)
	}
	for name, u := range map[string]*window.Window{
		"union": uniting.Windows(hour, window.HourMillis, []*window.Window{some}),
		"slice": uniting.Slice(some, w.Start, frame.WindowMillis-1),
	} {
		want := equals("table", d.Rows[row][0])
		of := equals("__name__", "latency")
		got, all := selecting.Select(u, 0, 1<<60, want, of), selecting.Select(w, 0, 1<<60, want, of)
		if len(got) != 1 || !slices.Equal(got[0].At, all[0].At) {
			t.Fatalf("%s: %d series of a table", name, len(got))
		}
		for i := range got[0].Histograms {
			a, b := got[0].Histograms[i], all[0].Histograms[i]
			if a.Sum != b.Sum || !slices.Equal(a.Dense(nil), b.Dense(nil)) {
				t.Fatalf("%s: %v, want %v", name, a, b)
			}
		}
		for _, p := range blobs.Encode(u, rep).Parts {
			if p.Metric == "latency" {
				t.Fatalf("%s: a column that is not whole is written", name)
			}
		}
	}
}
