package fleet

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// recordedMillis is the interval of the recordings.
const recordedMillis = 5000

// Shape is what a recording says a node is like: its templates, entities and the course of every
// cell over the recording's ticks.
type Shape struct {
	Interval int64 // ms between frames
	name     string
	bounds   []frame.Bounds
	types    []shapeType
	ticks    int
	Series   int // of one node
}

type shapeType struct {
	frame.Template
	rows  [][]string
	cells [][]track // by metric and row
}

// track is the course of one cell.
type track struct {
	kind    frame.Kind
	present []bool // by tick; nil: the cell never has a value
	ints    []int64
	doubles []float64
	texts   []string
	hists   []window.Histogram
	steps   []histogramStep // histograms: what came at ticks 1, 2, …

	still bool    // one value all the time
	even  bool    // counters: always the same step
	unit  int64   // greatest common divisor of all steps
	sigma float64 // gauges: standard deviation of the steps
	low   int64   // gauges: the range seen
	high  int64
}

type histogramStep struct {
	bucket []int
	count  []int64
	total  int64
	sum    int64
}

// ReadBoth reads both recordings of a folder.
func ReadBoth(folder string, tables int, interval int64) (idle, busy *Shape, err error) {
	if idle, err = Read(filepath.Join(folder, "idle.rwf"), "idle", tables, interval); err == nil {
		busy, err = Read(filepath.Join(folder, "busy.rwf"), "busy", tables, interval)
	}
	return idle, busy, err
}

// OfNode is the shape of a fleet's node number i: every second one is idle.
func OfNode(i int, idle, busy *Shape) *Shape {
	if i%2 == 0 {
		return idle
	}
	return busy
}

// Read reads a recording, takes a frame each interval, in ms, and gives a node so many tables: of
// those recorded some, evenly spaced in their order by activity, so that busy and quiet ones are
// there in the proportion that they were; or all, and then as many again under other names.
func Read(file, name string, tables int, interval int64) (*Shape, error) {
	every := int(interval / recordedMillis)
	if every < 1 || interval%recordedMillis != 0 {
		return nil, fmt.Errorf("an interval of %d ms is not a multiple of the recordings' %d",
			interval, recordedMillis)
	}
	frames, err := bench.Recording(file)
	if err != nil {
		return nil, err
	}
	byWindow := map[int64][][]byte{}
	var starts []int64
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if byWindow[h.Window()] == nil {
			starts = append(starts, h.Window())
		}
		byWindow[h.Window()] = append(byWindow[h.Window()], b)
	}
	slices.Sort(starts)
	var parts [][]window.Series
	var last *window.Window
	var times []int64
	for _, start := range starts {
		w, _, err := building.Window(window.Node{Account: "bench", ID: uuid.Nil}, byWindow[start])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		parts = append(parts, selecting.Select(w, 0, math.MaxInt64))
		times = append(times, w.Times...)
		last = w
	}
	var taken []int64
	for i := 0; i < len(times); i += every {
		taken = append(taken, times[i])
	}
	s := &Shape{Interval: interval, name: name, ticks: len(taken)}
	if s.ticks < 3 {
		return nil, fmt.Errorf("%s: %d frames are too few", file, len(frames))
	}
	found := map[string]*window.Series{}
	all := selecting.Join(parts...)
	for i := range all {
		found[seriesKey(&all[i])] = &all[i]
	}
	for _, t := range last.Types {
		s.types = append(s.types, s.readType(t.Dictionary, found, taken, tables))
	}
	return s, nil
}

// seriesKey names a series within its node.
func seriesKey(s *window.Series) string {
	var b strings.Builder
	b.WriteString(s.Metric.Type + "\x00" + s.Metric.Name)
	for _, l := range labelsOf(s) {
		b.WriteString("\x00" + l)
	}
	return b.String()
}

// labelsOf returns the entity's own labels as name=value, sorted.
func labelsOf(s *window.Series) []string {
	var list []string
	for n, v := range s.Labels.Map() {
		switch n {
		case "__name__", "cluster", "datacenter", "rack", "node":
		default:
			if v != "" {
				list = append(list, n+"="+v)
			}
		}
	}
	slices.Sort(list)
	return list
}

func (s *Shape) readType(d *window.Dictionary, found map[string]*window.Series, taken []int64,
	tables int) shapeType {
	t := shapeType{Template: frame.Template{Type: d.Type, Labels: d.Labels}, rows: d.Rows}
	for _, m := range d.Metrics {
		metric := frame.Metric{Name: m.Name, Kind: m.Kind, Unit: m.Unit, Exponent: m.Exponent,
			HasSum: m.HasSum}
		if m.Kind.IsHistogram() {
			metric.Bounds = s.boundsOf(m.Bounds)
		}
		t.Metrics = append(t.Metrics, metric)
		tracks := make([]track, len(d.Rows))
		for r, row := range d.Rows {
			var list []string
			for i, v := range row {
				if v != "" {
					list = append(list, d.Labels[i]+"="+v)
				}
			}
			slices.Sort(list)
			tracks[r] = newTrack(m.Kind,
				found[strings.Join(append([]string{d.Type + "\x00" + m.Name}, list...), "\x00")],
				taken)
		}
		t.cells = append(t.cells, tracks)
	}
	switch {
	case d.Type != "table" || tables < 1:
	case tables < len(t.rows):
		t.thin(tables)
	default:
		t.widen(tables)
	}
	s.count(&t)
	return t
}

// thin keeps n rows.
func (t *shapeType) thin(n int) {
	moving := make([]int, len(t.rows))
	order := make([]int, len(t.rows))
	for r := range t.rows {
		order[r] = r
		for m := range t.cells {
			if !t.cells[m][r].still {
				moving[r]++
			}
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return moving[order[a]] > moving[order[b]] })
	var keep []int
	for i := range n {
		keep = append(keep, order[(2*i+1)*len(order)/(2*n)])
	}
	slices.Sort(keep)
	pick := func(i int) []string { return t.rows[i] }
	var rows [][]string
	for _, r := range keep {
		rows = append(rows, pick(r))
	}
	t.rows = rows
	for m := range t.cells {
		var tracks []track
		for _, r := range keep {
			tracks = append(tracks, t.cells[m][r])
		}
		t.cells[m] = tracks
	}
}

// widen repeats the rows as other tables until there are n.
func (t *shapeType) widen(n int) {
	label := slices.Index(t.Labels, "table")
	had := len(t.rows)
	for i := had; i < n && label >= 0; i++ {
		row := slices.Clone(t.rows[i%had])
		row[label] += fmt.Sprintf("_%d", i/had)
		t.rows = append(t.rows, row)
		for m := range t.cells {
			t.cells[m] = append(t.cells[m], t.cells[m][i%had])
		}
	}
}

// Only keeps the metrics that want picks.
func (s *Shape) Only(want func(metric string) bool) {
	var types []shapeType
	s.Series = 0
	for _, t := range s.types {
		kept := t
		kept.Metrics, kept.cells = nil, nil
		for m := range t.Metrics {
			if want(t.Metrics[m].Name) {
				kept.Metrics, kept.cells = append(kept.Metrics, t.Metrics[m]), append(kept.cells,
					t.cells[m])
			}
		}
		if len(kept.Metrics) > 0 {
			types = append(types, kept)
			s.count(&kept)
		}
	}
	s.types = types
}

// count adds a type's series.
func (s *Shape) count(t *shapeType) {
	for _, tracks := range t.cells {
		for i := range tracks {
			if tracks[i].present != nil {
				s.Series++
			}
		}
	}
}

func (s *Shape) boundsOf(b *frame.Bounds) int {
	for i := range s.bounds {
		if s.bounds[i].Exponent == b.Exponent && slices.Equal(s.bounds[i].Upper, b.Upper) {
			return i
		}
	}
	s.bounds = append(s.bounds, *b)
	return len(s.bounds) - 1
}

func newTrack(kind frame.Kind, s *window.Series, taken []int64) track {
	t := track{kind: kind, still: true, even: true}
	if s == nil {
		return t
	}
	t.present = make([]bool, len(taken))
	at := make([]int, len(taken)) // index of the value at or before each tick
	for i, when := range taken {
		j, exact := slices.BinarySearch(s.At, when)
		t.present[i] = exact
		if !exact {
			j = max(0, j-1)
			t.still = false
		}
		at[i] = j
	}
	for _, j := range at {
		switch {
		case s.Ints != nil:
			t.ints = append(t.ints, s.Ints[j])
		case s.Doubles != nil:
			t.doubles = append(t.doubles, s.Doubles[j])
		case s.Strings != nil:
			t.texts = append(t.texts, s.Strings[j])
		default:
			t.hists = append(t.hists, s.Histograms[j])
		}
	}
	t.measure()
	return t
}

// measure finds out how the cell moves.
func (t *track) measure() {
	var square float64
	for i := range t.ints {
		if i == 0 {
			t.low, t.high = t.ints[0], t.ints[0]
			continue
		}
		step := t.ints[i] - t.ints[i-1]
		t.unit = gcd(t.unit, step)
		t.still = t.still && step == 0
		t.even = t.even && step == t.ints[1]-t.ints[0]
		square += float64(step) * float64(step)
		t.low, t.high = min(t.low, t.ints[i]), max(t.high, t.ints[i])
	}
	t.unit = max(t.unit, 1)
	t.sigma = math.Sqrt(square / float64(max(1, len(t.ints)-1)))
	for i := 1; i < len(t.doubles); i++ {
		t.still = t.still && t.doubles[i] == t.doubles[0]
	}
	for i := 1; i < len(t.texts); i++ {
		t.still = t.still && t.texts[i] == t.texts[0]
	}
	for i := 1; i < len(t.hists); i++ {
		var step histogramStep
		before := t.hists[i-1].Dense(nil)
		for b, n := range t.hists[i].Dense(nil) {
			if d := n - before[b]; d > 0 {
				step.bucket, step.count, step.total = append(step.bucket, b), append(step.count,
					d), step.total+d
			}
		}
		step.sum = max(0, t.hists[i].Sum-t.hists[i-1].Sum)
		t.steps = append(t.steps, step)
		t.still = t.still && slices.Equal(t.hists[i].Dense(nil), t.hists[0].Dense(nil)) &&
			t.hists[i].Sum == t.hists[0].Sum
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// IsHistogram reports whether a metric is a histogram.
func (s *Shape) IsHistogram(metric string) bool {
	for _, t := range s.types {
		for m := range t.Metrics {
			if t.Metrics[m].Name == metric {
				return t.Metrics[m].Kind.IsHistogram()
			}
		}
	}
	return false
}

// Rows returns the labels of the entities of a type, as "table"; nil if the shape has none.
func (s *Shape) Rows(of string) (list []map[string]string) {
	for _, t := range s.types {
		if t.Type != of {
			continue
		}
		for _, row := range t.rows {
			labels := map[string]string{}
			for i, value := range row {
				labels[t.Labels[i]] = value
			}
			list = append(list, labels)
		}
	}
	return list
}

// Rename gives the entities of a type, as "table", other labels: name changes a row in place.
func (s *Shape) Rename(of string, name func(row []string)) {
	for _, t := range s.types {
		if t.Type != of {
			continue
		}
		for i, row := range t.rows {
			t.rows[i] = slices.Clone(row)
			name(t.rows[i])
		}
	}
}

// UserTable is a table of users that all of some shapes have, or else one of the last shape.
func UserTable(shapes ...*Shape) (keyspace, table string) {
	has := func(s *Shape, row map[string]string) bool {
		return slices.ContainsFunc(s.Rows("table"), func(other map[string]string) bool {
			return other["keyspace"] == row["keyspace"] && other["table"] == row["table"]
		})
	}
	for _, row := range shapes[len(shapes)-1].Rows("table") {
		if strings.HasPrefix(row["keyspace"], "system") {
			continue
		}
		all := !slices.ContainsFunc(shapes, func(s *Shape) bool { return !has(s, row) })
		if all || table == "" {
			keyspace, table = row["keyspace"], row["table"]
		}
		if all {
			break
		}
	}
	return keyspace, table
}
