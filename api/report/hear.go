package report

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// maxRefined bounds how many steps are asked for what began or ended within them.
const maxRefined = 24

// hearNodes notes when nodes were heard of, from what up says at each step.
func (m *maker) hearNodes(ctx context.Context, up []Series) {
	h := &m.heard
	h.since, h.nodes, h.steps = m.To.UnixMilli(), map[string]int64{}, map[string][]int64{}
	m.hearStarts(ctx)
	begin := m.From.Add(Step).UnixMilli()
	ends := map[string]int64{} // of the step within which a node was heard of first
	for _, s := range up {
		id := s.Labels["node"]
		if m.nodes[id] == nil {
			continue
		}
		for _, p := range s.Points {
			told := h.told[id] // a rollup tells of a step in the next one
			if p.Value == 1 && (told == nil || told[p.At] || told[p.At+Step.Milliseconds()]) {
				h.steps[id] = append(h.steps[id], p.At)
			}
		}
		if at := s.Points[0].At; at > begin {
			ends[id] = at
		}
		h.nodes[id] = m.From.UnixMilli()
	}
	first := func(metric string) string {
		return fmt.Sprintf("min by (node) (ts_of_first_over_time(%s{cluster=%q}[%s]))", metric,
			m.Cluster, model.Duration(Step+time.Millisecond))
	}
	// An agent's own series say it to a moment; up, which all nodes have, to a minute.
	promql := first("jvm_start_time_seconds") + " or " + first("up")
	found := refine(ends, func(at int64) map[string]int64 {
		list := map[string]int64{}
		for _, s := range m.at(ctx, "since when nodes were heard of", promql, instantOf(at)) {
			list[s.Labels["node"]] = millis(s.last())
		}
		return list
	})
	for id, at := range ends {
		h.nodes[id] = at
		if exact, is := found[id]; is {
			h.nodes[id] = min(exact, at)
		}
	}
	for id, at := range h.nodes {
		h.since = min(h.since, at)
		h.steps[id] = h.withSilence(id)
		h.all = append(h.all, h.steps[id]...)
	}
	slices.Sort(h.all)
	h.all = slices.Compact(h.all)
}

// startMoves is by how much a start time must move to be another start, in seconds: clocks are set.
const startMoves = 60

// hearStarts notes when processes of nodes were started, and at which steps they said so.
func (m *maker) hearStarts(ctx context.Context) {
	m.heard.starts, m.heard.told = map[string][]int64{}, map[string]map[int64]bool{}
	for _, s := range m.over(ctx, "restarts",
		fmt.Sprintf("max by (node) (jvm_start_time_seconds{cluster=%q})", m.Cluster), m.From,
		Step) {
		id, told := s.Labels["node"], map[int64]bool{}
		m.heard.told[id] = told
		for i, p := range s.Points {
			told[p.At] = true
			if now := p.Value; i > 0 && now > s.Points[i-1].Value+startMoves {
				m.heard.starts[id] = append(m.heard.starts[id], millis(now))
			}
		}
	}
}

// refine asks for the steps within which something began or ended, the newest first: the younger a
// thing is, the more a minute counts.
func refine[K comparable](ends map[K]int64, ask func(end int64) map[K]int64) map[K]int64 {
	var steps []int64
	for _, at := range ends {
		steps = append(steps, at)
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	slices.Reverse(steps)
	found := map[K]int64{}
	for _, step := range steps[:min(len(steps), maxRefined)] {
		for k, at := range ask(step) {
			if ends[k] == step {
				found[k] = at
			}
		}
	}
	return found
}

// tableStep is the resolution of which tables there were: a cluster may have thousands.
const tableStep = time.Hour

// hearTables notes when tables were there.
func (m *maker) hearTables(ctx context.Context) {
	where := "cassandra_table_live_sstables{cluster=" + strconv.Quote(m.Cluster) + "}"
	const what = "which tables there were"
	asked := "group by (keyspace, table) (" + where + ")"
	list := m.over(ctx, what, asked, m.From, tableStep)
	grid := []int64{}
	for t := m.From; !t.After(m.To); t = t.Add(tableStep) {
		grid = append(grid, t.UnixMilli())
	}
	if end := m.To.UnixMilli(); grid[len(grid)-1] < end { // the last step is shorter
		grid = append(grid, end)
		list = append(list, m.instant(ctx, what, asked)...)
	}
	m.heard.tables = map[[2]string]span{}
	for _, s := range list {
		k := tableOf(&s)
		heard, known := m.heard.tables[k]
		if !known {
			heard.from = s.Points[0].At
		}
		heard.to = s.Points[len(s.Points)-1].At
		m.heard.tables[k] = heard
	}
	// before returns the instant before another, which begins the step that ends there.
	before := func(at int64) int64 {
		i, _ := slices.BinarySearch(grid, at)
		return grid[max(i-1, 0)]
	}
	begun, ended := map[[2]string]int64{}, map[[2]string]int64{}
	for k, heard := range m.heard.tables {
		if heard.from > grid[0] {
			begun[k] = heard.from
		}
		if i, _ := slices.BinarySearch(grid, heard.to); i+1 < len(grid) {
			ended[k] = grid[i+1]
		}
	}
	ask := func(how string) func(int64) map[[2]string]int64 {
		return func(end int64) map[[2]string]int64 {
			window := time.Duration(end-before(end)+1) * time.Millisecond // the begin, too
			found := map[[2]string]int64{}
			for _, s := range m.at(ctx, what, fmt.Sprintf(how, where, model.Duration(window)),
				instantOf(end)) {
				found[tableOf(&s)] = millis(s.last())
			}
			return found
		}
	}
	first := refine(begun, ask("min by (keyspace, table) (ts_of_first_over_time(%s[%s]))"))
	last := refine(ended, ask("max by (keyspace, table) (ts_of_last_over_time(%s[%s]))"))
	for k, heard := range m.heard.tables {
		if at, is := first[k]; is {
			heard.from = min(heard.from, at)
		}
		if at, is := last[k]; is {
			heard.to = max(heard.to, at)
		}
		m.heard.tables[k] = heard
	}
}
