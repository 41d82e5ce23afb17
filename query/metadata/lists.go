// Package metadata says which series there are, and what is known of their metrics, without reading
// a value. Start with Lists.
//
// What it promises: series that are made when they are asked for are listed, too: a histogram's
// classic ones, and those of nodes' state. An answer that may lack series of nodes which are still
// being loaded says so in a warning.
//
// It may import access/account, dictionary, frame, memory, window and, of query, what is below it.
package metadata

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// ErrNoIndex says that this engine does not know which series there are.
var ErrNoIndex = errors.New("query: there is no index of series")

// Lists says which series there are, and what is known of their metrics. Its methods may be called
// from many goroutines.
type Lists struct{ source *selection.Source }

// New returns the lists of what a source has. Without an index they are ErrNoIndex.
func New(s *selection.Source) *Lists { return &Lists{source: s} }

// SeriesQuery asks the index, and no engine, which series there are.
type SeriesQuery struct {
	From, To  time.Time           // widened to whole days
	Selectors [][]*labels.Matcher // alternatives; none: all series
}

// find asks the index which stored series there are. plans has one for each of the selectors.
func (s *Lists) find(
	ctx context.Context, who account.Principal, c SeriesQuery,
) (*index.Selection, []*plan.Plan, annotations.Annotations, error) {
	if s.source.Index == nil {
		return nil, nil, nil, ErrNoIndex
	}
	q := index.Query{Context: ctx, From: c.From.UnixMilli(), To: c.To.UnixMilli(), Owns: who.Owns}
	var plans []*plan.Plan
	texts := map[int]bool{} // whether a selector is of texts only, or of none
	for _, matchers := range c.Selectors {
		p := plan.New(matchers, func() map[string]frame.Kind { return s.source.Kinds.Known(who) })
		plans = append(plans, p)
		q.Selectors = append(q.Selectors, p.Own)
		if p.OwnTexts != nil {
			q.Selectors = append(q.Selectors, p.OwnTexts)
			texts[len(q.Selectors)-2], texts[len(q.Selectors)-1] = false, true
		}
	}
	if len(texts) > 0 {
		q.Metrics = func(selector int, m index.Metric) bool {
			ofTexts, split := texts[selector]
			return !split || ofTexts == (m.Kind == frame.String)
		}
	}
	found, err := s.source.Index.Select(who.Account, q)
	if err != nil {
		return nil, nil, nil, err
	}
	var warnings annotations.Annotations
	if found.Missing > 0 {
		warnings.Add(
			errors.New(
				read.NotWhole + "the series of some nodes are still being loaded; /-/ready shows " +
					"the progress"))
	}
	return found, plans, warnings, nil
}

// Series returns the label sets of the series, sorted, at most so many if that is not 0.
func (s *Lists) Series(
	ctx context.Context, who account.Principal, c SeriesQuery, most int,
) ([]labels.Labels, annotations.Annotations, error) {
	found, plans, warnings, err := s.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	classic, err := s.allClassics(ctx, who, c, plans)
	if err != nil {
		return nil, nil, err
	}
	stored, _ := found.Count()
	total, errs := int64(stored), []error{found.Err()}
	for _, of := range classic {
		total, errs = total+of.count(), append(errs, of.found.Err())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	if most == 0 && total > s.source.Limits.MaxSeries {
		return nil, nil, &limit.Error{Limit: "max_series", Value: s.source.Limits.MaxSeries,
			Needed: total,
			Remedy: "narrow match[], for instance with cluster= or node=, or take the first ones " +
				"with limit="}
	}
	if int64(most) > s.source.Limits.MaxSeries {
		most = int(s.source.Limits.MaxSeries)
	}
	var list []labels.Labels
	listed := map[uint64]bool{}
	take := func(l labels.Labels) (more bool) {
		if hash := l.Hash(); !listed[hash] {
			listed[hash] = true
			list = append(list, l)
		}
		return most == 0 || len(list) <= most
	}
	for _, l := range s.ownSeries(ctx, who, plans) {
		take(l)
	}
	if s.takeStored(found, plans, take) {
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
		errs = append(errs, of.found.Err())
	}
	return list, warnings, errors.Join(append(errs, found.Err())...)
}

// takeStored calls take with the stored series that a plan lists until it returns false.
func (s *Lists) takeStored(
	found *index.Selection, plans []*plan.Plan, take func(labels.Labels) bool,
) (more bool) {
	for b := range found.ByNode() {
		kinds := map[string]frame.Kind{}
		for m := range b.Metrics() {
			kinds[m.Name] = m.Kind
		}
		for l := range b.Series() {
			name := l.Get(labels.MetricName)
			m := window.Metric{Name: name, Kind: kinds[name]}
			if slices.ContainsFunc(plans, func(p *plan.Plan) bool { return p.Lists(l, &m) }) &&
				!take(l) {
				return false
			}
		}
	}
	return true
}

// ErrLimited is Prometheus's own warning of an answer that limit= has cut.
var ErrLimited = errors.New("results truncated due to limit")

// LabelNames returns the names of the labels that the series have, ascending.
func (s *Lists) LabelNames(
	ctx context.Context, who account.Principal, c SeriesQuery,
) ([]string, annotations.Annotations, error) {
	found, plans, warnings, err := s.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	classic, err := s.allClassics(ctx, who, c, plans)
	if err != nil {
		return nil, nil, err
	}
	names, errs := found.Names(), []error{}
	for _, of := range classic {
		names = append(names, of.found.Names()...)
		if _, le := of.values(); len(le) > 0 {
			names = append(names, labels.BucketLabel)
		}
		errs = append(errs, of.found.Err())
	}
	if len(plans) == 0 && slices.ContainsFunc(found.Metrics(), func(m index.Metric) bool {
		return m.Kind.IsHistogram()
	}) {
		names = append(names, labels.BucketLabel)
	}
	for _, l := range s.ownSeries(ctx, who, plans) {
		l.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names), warnings, errors.Join(append(errs, found.Err())...)
}

// LabelValues returns the values that a label has in the series, ascending. Of metrics' names it
// has the classic ones of histograms beside their own, so that who looks for a dashboard's name
// finds it.
func (s *Lists) LabelValues(
	ctx context.Context, who account.Principal, name string, c SeriesQuery,
) ([]string, annotations.Annotations, error) {
	found, plans, warnings, err := s.find(ctx, who, c)
	if err != nil {
		return nil, nil, err
	}
	classic, err := s.allClassics(ctx, who, c, plans)
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
			list = append(list, of.found.Values(name)...)
		}
		errs = append(errs, of.found.Err())
	}
	if name == labels.MetricName || name == labels.BucketLabel && len(plans) == 0 {
		for _, m := range found.Metrics() {
			for _, suffix := range series.Suffixes {
				switch of := m.Name + suffix; {
				case !m.Kind.IsHistogram() || suffix == series.SuffixSum && !m.HasSum:
				case name == labels.BucketLabel:
					list = append(list, leTexts(m, suffix)...)
				case len(plans) == 0 ||
					slices.ContainsFunc(plans, func(p *plan.Plan) bool { return p.Named(of) }):
					list = append(list, of)
				}
			}
		}
	}
	for _, l := range s.ownSeries(ctx, who, plans) {
		list = append(list, l.Get(name))
	}
	list = slices.DeleteFunc(list, func(v string) bool { return v == "" }) // it is none
	slices.Sort(list)
	return slices.Compact(list), warnings, errors.Join(append(errs, found.Err())...)
}

// classics asks the index for them; nil: the plan asks for none.
func (s *Lists) classics(
	ctx context.Context, who account.Principal, c SeriesQuery, p *plan.Plan,
) (*classics, error) {
	if p.Classic == nil {
		return nil, nil
	}
	of := &classics{plan: p, known: map[index.Metric][]classicName{}}
	var err error
	of.found, err = s.source.Index.Select(who.Account, index.Query{Context: ctx,
		From: c.From.UnixMilli(), To: c.To.UnixMilli(), Owns: who.Owns,
		Selectors: [][]*labels.Matcher{p.Classic},
		Metrics:   func(_ int, m index.Metric) bool { return len(of.names(m)) > 0 }})
	return of, err
}

// allClassics returns those of each plan that asks for some.
func (s *Lists) allClassics(
	ctx context.Context, who account.Principal, c SeriesQuery, plans []*plan.Plan,
) (list []*classics, err error) {
	for _, p := range plans {
		of, err := s.classics(ctx, who, c, p)
		if err != nil {
			return nil, err
		}
		if of != nil {
			list = append(list, of)
		}
	}
	return list, nil
}

// ownSeries returns the label sets of those of nodes' own series that any of the plans asks
// for; of all, if there are no plans.
func (s *Lists) ownSeries(
	ctx context.Context, who account.Principal, plans []*plan.Plan,
) []labels.Labels {
	nodes, err := s.source.Reader.Nodes(ctx, who, s.source.Limits.NodesTTL)
	if err != nil {
		return nil
	}
	var list []labels.Labels
	for i := range nodes {
		of := []labels.Labels{series.NodeLabels(&nodes[i], series.MetricSeen),
			series.InfoLabels(&nodes[i])}
		if !nodes[i].Watched() {
			of = append(of, series.NodeLabels(&nodes[i], series.MetricUp))
		}
		for _, l := range of {
			if len(plans) == 0 ||
				slices.ContainsFunc(plans, func(p *plan.Plan) bool { return p.Means(l) }) {
				list = append(list, l)
			}
		}
	}
	return list
}
