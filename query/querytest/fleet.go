package querytest

import (
	"math"
	"slices"
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
