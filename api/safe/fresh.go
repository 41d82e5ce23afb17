package safe

import (
	"context"
	"fmt"
	"time"
)

// lateIntervals is how many intervals an agent may be late, as where nodes are listed.
const lateIntervals = 3

// hear asks when nodes were heard of.
func (a *asking) hear(ctx context.Context, most time.Duration) {
	text := fmt.Sprintf("Every node that must be well was heard of within %s.", most)
	if !a.Since.IsZero() {
		text = fmt.Sprintf("Every node that must be well was heard of since %s, and within %s.",
			a.Since.UTC().Format(time.TimeOnly), most)
	}
	a.heard = heard{text: text, most: most, at: map[string]time.Time{}}
	list, lacks, err := a.source.Query(ctx,
		a.placed("ringwatch_node_last_seen_timestamp_seconds{$scope}"), a.At)
	for _, s := range list {
		a.heard.at[s.Labels["node"]] = time.UnixMilli(int64(s.Value * 1000))
	}
	a.heard.why = notWhole(lacks, err)
}

// fresh finds the nodes that must be well and are silent, and those whose agent is paused: of these
// the one that is taken away counts, too, since nothing is known of what it does.
func (a *asking) fresh() {
	a.begin(freshName, a.heard.text)
	a.add(a.heard.why)
	ids := a.staying()
	switch {
	case len(a.nodes) == 0:
		a.reason(false, "", "No node is left that anything is known of.")
	case len(ids) == 0 || len(ids) == 1 && a.whichever():
		a.reason(true, "", "The cluster has no other node that could serve meanwhile.")
	}
	if away := a.away(); !a.nodes[away].Paused.IsZero() {
		ids = append(ids, away)
	}
	for _, id := range ids {
		at, is := a.heard.at[id]
		age := a.At.Sub(at)
		switch {
		case !is:
			a.reason(false, id, "%s was never heard of.", a.called(id))
		case age > max(a.heard.most, lateIntervals*a.nodes[id].Interval):
			a.reason(false, id, "%s was last heard of %s ago.", a.called(id),
				age.Round(time.Second))
		case !a.nodes[id].Paused.IsZero():
			a.reason(false, id, "The agent of %s is paused since %s, so nothing is known of the "+
				"node: remove paused: true from its agent.yaml.", a.called(id),
				a.nodes[id].Paused.UTC().Format(time.RFC3339))
		case at.Before(a.Since):
			a.reason(false, id, "%s was not heard of since %s.", a.called(id),
				a.Since.UTC().Format(time.TimeOnly))
		default:
			continue
		}
		a.silent[id] = true
	}
}
