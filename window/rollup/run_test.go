package rollup_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
)

// points are all that some rollups say.
func points(t testing.TB, list ...*rollup.Rollup) rolluptest.Points {
	t.Helper()
	p, err := rolluptest.Of(rollup.Select(list, 0, math.MaxInt64))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eachRun calls f with the runs of random histories, of all levels, as they are before they are
// encoded.
func eachRun(t *testing.T, seeds, stream uint64, f func(level rollup.Level, start int64,
	list []*rollup.Rollup)) {
	for seed := range seeds {
		windows := history(rand.New(rand.NewPCG(seed, stream)).IntN)
		var list []*rollup.Rollup
		for _, w := range windows {
			list = append(list, rollup.FromWindow(w))
		}
		for _, level := range rollup.Levels {
			if _, coarse := level.Finer(); coarse {
				parts := map[int64][]*rollup.Rollup{}
				for _, r := range list {
					parts[level.Start(r.Start)] = append(parts[level.Start(r.Start)], r)
				}
				list = nil
				for start, of := range parts {
					list = append(list, rollup.Merge(level, start, of))
				}
			}
			for start, of := range runs(level, list) {
				slices.SortFunc(of, func(a, b *rollup.Rollup) int { return int(a.Start - b.Start) })
				f(level, start, of)
			}
		}
		if len(list) == 0 {
			t.Fatal("a history without rollups")
		}
	}
}

// TestRunGivesItsPeriodsBack: each bit for bit, and what was read encodes as it was.
func TestRunGivesItsPeriodsBack(t *testing.T) {
	eachRun(t, 40, 31, func(level rollup.Level, start int64, list []*rollup.Rollup) {
		_, length := runOf(level, start)
		e := rollup.EncodeRun(start, length, list)
		s := newStored(level)
		s.keep(start, e)
		got := s.run(t, start)
		if len(got) != len(list) {
			t.Fatalf("%d periods of %d", len(got), len(list))
		}
		for i, r := range got {
			if r.Start != list[i].Start || r.Instants != list[i].Instants ||
				!slices.Equal(r.Parts, list[i].Parts) || r.Level != level {
				t.Fatalf("period %d is %+v, it was %+v", i, r, list[i])
			}
			if d := rolluptest.Diff(points(t, r), points(t, list[i])); d != "" {
				t.Fatalf("level %s, period %d:\n%s", level.Name, i, d)
			}
		}
		if again := rollup.EncodeRun(start, length, got); !reflect.DeepEqual(again, e) {
			t.Fatal("what was read encodes otherwise")
		}
	})
}

// storedRun encodes a run, keeps it and reads its head.
func storedRun(
	t *testing.T, level rollup.Level, start int64, list []*rollup.Rollup,
) (rollup.Encoded, *stored, *rollup.RunHead) {
	t.Helper()
	_, length := runOf(level, start)
	e := rollup.EncodeRun(start, length, list)
	s := newStored(level)
	s.keep(start, e)
	h, err := rollup.DecodeRunHead(level, start, e.Head)
	if err != nil {
		t.Fatal(err)
	}
	return e, s, h
}

// TestRunsOfSomeMetrics: what is not asked for is not there, and what is there is right.
func TestRunsOfSomeMetrics(t *testing.T) {
	eachRun(t, 10, 32, func(level rollup.Level, start int64, list []*rollup.Rollup) {
		e, s, h := storedRun(t, level, start, list)
		whole := points(t, list...)
		for i, p := range e.Parts {
			d, err := s.find(p.Key, h.Types[p.Type].Hash)
			if err != nil {
				t.Fatal(err)
			}
			if !h.Types[p.Type].Stored(p.PartID.Metric) ||
				h.Types[p.Type].Small(p.PartID.Metric) != p.Small ||
				p.Small != (len(p.Blob) <= blobs.SmallBytes) {
				t.Fatalf("part %+v of %d bytes is not as the head says", p.PartID, len(p.Blob))
			}
			if ids := h.PartsOf(p.Type, d, p.PartID.Metric, nil); len(ids) != 1 ||
				ids[0] != p.PartID {
				t.Fatalf("the parts of %+v are %+v", p.PartID, ids)
			}
			got, damage := rollup.FromRun(h, []int{p.Type}, s.find,
				partsOf(rollup.Encoded{Parts: e.Parts[i : i+1]}))
			if len(damage) > 0 {
				t.Fatal(damage)
			}
			found := false
			for series, values := range points(t, got...) {
				found = found || contains(series, `__name__="`+d.Metrics[p.PartID.Metric].Name+`"`)
				if !reflect.DeepEqual(values, whole[series]) {
					t.Fatalf("%s is %v, it was %v", series, values, whole[series])
				}
			}
			if !found {
				t.Fatalf("%s was read and is not there", p.Metric)
			}
		}
	})
}

// TestRunsGrow: readings of some parts each give together what one reading of all gives, whatever
// their order, and a part that is read again is as it was read last.
func TestRunsGrow(t *testing.T) {
	eachRun(t, 10, 35, func(level rollup.Level, start int64, list []*rollup.Rollup) {
		e, s, h := storedRun(t, level, start, list)
		open := func(types []int, parts []blobs.StoredPart) *rollup.Run {
			run, damage, err := rollup.OpenRun(nil, h, types, s.find, parts)
			if len(damage) > 0 || err != nil {
				t.Fatal(damage, err)
			}
			return run
		}
		all := open([]int{}, nil)
		for i := range h.Types { // metrics that the head answers for
			all = all.JoinTypes(open([]int{i}, nil))
		}
		before := all.Bytes()
		for _, i := range rand.Perm(len(e.Parts)) {
			p := partsOf(rollup.Encoded{Parts: e.Parts[i : i+1]})
			all = all.JoinTypes(open([]int{e.Parts[i].Type}, p))
			if i%3 == 0 {
				all = all.JoinTypes(open([]int{e.Parts[i].Type}, p))
			}
		}
		if d := rolluptest.Diff(points(t, all.Rollups()...), points(t, list...)); d != "" {
			t.Fatal(d)
		}
		if len(e.Parts) > 0 && all.Bytes() <= before {
			t.Fatalf("%d parts take no memory: %d bytes, then %d", len(e.Parts), before,
				all.Bytes())
		}
	})
}

// TestTotalsOfHistograms: without buckets a histogram's counts are those of all buckets, also where
// it started again between two periods.
func TestTotalsOfHistograms(t *testing.T) {
	histograms := 0
	eachRun(t, 20, 36, func(level rollup.Level, start int64, list []*rollup.Rollup) {
		whole := rollup.Select(list, 0, math.MaxInt64)
		totals, err := rollup.SelectContext(t.Context(), nil, []blobs.Facet{blobs.Values}, list,
			0, math.MaxInt64)
		if err != nil || len(totals) != len(whole) {
			t.Fatalf("%d series, want %d: %v", len(totals), len(whole), err)
		}
		for i := range whole {
			if !whole[i].Metric.Kind.IsHistogram() {
				continue
			}
			for j := range whole[i].Start {
				want := whole[i].At(j)
				histograms++
				for _, counts := range []*[]int64{&want.FirstCounts, &want.LastCounts,
					&want.Increases} {
					var sum int64
					for _, n := range *counts {
						sum += n
					}
					*counts = []int64{sum}
				}
				if got := totals[i].At(j); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %+v, want %+v", whole[i].Labels, got, want)
				}
			}
		}
	})
	if histograms < 100 {
		t.Errorf("only %d points of histograms were compared", histograms)
	}
}

// TestRunInChunks: metrics encoded some at a time give the bytes that they give together.
func TestRunInChunks(t *testing.T) {
	eachRun(t, 20, 33, func(level rollup.Level, start int64, list []*rollup.Rollup) {
		_, length := runOf(level, start)
		want := rollup.EncodeRun(start, length, list)
		// Each period is stored by itself, so that heads answer for some metrics in some periods
		// only.
		single := make([]*stored, len(list))
		var names []string
		for i, r := range list {
			single[i] = newStored(level)
			single[i].keep(r.Start, rollup.EncodeRun(r.Start, level.Millis, []*rollup.Rollup{r}))
			for _, ty := range r.Types {
				for m := range ty.Metrics {
					names = append(names, ty.Metrics[m].Name)
				}
			}
		}
		slices.Sort(names)
		names = slices.Compact(names)
		enc := rollup.NewRunEncoder(level, start, length)
		var parts []blobs.Part
		for chunk := range slices.Chunk(names, 2) {
			var some []*rollup.Rollup
			for i, r := range list {
				h, err := rollup.DecodeRunHead(level, r.Start, single[i].heads[r.Start])
				if err != nil {
					t.Fatal(err)
				}
				of := slices.DeleteFunc(slices.Clone(single[i].parts[r.Start]),
					func(p blobs.StoredPart) bool {
						d, err := single[i].find("", h.Types[p.Type].Hash)
						return err != nil || !slices.Contains(chunk, d.Metrics[p.Metric].Name)
					})
				got, damage := rollup.FromRun(h, nil, single[i].find, of)
				if len(damage) > 0 || len(got) != 1 {
					t.Fatal(damage, len(got))
				}
				some = append(some, got[0])
			}
			parts = append(parts, enc.Add(some, chunk...)...)
		}
		got := enc.Finish()
		slices.SortFunc(parts, func(a, b blobs.Part) int {
			if a.Type != b.Type {
				return a.Type - b.Type
			}
			return a.PartID.Metric - b.PartID.Metric
		})
		got.Parts = parts
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("level %s: in chunks\n%x\n%+v\nwhole\n%x\n%+v", level.Name, got.Head,
				got.Parts, want.Head, want.Parts)
		}
	})
}

// large are windows of an hour of a node with so many tables, whose counter moves at random.
func large(t testing.TB, tables int) (list []*window.Window) {
	rnd := rand.New(rand.NewPCG(7, 34))
	template := frame.Template{Type: "table", Labels: []string{"table"},
		Metrics: []frame.Metric{{Name: "reads", Kind: frame.Counter}}}
	rows := make([][]string, tables)
	for i := range rows {
		rows[i] = []string{fmt.Sprintf("t%06d", i)}
	}
	now := make([]int64, tables)
	for start := rollup.Hour.Start(begin); start < rollup.Hour.Start(begin)+
		rollup.Hour.Millis; start += frame.WindowMillis {
		var frames [][]byte
		for at := start; at < start+frame.WindowMillis; at += 150_000 {
			for i := range now {
				now[i] += rnd.Int64N(1 << 28)
			}
			f := frame.Frame{Header: frame.Header{Node: [16]byte{1}, Cluster: "c", Started: 1,
				At: at, Interval: 150_000},
				Templates: []frame.Template{template}, Added: []frame.Entities{{Rows: rows}},
				Values: []frame.Group{{Columns: []frame.Column{{All: true, Ints: now}}}}}
			b, err := f.Append(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, b)
		}
		w, _, err := building.Window(window.Node{}, frames)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, w)
	}
	return list
}

// TestRunInPieces: a large part is split by entities, and one table's piece answers for it alone.
func TestRunInPieces(t *testing.T) {
	var list []*rollup.Rollup
	for _, w := range large(t, 6000) {
		list = append(list, rollup.FromWindow(w))
	}
	start := rollup.Hour.Start(begin)
	s := newStored(rollup.FiveMinutes)
	e := rollup.EncodeRun(start, rollup.Hour.Millis, list)
	s.keep(start, e)
	if len(e.Parts) < 3 {
		t.Fatalf("%d parts", len(e.Parts))
	}
	for i, p := range e.Parts {
		if p.Piece != i || p.Small || len(p.Blob) > blobs.PieceBytes {
			t.Fatalf("part %d: %+v of %d bytes", i, p.PartID, len(p.Blob))
		}
	}
	if d := rolluptest.Diff(points(t, s.run(t, start)...), points(t, list...)); d != "" {
		t.Fatal(d)
	}
	h, err := rollup.DecodeRunHead(rollup.FiveMinutes, start, e.Head)
	if err != nil {
		t.Fatal(err)
	}
	whole := points(t, list...)
	seen := 0
	for piece, p := range s.parts[start] {
		got, damage := rollup.FromRun(h, nil, s.find, []blobs.StoredPart{p})
		if len(damage) > 0 {
			t.Fatal(damage)
		}
		some := points(t, got...)
		for series, values := range some {
			if !reflect.DeepEqual(values, whole[series]) {
				t.Fatalf("%s is %v, it was %v", series, values, whole[series])
			}
		}
		seen += len(some)
		d, _ := s.find("", h.Types[0].Hash)
		for row := 0; row < len(d.Rows); row += 97 {
			ids := h.PartsOf(0, d, 0, []int32{int32(row)})
			if len(ids) != 1 {
				t.Fatalf("row %d is in %+v", row, ids)
			}
			if in := len(rollup.Select(got, 0, math.MaxInt64, equal("table", d.Rows[row][0]))) >
				0; in != (ids[0].Piece == piece) {
				t.Fatalf("row %d is said to be in piece %d; in piece %d: %v", row, ids[0].Piece,
					piece, in)
			}
		}
	}
	if seen != len(whole) {
		t.Fatalf("the pieces have %d series, %d are right", seen, len(whole))
	}
	for piece, p := range s.parts[start] {
		parts := slices.Clone(s.parts[start])
		parts[piece].Blob = p.Blob[:len(p.Blob)-1]
		got, damage := rollup.FromRun(h, nil, s.find, parts)
		if len(damage) != 1 || !errors.Is(damage[0], rollup.ErrMalformed) {
			t.Fatal(damage)
		}
		some := points(t, got...)
		alone, _ := rollup.FromRun(h, nil, s.find, []blobs.StoredPart{p})
		lost := points(t, alone...)
		if len(some)+len(lost) != len(whole) {
			t.Fatalf("without piece %d of %d series there are %d of %d", piece, len(lost),
				len(some), len(whole))
		}
		for series, values := range some {
			if !reflect.DeepEqual(values, whole[series]) {
				t.Fatalf("%s is %v, it was %v", series, values, whole[series])
			}
		}
	}
	if ids := h.PartsOf(0, nil, 0, []int32{0, 5999}); len(ids) != 2 || ids[0].Piece != 0 ||
		ids[1].Piece != len(e.Parts)-1 {
		t.Fatalf("the parts of the first and the last row are %+v", ids)
	}
	if ids := h.PartsOf(0, nil, 0, nil, blobs.Buckets); ids != nil {
		t.Fatalf("a counter's buckets are in %+v", ids)
	}
}
