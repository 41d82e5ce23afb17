package query

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/window"
)

// ErrNoIndex says that this engine does not know which series there are.
var ErrNoIndex = errors.New("query: there is no index of series")

// kindsTTL is how long the list of an account's metrics is remembered.
const kindsTTL = 30 * time.Second

// kinds returns the metrics that the account has had today and yesterday, by name; nothing while
// the index is being loaded.
func (e *Engine) kinds(who account.Principal) map[string]frame.Kind {
	if e.index == nil {
		return nil
	}
	now := e.config.Clock()
	e.mu.Lock()
	k := e.named[who.Account]
	e.mu.Unlock()
	if k != nil && now.Sub(k.asked) < kindsTTL {
		return k.of
	}
	found, err := e.index.Select(who.Account,
		index.Query{From: now.Add(-24 * time.Hour).UnixMilli(), To: now.UnixMilli()})
	if err != nil {
		return nil
	}
	k = &kinds{asked: now, of: map[string]frame.Kind{}}
	for b := range found.ByNode() {
		for m := range b.Metrics() {
			k.of[m.Name] = m.Kind
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.named[who.Account] = k
	return k.of
}

// SeriesQuery asks the index, and no engine, which series there are.
type SeriesQuery struct {
	From, To  time.Time           // widened to whole days
	Selectors [][]*labels.Matcher // alternatives; none: all series
}

// find asks the index. plans has one for each of the selectors.
func (e *Engine) find(
	ctx context.Context, who account.Principal, c SeriesQuery,
) (*index.Selection, []*plan, annotations.Annotations, error) {
	if e.index == nil {
		return nil, nil, nil, ErrNoIndex
	}
	q := index.Query{Context: ctx, From: c.From.UnixMilli(), To: c.To.UnixMilli(), Owns: who.Owns}
	var plans []*plan
	for _, matchers := range c.Selectors {
		p := newPlan(matchers, func() map[string]frame.Kind { return e.kinds(who) })
		plans = append(plans, p)
		q.Selectors = append(q.Selectors, p.read...)
	}
	found, err := e.index.Select(who.Account, q)
	if err != nil {
		return nil, nil, nil, err
	}
	var warnings annotations.Annotations
	if found.Missing > 0 {
		warnings.Add(
			errors.New(
				NotWhole + "the series of some nodes are still being loaded; /-/ready shows " +
					"the progress"))
	}
	return found, plans, warnings, nil
}

// Series returns the label sets of the series, sorted, at most limit if that is not 0.
func (e *Engine) Series(
	ctx context.Context, who account.Principal, c SeriesQuery, limit int,
) ([]labels.Labels, annotations.Annotations, error) {
	found, plans, warnings, err := e.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	total, _ := found.Count()
	if err := found.Err(); err != nil {
		return nil, nil, err
	}
	if limit == 0 && int64(total) > e.config.MaxSeries {
		return nil, nil, &LimitError{Limit: "max_series", Value: e.config.MaxSeries,
			Needed: int64(total),
			Remedy: "narrow match[], for instance with cluster= or node=, or take the first ones " +
				"with limit="}
	}
	var list []labels.Labels
	seen := map[uint64]bool{}
	take := func(l labels.Labels) {
		if hash := l.Hash(); !seen[hash] {
			seen[hash] = true
			list = append(list, l)
		}
	}
	for _, l := range e.virtualSeries(ctx, who, plans) {
		take(l)
	}
blocks:
	for b := range found.ByNode() {
		metrics := map[string]frame.Kind{}
		for m := range b.Metrics() {
			metrics[m.Name] = m.Kind
		}
		for l := range b.Series() {
			if limit > 0 && len(list) > limit {
				break blocks
			}
			m := window.Metric{Name: l.Get(labels.MetricName),
				Kind: metrics[l.Get(labels.MetricName)]}
			for _, p := range plans {
				if p.lists(l, &m) {
					take(l)
					continue
				}
				if !m.Kind.IsHistogram() || p.named(m.Name) {
					continue
				}
				for _, suffix := range suffixes { // of the classic ones the buckets are one
					if p.named(m.Name + suffix) {
						take(labels.NewBuilder(l).Set(labels.MetricName, m.Name+suffix).Labels())
					}
				}
			}
		}
	}
	slices.SortFunc(list, labels.Compare)
	if limit > 0 && len(list) > limit {
		list = list[:limit]
		warnings.Add(ErrLimited)
	}
	return list, warnings, found.Err()
}

// ErrLimited is Prometheus's own warning of an answer that limit= has cut.
var ErrLimited = errors.New("results truncated due to limit")

// lists reports whether a stored series is asked for, whatever its text may be.
func (p *plan) lists(l labels.Labels, m *window.Metric) bool {
	if !p.named(m.Name) {
		return false
	}
	return !slices.ContainsFunc(p.all, func(of *labels.Matcher) bool {
		if of.Name == ValueLabel && m.Kind == frame.String {
			return false
		}
		return !of.Matches(l.Get(of.Name))
	})
}

// LabelNames returns the names of the labels that the series have, ascending.
func (e *Engine) LabelNames(
	ctx context.Context, who account.Principal, c SeriesQuery,
) ([]string, annotations.Annotations, error) {
	found, plans, warnings, err := e.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	names := found.Names()
	for _, l := range e.virtualSeries(ctx, who, plans) {
		l.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	if slices.ContainsFunc(plans, func(p *plan) bool { return p.hasBuckets(e.kinds(who)) }) {
		names = append(names, labels.BucketLabel)
	}
	slices.Sort(names)
	return slices.Compact(names), warnings, found.Err()
}

// hasBuckets reports whether classic buckets are asked for by name.
func (p *plan) hasBuckets(known map[string]frame.Kind) bool {
	for name, kind := range known {
		if kind.IsHistogram() && len(p.names) > 0 && !p.named(name) && p.named(name+suffixBucket) {
			return true
		}
	}
	return false
}

// LabelValues returns the values that a label has in the series, ascending. Of metrics' names it
// has the classic ones of histograms, too, so that who looks for a dashboard's name finds it.
func (e *Engine) LabelValues(
	ctx context.Context, who account.Principal, name string, c SeriesQuery,
) ([]string, annotations.Annotations, error) {
	found, plans, warnings, err := e.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	list := found.Values(name)
	if name == labels.MetricName {
		known := e.kinds(who)
		for _, of := range slices.Clone(list) {
			if !known[of].IsHistogram() {
				continue
			}
			for _, suffix := range suffixes {
				list = append(list, of+suffix)
			}
		}
		if len(plans) > 0 {
			list = slices.DeleteFunc(list, func(of string) bool {
				return !slices.ContainsFunc(plans, func(p *plan) bool { return p.named(of) })
			})
		}
	}
	for _, l := range e.virtualSeries(ctx, who, plans) {
		if v := l.Get(name); v != "" {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), warnings, found.Err()
}

// Cardinality counts what today's series are made of, in the first minutes of a day also
// yesterday's. Its lists have at most limit entries each. It counts what is kept: up and the other
// series that are made of a node's state when they are asked for are not among it, and a histogram
// is one series.
func (e *Engine) Cardinality(
	ctx context.Context, who account.Principal, limit int,
) (index.Cardinality, annotations.Annotations, error) {
	now := e.config.Clock()
	found, _, warnings, err := e.find(ctx, who, SeriesQuery{From: now, To: now})
	if err != nil {
		return index.Cardinality{}, nil, err
	}
	ctx, end := e.reader.Scope(ctx, who.Account)
	defer end()
	if err := memory.Of(ctx).Take(found.CardinalityBytes()); err != nil {
		return index.Cardinality{}, nil, err
	}
	c := found.Cardinality(limit)
	return c, warnings, found.Err()
}

// Metadata is what Prometheus keeps of a metric beside its values.
type Metadata struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// Metadata returns what is known of the account's metrics, by name; of one if metric is not
// empty. A histogram is there under its own name.
func (e *Engine) Metadata(
	ctx context.Context, who account.Principal, metric string,
) (map[string]Metadata, error) {
	list := madeMetadata(metric)
	err := e.eachMetadata(ctx, who, metric, func(_ uuid.UUID, name string, of func() Metadata) bool {
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
func (e *Engine) NodeMetadata(
	ctx context.Context, who account.Principal, nodes []Node, metric string,
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
	err := e.eachMetadata(ctx, who, metric,
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
func (e *Engine) eachMetadata(
	ctx context.Context, who account.Principal, metric string,
	visit func(node uuid.UUID, name string, of func() Metadata) bool,
) error {
	now := e.config.Clock()
	c := SeriesQuery{From: now.Add(-24 * time.Hour), To: now}
	if metric != "" {
		c.Selectors = [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchEqual,
			labels.MetricName, metric)}}
	}
	found, _, _, err := e.find(ctx, who, c)
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
	for _, name := range virtualMetrics {
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
