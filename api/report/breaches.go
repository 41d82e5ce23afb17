package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// rangedValue is a value of the catalogue that has a healthy range.
type rangedValue struct {
	entry *catalog.Entry
	value *catalog.Value
}

// ofCluster are entries that say something of all nodes together and little of one.
var ofCluster = []string{"n::schemaVersions"}

// ranged returns the values of nodes and tables that have a healthy range. Keyspaces are left out:
// their tables say more.
func (m *maker) ranged() (list []rangedValue) {
	for _, e := range m.Catalog.All() {
		for i := range e.Values {
			if e.Of != catalog.Keyspace && e.Values[i].Healthy != nil && len(list) < maxRanges {
				list = append(list, rangedValue{e, &e.Values[i]})
			}
		}
	}
	return list
}

// breaches asks for those steps alone at which a value was outside of its range.
func (m *maker) breaches(ctx context.Context, values []rangedValue) {
	for _, r := range values {
		keep, step := catalog.NodeLabels, Step
		if r.entry.Of == catalog.Table && m.To.Sub(m.From) >= hoursFrom {
			step = time.Hour
		}
		if r.entry.Of == catalog.Table || slices.Contains(ofCluster, r.entry.Name) {
			keep = []string{"cluster"}
		}
		expr := r.value.Expr(m.scope, catalog.Labels(r.entry.Of, keep...), step)
		var sides []string
		number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		if end := r.value.Healthy.Max; end != nil {
			sides = append(sides, fmt.Sprintf("(%s) > %s", expr, number(*end)))
		}
		if end := r.value.Healthy.Min; end != nil {
			sides = append(sides, fmt.Sprintf("(%s) < %s", expr, number(*end)))
		}
		what := r.entry.Name + " outside of its range"
		for _, s := range m.over(ctx, what, strings.Join(sides, " or "), m.From.Add(step), step) {
			m.breach(r, &s, step)
		}
	}
	slices.SortStableFunc(m.report.Breaches, func(a, b Breach) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Entry, b.Entry),
			cmp.Compare(a.Address, b.Address))
	})
}

func (m *maker) breach(r rangedValue, s *Series, step time.Duration) {
	first, last := instantOf(s.Points[0].At), instantOf(s.Points[len(s.Points)-1].At)
	if begun := m.From.Add(step); windowed(r.value) || first.Equal(begun) {
		first = first.Add(-step) // it is of what was before, or nobody knows of before
	}
	since := m.heard.begin(s.Labels)
	if first.Before(since) {
		first = since
	}
	seconds := min(float64(len(s.Points))*step.Seconds(), last.Sub(since).Seconds())
	b := Breach{
		Entry: r.entry.Name, Type: r.value.Type, Description: r.entry.Description,
		Unit: r.value.Unit, Healthy: r.value.Healthy, Node: s.Labels["node"],
		Keyspace: s.Labels["keyspace"], Table: s.Labels["table"],
		Seconds: max(seconds, 0), First: first, Last: last,
		Worst: Number(s.Points[0].Value),
	}
	for _, p := range s.Points {
		below := b.Healthy.Min != nil && p.Value < *b.Healthy.Min
		if v := Number(p.Value); below && v < b.Worst || !below && v > b.Worst {
			b.Worst = v
		}
	}
	if b.Node != "" {
		b.Address = m.address(b.Node)
		if n := m.nodes[b.Node]; n != nil {
			n.Breached++
			n.BreachedSeconds += b.Seconds
		}
	}
	m.report.Breaches = append(m.report.Breaches, b)
}
