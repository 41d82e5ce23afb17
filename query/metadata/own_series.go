package metadata

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/series"
)

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
