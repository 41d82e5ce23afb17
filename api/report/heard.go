package report

import (
	"slices"
	"strings"
	"time"

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

// hoursFrom is how long a report is whose tables are followed by the hour: a cluster may have
// thousands, with histograms of each of their nodes.
const hoursFrom = 6 * time.Hour
