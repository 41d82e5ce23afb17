package query

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/query/selection"
)

// Options are what one query asks for beside its expression.
type Options struct {
	Lookback     time.Duration // 0: the configuration's
	Timeout      time.Duration // 0 or more than the configuration's: that
	PerStepStats bool
	Fresh        bool // nothing that is kept of earlier answers is used, or kept of this one
}

// Answer is a query's result. Its values are valid until Close, which must be called.
type Answer struct {
	*promql.Result
	Query promql.Query
	query *selection.Query
	end   func()
}

// Close gives back the memory of the answer.
func (a *Answer) Close() {
	a.Query.Close()
	a.end()
}

// plain returns an answer's series if it is of samples, which are numbers, and nothing is to be
// said about it.
func (a *Answer) plain() (promql.Matrix, bool) {
	m, is := a.Value.(promql.Matrix)
	if !is || len(a.Warnings) > 0 || a.query.UsedRollups.Load() || a.query.Unheard.Load() {
		return nil, false
	}
	return m, !slices.ContainsFunc(m, func(s promql.Series) bool { return len(s.Histograms) > 0 })
}
