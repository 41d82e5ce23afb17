package querytest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query"
)

// FleetConfig says what a Fleet is like. The same configuration always gives the same fleet.
type FleetConfig struct {
	Seed     uint64
	From     int64 // ms
	Span     time.Duration
	Interval time.Duration
	Jitter   time.Duration // of each instant, to either side
	Nodes    int           // in two clusters
	Tables   int           // of each node, at most
	// Calm is a fleet in which every frame comes at its time: none is late or lost, no node falls
	// silent. Agents still start again.
	Calm bool
	// Classic adds the series that a Prometheus would have under the classic names of histograms.
	Classic bool
}

// Fleet is what the nodes of an invented fleet sent: as frames, and as the samples that a
// Prometheus would have that knew of each frame, with its stale markers.
type Fleet struct {
	FleetConfig
	Frames Frames
	Series []*Truth
	// Resets are the instants at which agents started again.
	Resets []int64
}

// Truth is one series.
type Truth struct {
	Labels  labels.Labels
	Samples []TrueSample
}

// TrueSample is a value at an instant; the histogram is nil if it is a number.
type TrueSample struct {
	At    int64
	Value float64
	Hist  *histogram.FloatHistogram
}

// The metrics of a Fleet by what they are, for expressions.
var (
	Counters = []string{"node_cpu_seconds_total", "cassandra_table_reads_total"}
	Gauges   = []string{"cassandra_compaction_pending_tasks", "node_load1",
		"node_temperature_celsius", "cassandra_table_live_disk_space_bytes"}
	Histograms = []string{"cassandra_table_read_latency_seconds",
		"cassandra_client_request_latency_seconds"}
	GaugeHistograms = []string{"cassandra_table_sstables_per_size"}
	Texts           = []string{"cassandra_node_schema_version", "cassandra_pool_state"}
)

// gone is how many usual distances a node may be silent before its series end: query/lapse.go.
const gone = 3

// NewFleet lets a fleet live.
func NewFleet(c FleetConfig) *Fleet {
	f := &Fleet{FleetConfig: c, Frames: Frames{}}
	for i := range c.Nodes {
		f.node(i)
	}
	return f
}

// End is the instant after the last one at which a node may have sent a frame.
func (f *Fleet) End() int64 { return f.From + f.Span.Milliseconds() }

func (f *Fleet) templates(n *frametest.Node) {
	n.Templates = []frame.Template{
		{Type: "node", Metrics: []frame.Metric{
			{Name: "cassandra_compaction_pending_tasks", Kind: frame.Gauge},
			{Name: "node_load1", Kind: frame.GaugeDouble},
			{Name: "node_temperature_celsius", Kind: frame.Gauge, Unit: "celsius", Exponent: -2},
			{Name: "node_cpu_seconds_total", Kind: frame.Counter, Unit: "seconds", Exponent: -3},
			{Name: "cassandra_node_schema_version", Kind: frame.String},
		}},
		{Type: "table", Labels: []string{"keyspace", "table"}, Metrics: []frame.Metric{
			{Name: "cassandra_table_live_disk_space_bytes", Kind: frame.Gauge, Unit: "bytes",
				Exponent: 3},
			{Name: "cassandra_table_reads_total", Kind: frame.Counter},
			{Name: "cassandra_table_read_latency_seconds", Kind: frame.Histogram, Unit: "seconds",
				Exponent: -6, HasSum: true},
			{Name: "cassandra_table_sstables_per_size", Kind: frame.GaugeHistogram, Bounds: 1,
				HasSum: true},
		}},
		{Type: "client_request", Labels: []string{"request"}, Metrics: []frame.Metric{
			{Name: "cassandra_client_request_latency_seconds", Kind: frame.Histogram,
				Unit: "seconds"},
		}},
		{Type: "pool", Labels: []string{"value"}, Metrics: []frame.Metric{
			{Name: "cassandra_pool_state", Kind: frame.String},
		}},
	}
	n.Entities = make([][]frametest.Entity, len(n.Templates))
}

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
		for _, i := range query.ExposedBuckets(len(bounds.Upper)) {
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

// TSDB returns Prometheus's own storage with the fleet's samples.
func (f *Fleet) TSDB(t testing.TB) storage.Queryable {
	t.Helper()
	db := teststorage.New(t, func(o *tsdb.Options) {
		o.MinBlockDuration = (4 * f.Span).Milliseconds() + 24*time.Hour.Milliseconds()
		o.MaxBlockDuration = o.MinBlockDuration
	})
	a := db.AppenderV2(t.Context())
	for _, s := range f.Series {
		var ref storage.SeriesRef
		for _, of := range s.Samples {
			var err error
			if ref, err = a.Append(ref, s.Labels, 0, of.At, of.Value, nil, of.Hist,
				storage.AppendV2Options{}); err != nil {
				t.Fatalf("%s at %d: %v", s.Labels, of.At, err)
			}
		}
	}
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	return ordered{db}
}

// Node returns the id of one of the fleet's nodes, the same for the same number.
func (f *Fleet) Node(i int) uuid.UUID {
	var list []uuid.UUID
	for id := range f.Frames {
		list = append(list, id)
	}
	slices.SortFunc(list, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return list[i%len(list)]
}

// Scraped returns the fleet as a Prometheus would have it that scrapes it at the last millisecond
// of each period, where a series that had any sample in the period has its last one. It has no
// frames.
func (f *Fleet) Scraped(level int64) *Fleet {
	c := &Fleet{FleetConfig: f.FleetConfig}
	for _, s := range f.Series {
		of := &Truth{Labels: s.Labels}
		for _, p := range s.Periods(level) {
			if n := len(of.Samples); n > 0 && of.Samples[n-1].At < p.Start-1 {
				of.stale(of.Samples[n-1].At + level)
			}
			last := p.Samples[len(p.Samples)-1]
			of.Samples = append(of.Samples, TrueSample{p.Start + level - 1, last.Value, last.Hist})
		}
		of.stale(of.Samples[len(of.Samples)-1].At + level)
		c.Series = append(c.Series, of)
	}
	return c
}

func (s *Truth) stale(at int64) {
	of := TrueSample{At: at, Value: math.Float64frombits(value.StaleNaN)}
	if s.Samples[len(s.Samples)-1].Hist != nil {
		of.Hist = &histogram.FloatHistogram{Sum: of.Value}
	}
	s.Samples = append(s.Samples, of)
}

// Period is a period in which a series has samples.
type Period struct {
	Start   int64
	Samples []TrueSample
	// Increase is from the sample before the first one to the last one, over all beginnings anew;
	// of a histogram it is by bucket.
	Increase  float64
	Increases []float64
	// Anew is whether it began anew in the period.
	Anew bool
}

// Periods returns the periods of a level in which a series has samples.
func (s *Truth) Periods(level int64) []Period {
	var list []Period
	var before *TrueSample
	for i := range s.Samples {
		of := &s.Samples[i]
		if value.IsStaleNaN(of.Value) || of.Hist != nil && value.IsStaleNaN(of.Hist.Sum) {
			continue
		}
		start := of.At - of.At%level
		if n := len(list); n == 0 || list[n-1].Start != start {
			list = append(list, Period{Start: start})
		}
		p := &list[len(list)-1]
		p.Samples = append(p.Samples, *of)
		if before != nil {
			p.increase(before, of)
		}
		before = of
	}
	return list
}

func (p *Period) increase(before, now *TrueSample) {
	if now.Hist == nil {
		if now.Value < before.Value {
			p.Increase, p.Anew = p.Increase+now.Value, true
			return
		}
		p.Increase += now.Value - before.Value
		return
	}
	if p.Increases == nil {
		p.Increases = make([]float64, len(now.Hist.PositiveBuckets))
	}
	anew := false
	for b, n := range now.Hist.PositiveBuckets {
		anew = anew || n < before.Hist.PositiveBuckets[b]
	}
	for b, n := range now.Hist.PositiveBuckets {
		if !anew {
			n -= before.Hist.PositiveBuckets[b]
		}
		p.Increases[b] += n
		p.Increase += n
	}
	p.Anew = p.Anew || anew
}
