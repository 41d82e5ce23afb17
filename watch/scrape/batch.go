package scrape

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	promscrape "github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// state is what is known of a target between two scrapes. Its scrapes are one after another.
type state struct {
	who
	scraper *Scraper
	address string
	job     string // its name in the configuration

	series  map[string]*series // by the name and the labels that readers see
	refs    []*series          // by what Prometheus calls them, minus 1
	free    []int              // places in refs
	metrics map[string]*metric // by name as the target says it
	types   map[string]bool    // of metrics, and their names in frames
	names   map[string]bool
	pass    uint64
	known   []frame.Fact // of the last reading

	fast    atomic.Bool // its last scrape was good and fast
	ended   atomic.Bool
	mu      sync.Mutex // guards what follows, and end against commit
	samples int
	took    time.Duration
	left    map[string]int // series of the last reading that it does not have, by reason
}

// maxNames is how many metrics of a target a reading has: a template each. Who makes the frame may
// add a few of its own.
const maxNames = frame.MaxTemplates - 24

func (s *Scraper) newState(target *promscrape.Target, w who) *state {
	return &state{who: w, scraper: s, address: target.URL().Host, series: map[string]*series{},
		metrics: map[string]*metric{}, types: map[string]bool{}, names: map[string]bool{}}
}

// end gives back what the target had of the room for all.
func (st *state) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.ended.Swap(true) {
		st.scraper.series.Add(-int64(len(st.series)))
	}
}

// Reasons why a series is not in a reading.
const (
	leftNames     = "names"     // the target has more metrics than a frame
	leftLabels    = "labels"    // the metric has more labels than a frame
	leftName      = "name"      // the metric's name is longer than a frame allows
	leftAlike     = "alike"     // another metric has the same name in a frame's letters
	leftLabel     = "label"     // a label's name or value is longer than a frame allows
	leftDuplicate = "duplicate" // the target says it twice, or dates it far ahead
	leftKind      = "kind"      // the metric's other series are no histograms, or it alone is none
	leftBounds    = "bounds"    // the histogram's bounds are not those of the metric's others
	leftSets      = "sets"      // the target's histograms have more sets of bounds than a frame
	leftValue     = "value"     // the histogram's counts are none
)

// series is one series of a target. Its labels are those that readers see, sorted by name.
type series struct {
	key    string
	metric *metric
	of     labels.Labels // as Prometheus had them
	labels []labels.Label
	long   bool // one of them is too long
	row    []string
	rowOf  int    // the metric's version that row was made for
	pass   uint64 // that it was last in
	index  int    // in the batch of that pass
	ref    int
}

// sample is what a scrape says of a series.
type sample struct {
	series *series
	at     int64
	value  float64
	bucket *histogram.FloatHistogram
	gauge  bool // of histograms: they are of this instant
}

// batch is one scrape.
type batch struct {
	*state
	release func()
	target  *promscrape.Target
	began   time.Time // with the slot

	pass      uint64
	samples   []sample
	report    []sample // Prometheus's own of the scrape
	added     []*series
	at        int64
	up, good  bool // up is there; and it is 1
	given     int  // series that came
	stored    float64
	duplicate int
}

// nothing is the batch of a scrape that nobody wants.
type nothing struct{}

func (nothing) Append(storage.SeriesRef, labels.Labels, int64, int64, float64, *histogram.Histogram,
	*histogram.FloatHistogram, storage.AppendV2Options) (storage.SeriesRef, error) {
	return 0, nil
}
func (nothing) Commit() error   { return nil }
func (nothing) Rollback() error { return nil }

// AppenderV2 begins a scrape, once there is a slot for it: Prometheus asks for it before it asks
// the target.
func (s *Scraper) AppenderV2(ctx context.Context) storage.AppenderV2 {
	target, ok := promscrape.TargetFromContext(ctx)
	if !ok {
		return nothing{}
	}
	st := s.stateOf(target)
	if st == nil {
		return nothing{}
	}
	release := s.slots.take(s.ended, st.fast.Load())
	if release == nil {
		return nothing{}
	}
	st.pass++
	return &batch{state: st, release: release, target: target, began: time.Now(), pass: st.pass}
}

// stateOf returns what is known of a target; nil if it is not ours.
func (s *Scraper) stateOf(target *promscrape.Target) *state {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.states[target]
	if st == nil {
		b := labels.NewScratchBuilder(16)
		target.LabelsRange(func(l labels.Label) { b.Add(l.Name, l.Value) })
		b.Add(model.ScrapeIntervalLabel, target.GetValue(model.ScrapeIntervalLabel))
		b.Sort()
		w, err := s.who(b.Labels())
		if err != nil || s.ours[w.id] == "" {
			return nil
		}
		st = s.newState(target, w)
		st.job = s.ours[w.id]
	}
	if !s.deps.Mine(st.id) {
		return nil
	}
	s.states[target] = st
	return st
}

var errAllSeries = errors.New("all targets together have more series than max_all_series")

// reportSuffix ends the family's name of what Prometheus's scrape loop says itself.
const reportSuffix = "\xff"

// Append takes one series. Prometheus gives back the reference that it got the last time, with the
// same labels.
func (b *batch) Append(ref storage.SeriesRef, of labels.Labels, _, at int64, v float64,
	h *histogram.Histogram, f *histogram.FloatHistogram, o storage.AppendV2Options,
) (storage.SeriesRef, error) {
	one := sample{at: at, value: v, bucket: f}
	switch {
	case h != nil && value.IsStaleNaN(h.Sum), f != nil && value.IsStaleNaN(f.Sum),
		h == nil && f == nil && value.IsStaleNaN(v):
		return ref, nil // frames say what is there; what is not has ended
	case h != nil:
		one.bucket = h.ToFloat(nil)
	}
	report := strings.HasSuffix(o.MetricFamilyName, reportSuffix)
	if !report {
		b.given++
	}
	s, err := b.find(ref, of, report)
	if err != nil {
		return 0, err
	}
	one.series = s
	if one.bucket != nil {
		one.gauge = one.bucket.CounterResetHint == histogram.GaugeType
	}
	switch {
	case report:
		b.reported(one)
	case s.pass != b.pass:
		if b.samples == nil {
			b.samples = make([]sample, 0, len(b.series))
		}
		s.pass, s.index = b.pass, len(b.samples)
		s.metric.declared = o.Metadata.Type
		b.samples = append(b.samples, one)
	case at > b.samples[s.index].at: // the newest one of those with a time of their own
		b.samples[s.index] = one
	case at == b.samples[s.index].at:
		b.duplicate++
		return storage.SeriesRef(s.ref), storage.ErrDuplicateSampleForTimestamp
	}
	return storage.SeriesRef(s.ref), nil
}

// reported takes what Prometheus says of the scrape. A target that says the same is not heard.
func (b *batch) reported(one sample) {
	if one.series.pass == b.pass {
		b.samples[one.series.index].series = nil
		b.duplicate++
	}
	one.series.pass = b.pass
	one.series.metric.report = true
	b.report = append(b.report, one)
	switch one.series.metric.name {
	case "up":
		b.up, b.at, b.good = true, one.at, one.value == 1
	case "scrape_samples_post_metric_relabeling":
		b.stored = one.value
	}
}

// find returns the series of labels, which may be new. There is always room for Prometheus's own.
func (b *batch) find(ref storage.SeriesRef, of labels.Labels, report bool) (*series, error) {
	if i := int(ref) - 1; i >= 0 && i < len(b.refs) {
		if s := b.refs[i]; s != nil && labels.Equal(s.of, of) {
			return s, nil
		}
	}
	name := of.Get(labels.MetricName)
	list := b.visible(of)
	var key strings.Builder
	key.WriteString(name)
	for _, l := range list {
		key.WriteString("\xff" + l.Name + "\xff" + l.Value)
	}
	if s := b.series[key.String()]; s != nil {
		return s, nil
	}
	if b.scraper.series.Add(1) > int64(b.scraper.config.MaxAllSeries) && !report {
		b.scraper.series.Add(-1)
		return nil, errAllSeries
	}
	s := &series{key: key.String(), of: of, labels: list, metric: b.metric(name)}
	for _, l := range list {
		s.long = s.long || len(l.Value) > frame.MaxLabelBytes || len(l.Name) > frame.MaxNameBytes
	}
	b.mu.Lock()
	if b.ended.Load() { // end has given back what was there before
		b.scraper.series.Add(-1)
	}
	b.series[s.key] = s
	b.mu.Unlock()
	b.added = append(b.added, s)
	if n := len(b.free); n > 0 {
		s.ref, b.free = b.free[n-1]+1, b.free[:n-1]
		b.refs[s.ref-1] = s
	} else {
		b.refs = append(b.refs, s)
		s.ref = len(b.refs)
	}
	return s, nil
}

// Rollback ends a scrape that failed. Prometheus begins another one, to say so.
func (b *batch) Rollback() error {
	defer b.release()
	for _, s := range b.added {
		if b.drop(s); s.metric.pass == 0 {
			delete(b.metrics, s.metric.name)
		}
	}
	return nil
}

func (b *batch) drop(s *series) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.series, s.key)
	b.refs[s.ref-1] = nil
	b.free = append(b.free, s.ref-1)
	if !b.ended.Load() {
		b.scraper.series.Add(-1)
	}
}

// Commit hands over a scrape that is complete. One without up is the end of a target.
func (b *batch) Commit() error {
	defer b.release()
	if !b.up {
		return nil
	}
	s := b.scraper
	// Prometheus repeats its aligned time after the clock was set back.
	if now := time.Now(); time.UnixMilli(b.at).Sub(now) > clockBack {
		b.at = now.UnixMilli()
	}
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.ended.Err() != nil || b.ended.Load() || !s.deps.Mine(b.id) || !s.next(b.id, b.at) {
		return nil
	}
	r, left := b.reading()
	b.state.mu.Lock()
	b.state.samples, b.state.left, b.state.took = r.Series(), left, time.Since(b.began)
	b.fast.Store(b.good && b.took < fastScrape)
	b.state.mu.Unlock()
	var err error
	if text := s.problem(b.target, b.job, left); text != "" {
		err = errors.New(text)
	}
	s.deps.Take(b.Target, time.UnixMilli(b.at).UTC(), r, err)
	for _, one := range b.series {
		if one.pass != b.pass {
			b.drop(one)
		}
	}
	b.tidyMetrics(gone)
	return nil
}

// clockBack is how far the clock may go back before times that were are forgotten.
const clockBack = time.Minute

// next reports whether a reading is newer than the one before of the same target. Around a change
// of its labels a target may be read twice.
func (s *Scraper) next(id uuid.UUID, at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := time.UnixMilli(at)
	if last := s.last[id]; !t.After(last) && last.Sub(t) < clockBack {
		return false
	}
	s.last[id] = t
	return true
}

// reading makes the reading of a scrape, and counts what it leaves out by reason.
func (b *batch) reading() (*reading.Reading, map[string]int) {
	left := map[string]int{}
	if n := int(b.stored) - b.given + b.duplicate; n > 0 { // Prometheus keeps some of them from us
		left[leftDuplicate] = n
	}
	var order []*metric
	fresh := 0
	for _, list := range [][]sample{b.report, b.samples} {
		for _, one := range list {
			if one.series == nil {
				continue
			}
			m := one.series.metric
			if m.pass != b.pass {
				m.pass, m.samples = b.pass, m.samples[:0]
				if order = append(order, m); !m.kept {
					fresh++
				}
			}
			m.samples = append(m.samples, one)
		}
	}
	if len(b.names)+fresh > maxNames {
		b.tidyMetrics(1) // they make room for those that are there
	}
	r := &reading.Reading{Facts: b.facts()}
	sets := map[string]bool{}
	for _, m := range order {
		if why := b.room(m); why != "" {
			left[why] += len(m.samples)
			continue
		}
		if t, ok := m.table(left, sets); ok {
			r.Tables = append(r.Tables, t)
		}
	}
	return r, left
}

// facts say what the target is, as far as its metrics did the last time that it answered.
func (b *batch) facts() []frame.Fact {
	if !b.good && b.state.known != nil {
		return b.state.known
	}
	facts := []frame.Fact{{Name: "address", Value: b.address}}
	host, version := "", ""
	for _, one := range b.samples {
		if one.series == nil {
			continue
		}
		switch name := one.series.metric.name; {
		case name == "node_uname_info":
			host = one.series.of.Get("nodename")
		case name != "go_build_info" && strings.HasSuffix(name, "_build_info"),
			name == "vm_app_version":
			version = one.series.of.Get("version")
		}
	}
	if host != "" {
		facts = append(facts, frame.Fact{Name: "hostname", Value: host})
	}
	if version != "" {
		facts = append(facts, frame.Fact{Name: "version", Value: version})
	}
	b.state.known = facts
	return facts
}

// finite reports whether v is a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
