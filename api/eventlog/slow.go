package eventlog

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/window/events"
)

// maxPages is how many pages of maxEvents slow queries are made of at most.
const maxPages = 20

// slowQueries is the answer of /v1/slow-queries.
type slowQueries struct {
	Queries []*slowQuery `json:"queries"`
	Partial []string     `json:"partial,omitempty"` // what was not looked at
}

// slowQuery is a statement that was slow, on however many nodes.
type slowQuery struct {
	slowStatement
	Times   int64   `json:"times"`
	Slowest float64 `json:"slowest_seconds"`
	Nodes   int     `json:"nodes"` // that said so
	Last    string  `json:"last"`

	nodes map[uuid.UUID]bool
}

type slowStatement struct {
	Cluster   string `json:"cluster"`
	Keyspace  string `json:"keyspace"`
	Table     string `json:"table"`
	Statement string `json:"statement"`
}

// slowQueries reads which statements were slow, the slowest first.
func (q *question) slowQueries(ctx context.Context) (*slowQueries, error) {
	most := q.query.Limit
	q.query.Kinds, q.query.Limit = []string{"slow_query"}, maxEvents
	answer := &slowQueries{Queries: []*slowQuery{}}
	queries := map[slowStatement]*slowQuery{}
	for page := 1; ; page++ {
		found, err := q.page(ctx)
		if err != nil {
			return nil, err
		}
		for i := range found.Events {
			addSlow(queries, &found.Events[i])
		}
		if found.Next == nil {
			break
		}
		if page == maxPages {
			answer.Partial = []string{"slow queries before " + literal.Time(found.Next.At) +
				" were not looked at: ask for less time, or for one cluster"}
			break
		}
		q.query.Before = found.Next
		q.unknown = nil // something was there
	}
	for _, slow := range queries {
		slow.Nodes = len(slow.nodes)
		answer.Queries = append(answer.Queries, slow)
	}
	slices.SortFunc(answer.Queries, func(a, b *slowQuery) int {
		return cmp.Or(cmp.Compare(b.Slowest, a.Slowest), cmp.Compare(b.Times, a.Times),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Keyspace, b.Keyspace),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.Statement, b.Statement))
	})
	answer.Queries = answer.Queries[:min(len(answer.Queries), most)]
	return answer, nil
}

// addSlow counts an event of kind slow_query; newer ones came before.
func addSlow(queries map[slowStatement]*slowQuery, e *events.Event) {
	statement := slowStatement{e.Cluster, e.Label("keyspace"), e.Label("table"), e.Text}
	q := queries[statement]
	if q == nil {
		q = &slowQuery{slowStatement: statement, Last: literal.Time(e.At),
			nodes: map[uuid.UUID]bool{}}
		queries[statement] = q
	}
	times, err := strconv.ParseInt(e.Label("times"), 10, 64)
	if err != nil || times < 1 {
		times = 1
	}
	q.Times += min(times, math.MaxInt64-q.Times)
	if seconds, err := strconv.ParseFloat(e.Label("slowest_seconds"), 64); err == nil &&
		!math.IsInf(seconds, 0) && seconds > q.Slowest { // NaN is not
		q.Slowest = seconds
	}
	q.nodes[e.Node] = true
}
