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
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// ErrNoIndex says that this engine does not know which series there are.
var ErrNoIndex = errors.New("query: there is no index of series")

// SeriesQuery asks the index, and no engine, which series there are.
type SeriesQuery struct {
	From, To  time.Time           // widened to whole days
	Selectors [][]*labels.Matcher // alternatives; none: all series
}

// find asks the index which stored series there are. plans has one for each of the selectors.
func (e *Engine) find(
	ctx context.Context, who account.Principal, c SeriesQuery,
) (*index.Selection, []*plan, annotations.Annotations, error) {
	if e.source.index == nil {
		return nil, nil, nil, ErrNoIndex
	}
	q := index.Query{Context: ctx, From: c.From.UnixMilli(), To: c.To.UnixMilli(), Owns: who.Owns}
	var plans []*plan
	texts := map[int]bool{} // whether a selector is of texts only, or of none
	for _, matchers := range c.Selectors {
		p := newPlan(matchers, func() map[string]frame.Kind { return e.source.kinds.known(who) })
		plans = append(plans, p)
		q.Selectors = append(q.Selectors, p.own)
		if p.ownTexts != nil {
			q.Selectors = append(q.Selectors, p.ownTexts)
			texts[len(q.Selectors)-2], texts[len(q.Selectors)-1] = false, true
		}
	}
	if len(texts) > 0 {
		q.Metrics = func(selector int, m index.Metric) bool {
			of, only := texts[selector]
			return !only || of == (m.Kind == frame.String)
		}
	}
	found, err := e.source.index.Select(who.Account, q)
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

// classics are histograms of which a selector asks for classic series.
type classics struct {
	*index.Selection
	plan  *plan
	known map[index.Metric][]classicName
}

// classicName is what tells one of a histogram's classic series from the others.
type classicName struct {
	name, le string // le is empty if it is no bucket
}

// classics asks the index for them; nil: the plan asks for none.
func (e *Engine) classics(
	ctx context.Context, who account.Principal, c SeriesQuery, p *plan,
) (*classics, error) {
	if p.classic == nil {
		return nil, nil
	}
	of := &classics{plan: p, known: map[index.Metric][]classicName{}}
	var err error
	of.Selection, err = e.source.index.Select(who.Account, index.Query{Context: ctx,
		From: c.From.UnixMilli(), To: c.To.UnixMilli(), Owns: who.Owns,
		Selectors: [][]*labels.Matcher{p.classic},
		Metrics:   func(_ int, m index.Metric) bool { return len(of.names(m)) > 0 }})
	return of, err
}

// names returns which classic series of a metric are asked for, as plan.views has them.
func (of *classics) names(m index.Metric) []classicName {
	list, known := of.known[m]
	if known || !m.Kind.IsHistogram() || of.plan.named(m.Name) {
		return list
	}
	for _, suffix := range series.Suffixes {
		name := m.Name + suffix
		if !of.plan.named(name) || suffix == series.SuffixSum && !m.HasSum {
			continue
		}
		for _, le := range leTexts(m, suffix) {
			if of.plan.meansBucket(le) {
				list = append(list, classicName{name, le})
			}
		}
	}
	of.known[m] = list
	return list
}

// leTexts returns the values of le of a histogram's classic series; one is empty if it is none.
func leTexts(m index.Metric, suffix string) (list []string) {
	switch {
	case suffix != series.SuffixBucket:
		return []string{""}
	case m.Bounds == nil:
		return nil
	}
	for _, bucket := range series.ExposedBuckets(len(m.Bounds.Upper)) {
		list = append(list, series.BucketText(m.Bounds, bucket))
	}
	return list
}

// count returns how many classic series there are.
func (of *classics) count() (n int64) {
	for b := range of.ByNode() {
		for m := range b.Metrics() {
			n += int64(len(of.names(m))) * int64(b.NumEntities())
		}
	}
	return n
}

// values returns what all classic series have: their names, and their values of le.
func (of *classics) values() (names, le []string) {
	for _, m := range of.Metrics() {
		for _, one := range of.names(m) {
			if names = append(names, one.name); one.le != "" {
				le = append(le, one.le)
			}
		}
	}
	return names, le
}

// allClassics returns those of each plan that asks for some.
func (e *Engine) allClassics(
	ctx context.Context, who account.Principal, c SeriesQuery, plans []*plan,
) (list []*classics, err error) {
	for _, p := range plans {
		of, err := e.classics(ctx, who, c, p)
		if err != nil {
			return nil, err
		}
		if of != nil {
			list = append(list, of)
		}
	}
	return list, nil
}

// Series returns the label sets of the series, sorted, at most so many if that is not 0.
func (e *Engine) Series(
	ctx context.Context, who account.Principal, c SeriesQuery, most int,
) ([]labels.Labels, annotations.Annotations, error) {
	found, plans, warnings, err := e.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	classic, err := e.allClassics(ctx, who, c, plans)
	if err != nil {
		return nil, nil, err
	}
	stored, _ := found.Count()
	total, errs := int64(stored), []error{found.Err()}
	for _, of := range classic {
		total, errs = total+of.count(), append(errs, of.Err())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if most == 0 && total > e.config.MaxSeries {
		return nil, nil, &limit.Error{Limit: "max_series", Value: e.config.MaxSeries,
			Needed: total,
			Remedy: "narrow match[], for instance with cluster= or node=, or take the first ones " +
				"with limit="}
	}
	if int64(most) > e.config.MaxSeries {
		most = int(e.config.MaxSeries)
	}
	var list []labels.Labels
	seen := map[uint64]bool{}
	take := func(l labels.Labels) (more bool) {
		if hash := l.Hash(); !seen[hash] {
			seen[hash] = true
			list = append(list, l)
		}
		return most == 0 || len(list) <= most
	}
	for _, l := range e.virtualSeries(ctx, who, plans) {
		take(l)
	}
	if e.takeStored(found, plans, take) {
		for _, of := range classic {
			if !of.each(take) {
				break
			}
		}
	}
	slices.SortFunc(list, labels.Compare)
	if most > 0 && len(list) > most {
		list = list[:most]
		warnings.Add(ErrLimited)
	}
	for _, of := range classic {
		errs = append(errs, of.Err())
	}
	return list, warnings, errors.Join(append(errs, found.Err())...)
}

// takeStored calls take with the stored series that a plan lists until it returns false.
func (e *Engine) takeStored(
	found *index.Selection, plans []*plan, take func(labels.Labels) bool,
) (more bool) {
	for b := range found.ByNode() {
		kinds := map[string]frame.Kind{}
		for m := range b.Metrics() {
			kinds[m.Name] = m.Kind
		}
		for l := range b.Series() {
			name := l.Get(labels.MetricName)
			m := window.Metric{Name: name, Kind: kinds[name]}
			if slices.ContainsFunc(plans, func(p *plan) bool { return p.lists(l, &m) }) &&
				!take(l) {
				return false
			}
		}
	}
	return true
}

// each calls take with the classic series until it returns false.
func (of *classics) each(take func(labels.Labels) bool) (more bool) {
	for b := range of.ByNode() {
		place := b.Place()
		for m := range b.Metrics() {
			for entity := range b.Entities() {
				own := labels.New(slices.Concat(place, entity)...)
				build := labels.NewBuilder(own)
				for _, one := range of.names(m) {
					build.Reset(own)
					if build.Set(labels.MetricName, one.name); one.le != "" {
						build.Set(labels.BucketLabel, one.le)
					}
					if l := build.Labels(); of.plan.means(l) && !take(l) {
						return false
					}
				}
			}
		}
	}
	return true
}

// ErrLimited is Prometheus's own warning of an answer that limit= has cut.
var ErrLimited = errors.New("results truncated due to limit")

// lists reports whether a stored series is asked for, whatever its text may be.
func (p *plan) lists(l labels.Labels, m *window.Metric) bool {
	if !p.named(m.Name) {
		return false
	}
	return !slices.ContainsFunc(p.all, func(of *labels.Matcher) bool {
		if of.Name == series.ValueLabel && m.Kind == frame.String {
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
	classic, err := e.allClassics(ctx, who, c, plans)
	if err != nil {
		return nil, nil, err
	}
	names, errs := found.Names(), []error{}
	for _, of := range classic {
		names = append(names, of.Names()...)
		if _, le := of.values(); len(le) > 0 {
			names = append(names, labels.BucketLabel)
		}
		errs = append(errs, of.Err())
	}
	if len(plans) == 0 && slices.ContainsFunc(found.Metrics(), func(m index.Metric) bool {
		return m.Kind.IsHistogram()
	}) {
		names = append(names, labels.BucketLabel)
	}
	for _, l := range e.virtualSeries(ctx, who, plans) {
		l.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names), warnings, errors.Join(append(errs, found.Err())...)
}

// LabelValues returns the values that a label has in the series, ascending. Of metrics' names it
// has the classic ones of histograms beside their own, so that who looks for a dashboard's name
// finds it.
func (e *Engine) LabelValues(
	ctx context.Context, who account.Principal, name string, c SeriesQuery,
) ([]string, annotations.Annotations, error) {
	found, plans, warnings, err := e.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	classic, err := e.allClassics(ctx, who, c, plans)
	if err != nil {
		return nil, nil, err
	}
	list, errs := found.Values(name), []error{}
	for _, of := range classic {
		names, le := of.values()
		switch name {
		case labels.MetricName:
			list = append(list, names...)
		case labels.BucketLabel:
			list = append(list, le...)
		default:
			list = append(list, of.Values(name)...)
		}
		errs = append(errs, of.Err())
	}
	if name == labels.MetricName || name == labels.BucketLabel && len(plans) == 0 {
		for _, m := range found.Metrics() {
			for _, suffix := range series.Suffixes {
				switch of := m.Name + suffix; {
				case !m.Kind.IsHistogram() || suffix == series.SuffixSum && !m.HasSum:
				case name == labels.BucketLabel:
					list = append(list, leTexts(m, suffix)...)
				case len(plans) == 0 ||
					slices.ContainsFunc(plans, func(p *plan) bool { return p.named(of) }):
					list = append(list, of)
				}
			}
		}
	}
	for _, l := range e.virtualSeries(ctx, who, plans) {
		list = append(list, l.Get(name))
	}
	list = slices.DeleteFunc(list, func(v string) bool { return v == "" }) // it is none
	slices.Sort(list)
	return slices.Compact(list), warnings, errors.Join(append(errs, found.Err())...)
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
	ctx, end := e.source.reader.Shared.Scope(ctx, who.Account)
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
