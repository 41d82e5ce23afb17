package read

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// RollupSelector is what is asked of rollups: what matches all matchers, of histograms these
// facets; none: all.
type RollupSelector struct {
	Matchers []*labels.Matcher
	Facets   []blobs.Facet
}

// AllFacets asks for all that selectors select, with all facets.
func AllFacets(selectors [][]*labels.Matcher) []RollupSelector {
	list := make([]RollupSelector, len(selectors))
	for i, m := range selectors {
		list[i].Matchers = m
	}
	return list
}

// Rollups returns the rollups of a node's series that any of the selectors selects, for periods
// that hold instants from from to to, in ms, and in words what is missing in them. No selectors
// select nothing. Each series is there once, in the selectors' order and then by labels; they are
// the caller's. Where two selectors select a series, the first one's facets count.
func (r *Reader) Rollups(
	ctx context.Context, account string, n *window.Node, level rollup.Level, from, to int64,
	selectors []RollupSelector,
) (all []rollup.Series, missing []string, err error) {
	found := map[uint64][]int{} // where in all, by the labels' hash
	for i := range selectors {
		s := &selectors[i]
		list, lost, err := r.source.sources.Rollups(ctx, account, n.ID, level, from, to, s.Facets,
			s.Matchers...)
		if err != nil {
			r.source.metrics.failures.Inc()
			return nil, nil, err
		}
		missing = AppendMissing(missing, lost)
		for _, series := range list {
			hash := series.Labels.Hash()
			if known(all, found[hash], &series) { // two selectors may select one
				continue
			}
			found[hash] = append(found[hash], len(all))
			all = append(all, series)
		}
	}
	r.source.metrics.reads.WithLabelValues("rollup", fromStore).Inc()
	return all, AppendMissing(missing, r.source.inFlight(ctx, account, n.Cluster, to)), nil
}

// known reports whether a series is in the list, where it can be at those places only.
func known(list []rollup.Series, places []int, s *rollup.Series) bool {
	for _, i := range places {
		if labels.Equal(list[i].Labels, s.Labels) && list[i].Metric.Equal(s.Metric) {
			return true
		}
	}
	return false
}
