package window

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
)

// Select returns the series that match and have values at instants from ≤ at ≤ to (milliseconds
// since the Unix epoch), sorted by labels. Matchers may name __name__, cluster, datacenter, rack,
// node (the host id) and the labels of entities; a label that a series does not have is empty.
//
// Two series have equal labels only if a metric changed its definition within the window.
func (w *Window) Select(from, to int64, matchers ...*labels.Matcher) []Series {
	list, _ := w.SelectContext(context.Background(), nil, from, to, matchers...)
	return list
}

// SelectContext is Select until ctx ends, and within the memory that the allowance gives (nil:
// any), which is asked as the answer grows. Then it returns ctx's or the allowance's error soon,
// however long matching would take.
func (w *Window) SelectContext(ctx context.Context, allow Allowance, from, to int64,
	matchers ...*labels.Matcher) ([]Series, error) {
	first := sort.Search(len(w.Times), func(i int) bool { return w.Times[i] >= from })
	end := sort.Search(len(w.Times), func(i int) bool { return w.Times[i] > to })
	if first >= end {
		return nil, ctx.Err()
	}
	s := selection{allow: allow, times: w.Times, first: int32(first), end: int32(end)}
	for _, t := range w.Types {
		metrics := t.MatchMetrics(ctx, matchers...)
		if len(metrics) == 0 {
			continue
		}
		rows := t.MatchRows(ctx, matchers...)
		for _, m := range metrics {
			if t.columns[m] == unknown || ctx.Err() != nil {
				continue
			}
			if err := s.add(t, m, rows); err != nil {
				return nil, err
			}
		}
	}
	if err := cmp.Or(ctx.Err(), s.ask()); err != nil {
		return nil, err
	}
	sortSeries(s.out)
	return joinSorted(s.out), nil
}

// selection is a Select under way.
type selection struct {
	allow      Allowance
	times      []int64
	first, end int32
	out        []Series
	owed       int64 // bytes that are taken and not asked for yet
}

// What series take, in bytes. A list that grows has as much again.
const (
	seriesBytes    = 2 * 192 // without labels and values
	labelBytes     = 24      // of one label, without its text
	pointBytes     = 2 * 16
	histogramBytes = 2*80 + 96
	filledBytes    = 10
	askEvery       = 256 << 10
)

// ask asks for what is owed.
func (s *selection) ask() error {
	owed := s.owed
	if s.owed = 0; s.allow == nil {
		return nil
	}
	return s.allow.Take(owed)
}

// LabelsBytes returns what labels take in memory.
func LabelsBytes(l labels.Labels) (n int64) {
	l.Range(func(l labels.Label) { n += labelBytes + int64(len(l.Name)+len(l.Value)) })
	return n
}

// Bytes returns what a series takes, its labels and values among it.
func (s *Series) Bytes() int64 {
	n := seriesBytes + pointBytes*int64(len(s.At))
	n += LabelsBytes(s.Labels)
	for i := range s.Histograms {
		n += histogramBytes
		if h := &s.Histograms[i]; i == 0 ||
			len(h.Counts) > 0 &&
				(len(s.Histograms[i-1].Counts) == 0 ||
					&h.Counts[0] != &s.Histograms[i-1].Counts[0]) {
			n += filledBytes * int64(len(h.Counts))
		}
	}
	for _, text := range s.Strings {
		n += int64(len(text))
	}
	return n
}

// Latest returns what Select does for the newest instant alone: the series whose entity is there
// and has a value, one point each. For a node's present state a window built from its newest
// frame and that frame's key frame is enough.
func (w *Window) Latest(matchers ...*labels.Matcher) []Series {
	list, _ := w.LatestContext(context.Background(), nil, matchers...)
	return list
}

// LatestContext is Latest until ctx ends, as SelectContext is Select.
func (w *Window) LatestContext(ctx context.Context, allow Allowance,
	matchers ...*labels.Matcher) ([]Series, error) {
	if len(w.Times) == 0 {
		return nil, ctx.Err()
	}
	newest := w.Times[len(w.Times)-1]
	return w.SelectContext(ctx, allow, newest, newest, matchers...)
}

func sortSeries(list []Series) {
	slices.SortStableFunc(list, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
}

// fixed returns a label that all entities of the dictionary share.
// What a recorder computes has no labels but those that rules gave it.
func (d *Dictionary) fixed(name string) (string, bool) {
	if frame.IsRecorder(d.Node) {
		return "", false
	}
	switch name {
	case "cluster":
		return d.Cluster, true
	case "datacenter":
		return d.Datacenter, true
	case "rack":
		return d.Rack, true
	case "node":
		return d.Node.String(), true
	}
	return "", false
}

// MatchMetrics returns the numbers of the metrics that can have series that match, by name and by
// what all entities share. When ctx ends it returns what it has so far: who calls it asks ctx.
func (d *Dictionary) MatchMetrics(ctx context.Context, matchers ...*labels.Matcher) []int {
	for _, m := range matchers {
		if m.Name == labels.MetricName || slices.Contains(d.Labels, m.Name) {
			continue
		}
		if v, _ := d.fixed(m.Name); !m.Matches(v) {
			return nil
		}
	}
	names := fewNames(matchers)
	var list []int
metrics:
	for i := range d.Metrics {
		if names != nil && !slices.Contains(names, d.Metrics[i].Name) {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		for _, m := range matchers {
			if m.Name == labels.MetricName && !m.Matches(d.Metrics[i].Name) {
				continue metrics
			}
		}
		list = append(list, i)
	}
	return list
}

// AppendMatcher appends a text that names a matcher, and that is no other matcher's. It costs a
// tenth of Prometheus's own text.
func AppendMatcher(b []byte, m *labels.Matcher) []byte {
	for _, text := range []string{m.Name, m.Value} {
		b = append(strconv.AppendInt(b, int64(len(text)), 10), ':')
		b = append(b, text...)
	}
	return append(b, "=!~N"[m.Type])
}

// fewNames returns the names of metrics that a matcher allows, if it allows only a few; nil if none
// does so. To compare with them takes a tenth of the time of a regular expression.
func fewNames(matchers []*labels.Matcher) []string {
	for _, m := range matchers {
		switch {
		case m.Name != labels.MetricName:
		case m.Type == labels.MatchEqual:
			return []string{m.Value}
		case m.Type == labels.MatchRegexp:
			if names := m.SetMatches(); len(names) > 0 && len(names) <= 4 {
				return names
			}
		}
	}
	return nil
}

// MatchRows returns the numbers of the entities whose own labels match. When ctx ends it
// returns what it has so far: who calls it asks ctx.
func (d *Dictionary) MatchRows(ctx context.Context, matchers ...*labels.Matcher) []int32 {
	type check struct {
		column  int
		matcher *labels.Matcher
	}
	var checks []check
	for _, m := range matchers {
		if i := slices.Index(d.Labels, m.Name); i >= 0 {
			checks = append(checks, check{i, m})
		}
	}
	rows := make([]int32, 0, len(d.Rows))
rows:
	for i, row := range d.Rows {
		if ctx.Err() != nil {
			break
		}
		for _, c := range checks {
			if !c.matcher.Matches(row[c.column]) {
				continue rows
			}
		}
		rows = append(rows, int32(i))
	}
	return rows
}

// labels returns the labels of a series. Empty values are left out, as Prometheus does.
func (d *Dictionary) labels(b *labels.ScratchBuilder, node string, metric int,
	row int32) labels.Labels {
	b.Reset()
	add := func(name, value string) {
		if value != "" {
			b.Add(name, value)
		}
	}
	add(labels.MetricName, d.Metrics[metric].Name)
	if !frame.IsRecorder(d.Node) {
		add("cluster", d.Cluster)
		add("datacenter", d.Datacenter)
		add("rack", d.Rack)
		add("node", node)
	}
	for i, name := range d.Labels {
		add(name, d.Rows[row][i])
	}
	b.Sort()
	return b.Labels()
}

// add adds the series of one metric of some rows that have values.
func (s *selection) add(t *Type, metric int, rows []int32) error {
	b := labels.NewScratchBuilder(5 + len(t.Labels))
	node := t.Node.String()
	m := &t.Metrics[metric]
	c := newCursor(t, metric, int32(len(s.times)))
	for _, row := range rows {
		one := Series{Metric: m}
		c.row(row)
		for c.next(s.first, s.end) {
			c.appendTo(&one, s.times[c.instant])
		}
		if len(one.At) == 0 {
			continue
		}
		one.Labels = t.labels(&b, node, metric, row)
		if s.owed += one.Bytes(); s.owed > askEvery {
			if err := s.ask(); err != nil {
				return err
			}
		}
		s.out = append(s.out, one)
	}
	return nil
}

// appendTo appends the value where the cursor stands to a series.
func (c *cursor) appendTo(s *Series, at int64) {
	s.At = append(s.At, at)
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		s.Ints = append(s.Ints, c.word)
	case frame.GaugeDouble:
		s.Doubles = append(s.Doubles, math.Float64frombits(uint64(c.word)))
	case frame.String:
		s.Strings = append(s.Strings, c.text())
	default:
		s.Histograms = append(s.Histograms, c.histogram())
	}
}
