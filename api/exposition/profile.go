package exposition

import (
	"context"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// Reader reads what nodes sent, as read.Reader.
type Reader interface {
	// Range returns a node's values from from to to, both inclusive and in ms, of what any of the
	// selectors selects.
	Range(ctx context.Context, account string, n *window.Node, from, to int64,
		selectors [][]*labels.Matcher) (read.Values, error)
}

// UnderProfile returns a node's newest values under the names of a profile. What was counted lately
// is what was counted since the state of two minutes before, of which only that is read.
func UnderProfile(ctx context.Context, reader Reader, account string, n *window.Node,
	w *window.Window, now []window.Series, as *profile.Profile) (Node, error) {
	names, err := as.NeedsBefore(now)
	if err != nil {
		return Node{}, err
	}
	var before []window.Series
	if len(names) > 0 {
		slices.Sort(names)
		to := w.Times[len(w.Times)-1] - profile.Span
		matcher, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName,
			strings.Join(names, "|"))
		if err != nil {
			return Node{}, err
		}
		values, err := reader.Range(ctx, account, n, to-2*w.Node.Interval, to,
			[][]*labels.Matcher{{matcher}})
		if err != nil {
			return Node{}, err
		}
		before = values.Series
	}

	renamed, err := as.Show(ctx, &w.Node, now, before)
	if err != nil {
		return Node{}, err
	}
	return Node{Series: renamed.Series, Heads: renamed.Heads}, nil
}
