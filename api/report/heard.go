package report

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// A rate is over the time that something existed and was heard of. PromQL divides by the whole
// window instead, so that a table of an hour would have a twenty-fourth of its reads over a day.

// span is from when to when something was there, in ms since 1970.
type span struct{ from, to int64 }

// heard is when the cluster, its nodes and its tables were heard of.
type heard struct {
	from, to time.Time // of the report

	since  int64            // the cluster; From if it was there already
	nodes  map[string]int64 // since when
	tables map[[2]string]span
	starts map[string][]int64 // when processes of nodes were started
	// told are the steps at whose end nodes said when that was: a paused agent says nothing.
	told map[string]map[int64]bool
	// steps are those, of nodes, at whose end a process was heard of, ascending; all of any node.
	// Of a silence without a new process, what was counted meanwhile was heard afterwards.
	steps map[string][]int64
	all   []int64
}

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

// withSilence returns the steps at whose end a node was up, and those between them in which its
// process was not another.
func (h *heard) withSilence(id string) (list []int64) {
	up := slices.Compact(slices.Sorted(slices.Values(h.steps[id])))
	for i, at := range up {
		if i > 0 && !slices.ContainsFunc(h.starts[id], func(start int64) bool {
			return up[i-1] < start && start <= at
		}) {
			for t := up[i-1] + Step.Milliseconds(); t < at; t += Step.Milliseconds() {
				list = append(list, t)
			}
		}
		list = append(list, at)
	}
	return list
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

func millis(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

func tableOf(s *Series) [2]string { return [2]string{s.Labels["keyspace"], s.Labels["table"]} }

// length returns for how long a time something was heard of that was up at the end of some steps.
func (h *heard) length(steps []int64, in span) time.Duration {
	var sum int64
	end := h.to.UnixMilli()
	for _, at := range steps {
		from, to := at-Step.Milliseconds(), at
		if at > end-Step.Milliseconds() { // the last of them; the time ends within a step
			to = end
		}
		sum += max(0, min(to, in.to)-max(from, in.from))
	}
	return time.Duration(sum) * time.Millisecond
}

// ofTable returns for how long a table was heard of; the whole time if that is not known.
func (h *heard) ofTable(k [2]string) time.Duration {
	if table, known := h.tables[k]; known {
		return h.length(h.all, table)
	}
	return h.window()
}

// ofNode returns for how long a node was heard of.
func (h *heard) ofNode(id string) time.Duration {
	return h.length(h.steps[id], span{h.nodes[id], h.to.UnixMilli()})
}

// begin returns when what has some labels was heard of first within the time: a node, a table, or
// the cluster.
func (h *heard) begin(labels map[string]string) time.Time {
	at := h.since
	if table, known := h.tables[[2]string{labels["keyspace"], labels["table"]}]; known {
		at = table.from
	}
	if node, known := h.nodes[labels["node"]]; known {
		at = max(at, node)
	}
	return instantOf(at)
}

// window is what rates are asked over: the whole time, or the few hours since the cluster was heard
// of. Samples answer these, and of more the rollups, whose ends are not so sharp.
func (h *heard) window() time.Duration {
	whole := h.to.Sub(h.from)
	if age := h.to.Sub(instantOf(h.since)) + time.Second; age < min(whole, hoursFrom) {
		return max(age, time.Minute)
	}
	return whole
}

// rate returns what a rate over window is over the time that something was heard of.
func (h *heard) rate(v *catalog.Value, mean float64, length time.Duration) float64 {
	if !strings.HasSuffix(v.Unit, "per_second") || !windowed(v) || length <= 0 {
		return mean
	}
	return mean * max(1, h.window().Seconds()/length.Seconds())
}

// windowed reports whether a value is of all of a window, not of its end.
func windowed(v *catalog.Value) bool { return strings.Contains(v.PromQL, "$range") }
