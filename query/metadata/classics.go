package metadata

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/series"
)

// classics are histograms of which a selector asks for classic series.
type classics struct {
	found *index.Selection
	plan  *plan.Plan
	known map[index.Metric][]classicName
}

// classicName is what tells one of a histogram's classic series from the others.
type classicName struct {
	name, le string // le is empty if it is no bucket
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

// names returns which classic series of a metric are asked for, as Plan.Views has them.
func (of *classics) names(m index.Metric) []classicName {
	list, known := of.known[m]
	if known || !m.Kind.IsHistogram() || of.plan.Named(m.Name) {
		return list
	}
	for _, suffix := range series.Suffixes {
		name := m.Name + suffix
		if !of.plan.Named(name) || suffix == series.SuffixSum && !m.HasSum {
			continue
		}
		for _, le := range leTexts(m, suffix) {
			if of.plan.MeansBucket(le) {
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
	for b := range of.found.ByNode() {
		for m := range b.Metrics() {
			n += int64(len(of.names(m))) * int64(b.NumEntities())
		}
	}
	return n
}

// values returns what all classic series have: their names, and their values of le.
func (of *classics) values() (names, le []string) {
	for _, m := range of.found.Metrics() {
		for _, one := range of.names(m) {
			if names = append(names, one.name); one.le != "" {
				le = append(le, one.le)
			}
		}
	}
	return names, le
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

// each calls take with the classic series until it returns false.
func (of *classics) each(take func(labels.Labels) bool) (more bool) {
	for b := range of.found.ByNode() {
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
					if l := build.Labels(); of.plan.Means(l) && !take(l) {
						return false
					}
				}
			}
		}
	}
	return true
}
