package loki

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window/events"
)

// find returns the events that a query means, at most limit of them: of counts without their
// lines. all: none was left out but for the limit.
func (a *API) find(ctx context.Context, p account.Principal, q *logQuery, s span, limit int,
	forward bool) (found []events.Event, all bool, err error) {
	ask, any, err := a.narrowed(ctx, p, q)
	if err != nil || !any {
		return nil, true, err
	}
	// Events have milliseconds: the first from start on, the last before end.
	ask.From = s.start.Add(time.Millisecond - 1).UnixMilli()
	ask.To = s.end.Add(-1).UnixMilli()
	ask.Limit = pageEvents
	if forward {
		first := events.OlderThan(ask.From)
		ask.After = &first
	}
	lease, looked, size := memory.Of(ctx), 0, int64(0)
	for range maxPages {
		page, err := a.Events(ctx, p.Account, ask)
		if err != nil {
			return nil, false, err
		}
		takes, before := bytesOf(page.Events...), size
		if err := lease.Take(takes); err != nil {
			return nil, false, err
		}
		for i := range page.Events {
			if err := ctx.Err(); err != nil {
				return nil, false, err
			}
			e := &page.Events[i]
			if !q.means(e) {
				continue
			}
			if q.counts {
				e.Text, e.Labels = "", nil
			}
			found, size = append(found, *e), size+bytesOf(*e)
			if len(found) == limit || size > maxBytes {
				return found, len(found) == limit, nil
			}
		}
		lease.Give(takes - (size - before))
		if looked += len(page.Events); page.Next == nil {
			return found, true, nil
		}
		if looked >= maxEvents {
			return found, false, nil
		}
		if forward {
			ask.After = page.Next
		} else {
			ask.Before = page.Next
		}
	}
	return found, false, nil
}

// bytesOf is what events take in memory, and their lines.
func bytesOf(list ...events.Event) (n int64) {
	for i := range list {
		n += 400 + 2*int64(len(list[i].Text))
		for _, l := range list[i].Labels {
			n += 32 + 2*int64(len(l.Name)+len(l.Value))
		}
	}
	return n
}

// means reports whether a query means an event.
func (q *logQuery) means(e *events.Event) bool {
	name := e.Stream()
	for _, m := range q.matchers {
		if !m.Matches(valueOf(&name, m.Name)) {
			return false
		}
	}
	if len(q.filters) == 0 {
		return true
	}
	line := e.Line()
	for i := range q.filters {
		if !q.filters[i].passes(line) {
			return false
		}
	}
	return true
}

// narrowed is what the store can look for by itself: clusters, nodes, kinds, the least severity.
// any is false if there is nothing that the query could mean.
func (a *API) narrowed(ctx context.Context, p account.Principal, q *logQuery) (
	ask events.Query, any bool, err error) {
	nodes, err := a.Nodes(ctx, p)
	if err != nil {
		return ask, false, err
	}
	matches := func(name, value string) bool {
		return !slices.ContainsFunc(q.matchers, func(m *labels.Matcher) bool {
			return m.Name == name && !m.Matches(value)
		})
	}
	byNode := slices.ContainsFunc(q.matchers,
		func(m *labels.Matcher) bool { return m.Name == "node" })
	clusters, ids := map[string]bool{}, []uuid.UUID{}
	for i := range nodes {
		n := &nodes[i]
		if !matches("cluster", n.Cluster) || byNode && !matches("node", n.ID.String()) {
			continue
		}
		clusters[n.Cluster] = true
		ids = append(ids, n.ID)
	}
	if len(clusters) == 0 {
		return ask, false, nil
	}
	for name := range clusters {
		ask.Clusters = append(ask.Clusters, name)
	}
	slices.Sort(ask.Clusters)
	if byNode && len(ids) <= fewNodes {
		ask.Nodes = ids
	}
	for _, m := range q.matchers {
		if m.Name != "kind" {
			continue
		}
		if m.Type == labels.MatchEqual && m.Value != "" {
			ask.Kinds = []string{m.Value}
		} else if m.Type == labels.MatchRegexp && len(m.SetMatches()) > 0 {
			ask.Kinds = m.SetMatches()
		}
	}
	for ; ask.Severity < frame.Error &&
		!matches("severity", ask.Severity.String()); ask.Severity++ {
	}
	return ask, true, nil
}
