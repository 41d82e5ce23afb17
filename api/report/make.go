package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// Make asks everything and returns the report. The error is ErrNoNodes, the context's, or says why
// not even the nodes could be asked for.
func Make(ctx context.Context, src Source, c Config) (*Report, error) {
	if span := c.To.Sub(c.From); span < Step || span > 31*24*time.Hour {
		return nil, fmt.Errorf(
			"a report covers %s to 31 days, not %s: choose other times",
			Step,
			span,
		)
	}
	c.Zone = cmp.Or(c.Zone, time.Local)
	m := &maker{Config: c, src: src, scope: catalog.Scope{Cluster: c.Cluster},
		nodes: map[string]*Node{}, gone: map[string]*Left{},
		heard: heard{from: c.From, to: c.To},
		report: &Report{Cluster: c.Cluster, From: c.From.UTC(), To: c.To.UTC(),
			Nodes: []Node{}, Breaches: []Breach{}, Disks: []Disk{},
			Tables: []Table{}, Balance: []Balance{}, Alerts: []Alert{}, Woken: []Woken{},
			Changes: []Change{}, Plots: []Plot{}, Lacks: []string{}}}
	values := m.ranged()
	m.total = fixedQueries + len(values)
	if err := m.findNodes(ctx); err != nil {
		return nil, err
	}
	for _, part := range []func(context.Context){
		m.hearTables,
		func(ctx context.Context) { m.breaches(ctx, values) },
		m.disks, m.tables, m.balance, m.alerts, m.woken, m.changes, m.plots,
	} {
		if part(ctx); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	m.finish()
	return m.report, nil
}

// finish sorts what more than one part has filled.
func (m *maker) finish() {
	for id, n := range m.nodes {
		if m.gone[id] == nil {
			m.report.Nodes = append(m.report.Nodes, *n)
		}
	}
	slices.SortFunc(m.report.Nodes, func(a, b Node) int {
		return cmp.Or(
			cmp.Compare(b.BreachedSeconds, a.BreachedSeconds),
			cmp.Compare(b.Breached, a.Breached),
			cmp.Compare(a.Name(), b.Name()),
		)
	})
	slices.SortStableFunc(m.report.Changes, func(a, b Change) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text))
	})
}

// What a report asks beside the ranges of the catalogue: nodes 4, disks 2, tables 8, balance 8,
// alerts 2, changes 5, plots 8; and one for each hour in which tables came or went, or nodes came.
const fixedQueries = 37

// findNodes asks which nodes there are.
func (m *maker) findNodes(ctx context.Context) error {
	where := "{cluster=" + strconv.Quote(m.Cluster) + "}"
	m.count()
	up, err := m.src.QueryRange(ctx, "up"+where, m.From.Add(Step), m.To, Step)
	if err != nil {
		return fmt.Errorf("the list of nodes cannot be read: %w", err)
	}
	up = finite(up)
	for _, s := range up {
		if id := s.Labels["node"]; id != "" {
			m.nodes[id] = &Node{ID: id, Datacenter: s.Labels["datacenter"], Rack: s.Labels["rack"],
				Kind: cassandra, watched: s.Labels["job"] != "",
				Up: s.last() == 1 && s.Points[len(s.Points)-1].At > m.To.Add(-2*Step).UnixMilli()}
		}
	}
	if len(m.nodes) == 0 {
		return ErrNoNodes
	}
	for i := range m.Left {
		if l := &m.Left[i]; !l.At.After(m.To) {
			m.gone[l.Node] = l
		}
	}
	for _, s := range m.over(ctx, "whose agent was paused",
		"ringwatch_agent_state_info{cluster="+strconv.Quote(m.Cluster)+`,value="paused"}`,
		m.To.Add(-2*Step), Step) {
		if n := m.nodes[s.Labels["node"]]; n != nil {
			n.Paused = n.Up && s.Points[len(s.Points)-1].At > m.To.Add(-Step).UnixMilli()
		}
	}
	// Over the whole time: who left before its end has no name then.
	said := m.over(ctx, "what nodes say of themselves", "ringwatch_node_info"+where,
		m.From.Add(Step), Step)
	slices.SortStableFunc(said, func(a, b Series) int {
		return cmp.Compare(a.Points[len(a.Points)-1].At, b.Points[len(b.Points)-1].At)
	})
	for _, s := range said {
		if n := m.nodes[s.Labels["node"]]; n != nil {
			n.Address, n.Called = s.Labels["address"], s.Labels["name"]
			n.Version = cmp.Or(s.Labels["version"], s.Labels["cassandra_version"])
			n.Kind = cmp.Or(s.Labels["kind"], cassandra)
		}
	}
	for id, n := range m.nodes {
		if l := m.gone[id]; l != nil {
			n.Address = cmp.Or(n.Address, l.Address)
		}
		m.report.cassandra = m.report.cassandra || n.Kind == cassandra
	}
	m.hearNodes(ctx, up)
	m.report.Since = instantOf(m.heard.since)
	return nil
}
