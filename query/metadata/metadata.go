package metadata

import (
	"context"
	"maps"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// Metadata is what Prometheus keeps of a metric beside its values.
type Metadata struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// Metadata returns what is known of the account's metrics, by name; of one if metric is not
// empty. A histogram is there under its own name.
func (s *Lists) Metadata(
	ctx context.Context, who account.Principal, metric string,
) (map[string]Metadata, error) {
	list := madeMetadata(metric)
	err := s.eachMetadata(ctx, who, metric, func(_ uuid.UUID, name string,
		of func() Metadata) bool {
		if _, known := list[name]; !known {
			list[name] = of()
		}
		return true
	})
	return list, err
}

// NodeMetadata calls visit with nodes, by their numbers in the list, and what is known of each
// one's metrics, by name, until visit returns false; with one metric's if metric is not empty.
// Nodes without any are left out. What visit gets is valid until it returns.
func (s *Lists) NodeMetadata(
	ctx context.Context, who account.Principal, nodes []window.Node, metric string,
	visit func(i int, of map[string]Metadata) bool,
) error {
	made := madeMetadata(metric)
	if metric != "" && len(made) > 0 { // every node has it, and the index does not
		for i := range nodes {
			if !visit(i, made) {
				break
			}
		}
		return nil
	}
	numbers := make(map[uuid.UUID]int, len(nodes))
	for i := range nodes {
		numbers[nodes[i].ID] = i
	}
	list, last := map[string]Metadata{}, -1
	next := func(i int) (more bool) {
		more = last < 0 || visit(last, list)
		last = i
		clear(list)
		maps.Copy(list, made)
		return more
	}
	err := s.eachMetadata(ctx, who, metric,
		func(node uuid.UUID, name string, of func() Metadata) bool {
			i, is := numbers[node]
			if !is {
				return true
			}
			if i != last && !next(i) {
				last = -1
				return false
			}
			if _, known := list[name]; !known {
				list[name] = of()
			}
			return true
		})
	if err == nil {
		next(-1)
	}
	return err
}

// eachMetadata calls visit with the metrics of each node and of what records, node by node, until
// it returns false. A node may have a metric twice.
func (s *Lists) eachMetadata(
	ctx context.Context, who account.Principal, metric string,
	visit func(node uuid.UUID, name string, of func() Metadata) bool,
) error {
	now := s.source.Limits.Clock()
	c := SeriesQuery{From: now.Add(-24 * time.Hour), To: now}
	if metric != "" {
		c.Selectors = [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchEqual,
			labels.MetricName, metric)}}
	}
	found, _, _, err := s.find(ctx, who, c)
	if err != nil {
		return err
	}
	for b := range found.ByNode() {
		for m := range b.Metrics() {
			if metric != "" && m.Name != metric {
				continue
			}
			if !visit(b.Node, m.Name, func() Metadata {
				of := Metadata{Type: TypeOf(&window.Metric{Kind: m.Kind}), Unit: m.Unit,
					Help: dictionary.Help(m.Name, frame.IsRecorder(b.Node))}
				if d, found := dictionary.Find(m.Name); found {
					of.Unit = d.Unit // what rules record has none in frames
				}
				return of
			}) {
				return found.Err()
			}
		}
	}
	return found.Err()
}

// madeMetadata is that of nodes' own series, which are in no frame; of one if metric is not empty.
func madeMetadata(metric string) map[string]Metadata {
	list := map[string]Metadata{}
	for _, name := range series.OwnMetrics {
		if d, found := dictionary.Find(name); found && (metric == "" || metric == name) {
			list[name] = Metadata{Type: "gauge", Help: d.Help(), Unit: d.Unit}
		}
	}
	return list
}

// TypeOf returns a metric's type in Prometheus's words.
func TypeOf(m *window.Metric) string {
	switch m.Kind {
	case frame.Counter:
		return "counter"
	case frame.Histogram:
		return "histogram"
	case frame.GaugeHistogram:
		return "gaugehistogram"
	}
	return "gauge"
}
