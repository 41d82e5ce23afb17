// Package run answers the parts of an expression that kernels know: it reads series node by node,
// computes their rows, and adds these up in the nodes' order.
//
// Start with Compute. A rewriter finds the parts, each a question; an aggregation answers one:
//
//	Selection.ReadNode ── block of rows ──▶ group ──▶ series with a value at each step
//
// What it promises: an answer is that of Prometheus's engine, to the last bit. What only the engine
// knows stays the engine's.
//
// It may import frame, memory, window and, of query, what is below it.
package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/plan"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// aggregation answers one question, node by node. Nodes are read and computed side by side, and
// added up in their order: so an answer is the engine's to the last bit.
type aggregation struct {
	selection   *selection.Selection
	computation *computation
	groups      *groups
}

// runKernel answers a question. The error is errUseEngine if the engine is to answer it.
func runKernel(
	ctx context.Context, q *selection.Query, eval *parser.EvalStmt, k *question,
) ([]*series.Series, annotations.Annotations, error) {
	steps := kernel.Steps{First: eval.Start.UnixMilli(), Every: 1, N: 1}
	if eval.Interval > 0 {
		steps.Every = eval.Interval.Milliseconds()
		steps.N = int((eval.End.UnixMilli()-steps.First)/steps.Every) + 1
	}
	offset := k.selector.OriginalOffset.Milliseconds()
	if at := k.selector.Timestamp; at != nil { // there is one step
		offset += steps.First - *at
	}
	h := &storage.SelectHints{Start: steps.First - offset + 1, End: eval.End.UnixMilli() - offset,
		Step: eval.Interval.Milliseconds(), Range: k.width, Func: k.function}
	if h.Func == "" {
		h.Func = k.by
		h.Start -= eval.LookbackDelta.Milliseconds()
	} else {
		h.Start -= k.width
	}
	s, nodes, first, err := q.Prepare(ctx, h,
		plan.NewWindows(h, k.selector.LabelMatchers, q.Lookback,
			q.Within), k.selector.LabelMatchers, true)
	if err != nil {
		return nil, nil, err
	}
	if s.Plan.OnlyOwn() || !takesAll(s, k) || recordersOf(nodes) > 1 {
		return nil, nil, errUseEngine
	}
	if k.onlyCounts() && s.ReadsSamples() {
		s.Plan.Facets = []blobs.Facet{blobs.Values}
	}
	b := &budget{query: q, lease: s.Lease}
	r := &aggregation{selection: s, computation: newComputation(s, k, steps, offset),
		groups: newGroups(k, steps, b)}
	list, err := r.run(ctx, nodes, first)
	if err != nil {
		if errors.Is(err, errUseEngine) {
			b.drop()
		}
		return nil, nil, err
	}
	q.Kernels.Add(1)
	warnings := s.Warnings()
	warnings.Merge(r.groups.warnings)
	return list, warnings, nil
}

// run reads, computes and adds up.
func (r *aggregation) run(ctx context.Context, nodes []window.Node,
	first []*series.Series) ([]*series.Series, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); r.computation.streams.Wait() }()
	if err := r.add(
		r.computation.stream(ctx, func(context.Context, *memory.Lease) ([]row, []*series.Series,
			error) {
			return nil, first, nil
		})); err != nil {
		return nil, err
	}
	newest, atOnce := make([]*read.LatestSeries, len(nodes)), share.ReadAhead
	if r.selection.IsInstant() {
		newest, atOnce = r.selection.CachedNewest(ctx, nodes), read.StatesAtOnce
	}
	begun := make([]<-chan block, len(nodes))
	begin := func(i int) {
		if i < len(nodes) && newest[i] == nil {
			begun[i] = r.computation.stream(ctx, r.computation.ofNode(&nodes[i], nil))
		}
	}
	for i := range atOnce {
		begin(i)
	}
	for i := range nodes {
		if err := r.addNode(ctx, &nodes[i], newest[i], begun[i]); err != nil {
			return nil, err
		}
		begin(i + atOnce)
	}
	return r.groups.series()
}

// addNode adds up what comes of a node. What is known of its newest state is at hand.
func (r *aggregation) addNode(ctx context.Context, n *window.Node, known *read.LatestSeries,
	begun <-chan block) error {
	if begun != nil {
		return r.add(begun)
	}
	lists, done, err := r.selection.Newest(ctx, n, known)
	if err != nil {
		return err
	}
	rows, is, err := r.computation.rowsOf(lists)
	if err != nil {
		return err
	}
	if !done || !is {
		return r.add(r.computation.stream(ctx, r.computation.ofNode(n, known)))
	}
	return cmp.Or(r.addRows(rows), ctx.Err())
}

// recordersOf counts the recorders among nodes: two of them may have series of the same labels.
func recordersOf(nodes []window.Node) (n int) {
	for i := range nodes {
		if frame.IsRecorder(nodes[i].ID) {
			n++
		}
	}
	return n
}

// add adds up what comes of a node.
func (r *aggregation) add(blocks <-chan block) error {
	for b := range blocks {
		if b.err != nil {
			return b.err
		}
		if len(b.rows) == 0 {
			return nil
		}
		if err := r.addRows(b.rows); err != nil {
			return err
		}
		b.lease.Give(b.bytes)
	}
	if err := r.selection.Query.Ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}

func (r *aggregation) addRows(rows []row) error {
	for i := range rows {
		if err := r.groups.addRow(&rows[i]); err != nil {
			return err
		}
		if of := rows[i].histograms; of != nil {
			r.computation.rows.Put(of)
		}
	}
	return nil
}
