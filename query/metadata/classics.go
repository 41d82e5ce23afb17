package metadata

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

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
