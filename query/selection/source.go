package selection

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
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Limits bound what selectors read.
type Limits struct {
	// MaxSeries bounds the series that all selectors of a query select; 0: nothing does.
	MaxSeries int64
	// Lookback is how long a sample counts, if nothing said earlier that its series ended.
	Lookback time.Duration
	// RawRetention is how long samples are kept, and RollupRetention the same of the levels of
	// rollups; one that is not in it is kept for ever.
	RawRetention    time.Duration
	RollupRetention map[rollup.Level]time.Duration
	// NodesTTL is how long the list of nodes is remembered.
	NodesTTL time.Duration
	Clock    func() time.Time
}

// Source is where selectors are answered from, for all accounts.
type Source struct {
	Reader *read.Reader
	Index  plan.Index // nil: there is none
	Kinds  *plan.Kinds
	Limits Limits
}

// TooManySeries refuses a query that selects more series than it may.
func (s *Source) TooManySeries(n int64) error {
	if s.Limits.MaxSeries > 0 && n > s.Limits.MaxSeries {
		return &limit.Error{Limit: "max_series", Value: s.Limits.MaxSeries, Needed: n,
			Remedy: "narrow the selector, for instance with cluster=, keyspace= or table="}
	}
	return nil
}

// Since returns what says of samples, and of each level of rollups, from when on they are kept, in
// ms.
func (s *Source) Since(now int64) func(rollup.Level) int64 {
	return func(l rollup.Level) int64 {
		retention, is := s.Limits.RollupRetention[l]
		if l == plan.SamplesLevel {
			retention, is = s.Limits.RawRetention, true
		}
		if !is {
			return math.MinInt64
		}
		return now - retention.Milliseconds()
	}
}

// Query is one query of one principal, as far as its selectors need to know it.
type Query struct {
	Source *Source
	Ctx    context.Context // of the query, with its lease
	Who    account.Principal
	// Lookback is how long before an instant its newest value may be, in ms.
	Lookback int64
	// Within are the query's selectors in subqueries; nil: it is no query.
	Within expression.SubqueryOffsets

	Series      atomic.Int64 // of all selectors
	UsedRollups atomic.Bool  // rollups were to answer a selector
	Unheard     atomic.Bool  // nodes were asked for that have never been heard of
	Kernels     atomic.Int64 // the parts of it that kernels have answered
}

// Lease returns what the query takes its memory from.
func (q *Query) Lease() *memory.Lease { return memory.Of(q.Ctx) }

// Metrics returns the metrics that the principal's account has, by name.
func (q *Query) Metrics() map[string]frame.Kind { return q.Source.Kinds.Known(q.Who) }
