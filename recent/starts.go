package recent

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// runStart is where a run of an agent begins: no frame of the node that is later than after and
// earlier than at is in the log. Both are times of frames, in ms; at is of the run's first frame,
// whose sequence number is 0.
type runStart struct{ after, at int64 }

// maxStarts is how many starts of a node are known; of an agent that starts more often within
// Keep the older ones are not proved.
const maxStarts = 8

// maxSeenNodes bounds the nodes that one process knows the starts of, over all clusters: some 200
// bytes each. A cluster that does not fit has no starts until what is known of others was
// forgotten and its own last minutes are read again.
const maxSeenNodes = 100_000

// logView is what the log says of a cluster's nodes from one offset on. It is about the log alone,
// so that nothing which Redis loses makes it wrong.
type logView struct {
	since   int64 // it has all frames in the log that are not earlier, in ms
	horizon int64 // it has forgotten what is earlier
	nodes   map[uuid.UUID]*seenNode
}

// seenNode is what a logView knows of a node.
type seenNode struct {
	oldest, newest int64      // times of frames
	starts         []runStart // by time; after is 0 where the view has nothing before
}

// never is the since of a view that has not all frames from any time on.
const never = math.MaxInt64

func newLogView(since int64) *logView {
	return &logView{since: since, nodes: map[uuid.UUID]*seenNode{}}
}

// add takes the next record of the log. Records may come again, and frames late.
func (v *logView) add(h *frame.Header) {
	if v.since == never {
		return
	}
	n := v.nodes[h.Node]
	if n == nil {
		n = &seenNode{oldest: h.At}
		v.nodes[h.Node] = n
	}
	n.oldest = min(n.oldest, h.At)
	if h.At > n.newest {
		if h.Sequence == 0 {
			n.begin(runStart{n.newest, h.At})
		}
		n.newest = h.At
		return
	}
	for i := range n.starts {
		if s := &n.starts[i]; s.after < h.At && h.At < s.at {
			s.after = h.At
		}
	}
}

func (n *seenNode) begin(s runStart) {
	if len(n.starts) == maxStarts {
		n.starts = slices.Delete(n.starts, 0, 1)
	}
	n.starts = append(n.starts, s)
}

// join prepends the view of an earlier part of the log. A start is forgotten if the other view has
// frames before and after it: which of them is the last before the start is not known.
func (v *logView) join(before *logView) {
	if v.since == never || before.since == never {
		*v = logView{since: never}
		return
	}
	v.since = max(before.since, v.horizon)
	for id, b := range before.nodes {
		n := v.nodes[id]
		if n == nil {
			v.nodes[id] = b
			continue
		}
		var starts []runStart
		for _, s := range b.starts {
			if s.at < n.oldest {
				starts = append(starts, s)
			}
		}
		for _, s := range n.starts {
			if s.at > b.newest {
				starts = append(starts, runStart{max(s.after, b.newest), s.at})
			}
		}
		n.starts = starts[max(0, len(starts)-maxStarts):]
		n.oldest, n.newest = min(n.oldest, b.oldest), max(n.newest, b.newest)
	}
}

// forget drops what is earlier than horizon.
func (v *logView) forget(horizon int64) {
	for id, n := range v.nodes {
		if n.newest < horizon {
			delete(v.nodes, id)
			continue
		}
		n.starts = slices.DeleteFunc(n.starts, func(s runStart) bool { return s.at < horizon })
	}
	v.since, v.horizon = max(v.since, horizon), max(v.horizon, horizon)
}

// fields are the starts that the view proves, by node, as Redis has them.
func (v *logView) fields() []string {
	var fields []string
	for id, n := range v.nodes {
		var starts []runStart
		for _, s := range n.starts {
			if s.after = max(s.after, v.since-1); s.after < s.at {
				starts = append(starts, s)
			}
		}
		if len(starts) > 0 {
			fields = append(fields, id.String(), formatStarts(starts))
		}
	}
	return fields
}

// formatStarts writes starts as AFTER-AT, separated by spaces.
func formatStarts(starts []runStart) string {
	var b []byte
	for i, s := range starts {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(append(strconv.AppendInt(b, s.after, 10), '-'), s.at, 10)
	}
	return string(b)
}

// parseStarts reads what formatStarts wrote; what it does not understand proves nothing.
func parseStarts(text string) []runStart {
	var starts []runStart
	for _, word := range strings.Fields(text) {
		after, at, _ := strings.Cut(word, "-")
		a, err := strconv.ParseInt(after, 10, 64)
		b, err2 := strconv.ParseInt(at, 10, 64)
		if cmp.Or(err, err2) == nil {
			starts = append(starts, runStart{a, b})
		}
	}
	return starts
}

// proves reports whether starts show that the log has nothing between the two times of wanted.
func proves(starts []runStart, wanted runStart) bool {
	return slices.ContainsFunc(starts, func(s runStart) bool {
		return s.at == wanted.at && s.after <= wanted.after
	})
}
