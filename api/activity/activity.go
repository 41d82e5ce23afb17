// Package activity says what nodes are doing: which tasks run, who is connected, and what was
// repaired when. Begin with Tasks, Clients and Repairs, and with Handler for the endpoints.
//
// It asks PromQL by a Question, some four expressions an answer, and reads no data itself.
//
// What it promises: an answer is bounded, whatever nodes say, and says how much it leaves out. What
// could not be asked is named in Partial. A number that JSON cannot say is not there.
//
// What bites: node labels are of who sent the frames, and all texts are theirs.
package activity

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

// Series is one of an answer.
type Series struct {
	Labels map[string]string
	Value  float64
}

// Question is whose activity is asked for.
type Question struct {
	Cluster string // empty: of all
	Node    string // id; empty: of all
	At      time.Time
	// Called is how people call a node.
	Called func(id string) string
	// Query answers PromQL at the instant At. lacks says in words why an answer is not whole.
	Query func(ctx context.Context, promql string) (list []Series, lacks []string, err error)
}

// Partial says in words what an answer lacks.
type Partial struct {
	Partial []string `json:"partial,omitempty"`
}

// rateWindow is what rates are of.
const rateWindow = "2m"

// rateTime is rateWindow.
const rateTime = 2 * time.Minute

// asking is a question that is being answered.
type asking struct {
	*Question
	ctx   context.Context
	lacks []string
}

// scope are matchers for whose activity is asked for, behind others.
func (q *Question) scope() string {
	var text string
	if q.Cluster != "" {
		text += ",cluster=" + strconv.Quote(q.Cluster)
	}
	if q.Node != "" {
		text += ",node=" + strconv.Quote(q.Node)
	}
	return text
}

// named is a selector of the names, with more matchers that begin with a comma.
func (q *Question) named(more string, names ...string) string {
	if len(names) == 1 {
		return names[0] + "{" + strings.TrimPrefix(q.scope()+more, ",") + "}"
	}
	return "{__name__=~" + strconv.Quote(strings.Join(names, "|")) + q.scope() + more + "}"
}

// ask asks what an answer cannot do without.
func (a *asking) ask(format string, args ...any) ([]Series, error) {
	list, lacks, err := a.Query(a.ctx, fmt.Sprintf(format, args...))
	for _, text := range lacks {
		if !slices.Contains(a.lacks, text) {
			a.lacks = append(a.lacks, text)
		}
	}
	return list, err
}

// add asks what an answer can do without: then what is not there.
func (a *asking) add(what, format string, args ...any) []Series {
	list, err := a.ask(format, args...)
	if err != nil {
		a.lacks = append(a.lacks, fmt.Sprintf("%s cannot be said: %v", what, err))
	}
	return list
}

// nodeCount is how many things a node has.
type nodeCount struct {
	cluster, node string
	n             int
}

// counts reads what count by (cluster, node) says. Series without a node are not among them.
func counts(list []Series) (nodes []nodeCount, total int) {
	for _, s := range list {
		if s.Labels["node"] != "" && s.Value >= 1 {
			nodes = append(nodes, nodeCount{s.Labels["cluster"], s.Labels["node"], int(s.Value)})
			total += int(s.Value)
		}
	}
	return nodes, total
}

// mostNodes is how many ids a selector may have: 150 take 5,550 bytes of api.selectors's 8 KiB.
const mostNodes = 150

// choose returns a matcher for as many nodes, in the order of clusters and names, as have most
// things together, and how many things other nodes have. Of all nodes it is empty.
func (a *asking) choose(nodes []nodeCount, total, most int) (matcher string, leftOut int) {
	if total <= most {
		return "", 0
	}
	slices.SortFunc(nodes, func(x, y nodeCount) int {
		return cmp.Or(cmp.Compare(x.cluster, y.cluster),
			cmp.Compare(a.Called(x.node), a.Called(y.node)), cmp.Compare(x.node, y.node))
	})
	var ids []string
	taken := 0
	for _, n := range nodes {
		if len(ids) < mostNodes && taken+n.n <= most {
			ids = append(ids, n.node)
			taken += n.n
		}
	}
	return ",node=~" + strconv.Quote(strings.Join(ids, "|")), total - taken
}

// known returns a number that JSON can say; nil if it is none.
func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// ratio is known between 0 and 1.
func ratio(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return new(min(max(v, 0), 1))
}

// lastSecond is that of the year 9999, after which RFC 3339 has no times.
const lastSecond = 253402300799

// moment returns a time in seconds since 1970, to the millisecond; nil if it is none.
func moment(seconds float64) *time.Time {
	if !(seconds > 0 && seconds <= lastSecond) {
		return nil
	}
	return new(time.UnixMilli(int64(math.Round(seconds * 1000))).UTC())
}

// seconds are those since 1970.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
