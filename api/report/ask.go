package report

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a report asks beside the ranges of the catalogue: nodes 4, disks 2, tables 8, balance 8,
// alerts 2, changes 5, plots 8; and one for each hour in which tables came or went, or nodes came.
const fixedQueries = 37

// maxRanges bounds how many values of the catalogue are asked for, since an account may add many.
const maxRanges = 300

// maxLacks bounds what is said of queries that failed.
const maxLacks = 10

func (m *maker) count() {
	if m.Progress != nil {
		m.Progress(m.report.Queries, max(m.total, m.report.Queries+1))
	}
	m.report.Queries++
}

// lack notes that something could not be asked.
func (m *maker) lack(what string, err error) {
	if len(m.report.Lacks) < maxLacks {
		m.report.Lacks = append(m.report.Lacks, fmt.Sprintf("%s: %v", what, err))
	}
}

// instant asks what is true at the end of the time; what says it in words.
func (m *maker) instant(ctx context.Context, what, promql string) []Series {
	return m.at(ctx, what, promql, m.To)
}

// at asks what is true at an instant.
func (m *maker) at(ctx context.Context, what, promql string, at time.Time) []Series {
	if ctx.Err() != nil {
		return nil
	}
	m.count()
	list, err := m.src.Query(ctx, promql, at)
	if err != nil {
		m.lack(what, err)
	}
	return finite(list)
}

// over asks for all steps of a time.
func (m *maker) over(ctx context.Context, what, promql string, from time.Time,
	step time.Duration) []Series {
	if ctx.Err() != nil {
		return nil
	}
	m.count()
	list, err := m.src.QueryRange(ctx, promql, from, m.To, step)
	if err != nil {
		m.lack(what, err)
	}
	return finite(list)
}

// finite leaves out values that are no numbers, and series without any other, and sorts the rest.
func finite(list []Series) []Series {
	var out []Series
	for _, s := range list {
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p Point) bool {
			return math.IsNaN(p.Value) || math.IsInf(p.Value, 0)
		})
		if len(s.Points) > 0 {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Series) int { return compareText(key(a.Labels), key(b.Labels)) })
	return out
}

// key is a label set in text.
func key(l map[string]string) string {
	var list []string
	for name, value := range l {
		list = append(list, name+"="+strconv.Quote(value))
	}
	slices.Sort(list)
	return strings.Join(list, ",")
}

// last returns a series' last value.
func (s *Series) last() float64 { return s.Points[len(s.Points)-1].Value }

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

// address is how people call a node. One that has left may have the address of the one in its
// place.
func (m *maker) address(id string) string {
	if l := m.gone[id]; l != nil {
		return m.called(id) + " (" + l.Why + ")"
	}
	return m.called(id)
}

// called is the name of a node alone.
func (m *maker) called(id string) string {
	if n := m.nodes[id]; n != nil {
		return n.Name()
	}
	if l := m.gone[id]; l != nil {
		return cmp.Or(l.Address, id)
	}
	return id
}

func compareFalling(a, b float64) int { return cmp.Compare(b, a) }
func compareText(a, b string) int     { return cmp.Compare(a, b) }
func firstOf(list ...int) int         { return cmp.Or(list...) }

func instantOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
