package own

import (
	"regexp"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/ringwatch/ringwatch/frame"
)

// upMetric is 1 while the process runs. Its last frame says 0 if it ends on purpose: who is silent
// without that has crashed, or cannot reach ingest. It is not on /metrics.
const upMetric = "ringwatch_process_up"

// maxFrameBytes bounds a frame: a process has some 60 KB.
const maxFrameBytes = 1 << 20

// frame returns the next frame, nil if there is none to send. Each is a key frame, a template a
// metric, as those of recording rules (frame/FORMAT.md, sections 9 and 10).
func (s *Sender) frame(running bool) []byte {
	var families []*dto.MetricFamily
	if running {
		var err error
		if families, err = s.deps.Gatherer.Gather(); err != nil {
			s.metrics.failed.Inc() // families are those that could be gathered
			s.deps.Log.Debug("not all of the process's own metrics could be gathered", "error", err)
		}
	}
	// What is ours comes first, should there be no room for all.
	slices.SortStableFunc(families, func(a, b *dto.MetricFamily) int {
		return foreign(a) - foreign(b)
	})
	at := max(s.deps.Clock().UnixMilli(), s.last+1)
	for most := s.config.MaxSeries; most > 0; most /= 2 {
		f := &frame.Frame{Header: frame.Header{Compression: frame.Zstd, Node: s.node,
			Cluster: s.config.Cluster, Started: s.started, Sequence: s.sequence, At: at,
			Interval: s.config.Interval.Milliseconds()}}
		f.Identity.Facts = []frame.Fact{{Name: "instance", Value: s.instance},
			{Name: "role", Value: s.deps.Role}}
		b := builder{frame: f, most: most, bounds: map[string]int{}, names: map[string]bool{},
			fixed: map[string]string{"cluster": s.config.Cluster, "instance": s.instance,
				"job": job, "role": s.deps.Role}}
		up := 0.0
		if running {
			up = 1
		}
		b.template(frame.Metric{Name: upMetric, Kind: frame.GaugeDouble}, []sample{{double: up}})
		for _, family := range families {
			b.family(family)
		}
		bytes, err := f.Append(nil, nil)
		if err != nil {
			s.metrics.failed.Inc()
			s.deps.Log.Error("the process's own metrics do not fit into a frame", "error", err)
			return nil
		}
		if len(bytes) <= maxFrameBytes {
			s.metrics.series.Set(float64(b.series))
			s.metrics.left.Add(float64(b.left))
			s.last = at
			s.sequence++
			return bytes
		}
	}
	s.metrics.failed.Inc()
	return nil
}

func foreign(f *dto.MetricFamily) int {
	if strings.HasPrefix(f.GetName(), "ringwatch_") {
		return 0
	}
	return 1
}

// sample is one series of a metric, with what its kind has.
type sample struct {
	labels  []*dto.LabelPair
	number  int64
	double  float64
	buckets frame.Buckets
}

// builder fills a frame.
type builder struct {
	frame  *frame.Frame
	most   int // series
	series int
	left   int             // series that did not find room
	bounds map[string]int  // sets of bounds, by their text
	names  map[string]bool // of metrics that are there
	fixed  map[string]string
}

var entityType = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// template adds the series of one metric.
func (b *builder) template(m frame.Metric, list []sample) {
	if len(list) == 0 {
		return
	}
	if len(b.frame.Templates) == frame.MaxTemplates || len(m.Name) > frame.MaxNameBytes ||
		!entityType.MatchString(m.Name) || b.names[m.Name] {
		b.left += len(list)
		return
	}
	names, rows := b.rows(list)
	if len(names) > frame.MaxLabels {
		b.left += len(list)
		return
	}
	t := frame.Template{Type: m.Name, Metrics: []frame.Metric{m}}
	for _, name := range names {
		t.Labels = append(t.Labels, frame.RecordedLabel(name))
	}
	c := frame.Column{}
	var kept [][]string
	seen := map[string]bool{}
	for i, row := range rows {
		key := strings.Join(row, "\xff")
		if b.series == b.most || seen[key] {
			b.left++
			continue
		}
		seen[key] = true
		b.series++
		if list[i].add(&c, m.Kind) {
			c.Entities = append(c.Entities, len(kept))
		}
		kept = append(kept, row)
	}
	if len(kept) == 0 {
		return
	}
	b.names[m.Name] = true
	number := len(b.frame.Templates)
	b.frame.Templates = append(b.frame.Templates, t)
	b.frame.Added = append(b.frame.Added, frame.Entities{Template: number, Rows: kept})
	if len(c.Entities) == 0 {
		return
	}
	if len(c.Entities) == len(kept) {
		c.All, c.Entities = true, nil
	}
	b.frame.Values = append(b.frame.Values,
		frame.Group{Template: number, Columns: []frame.Column{c}})
}

// add adds a sample's value to a column, unless it is nothing, which has no entry.
func (s *sample) add(c *frame.Column, kind frame.Kind) bool {
	switch kind {
	case frame.Counter:
		if s.number == 0 {
			return false
		}
		c.Ints = append(c.Ints, s.number)
	case frame.Histogram:
		if len(s.buckets.Index) == 0 && s.buckets.Sum == 0 {
			return false
		}
		c.Histograms = append(c.Histograms, s.buckets)
	default:
		if s.double == 0 { // a minus before it is no loss
			return false
		}
		c.Doubles = append(c.Doubles, s.double)
	}
	return true
}

// rows returns the names of all labels that samples have, sorted, and each one's values of them.
func (b *builder) rows(list []sample) (names []string, rows [][]string) {
	there := map[string]bool{}
	for name := range b.fixed {
		there[name] = true
	}
	for i := range list {
		for _, l := range list[i].labels {
			there[b.own(l.GetName())] = true
		}
	}
	for name := range there {
		names = append(names, name)
	}
	slices.Sort(names)
	for i := range list {
		row := make([]string, len(names))
		for j, name := range names {
			row[j] = b.fixed[name]
		}
		for _, l := range list[i].labels {
			j, _ := slices.BinarySearch(names, b.own(l.GetName()))
			row[j] = clipped(l.GetValue())
		}
		rows = append(rows, row)
	}
	return names, rows
}

// own returns the name that a metric's own label has: one that all series of processes or of nodes
// have for something else is told apart as Prometheus does it.
func (b *builder) own(name string) string {
	switch name {
	case "cluster", "instance", "job", "role", "datacenter", "rack", "node", "le":
		return "exported_" + name
	}
	if strings.HasPrefix(name, "recorded_") {
		return "exported_" + name
	}
	return name
}

// clipped bounds a label's value.
func clipped(text string) string {
	if len(text) <= frame.MaxLabelBytes {
		return text
	}
	return strings.ToValidUTF8(text[:frame.MaxLabelBytes], "")
}
