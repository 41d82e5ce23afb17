package rules

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/live"
)

// evaluation is what a cluster's rules are evaluated with, one after the other: the engine over
// what is in memory, and what rules of a group share. It implements storage.Queryable.
type evaluation struct {
	role          *Rules
	account, name string // of the cluster
	head          *head
	members       *members

	current     *group // that is being evaluated
	rule        promrules.RuleDetail
	grown       *expression.LabelBudget // the labels that the expression under evaluation makes
	engineUse   *countingLease          // of the lease, by the expression that is being evaluated
	sharedOf    map[int]promql.Vector   // what rules of the current group share, at sharedAt
	sharedAt    time.Time
	sharedBytes int64 // of the lease
}

// run evaluates an expression. What the engine takes for it, and the labels that it makes, are the
// account's until it is done.
func (e *evaluation) run(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	// To parse each rule once more at each evaluation would be dear.
	if expression.MayMakeLabels(expr) {
		tree, err := e.role.parser.ParseExpr(expr)
		if err != nil {
			return nil, err
		}
		growth := expression.NewLabelGrowth(tree, 0, 1, e.role.config.MaxLabelBytes)
		if err := growth.Check(); err != nil { // a template's query
			return nil, err
		}
		e.grown = growth.Begin(e.head.lease, "a tenth of rules.timeout",
			e.role.config.Timeout/labelWork)
	}
	use := &countingLease{lease: e.head.lease}
	e.engineUse = use
	defer func() {
		e.engineUse = nil
		e.head.lease.Return(use.bytes)
		e.grown.End()
		e.grown = nil
	}()
	return promrules.EngineQueryFunc(e.role.engine, e)(ctx, expr, at)
}

// labelWork is the part of a rule's timeout that making labels may take: nothing ends it early, and
// other clusters' rules wait for it.
const labelWork = 10

// countedSet is a SeriesSet whose series the engine gets while there is memory to evaluate them:
// it takes a selector's series before it evaluates any of them.
type countedSet struct {
	storage.SeriesSet
	use    *countingLease
	steps  int64 // of the subquery around the selector
	ranged bool
	walked int64
	n      int
	err    error
}

// counted returns a set as the engine gets it.
func (q *querier) counted(set storage.SeriesSet, h *storage.SelectHints) storage.SeriesSet {
	if q.of.engineUse == nil {
		return set
	}
	l := &countedSet{SeriesSet: set, use: q.of.engineUse, steps: 1}
	if h != nil {
		before := h.Range // what is read before the first instant
		if l.ranged = h.Range > 0; !l.ranged {
			before = q.of.role.config.Lookback.Milliseconds()
		}
		if h.Step > 0 {
			l.steps += max(0, h.End-h.Start-before) / h.Step
		}
	}
	return l
}

// Next implements storage.SeriesSet.
func (l *countedSet) Next() bool {
	if l.err != nil || !l.SeriesSet.Next() {
		return false
	}
	l.n++
	bytes, walked := live.EngineBytes(l.At(), l.steps)
	if of, is := l.At().(sharedSeries); is {
		bytes = 2 * l.steps * sampleBytes(of.of)
	}
	if l.ranged && walked > l.walked {
		bytes += walked - l.walked
		l.walked = walked
	}
	if l.use.Take(bytes) != nil {
		l.err = fmt.Errorf(
			"there is no memory to evaluate more than %d series of the rule at %d instants: "+
				"let the rule select less, or give the role more memory (memory.limit_bytes)",
			l.n-1, l.steps)
	}
	return l.err == nil
}

// Err implements storage.SeriesSet.
func (l *countedSet) Err() error {
	if l.err != nil {
		return l.err
	}
	return l.SeriesSet.Err()
}

// sampleBytes estimates what an element of a result takes.
func sampleBytes(s *promql.Sample) int64 {
	bytes := int64(64 + s.Metric.ByteSize())
	if s.H != nil {
		bytes += int64(s.H.Size() - 8*len(s.H.CustomValues)) // those are all series'
	}
	return bytes
}

// share keeps what rules of the current group have in common until forgetShared.
func (e *evaluation) share(i int, v promql.Vector) error {
	bytes := int64(0)
	for j := range v {
		bytes += sampleBytes(&v[j])
	}
	if e.head.lease.Take(bytes) != nil {
		return errors.New(
			"there is no memory for what rules of the group have in common: let them " +
				"select less, or give the role more memory (memory.limit_bytes)")
	}
	e.sharedOf[i] = v
	e.sharedBytes += bytes
	return nil
}

func (e *evaluation) forgetShared() {
	e.head.lease.Return(e.sharedBytes)
	e.sharedOf, e.sharedBytes = nil, 0
}
