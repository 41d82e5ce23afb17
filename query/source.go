package query

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// limits bound what selectors read.
type limits struct {
	// maxSeries bounds the series that all selectors of a query select; 0: nothing does.
	maxSeries int64
	// lookback is how long a sample counts, if nothing said earlier that its series ended.
	lookback time.Duration
	// rawRetention is how long samples are kept, and rollupRetention the same of the levels of
	// rollups; one that is not in it is kept for ever.
	rawRetention    time.Duration
	rollupRetention map[rollup.Level]time.Duration
	// nodesTTL is how long the list of nodes is remembered.
	nodesTTL time.Duration
	clock    func() time.Time
}

// source is where selectors are answered from, for all accounts.
type source struct {
	reader *read.Reader
	index  Index // nil: there is none
	kinds  *kinds
	limits limits
}

// tooManySeries refuses a query that selects more series than it may.
func (s *source) tooManySeries(n int64) error {
	if s.limits.maxSeries > 0 && n > s.limits.maxSeries {
		return &limit.Error{Limit: "max_series", Value: s.limits.maxSeries, Needed: n,
			Remedy: "narrow the selector, for instance with cluster=, keyspace= or table="}
	}
	return nil
}

// since returns what says of samples, and of each level of rollups, from when on they are kept, in
// ms.
func (s *source) since(now int64) func(rollup.Level) int64 {
	return func(l rollup.Level) int64 {
		retention, is := s.limits.rollupRetention[l]
		if l == samplesLevel {
			retention, is = s.limits.rawRetention, true
		}
		if !is {
			return math.MinInt64
		}
		return now - retention.Milliseconds()
	}
}

// oneQuery is one query of one principal, as far as its selectors need to know it.
type oneQuery struct {
	source *source
	ctx    context.Context // of the query, with its lease
	who    account.Principal
	// lookback is how long before an instant its newest value may be, in ms.
	lookback int64
	// within are the query's selectors in subqueries; nil: it is no query.
	within expression.SubqueryOffsets

	series      atomic.Int64 // of all selectors
	usedRollups atomic.Bool  // rollups were to answer a selector
	unheard     atomic.Bool  // nodes were asked for that have never been heard of
	kernels     atomic.Int64 // the parts of it that kernels have answered
}

// lease returns what the query takes its memory from.
func (q *oneQuery) lease() *memory.Lease { return memory.Of(q.ctx) }

// kinds returns the metrics that the principal's account has, by name.
func (q *oneQuery) kinds() map[string]frame.Kind { return q.source.kinds.known(q.who) }
