package spans

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// Matches remembers what matches of dictionaries: a node's spans nearly all have the same. It is
// for one goroutine.
type Matches struct {
	ctx      context.Context
	matchers []*labels.Matcher
	known    map[*window.Dictionary]*match
}

// match is what of a dictionary's series can match.
type match struct {
	metrics []int
	rows    []int32 // nil: all
	keys    []string
}

// NewMatches returns what matches by matchers.
func NewMatches(ctx context.Context, matchers []*labels.Matcher) *Matches {
	return &Matches{ctx: ctx, matchers: matchers, known: map[*window.Dictionary]*match{}}
}

// of returns what matches of a dictionary. When the context ends that may be too little: who calls
// it asks the context.
func (m *Matches) of(d *window.Dictionary) *match {
	if found := m.known[d]; found != nil {
		return found
	}
	found := &match{metrics: d.MatchMetrics(m.ctx, m.matchers...)}
	if len(found.metrics) > 0 {
		if slices.ContainsFunc(m.matchers, func(l *labels.Matcher) bool {
			return slices.Contains(d.Labels, l.Name)
		}) {
			if found.rows = d.MatchRows(m.ctx, m.matchers...); len(found.rows) == 0 {
				found.metrics = nil
			}
		}
		for _, i := range found.metrics {
			found.keys = append(found.keys, d.MetricKey(i))
		}
	}
	m.known[d] = found
	return found
}

// Any reports whether anything of a dictionary can match, as of does.
func (m *Matches) Any(d *window.Dictionary) bool { return len(m.of(d).metrics) > 0 }
