package querytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/series"
)

// living is one node of a fleet as it is being made.
type living struct {
	*Fleet
	*frametest.Node
	r      *rand.Rand
	series map[string]*Truth // by labels
	there  map[string]bool   // those that the last frame has
}

func (f *Fleet) node(i int) {
	l := &living{Fleet: f, Node: frametest.New(fmt.Sprintf("fleet-%d", i%2), f.Seed<<8+uint64(i),
		0),
		r: rand.New(rand.NewPCG(f.Seed, uint64(i))), series: map[string]*Truth{},
		there: map[string]bool{}}
	l.Interval = f.FleetConfig.Interval.Milliseconds()
	l.Identity.Datacenter = fmt.Sprintf("dc%d", i/2%2)
	f.templates(l.Node)
	l.add(0)
	l.add(2, "Read")
	l.add(2, "Write")
	l.add(3, "Mutation")
	for t := range f.Tables {
		l.add(1, "shop", "table_"+strconv.Itoa(t))
	}
	from, to := f.From, f.End()
	if i == 1 && !f.Calm {
		from += f.Span.Milliseconds() / 4 // a node that comes later
	}
	if i == 2 && !f.Calm {
		to -= f.Span.Milliseconds() / 4 // and one that goes
	}
	jitter := f.Jitter.Milliseconds()
	slot := from + l.r.Int64N(l.Interval)
	if f.Calm {
		slot = from + l.Interval/2
	}
	before, ended := int64(math.MinInt64), int64(math.MaxInt64)
	for slot < to {
		at := slot
		if jitter > 0 {
			at += l.r.Int64N(2*jitter+1) - jitter
		}
		at = min(max(at, f.From), to-1)
		if ended < at { // it was silent
			l.end(ended, nil)
		}
		l.live(at)
		l.Fleet.Frames[l.ID] = append(l.Fleet.Frames[l.ID], l.Frame(at))
		l.note(at)
		if before != math.MinInt64 { // of the first frame nobody knows what is usual
			ended = at + gone*max(l.Interval, at-before)
		}
		before = at
		slot += l.Interval
		if !f.Calm {
			switch n := l.r.IntN(400); {
			case n < 2: // silence
				slot += l.Interval * (5 + l.r.Int64N(60))
			case n < 12: // lost frames
				slot += l.Interval * (1 + l.r.Int64N(3))
			}
		}
	}
	if ended != math.MaxInt64 {
		l.end(ended, nil)
	}
	for _, s := range l.series {
		f.Series = append(f.Series, s)
	}
	slices.SortFunc(f.Series, func(a, b *Truth) int { return labels.Compare(a.Labels, b.Labels) })
}

func (l *living) add(template int, row ...string) {
	e := frametest.Entity{Labels: row, Cells: make([]frametest.Cell,
		len(l.Templates[template].Metrics))}
	for i, m := range l.Templates[template].Metrics {
		l.zero(&e.Cells[i], m)
	}
	l.Entities[template] = append(l.Entities[template], e)
}

func (l *living) zero(c *frametest.Cell, m frame.Metric) {
	switch {
	case m.Kind.IsHistogram():
		c.Counts, c.Sum = make([]int64, len(l.Bounds[m.Bounds].Upper)+1), 0
	case m.Kind == frame.Counter:
		c.Int = 0
	case m.Kind == frame.String:
		c.Text = "5.0.9"
	}
}

// live lets a node live on until an instant.
func (l *living) live(at int64) {
	r := l.r
	if r.IntN(150) == 0 { // the agent or Cassandra starts again: counters count from nothing
		l.Resets = append(l.Resets, at)
		l.Restart(at)
		for t := range l.Entities {
			for e := range l.Entities[t] {
				for i, m := range l.Templates[t].Metrics {
					l.zero(&l.Entities[t][e].Cells[i], m)
				}
			}
		}
	}
	if r.IntN(30) == 0 {
		l.Restart(at) // a key frame says which entities there are
		if name := "table_" + strconv.Itoa(r.IntN(l.Tables)); !l.drop(name) {
			l.add(1, "shop", name)
		}
	}
	for t := range l.Entities {
		for e := range l.Entities[t] {
			for i, m := range l.Templates[t].Metrics {
				if r.IntN(3) > 0 {
					l.change(&l.Entities[t][e].Cells[i], m)
				}
			}
		}
	}
}

func (l *living) drop(table string) bool {
	for i, e := range l.Entities[1] {
		if e.Labels[1] == table {
			l.Entities[1] = slices.Delete(l.Entities[1], i, i+1)
			return true
		}
	}
	return false
}

func (l *living) change(c *frametest.Cell, m frame.Metric) {
	r := l.r
	switch m.Kind {
	case frame.Counter:
		c.Int += r.Int64N(5000)
	case frame.Gauge:
		c.Int = r.Int64N(1<<[]int{3, 20, 40, 62}[r.IntN(4)]) - 4
		c.Absent = r.IntN(25) == 0
	case frame.GaugeDouble:
		c.Double = r.Float64()*8 - 2
		if r.IntN(200) == 0 && !l.Calm {
			c.Double = math.Inf(1)
		}
	case frame.String:
		c.Text = []string{"5.0.9", "5.0.9", "4.1.3", "a \"quoted\"\ntext", ""}[r.IntN(5)]
	case frame.Histogram:
		upper := l.Bounds[m.Bounds].Upper
		for range 1 + r.IntN(20) {
			b := min(r.IntN(60)+r.IntN(40), len(upper))
			c.Counts[b]++
			if m.HasSum {
				c.Sum += upper[min(b, len(upper)-1)]
			}
		}
	case frame.GaugeHistogram:
		b := r.IntN(len(c.Counts))
		n := r.Int64N(9)
		c.Sum += (n - c.Counts[b]) * int64(b)
		c.Counts[b] = n
	}
}

// note records what the frame of an instant says, and what it says no more.
func (l *living) note(at int64) {
	now := map[string]bool{}
	for t := range l.Entities {
		for _, e := range l.Entities[t] {
			for i, m := range l.Templates[t].Metrics {
				if !e.Cells[i].Absent {
					l.cell(now, at, &l.Templates[t], e.Labels, m, &e.Cells[i])
				}
			}
		}
	}
	l.end(at, now)
	l.there = now
}

// end writes stale markers for series that were there and are not now.
func (l *living) end(at int64, now map[string]bool) {
	for key := range l.there {
		if now[key] {
			continue
		}
		s := l.series[key]
		stale := TrueSample{At: at, Value: math.Float64frombits(value.StaleNaN)}
		if s.Samples[len(s.Samples)-1].Hist != nil {
			stale.Hist = &histogram.FloatHistogram{Sum: stale.Value}
		}
		s.Samples = append(s.Samples, stale)
		delete(l.there, key)
	}
}

func (l *living) cell(now map[string]bool, at int64, t *frame.Template, row []string,
	m frame.Metric, c *frametest.Cell) {
	b := labels.NewBuilder(labels.FromStrings("cluster", l.Cluster, "datacenter",
		l.Identity.Datacenter, "rack", l.Identity.Rack, "node", l.ID.String()))
	for i, name := range t.Labels {
		b.Set(name, row[i])
	}
	take := func(name string, v float64, h *histogram.FloatHistogram, more ...string) {
		b.Set(labels.MetricName, name)
		for i := 0; i < len(more); i += 2 {
			b.Set(more[i], more[i+1])
		}
		of := b.Labels()
		for i := 0; i < len(more); i += 2 {
			b.Del(more[i])
		}
		key := of.String()
		if l.series[key] == nil {
			l.series[key] = &Truth{Labels: of}
		}
		now[key] = true
		l.series[key].Samples = append(l.series[key].Samples, TrueSample{at, v, h})
	}
	switch m.Kind {
	case frame.Counter, frame.Gauge:
		take(m.Name, decimal(c.Int, m.Exponent), nil)
	case frame.GaugeDouble:
		take(m.Name, c.Double, nil)
	case frame.String:
		name := "value"
		if slices.Contains(t.Labels, name) {
			name = "exported_value"
		}
		take(m.Name, 1, nil, name, c.Text)
	default:
		bounds := l.Bounds[m.Bounds]
		take(m.Name, 0, trueHistogram(m, bounds, c))
		if !l.Classic {
			return
		}
		upTo := make([]int64, len(c.Counts))
		var n int64
		for i, of := range c.Counts {
			n += of
			upTo[i] = n
		}
		take(m.Name+"_count", float64(n), nil)
		if m.HasSum {
			take(m.Name+"_sum", decimal(c.Sum, m.Exponent), nil)
		}
		for _, i := range series.ExposedBuckets(len(bounds.Upper)) {
			le := "+Inf"
			if i < len(bounds.Upper) {
				le = strconv.FormatFloat(decimal(bounds.Upper[i], bounds.Exponent), 'g', -1, 64)
				if !strings.ContainsAny(le, ".e") {
					le += ".0"
				}
			}
			take(m.Name+"_bucket", float64(upTo[i]), nil, labels.BucketLabel, le)
		}
	}
}

// decimal is v × 10^exponent, as a person would write it.
func decimal(v int64, exponent int) float64 {
	f, err := strconv.ParseFloat(fmt.Sprintf("%de%d", v, exponent), 64)
	if err != nil {
		panic(err)
	}
	return f
}

// trueHistogram writes all buckets, empty ones among them.
func trueHistogram(m frame.Metric, b frame.Bounds, c *frametest.Cell) *histogram.FloatHistogram {
	h := &histogram.FloatHistogram{Schema: histogram.CustomBucketsSchema, Sum: math.NaN(),
		PositiveSpans: []histogram.Span{{Length: uint32(len(c.Counts))}}}
	if m.HasSum {
		h.Sum = decimal(c.Sum, m.Exponent)
	}
	if m.Kind == frame.GaugeHistogram {
		h.CounterResetHint = histogram.GaugeType
	}
	for _, u := range b.Upper {
		h.CustomValues = append(h.CustomValues, decimal(u, b.Exponent))
	}
	for _, n := range c.Counts {
		h.Count += float64(n)
		h.PositiveBuckets = append(h.PositiveBuckets, float64(n))
	}
	return h
}
