package scrape

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// metric is all series of one name. What frames have of it changes as little as can be: a change
// costs a key frame.
type metric struct {
	name     string // as the target says it
	declared model.MetricType
	report   bool // it is Prometheus's own of the scrape

	kept    bool   // it has a place in frames
	typ     string // of its entities
	inFrame string // its name there
	unit    string

	labels  []string // sorted
	version int      // of labels

	kind     frame.Kind
	decided  bool
	exponent int
	noSum    bool
	shape    shape // of histograms

	pass    uint64
	samples []sample // of pass
}

// reserved are labels that all nodes' series have, and le, which histograms have for readers.
var reserved = []string{"cluster", "datacenter", "rack", "node", "le"}

// visible returns the labels that readers see of a series, sorted by name.
func (st *state) visible(of labels.Labels) []labels.Label {
	list := make([]labels.Label, 0, of.Len())
	var others []labels.Label
	of.Range(func(l labels.Label) {
		switch own := st.strip[l.Name]; {
		case l.Name == labels.MetricName:
		case own != "" && own == l.Value: // every series of the node has it
		case slices.Contains(reserved, l.Name), strings.HasPrefix(l.Name, "recorded_"):
			l.Name = "exported_" + l.Name
			others = append(others, l)
		case l.Name == "quantile":
			l.Name = frame.RecordedLabel(l.Name)
			others = append(others, l)
		case !model.LabelName(l.Name).IsValidLegacy() || strings.HasPrefix(l.Name, "__"):
			l.Name = "exported_" + strings.TrimLeft(model.EscapeName(l.Name,
				model.UnderscoreEscaping), "_")
			others = append(others, l)
		default:
			list = append(list, l)
		}
	})
	for _, l := range others {
		for slices.ContainsFunc(list, func(o labels.Label) bool { return o.Name == l.Name }) {
			l.Name = "exported_" + l.Name
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b labels.Label) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// metric returns the metric of a name, which may be new.
func (st *state) metric(name string) *metric {
	m := st.metrics[name]
	if m == nil {
		m = &metric{name: name, unit: reading.UnitOf(name)}
		st.metrics[name] = m
	}
	return m
}

// room returns why a metric has no place in frames; "" if it has one. It keeps the place while it
// is there.
func (st *state) room(m *metric) (why string) {
	if m.kept {
		return ""
	}
	name := m.name
	if !model.IsValidLegacyMetricName(name) {
		name = model.EscapeName(name, model.UnderscoreEscaping)
	}
	switch {
	case len(name) > frame.MaxNameBytes:
		return leftName
	case st.names[name]:
		return leftAlike
	case len(st.names) >= maxNames && !m.report:
		return leftNames
	}
	m.kept, m.inFrame, m.typ = true, name, typeOf(name)
	for n := 2; st.types[m.typ]; n++ {
		end := "_" + strconv.Itoa(n)
		m.typ = typeOf(name)
		m.typ = m.typ[:min(len(m.typ), frame.MaxNameBytes-len(end))] + end
	}
	st.names[m.inFrame], st.types[m.typ] = true, true
	return ""
}

// gone is after how many scrapes a metric that is not there loses its place and what was decided.
const gone = 100

// tidyMetrics forgets metrics that are gone for so many scrapes.
func (b *batch) tidyMetrics(long uint64) {
	for name, m := range b.metrics {
		if b.pass-m.pass < long && (m.kept || m.pass == b.pass) {
			continue
		}
		delete(b.metrics, name)
		if m.kept {
			delete(b.names, m.inFrame)
			delete(b.types, m.typ)
		}
	}
}

// typeOf makes an entity type of a metric's name.
func typeOf(name string) string {
	t := strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		}
		return '_'
	}, name)
	if t[0] < 'a' || t[0] > 'z' {
		t = "m" + t
	}
	return t[:min(len(t), frame.MaxNameBytes)]
}

// table makes the table of what a scrape says of the metric. It counts what it leaves out, and the
// sets of bounds that the reading has.
func (m *metric) table(left map[string]int, sets map[string]bool) (reading.Table, bool) {
	keep := func(why string, fits func(*sample) bool) {
		n := len(m.samples)
		m.samples = slices.DeleteFunc(m.samples, func(s sample) bool { return !fits(&s) })
		if n -= len(m.samples); n > 0 {
			left[why] += n
		}
	}
	keep(leftLabel, func(s *sample) bool { return !s.series.long })
	m.decide()
	keep(leftKind, func(s *sample) bool { return m.isKind(*s) })
	m.widen()
	keep(leftLabels, func(s *sample) bool { return m.rowOf(s.series) })
	if m.kind.IsHistogram() {
		m.shape.adopt(m.samples)
		keep(leftBounds, func(s *sample) bool { return m.shape.fits(s.bucket) })
		keep(leftValue, func(s *sample) bool { return countable(s.bucket) })
	}
	if len(m.samples) == 0 {
		return reading.Table{}, false
	}
	c := reading.Column{Name: m.inFrame, Kind: m.kind, Unit: m.unit}
	if m.kind.IsHistogram() {
		c.Bounds = m.shape.bounds
		key := textOf(c.Bounds)
		if !sets[key] && len(sets) == frame.MaxBoundsSets {
			left[leftSets] += len(m.samples)
			return reading.Table{}, false
		}
		sets[key] = true
	}
	m.fill(&c)
	t := reading.Table{Type: m.typ, Labels: m.labels, Columns: []reading.Column{c},
		Rows: make([][]string, len(m.samples))}
	for i := range m.samples {
		t.Rows[i] = m.samples[i].series.row
		m.samples[i].bucket = nil
	}
	return t, true
}

// decide says of which kind the metric is, by the first scrape that has it.
func (m *metric) decide() {
	if len(m.samples) == 0 {
		return
	}
	if m.decided && slices.ContainsFunc(m.samples, m.isKind) {
		m.settle()
		return
	}
	m.decided, m.exponent, m.noSum, m.shape = true, 0, false, shape{}
	first := &m.samples[0]
	switch {
	case first.bucket != nil && first.gauge:
		m.kind = frame.GaugeHistogram
	case first.bucket != nil:
		m.kind = frame.Histogram
	case m.declared == model.MetricTypeCounter && !strings.HasSuffix(m.name, "_created"),
		m.declared == model.MetricTypeSummary && summed(m.name),
		m.declared == model.MetricTypeHistogram && summed(m.name):
		m.kind = frame.Counter
	default:
		m.kind = frame.GaugeDouble
		return
	}
	switch m.unit {
	case "seconds":
		m.exponent = -9
	case "bytes":
	default:
		if m.kind.IsHistogram() {
			m.exponent = -6
		}
	}
	m.settle()
}

// isKind reports whether the metric's kind can hold a sample.
func (m *metric) isKind(s sample) bool {
	return (s.bucket != nil) == m.kind.IsHistogram() &&
		s.gauge == (m.kind == frame.GaugeHistogram)
}

// summed reports whether a summary's series is its sum or its count.
func summed(name string) bool {
	return strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")
}

// finest is how finely numbers are kept as integers.
const finest = 9

// settle makes the exponent one that holds the values. It only gets finer, and a counter that none
// holds becomes a double.
func (m *metric) settle() {
	switch m.kind {
	case frame.Counter:
		if m.declared == model.MetricTypeGauge {
			m.kind, m.exponent = frame.GaugeDouble, 0
			return
		}
		for again := true; again; {
			again = false
			for i := range m.samples {
				v := m.samples[i].value
				if m.samples[i].bucket != nil || math.IsNaN(v) {
					continue
				}
				n, ok := decimals(v, -m.exponent)
				if !ok {
					m.kind, m.exponent = frame.GaugeDouble, 0
					return
				}
				if n > -m.exponent { // the values before must fit still
					m.exponent, again = -n, true
				}
			}
		}
	case frame.Histogram, frame.GaugeHistogram:
		for i := range m.samples {
			h := m.samples[i].bucket
			if h == nil {
				continue
			}
			if !finite(h.Sum) {
				m.noSum = true
			}
			for !m.noSum && math.Abs(h.Sum)*math.Pow10(-m.exponent) >= 1<<62 {
				if m.exponent += 3; m.exponent > 18 {
					m.noSum = true
				}
			}
		}
	}
}

// decimals returns how many decimals hold v exactly, at least so many; false if it is none that a
// counter may have.
func decimals(v float64, least int) (int, bool) {
	if !finite(v) || v < 0 || math.Signbit(v) {
		return 0, false
	}
	for d := least; d <= finest; d++ {
		if n, ok := whole(v, d); ok && frame.Scale(n, -d) == v {
			return d, true
		}
	}
	return 0, false
}

// whole returns v × 10^places, rounded; false if it does not fit.
func whole(v float64, places int) (int64, bool) {
	scaled := math.Round(v * math.Pow10(places))
	if math.Abs(scaled) < 1<<53 {
		return int64(scaled), true
	}
	if math.Abs(scaled) >= 1<<63 {
		return 0, false
	}
	if places < 0 {
		return int64(scaled), true
	}
	text := strconv.FormatFloat(v, 'f', places, 64) // a product of doubles would round twice
	n, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	return n, err == nil
}

// widen gives the metric the labels of its series. It has those of series that are gone, too, while
// there is room.
func (m *metric) widen() {
	add := func() {
		for i := range m.samples {
			for _, l := range m.samples[i].series.labels {
				at, there := slices.BinarySearch(m.labels, l.Name)
				if !there {
					m.labels = slices.Insert(m.labels, at, l.Name)
				}
			}
		}
	}
	before := len(m.labels)
	old := m.labels
	m.labels = slices.Clone(m.labels)
	if add(); len(m.labels) > frame.MaxLabels {
		m.labels = nil
		for i := range m.samples { // whole series, as long as they fit
			all := m.labels
			for _, l := range m.samples[i].series.labels {
				if at, there := slices.BinarySearch(all, l.Name); !there {
					all = slices.Insert(slices.Clone(all), at, l.Name)
				}
			}
			if len(all) <= frame.MaxLabels {
				m.labels = all
			}
		}
	}
	if len(m.labels) == before && slices.Equal(m.labels, old) {
		m.labels = old
		return
	}
	m.version++
}

// rowOf makes the row of a series; false if the metric does not have all its labels.
func (m *metric) rowOf(s *series) bool {
	if s.rowOf == m.version && s.row != nil {
		return true
	}
	row := make([]string, len(m.labels))
	for _, l := range s.labels {
		at, there := slices.BinarySearch(m.labels, l.Name)
		if !there {
			return false
		}
		row[at] = l.Value
	}
	s.row, s.rowOf = row, m.version
	return true
}

// fill gives the column its values, in the order of the samples.
func (m *metric) fill(c *reading.Column) {
	n := len(m.samples)
	switch m.kind {
	case frame.Counter:
		c.Exponent, c.Ints = m.exponent, make([]int64, n)
		for i := range m.samples {
			c.Ints[i] = reading.NoInt
			if v := m.samples[i].value; !math.IsNaN(v) {
				c.Ints[i], _ = whole(v, -m.exponent)
			}
		}
	case frame.GaugeDouble:
		c.Doubles = make([]float64, n)
		for i := range m.samples {
			c.Doubles[i] = m.samples[i].value
		}
	default:
		c.HasSum = !m.noSum
		if c.HasSum {
			c.Exponent = m.exponent
		}
		c.Histograms = make([]reading.Histogram, n)
		for i := range m.samples {
			h := m.samples[i].bucket
			c.Histograms[i].Counts = m.shape.counts(h)
			if c.HasSum {
				c.Histograms[i].Sum, _ = whole(h.Sum, -m.exponent)
			}
		}
	}
}
