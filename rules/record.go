package rules

import (
	"context"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/value"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
)

// recorder collects what a group records at an instant and makes a frame of it: that of a virtual
// node, the group's in its cluster. A series that is not in the next frame has ended.
type recorder struct {
	id       uuid.UUID
	started  uint64
	sequence uint64
	at       int64
	samples  map[string][]sample // by the metric's name
	had      bool                // the last frame had samples
	feeds    bool                // rules over all clusters select what it may record

	// Until the first evaluation after a restart:
	until  int64               // what was recorded by then is read from the stream, in ms
	reader *following.Follower // of it
	series map[*memSeries]bool // that the newest frame had
}

type sample struct {
	labels labels.Labels
	value  float64
}

// begin begins an instant.
func (r *recorder) begin(at int64) { r.at, r.samples = at, map[string][]sample{} }

// recordedBefore enters what a group recorded before the process had the cluster: rules look back
// at it.
func (c *cluster) recordedBefore(g *group, h *frame.Header, b []byte) error {
	if h.At > g.until {
		return nil // it is in memory
	}
	if g.reader == nil {
		g.reader = following.New(window.Node{Account: c.account, ID: h.Node}, c.members.wanted)
	}
	taken := countingLease{lease: c.head.lease}
	defer func() { c.head.lease.Give(taken.bytes) }()
	now := map[*memSeries]bool{}
	_, err := g.reader.Frame(&taken, b, func(v *following.Cell) {
		l := v.Labels()
		if of := c.head.recordedSeries(l, g.Interval().Milliseconds()); of != noSeries {
			of.add(h.At, sampleValue{double: v.Double}, c.head.horizon)
			now[of] = true
		}
	})
	if err != nil {
		return err
	}
	for of := range g.series {
		if !now[of] {
			of.end(h.At)
		}
	}
	g.series = now
	return nil
}

// resumed ends, at the first evaluation after a restart, what a rule did not record again:
// Prometheus's groups forget what they recorded before.
func (r *recorder) resumed(rule *promrules.RuleDetail) {
	for of := range r.series {
		name, is := of.Labels.Get(labels.MetricName), rule.Name
		if rule.Kind == promrules.KindAlerting {
			if !alertSeries(name) {
				continue
			}
			name = of.Labels.Get(labels.AlertName)
		}
		if name == is && of.At[len(of.At)-1] < r.at && !of.over() {
			of.end(r.at)
		}
	}
}

// errHistogram says why a sample was not taken.
var errHistogram = errors.New("the rule records a histogram, which a frame cannot hold: record a " +
	"number of it, for instance with histogram_quantile or histogram_count")

// finish returns the frame, nil if there is nothing to say, and whether it belongs into the stream:
// that nothing was recorded again is said to rules over all clusters only.
func (r *recorder) finish(c *cluster, g *group) (b []byte, stored bool, err error) {
	if len(r.samples) == 0 && !r.had && !r.feeds {
		return nil, false, nil
	}
	stored = len(r.samples) > 0 || r.had
	r.had = len(r.samples) > 0
	if r.started == 0 {
		r.started = uint64(c.role.config.Clock().UnixMilli())
	}
	f := &frame.Frame{Header: frame.Header{
		Compression: frame.Zstd, Node: r.id, Cluster: c.name, Started: r.started,
		Sequence: r.sequence, At: r.at, Interval: g.Interval().Milliseconds(),
	}}
	f.Identity.Facts = []frame.Fact{{Name: "rules", Value: clipped(g.key)}}
	if c.gone {
		f.Identity.Facts = append([]frame.Fact{lastFrame}, f.Identity.Facts...) // in order
	}
	for _, name := range slices.Sorted(maps.Keys(r.samples)) {
		if len(f.Templates) == frame.MaxTemplates {
			c.role.metrics.dropped.Add(float64(len(r.samples[name])))
			continue
		}
		r.template(c, f, name, r.samples[name])
	}
	if b, err = f.Append(nil, nil); err != nil {
		return nil, false, err
	}
	if stored {
		r.sequence++
	}
	return b, stored, nil
}

func clipped(text string) string { return text[:min(len(text), frame.MaxNameBytes)] }

// template adds the series of one metric to a frame, which can hold no NaN.
func (r *recorder) template(c *cluster, f *frame.Frame, name string, list []sample) {
	names := map[string]bool{}
	list = slices.DeleteFunc(slices.Clone(list), func(s sample) bool { return math.IsNaN(s.value) })
	if len(list) == 0 {
		return
	}
	for _, s := range list {
		s.labels.Range(func(l labels.Label) {
			if l.Name != labels.MetricName {
				names[l.Name] = true
			}
		})
	}
	if len(names) > frame.MaxLabels {
		c.role.metrics.dropped.Add(float64(len(list)))
		return
	}
	order := slices.Sorted(maps.Keys(names))
	rows := make(map[string]float64, len(list))
	var sorted [][]string
	for _, s := range list {
		row := make([]string, len(order))
		for i, l := range order {
			if row[i] = s.labels.Get(l); len(row[i]) > frame.MaxLabelBytes {
				row[i] = row[i][:frame.MaxLabelBytes]
			}
		}
		key := window.RowKey(row)
		if _, twice := rows[key]; !twice {
			rows[key] = s.value
			sorted = append(sorted, row)
		}
	}
	slices.SortFunc(sorted, slices.Compare)
	number := len(f.Templates)
	h := fnv.New64a()
	h.Write([]byte(name))
	t := frame.Template{Type: "recorded_" + hex.EncodeToString(h.Sum(nil)),
		Metrics: []frame.Metric{{Name: name, Kind: frame.GaugeDouble}}}
	for _, l := range order {
		t.Labels = append(t.Labels, frame.RecordedLabel(l))
	}
	f.Templates = append(f.Templates, t)
	f.Added = append(f.Added, frame.Entities{Template: number, Rows: sorted})
	col := frame.Column{}
	for i, row := range sorted {
		if v := rows[window.RowKey(row)]; math.Float64bits(v) != 0 {
			col.Entities = append(col.Entities, i)
			col.Doubles = append(col.Doubles, v)
		}
	}
	if len(col.Doubles) == 0 {
		return
	}
	if len(col.Doubles) == len(sorted) {
		col.All, col.Entities = true, nil
	}
	f.Values = append(f.Values, frame.Group{Template: number, Columns: []frame.Column{col}})
}

// appendable takes what rules of a cluster record. It implements storage.Appendable.
type appendable struct{ of *evaluation }

// Appender implements storage.Appendable.
func (a appendable) Appender(context.Context) storage.Appender { return &appender{of: a.of} }

// appender enters samples at once: a rule that fails later has said them all the same, as with
// Prometheus. It implements storage.Appender.
type appender struct{ of *evaluation }

// Append implements storage.Appender.
func (a *appender) Append(
	_ storage.SeriesRef, l labels.Labels, t int64, v float64,
) (storage.SeriesRef, error) {
	l = expanded(&a.of.rule, l)
	head, g := a.of.head, a.of.current
	if value.IsStaleNaN(v) {
		if of := head.recorded[string(l.Bytes(nil))]; of != nil && of != noSeries {
			of.end(t)
			head.hasEnded = true
		}
		return 0, nil
	}
	if of := head.recordedSeries(l, g.Interval().Milliseconds()); of != noSeries {
		if n := len(of.At); n > 0 && of.At[n-1] >= t {
			return 0, storage.ErrDuplicateSampleForTimestamp
		}
		of.add(t, sampleValue{double: v}, head.horizon)
	}
	g.samples[l.Get(labels.MetricName)] = append(g.samples[l.Get(labels.MetricName)], sample{l, v})
	return 0, nil
}

// expanded returns the labels that a series of an alert has. Prometheus sets the alert's labels
// over the rule's, so that a label whose template gave an empty text still has its template.
func expanded(rule *promrules.RuleDetail, l labels.Labels) labels.Labels {
	if rule.Kind != promrules.KindAlerting {
		return l
	}
	var raw []string
	rule.Labels.Range(func(of labels.Label) {
		if strings.Contains(of.Value, "{{") && l.Get(of.Name) == of.Value {
			raw = append(raw, of.Name)
		}
	})
	if raw == nil {
		return l
	}
	return labels.NewBuilder(l).Del(raw...).Labels()
}

// Commit implements storage.Appender: a rule has said all.
func (a *appender) Commit() error {
	a.of.current.resumed(&a.of.rule)
	return nil
}

// AppendHistogram implements storage.Appender.
func (a *appender) AppendHistogram(storage.SeriesRef, labels.Labels, int64,
	*histogram.Histogram, *histogram.FloatHistogram) (storage.SeriesRef, error) {
	return 0, errHistogram
}

// The rest of storage.Appender, which rule groups do not use.

func (a *appender) Rollback() error                   { return nil }
func (a *appender) SetOptions(*storage.AppendOptions) {}
func (a *appender) AppendExemplar(
	storage.SeriesRef, labels.Labels, exemplar.Exemplar,
) (storage.SeriesRef, error) {
	return 0, nil
}
func (a *appender) UpdateMetadata(
	storage.SeriesRef, labels.Labels, metadata.Metadata,
) (storage.SeriesRef, error) {
	return 0, nil
}
func (a *appender) AppendSTZeroSample(
	storage.SeriesRef, labels.Labels, int64, int64,
) (storage.SeriesRef, error) {
	return 0, nil
}
func (a *appender) AppendHistogramSTZeroSample(storage.SeriesRef, labels.Labels, int64, int64,
	*histogram.Histogram, *histogram.FloatHistogram) (storage.SeriesRef, error) {
	return 0, nil
}
