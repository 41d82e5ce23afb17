package rollup_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/uniting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// begin is the last hour and a half before midnight UTC of some day, so that histories cross the
// beginning of an hour and of a day.
var begin = rollup.Day.Start(1_790_000_000_000) - 90*60_000

// stored keeps the runs of one level as a store does, by their starts.
type stored struct {
	rollup.Level
	heads        map[int64][]byte
	parts        map[int64][]blobs.StoredPart
	dictionaries map[window.Hash][]byte
	decoded      map[window.Hash]*window.Dictionary
}

func newStored(level rollup.Level) *stored {
	return &stored{level, map[int64][]byte{}, map[int64][]blobs.StoredPart{},
		map[window.Hash][]byte{}, map[window.Hash]*window.Dictionary{}}
}

// runOf returns the start and the length of the run that a period is in.
func runOf(level rollup.Level, start int64) (int64, int64) {
	if level == rollup.FiveMinutes {
		return rollup.Hour.Start(start), rollup.Hour.Millis
	}
	return rollup.Day.Start(start), rollup.Day.Millis
}

// runs sorts rollups into runs by their starts.
func runs(level rollup.Level, list []*rollup.Rollup) map[int64][]*rollup.Rollup {
	out := map[int64][]*rollup.Rollup{}
	for _, r := range list {
		start, _ := runOf(level, r.Start)
		out[start] = append(out[start], r)
	}
	return out
}

func (s *stored) put(list []*rollup.Rollup) {
	for start, of := range runs(s.Level, list) {
		_, length := runOf(s.Level, start)
		s.keep(start, rollup.EncodeRun(start, length, of))
	}
}

func (s *stored) keep(start int64, e rollup.Encoded) {
	s.heads[start] = e.Head
	for _, d := range e.Dictionaries {
		s.dictionaries[d.Hash] = d.Blob
	}
	s.parts[start] = partsOf(e)
}

func partsOf(e rollup.Encoded) (list []blobs.StoredPart) {
	for _, p := range e.Parts {
		list = append(list, blobs.StoredPart{PartID: p.PartID, Blob: p.Blob})
	}
	return list
}

func (s *stored) find(_ string, hash window.Hash) (*window.Dictionary, error) {
	if s.decoded[hash] != nil {
		return s.decoded[hash], nil
	}
	b, found := s.dictionaries[hash]
	if !found {
		return nil, blobs.ErrDictionary
	}
	d, err := blobs.DecodeDictionary(b)
	s.decoded[hash] = d
	return d, err
}

func (s *stored) run(t testing.TB, start int64) []*rollup.Rollup {
	h, err := rollup.DecodeRunHead(s.Level, start, s.heads[start])
	if err != nil {
		t.Fatal(err)
	}
	list, damage := rollup.FromRun(h, nil, s.find, s.parts[start])
	if len(damage) > 0 {
		t.Fatal(damage)
	}
	return list
}

func (s *stored) all(t testing.TB) (list []*rollup.Rollup) {
	for start := range s.heads {
		list = append(list, s.run(t, start)...)
	}
	return list
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
			w, _, err := building.Window(window.Node{Account: "acme"}, frames[start])
			if err == nil && len(w.Times) > 0 {
				list = append(list, w)
			}
		}
	}
	return list
}

func all(windows []*window.Window) []window.Series {
	var parts [][]window.Series
	for _, w := range windows {
		parts = append(parts, selecting.Select(w, 0, math.MaxInt64))
	}
	return selecting.Join(parts...)
}

// levels computes all levels, each from what the finer one stored.
func levels(t *testing.T, windows []*window.Window) map[rollup.Level][]*rollup.Rollup {
	out := map[rollup.Level][]*rollup.Rollup{}
	for _, level := range rollup.Levels {
		s := newStored(level)
		finer, coarse := level.Finer()
		var list []*rollup.Rollup
		parts := map[int64][]*rollup.Rollup{}
		for _, w := range windows {
			if !coarse {
				list = append(list, rollup.FromWindow(w))
			}
		}
		for _, r := range out[finer] {
			parts[level.Start(r.Start)] = append(parts[level.Start(r.Start)], r)
		}
		for start, of := range parts {
			rand.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
			list = append(list, rollup.Merge(level, start, of))
		}
		s.put(list)
		out[level] = s.all(t)
	}
	return out
}

// TestLevelsEqualDirectComputation: windows → five minutes → hours → days, each encoded and decoded
// in between, equal what the samples give directly.
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
			if d := rolluptest.Diff(got, rolluptest.Direct(all(windows), level)); d != "" ||
				len(got) == 0 {
				t.Fatalf("seed %d, level %s:\n%s", seed, level.Name, d)
			}
		}
	}
}

// TestSelectPart: a range's points do not depend on what lies outside, as long as the period before
// it was asked for, too.
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
	encoded := func() rollup.Encoded {
		hours := []*rollup.Rollup{rollup.Merge(rollup.Hour, rollup.Hour.Start(begin), parts)}
		return rollup.EncodeRun(rollup.Day.Start(begin), rollup.Day.Millis, hours)
	}
	a, fives := encoded(), rollup.EncodeRun(rollup.Hour.Start(begin), 4*rollup.Hour.Millis, parts)
	rand.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	if !reflect.DeepEqual(a, encoded()) {
		t.Fatal("merged in another order they have other bytes")
	}
	if !reflect.DeepEqual(fives, rollup.EncodeRun(rollup.Hour.Start(begin), 4*rollup.Hour.Millis,
		parts)) {
		t.Fatal("in another order they have other bytes")
	}
}

// TestFormatStands: what is stored for five years must stay readable. If the format changes on
// purpose, its version rises and this stays as a test of the old one.
func TestFormatStands(t *testing.T) {
	const want = "ae3a8aa395769b7c"
	sum := sha256.New()
	add := func(e rollup.Encoded) {
		sum.Write(e.Head)
		for _, p := range e.Parts {
			sum.Write(p.Blob)
		}
	}
	for seed := range uint64(3) {
		var fives []*rollup.Rollup
		for _, w := range history(rand.New(rand.NewPCG(seed, 14)).IntN)[:6] {
			fives = append(fives, rollup.FromWindow(w))
		}
		hour := rollup.Merge(rollup.Hour, rollup.Hour.Start(fives[0].Start), fives)
		add(rollup.EncodeRun(rollup.Hour.Start(begin), rollup.Hour.Millis, fives))
		add(rollup.EncodeRun(rollup.Day.Start(begin), rollup.Day.Millis, []*rollup.Rollup{hour}))
	}
	if got := hex.EncodeToString(sum.Sum(nil)[:8]); got != want {
		t.Errorf("the blobs' hash is %s, it was %s", got, want)
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
		{"gauges beyond 64 bits", frame.Metric{Name: "g", Kind: frame.Gauge},
			[]int64{huge, huge, huge, -huge, math.MinInt64, huge}, nil},
		{"negative gauges beyond 64 bits", frame.Metric{Name: "g", Kind: frame.Gauge},
			[]int64{math.MinInt64, math.MinInt64, math.MinInt64, -1}, nil},
		{"counters that start again", frame.Metric{Name: "c", Kind: frame.Counter},
			[]int64{5, huge, 3, 3, 0, huge, 1}, nil},
		{"signed zeros", frame.Metric{Name: "d", Kind: frame.GaugeDouble}, nil,
			[]float64{math.Copysign(0, -1), 0, math.Copysign(0, -1)}},
		{"infinities", frame.Metric{Name: "d", Kind: frame.GaugeDouble}, nil,
			[]float64{math.Inf(1), math.Inf(-1), 0.1, 0.2, 0.3}},
		{"still doubles whose sum rounds", frame.Metric{Name: "d", Kind: frame.GaugeDouble}, nil,
			[]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var windows []*window.Window
			for i := range max(len(c.ints), len(c.floats)) {
				at := begin + int64(i)*1000 + int64(i/3)*frame.WindowMillis
				f := frame.Frame{Header: frame.Header{Node: [16]byte{1}, Cluster: "c", Started: 1,
					Sequence: uint64(i), At: at, Interval: 1000},
					Templates: []frame.Template{{Type: "node", Metrics: []frame.Metric{c.metric}}},
					Added:     []frame.Entities{{Rows: [][]string{{}}}}}
				col := frame.Column{All: true}
				if c.ints != nil {
					col.Ints = c.ints[i : i+1]
				} else {
					col.Doubles = c.floats[i : i+1]
				}
				if c.ints == nil && math.Float64bits(c.floats[i]) != 0 ||
					c.ints != nil && c.ints[i] != 0 {
					f.Values = []frame.Group{{Columns: []frame.Column{col}}}
				}
				b, err := f.Append(nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				w, _, err := building.Window(window.Node{}, [][]byte{b})
				if err != nil {
					t.Fatal(err)
				}
				if n := len(windows); n > 0 && windows[n-1].Start == w.Start {
					windows[n-1] = uniting.Merge(windows[n-1], w)
				} else {
					windows = append(windows, w)
				}
			}
			for level, rollups := range levels(t, windows) {
				got, err := rolluptest.Of(rollup.Select(rollups, 0, math.MaxInt64))
				if d := rolluptest.Diff(got, rolluptest.Direct(all(windows), level)); err != nil ||
					d != "" || len(got) != 1 {
					t.Fatal(level.Name, err, d, got)
				}
			}
		})
	}
}
