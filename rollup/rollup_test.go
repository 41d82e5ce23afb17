package rollup_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/rollup"
	"github.com/ringwatch/ringwatch/rollup/rolluptest"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// begin is the last hour and a half before midnight UTC of some day, so that histories cross the beginning of an hour and of a day.
var begin = rollup.Day.Start(1_790_000_000_000) - 90*60_000

// stored keeps blobs as a store does.
type stored struct {
	metas        map[int64][]byte
	dictionaries map[window.Hash][]byte
	columns      map[int64]map[string]window.StoredColumn
	decoded      map[window.Hash]*window.Dictionary
}

func newStored() *stored {
	return &stored{map[int64][]byte{}, map[window.Hash][]byte{}, map[int64]map[string]window.StoredColumn{}, map[window.Hash]*window.Dictionary{}}
}

func (s *stored) put(r *rollup.Rollup) {
	e := r.Encode()
	s.metas[r.Start] = e.Meta
	if s.columns[r.Start] == nil {
		s.columns[r.Start] = map[string]window.StoredColumn{}
	}
	for _, d := range e.Dictionaries {
		s.dictionaries[d.Hash] = d.Blob
	}
	for _, c := range e.Columns {
		s.columns[r.Start][c.Key+" "+c.Metric] = window.StoredColumn{Key: c.Key, Blob: c.Blob}
	}
}

func (s *stored) find(_ string, hash window.Hash) (*window.Dictionary, error) {
	if s.decoded[hash] != nil {
		return s.decoded[hash], nil
	}
	b, found := s.dictionaries[hash]
	if !found {
		return nil, window.ErrDictionary
	}
	d, err := window.DecodeDictionary(b)
	s.decoded[hash] = d
	return d, err
}

func (s *stored) get(t *testing.T, level rollup.Level, start int64) *rollup.Rollup {
	meta, err := rollup.DecodeMeta(level, start, s.metas[start])
	if err != nil {
		t.Fatal(err)
	}
	var columns []window.StoredColumn
	for _, c := range s.columns[start] {
		columns = append(columns, c)
	}
	r, damage := rollup.FromColumns(meta, s.find, columns)
	if len(damage) > 0 {
		t.Fatal(damage)
	}
	return r
}

// history is a node's life over two hours and a half with gaps, as closed windows.
func history(pick windowtest.Pick) []*window.Window {
	n := windowtest.NewNode(pick)
	frames := map[int64][][]byte{}
	end := begin + 150*60_000
	for at := begin + int64(pick(60_000)); at < end; {
		f := n.Step(at, pick(15) == 0)
		if pick(25) > 0 { // lost; with its deltas if it is a key frame
			frames[frame.WindowOf(at)] = append(frames[frame.WindowOf(at)], f.Bytes)
		}
		at += 20_000 + int64(pick(90_000))
		switch pick(60) {
		case 0:
			at += int64(pick(90 * 60_000)) // away
		case 1:
			n.Rack = fmt.Sprintf("r%d", pick(3)) // moved; its labels change
		}
	}
	var list []*window.Window
	for start := frame.WindowOf(begin); start < end; start += frame.WindowMillis {
		if len(frames[start]) > 0 {
			if w, _, err := window.Build(window.Node{Account: "acme"}, frames[start]); err == nil && len(w.Times) > 0 {
				list = append(list, w)
			}
		}
	}
	return list
}

func all(windows []*window.Window) []window.Series {
	var parts [][]window.Series
	for _, w := range windows {
		parts = append(parts, w.Select(0, math.MaxInt64))
	}
	return window.Join(parts...)
}

// levels computes all levels, each from what the finer one stored.
func levels(t *testing.T, windows []*window.Window) map[rollup.Level][]*rollup.Rollup {
	out := map[rollup.Level][]*rollup.Rollup{}
	for _, level := range rollup.Levels {
		s := newStored()
		finer, coarse := level.Finer()
		parts := map[int64][]*rollup.Rollup{}
		for _, w := range windows {
			if !coarse {
				s.put(rollup.FromWindow(w))
			}
		}
		for _, r := range out[finer] {
			parts[level.Start(r.Start)] = append(parts[level.Start(r.Start)], r)
		}
		for start, list := range parts {
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			s.put(rollup.Merge(level, start, list))
		}
		for start := range s.metas {
			out[level] = append(out[level], s.get(t, level, start))
		}
	}
	return out
}

// TestLevelsEqualDirectComputation: windows → five minutes → hours → days, each encoded and decoded in between, equal what the samples give directly.
func TestLevelsEqualDirectComputation(t *testing.T) {
	for seed := range uint64(60) {
		pick := windowtest.Pick(rand.New(rand.NewPCG(seed, 11)).IntN)
		windows := history(pick)
		samples := all(windows)
		points := 0
		for level, rollups := range levels(t, windows) {
			got, err := rolluptest.Of(rollup.Select(rollups, 0, math.MaxInt64))
			if err != nil {
				t.Fatal("seed", seed, err)
			}
			if d := rolluptest.Diff(got, rolluptest.Direct(samples, level)); d != "" {
				t.Fatalf("seed %d, level %s:\n%s", seed, level.Name, d)
			}
			points += len(got)
		}
		if points == 0 {
			t.Fatal("seed", seed, "nothing was rolled up")
		}
	}
}

// TestWiden: five minutes joined into hours are hours, and hours joined into days are days.
func TestWiden(t *testing.T) {
	for seed := range uint64(20) {
		windows := history(windowtest.Pick(rand.New(rand.NewPCG(seed, 11)).IntN))
		stored := levels(t, windows)
		for _, level := range rollup.Levels[1:] {
			finer, _ := level.Finer()
			series := rollup.Select(stored[finer], 0, math.MaxInt64)
			for i := range series {
				series[i].Widen(level.Millis)
			}
			got, err := rolluptest.Of(series)
			if err != nil {
				t.Fatal("seed", seed, err)
			}
			if d := rolluptest.Diff(got, rolluptest.Direct(all(windows), level)); d != "" || len(got) == 0 {
				t.Fatalf("seed %d, level %s:\n%s", seed, level.Name, d)
			}
		}
	}
}

// TestSelectPart: a range's points do not depend on what lies outside, as long as the period before it was asked for, too.
func TestSelectPart(t *testing.T) {
	pick := windowtest.Pick(rand.New(rand.NewPCG(5, 11)).IntN)
	windows := history(pick)
	rollups := levels(t, windows)[rollup.FiveMinutes]
	from, to := begin+30*60_000, begin+100*60_000
	m := labels.MustNewMatcher(labels.MatchEqual, "__name__", "node_0")
	got, err := rolluptest.Of(rollup.Select(rollups, from, to, m))
	if err != nil {
		t.Fatal(err)
	}
	want := rolluptest.Direct(all(windows), rollup.FiveMinutes)
	n := 0
	for series, points := range want {
		for start := range points {
			if start < from || start > to {
				delete(points, start)
			}
		}
		if len(points) == 0 || !contains(series, `__name__="node_0"`) {
			delete(want, series)
		}
		n += len(points)
	}
	if d := rolluptest.Diff(got, want); d != "" || n == 0 {
		t.Fatal(n, d)
	}
}

func contains(s, part string) bool {
	for i := range s {
		if len(s[i:]) >= len(part) && s[i:i+len(part)] == part {
			return true
		}
	}
	return false
}

// TestEqualRollupsGiveEqualBytes: whatever order they are merged in.
func TestEqualRollupsGiveEqualBytes(t *testing.T) {
	windows := history(rand.New(rand.NewPCG(9, 11)).IntN)
	var parts []*rollup.Rollup
	for _, w := range windows[:min(12, len(windows))] {
		parts = append(parts, rollup.FromWindow(w))
	}
	a := rollup.Merge(rollup.Day, begin, parts)
	rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	b := rollup.Merge(rollup.Day, begin, parts)
	if !reflect.DeepEqual(a.Encode(), b.Encode()) {
		t.Fatal("another order gives other bytes")
	}
}

// TestFormatStands: what is stored for five years must stay readable. If the format changes on purpose, its version rises and this stays as a test of the old one.
func TestFormatStands(t *testing.T) {
	const want = "7a3ef0bc3ec78175"
	sum := sha256.New()
	for seed := range uint64(3) {
		for _, w := range history(rand.New(rand.NewPCG(seed, 14)).IntN)[:6] {
			r := rollup.FromWindow(w)
			for _, r := range []*rollup.Rollup{r, rollup.Merge(rollup.Hour, rollup.Hour.Start(r.Start), []*rollup.Rollup{r})} {
				e := r.Encode()
				sum.Write(e.Meta)
				for _, c := range e.Columns {
					sum.Write(c.Blob)
				}
			}
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != want {
		t.Errorf("the blobs' hash is %s, it was %s", got, want)
	}
}

// TestMixedColumns: while a rollup is written again old and new columns stand side by side; each is answered as it is, and none is lost.
func TestMixedColumns(t *testing.T) {
	for seed := range uint64(20) {
		pick := windowtest.Pick(rand.New(rand.NewPCG(seed, 12)).IntN)
		n := windowtest.NewNode(pick)
		var frames [][]byte
		start := frame.WindowOf(begin)
		for i := range int64(12) {
			frames = append(frames, n.Step(start+i*20_000, false).Bytes)
		}
		part, _, err := window.Build(window.Node{}, frames[:6])
		if err != nil {
			t.Fatal(err)
		}
		whole, _, err := window.Build(window.Node{}, frames)
		if err != nil {
			t.Fatal(err)
		}
		s := newStored()
		s.put(rollup.FromWindow(part))
		old := s.metas[start]
		s.put(rollup.FromWindow(whole))
		s.metas[start] = old
		got, err := rolluptest.Of(rollup.Select([]*rollup.Rollup{rollup.Merge(rollup.Hour, rollup.Hour.Start(start), []*rollup.Rollup{s.get(t, rollup.FiveMinutes, start)})}, 0, math.MaxInt64))
		if err != nil {
			t.Fatal(err)
		}
		before, after := rolluptest.Direct(all([]*window.Window{part}), rollup.Hour), rolluptest.Direct(all([]*window.Window{whole}), rollup.Hour)
		for series, points := range before {
			for at, v := range points {
				if g := got[series][at]; g != v && g != after[series][at] {
					t.Fatalf("seed %d: %s = %q, neither %q nor %q", seed, series, g, v, after[series][at])
				}
			}
		}
	}
}

// TestBounds: what the random histories do not reach.
func TestBounds(t *testing.T) {
	const huge = math.MaxInt64
	for _, c := range []struct {
		name   string
		metric frame.Metric
		ints   []int64
		floats []float64
	}{
		{"gauges beyond 64 bits", frame.Metric{Name: "g", Kind: frame.Gauge}, []int64{huge, huge, huge, -huge, math.MinInt64, huge}, nil},
		{"negative gauges beyond 64 bits", frame.Metric{Name: "g", Kind: frame.Gauge}, []int64{math.MinInt64, math.MinInt64, math.MinInt64, -1}, nil},
		{"counters that start again", frame.Metric{Name: "c", Kind: frame.Counter}, []int64{5, huge, 3, 3, 0, huge, 1}, nil},
		{"signed zeros", frame.Metric{Name: "d", Kind: frame.GaugeDouble}, nil, []float64{math.Copysign(0, -1), 0, math.Copysign(0, -1)}},
		{"infinities", frame.Metric{Name: "d", Kind: frame.GaugeDouble}, nil, []float64{math.Inf(1), math.Inf(-1), 0.1, 0.2, 0.3}},
		{"still doubles whose sum rounds", frame.Metric{Name: "d", Kind: frame.GaugeDouble}, nil, []float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var windows []*window.Window
			for i := range max(len(c.ints), len(c.floats)) {
				at := begin + int64(i)*1000 + int64(i/3)*frame.WindowMillis
				f := frame.Frame{Header: frame.Header{Node: [16]byte{1}, Cluster: "c", Started: 1, Sequence: uint64(i), At: at, Interval: 1000},
					Templates: []frame.Template{{Type: "node", Metrics: []frame.Metric{c.metric}}}, Added: []frame.Entities{{Rows: [][]string{{}}}}}
				col := frame.Column{All: true}
				if c.ints != nil {
					col.Ints = c.ints[i : i+1]
				} else {
					col.Doubles = c.floats[i : i+1]
				}
				if c.ints == nil && math.Float64bits(c.floats[i]) != 0 || c.ints != nil && c.ints[i] != 0 {
					f.Values = []frame.Group{{Columns: []frame.Column{col}}}
				}
				b, err := f.Append(nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				w, _, err := window.Build(window.Node{}, [][]byte{b})
				if err != nil {
					t.Fatal(err)
				}
				if n := len(windows); n > 0 && windows[n-1].Start == w.Start {
					windows[n-1] = window.Merge(windows[n-1], w)
				} else {
					windows = append(windows, w)
				}
			}
			for level, rollups := range levels(t, windows) {
				got, err := rolluptest.Of(rollup.Select(rollups, 0, math.MaxInt64))
				if d := rolluptest.Diff(got, rolluptest.Direct(all(windows), level)); err != nil || d != "" || len(got) != 1 {
					t.Fatal(level.Name, err, d, got)
				}
			}
		})
	}
}

// FuzzBlobs reads hostile bytes as meta and as column. What can be read is written and read again as the same.
func FuzzBlobs(f *testing.F) {
	n := windowtest.NewNode(rand.New(rand.NewPCG(3, 13)).IntN)
	start, hour := frame.WindowOf(begin), rollup.Hour.Start(begin)
	var frames [][]byte
	for i := range int64(12) {
		frames = append(frames, n.Step(start+i*5000, false).Bytes)
	}
	w, _, err := window.Build(window.Node{}, frames)
	if err != nil {
		f.Fatal(err)
	}
	r := rollup.Merge(rollup.Hour, hour, []*rollup.Rollup{rollup.FromWindow(w)})
	enc := r.Encode()
	if len(enc.Columns) < 3 {
		f.Fatal("too few columns to begin with")
	}
	s := newStored()
	s.put(r)
	f.Add(byte(0), enc.Meta)
	for _, c := range enc.Columns {
		f.Add(byte(1), c.Blob)
	}
	meta, err := rollup.DecodeMeta(rollup.Hour, hour, enc.Meta)
	if err != nil {
		f.Fatal(err)
	}
	// A cell of two bytes takes some 230.
	bound := memorytest.Bound{Base: 2 << 20, Factor: 256, Time: time.Minute}
	f.Fuzz(func(t *testing.T, what byte, b []byte) {
		bound.Within(t, len(b), func() {
			if what%2 == 1 {
				rollup.FromColumns(meta, s.find, []window.StoredColumn{{Key: enc.Columns[0].Key, Blob: b}})
			} else if m, err := rollup.DecodeMeta(rollup.Hour, hour, b); err == nil {
				rollup.FromColumns(m, s.find, nil)
			}
		})
		if what%2 == 0 {
			m, err := rollup.DecodeMeta(rollup.Hour, hour, b)
			if err != nil {
				if !errors.Is(err, rollup.ErrMalformed) && !errors.Is(err, rollup.ErrVersion) {
					t.Fatal(err)
				}
				return
			}
			got, _ := rollup.FromColumns(m, s.find, nil)
			rollup.Select([]*rollup.Rollup{got}, 0, math.MaxInt64)
			return
		}
		got, damage := rollup.FromColumns(meta, s.find, []window.StoredColumn{{Key: enc.Columns[0].Key, Blob: b}})
		for _, err := range damage {
			if !errors.Is(err, rollup.ErrMalformed) && !errors.Is(err, rollup.ErrVersion) && !errors.Is(err, window.ErrDictionary) {
				t.Fatal(err)
			}
		}
		before, err := rolluptest.Of(rollup.Select([]*rollup.Rollup{got}, 0, math.MaxInt64))
		if err != nil {
			t.Fatal(err)
		}
		again := newStored()
		again.put(rollup.Merge(rollup.Hour, hour, []*rollup.Rollup{got}))
		after, err := rolluptest.Of(rollup.Select([]*rollup.Rollup{again.get(t, rollup.Hour, hour)}, 0, math.MaxInt64))
		if d := rolluptest.Diff(after, before); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}
