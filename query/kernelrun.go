package query

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/window"
)

// How many series are computed before they are added up, and how many bytes these may take before
// that: so what is on its way from a node is little, however many series the node has.
const (
	blockRows  = 64
	blockBytes = 512 << 10
)

// blocksAhead is how many blocks of a node wait to be added up.
const blocksAhead = 2

// block is what a function gives of some series of a node. Without series it is the last one, and
// err says whether that is all.
type block struct {
	rows  []row
	bytes int64
	lease *memory.Lease
	err   error
}

// row is what a function gives of a series at each step: numbers, or histograms with bounds.
type row struct {
	labels     labels.Labels
	values     []float64
	histograms *kernel.HistogramRow
	bounds     []float64
}

// kernelRun answers one question, node by node. Nodes are read and computed side by side, and added
// up in their order: so an answer is the engine's to the last bit.
type kernelRun struct {
	*selection
	k        *kernelQuestion
	steps    kernel.Steps
	groups   map[uint64]*kernelGroup
	order    []*kernelGroup
	buf      []byte
	warnings annotations.Annotations
	warned   map[string]bool // names of metrics
	held     int64           // bytes of the answer
	counted  int64           // series of the answer
	first    ranked          // of topk and bottomk
	scratch  sync.Pool       // *kernelScratch
	rows     sync.Pool       // *kernel.HistogramRow
	streams  sync.WaitGroup
}

// kernelScratch is what one node's computing uses again for each series.
type kernelScratch struct {
	kernel.Slider
	kernel.Columns
	histograms kernel.Histograms
	iterator   *iterator
	line       window.Samples
}

// kernel answers a question. The error is errEngine if the engine is to answer it.
func (q *queryable) kernel(
	ctx context.Context, eval *parser.EvalStmt, k *kernelQuestion,
) ([]*oneSeries, annotations.Annotations, error) {
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
	s, nodes, first, err := q.selects(ctx, h, q.windows(h, k.selector.LabelMatchers),
		k.selector.LabelMatchers, true)
	if err != nil {
		return nil, nil, err
	}
	if s.plan.onlyVirtual() || !s.takesAll(k) || recordersOf(nodes) > 1 {
		return nil, nil, errEngine
	}
	if k.onlyCounts() && s.ofSamples() {
		s.plan.facets = []window.Facet{window.Values}
	}
	r := &kernelRun{selection: s, k: k, steps: steps, groups: map[uint64]*kernelGroup{},
		warned: map[string]bool{}}
	r.scratch.New = func() any {
		return &kernelScratch{Slider: kernel.Slider{Func: kernel.Function(k.function), Steps: steps,
			Width: k.width, Offset: offset}, iterator: &iterator{}}
	}
	list, err := r.run(ctx, nodes, first)
	if err != nil {
		if errors.Is(err, errEngine) {
			r.drop()
		}
		return nil, nil, err
	}
	q.kernels.Add(1)
	warnings := s.warnings()
	warnings.Merge(r.warnings)
	return list, warnings, nil
}

// run reads, computes and adds up.
func (r *kernelRun) run(ctx context.Context, nodes []Node, first []*oneSeries) ([]*oneSeries, error) {
	r.rows.New = func() any { return kernel.NewHistogramRow(r.steps.N) }
	ctx, cancel := context.WithCancel(ctx)
	defer func() { cancel(); r.streams.Wait() }()
	if err := r.add(r.stream(ctx, func(context.Context, *memory.Lease) ([]row, []*oneSeries, error) {
		return nil, first, nil
	})); err != nil {
		return nil, err
	}
	newest, atOnce := make([]*newestOf, len(nodes)), ahead
	if r.isInstant() {
		r.question = r.reader.ask(r.who.Account, r.plan.read)
		newest, atOnce = r.reader.current(ctx, r.question, nodes), statesAtOnce
	}
	begun := make([]<-chan block, len(nodes))
	begin := func(i int) {
		if i < len(nodes) && newest[i] == nil {
			begun[i] = r.stream(ctx, r.ofNode(&nodes[i], nil))
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
	return r.answer()
}

// addNode adds up what comes of a node. What is known of its newest state is at hand.
func (r *kernelRun) addNode(ctx context.Context, n *Node, known *newestOf, begun <-chan block) error {
	if begun != nil {
		return r.add(begun)
	}
	lists, done, err := r.seen(ctx, n, known)
	if err != nil {
		return err
	}
	rows, is, err := r.rowsOf(lists)
	if err != nil {
		return err
	}
	if !done || !is {
		return r.add(r.stream(ctx, r.ofNode(n, known)))
	}
	return cmp.Or(r.addRows(rows), ctx.Err())
}

// takesAll reports whether a kernel knows what to make of all kinds of series that there may be.
func (s *selection) takesAll(k *kernelQuestion) bool {
	takes := true
	s.plan.kinds(s.kinds(s.who), func(of frame.Kind, classic bool) {
		takes = takes && (classic || !of.IsHistogram() || s.takesHistograms(k, of))
	})
	return takes
}

// takesHistograms reports whether a kernel knows what to make of native histograms: it counts them,
// or adds up what samples say, not rollups. Of those that count it adds up the rise.
func (s *selection) takesHistograms(k *kernelQuestion, of frame.Kind) bool {
	if k.onlyCounts() {
		return true
	}
	if !k.aggregates || !k.operation.TakesHistograms() || !s.ofSamples() {
		return false
	}
	if of == frame.Histogram {
		return k.function == "rate" || k.function == "increase"
	}
	return k.function == ""
}

// ofSamples reports whether nothing is read of rollups.
func (s *selection) ofSamples() bool {
	return !slices.ContainsFunc(s.pieces, func(p piece) bool { return !p.raw() })
}

// recordersOf counts the recorders among nodes: two of them may have series of the same labels.
func recordersOf(nodes []Node) (n int) {
	for i := range nodes {
		if frame.IsRecorder(nodes[i].ID) {
			n++
		}
	}
	return n
}

// source gives what is to be added up: rows, or series of which rows are to be computed.
type source func(context.Context, *memory.Lease) ([]row, []*oneSeries, error)

// ofNode is a node, whose newest state may be known.
func (r *kernelRun) ofNode(n *Node, known *newestOf) source {
	return func(ctx context.Context, lease *memory.Lease) ([]row, []*oneSeries, error) {
		if known == nil && r.isInstant() {
			lists, done, err := r.seen(ctx, n, nil)
			if err != nil {
				return nil, nil, err
			}
			rows, is, err := r.rowsOf(lists)
			if done && is || err != nil {
				return rows, nil, err
			}
		}
		list, err := r.node(ctx, n, known, lease)
		return nil, list, err
	}
}

// stream reads series and computes them block by block. The memory of the series is given back when
// the last block is taken.
func (r *kernelRun) stream(ctx context.Context, read source) <-chan block {
	blocks := make(chan block, blocksAhead)
	r.streams.Go(func() {
		defer close(blocks)
		within, end := r.reader.Scope(ctx, r.who.Account)
		defer end()
		send := func(b block) bool {
			select {
			case blocks <- b:
				return true
			case <-ctx.Done():
				return false
			}
		}
		send(block{err: r.blocks(within, read, send)})
	})
	return blocks
}

// blocks reads and computes, and sends what comes of it.
func (r *kernelRun) blocks(ctx context.Context, read source, send func(block) bool) error {
	lease := memory.Of(ctx)
	rows, list, err := read(ctx, lease)
	if err != nil {
		return err
	}
	b := block{lease: lease}
	if len(rows) > 0 {
		b.rows = rows
		for i := range rows {
			b.bytes += rowCost + rows[i].bytes()
		}
		err = lease.Take(b.bytes)
	}
	scratch := r.scratch.Get().(*kernelScratch)
	defer r.scratch.Put(scratch)
	for i, s := range list {
		var one row
		var some bool
		if err == nil {
			one, some, err = r.compute(ctx, scratch, s)
		}
		bytes := one.bytes()
		if err == nil {
			err = lease.Take(bytes)
		}
		if err != nil {
			return err
		}
		list[i] = nil
		if !some {
			lease.Give(bytes)
			continue
		}
		b.rows, b.bytes = append(b.rows, one), b.bytes+bytes
		if len(b.rows) == blockRows || b.bytes >= blockBytes {
			if !send(b) {
				return ctx.Err()
			}
			b = block{lease: lease}
		}
	}
	if err == nil && len(b.rows) > 0 && !send(b) {
		return ctx.Err()
	}
	return err
}

func (r *row) bytes() int64 {
	if r.histograms != nil {
		return r.histograms.Bytes()
	}
	return int64(8 * len(r.values))
}

// compute returns what the question's function gives of a series, and whether that is anything.
func (r *kernelRun) compute(ctx context.Context, scratch *kernelScratch, s *oneSeries) (row, bool, error) {
	one := row{labels: s.labels}
	if err := ctx.Err(); err != nil {
		return one, false, err
	}
	if s.parts[0].isHistogram() && !r.k.onlyCounts() {
		some, err := r.histogramRow(ctx, scratch, s, &one)
		return one, some, err
	}
	c, err := scratch.columns(s, r.k)
	if err != nil {
		return one, false, err
	}
	one.values = make([]float64, r.steps.N)
	if r.k.function == "" {
		return one, kernel.Look(c, r.steps, r.lookback, scratch.Offset, one.values), nil
	}
	some, err := scratch.Slide(ctx, c, one.values)
	return one, some, err
}

// histogramRow computes the row of a series of histograms.
func (r *kernelRun) histogramRow(
	ctx context.Context, scratch *kernelScratch, s *oneSeries, one *row,
) (bool, error) {
	h, m, bounds := scratch.histogramsOf(s, r.k.function == "")
	if h == nil || !r.takesHistograms(r.k, m.Kind) {
		return false, errEngine
	}
	one.histograms = r.rows.Get().(*kernel.HistogramRow)
	one.histograms.Reset()
	if !r.k.counts {
		one.bounds = bounds
	}
	buckets := len(bounds) + 1
	if r.k.function == "" {
		return scratch.LookHistograms(h, r.lookback, buckets, !r.k.counts, one.histograms), nil
	}
	return scratch.Rise(ctx, h, r.k.function == "rate", buckets, !r.k.counts, one.histograms)
}

// histogramsOf returns the samples of a series of histograms, if they are wanted where it ended, its
// metric and bounds; nil if its parts must be joined.
func (k *kernelScratch) histogramsOf(
	s *oneSeries, ends bool,
) (*kernel.Histograms, *window.Metric, []float64) {
	if len(s.parts) > 1 {
		return nil, nil, nil
	}
	v, h := &k.line, &k.histograms
	var m *window.Metric
	var bounds []float64
	switch of := s.parts[0].samples.(type) {
	case *lined:
		of.Read(v, of.from, of.to, true)
		m, bounds, h.Gone = of.Metric, of.upper, nil
		if ends {
			h.Gone = endsOf(v.At, of.instants, of.silent)
		}
	case histograms:
		v.Of(of.Series)
		m, bounds, h.Gone = of.Metric, of.bounds, s.parts[0].ends
	}
	if m == nil || v.Bare && len(v.At) > 0 {
		return nil, nil, nil
	}
	h.Times, h.Ends, h.Bucket, h.Delta = v.At, v.BucketEnd, v.Bucket, v.Delta
	h.Counts, h.Sums = h.Counts[:0], h.Sums[:0]
	for i, n := range v.Counts {
		h.Counts, h.Sums = append(h.Counts, float64(n)), append(h.Sums, histogramSum(m, v.Words[i]))
	}
	return h, m, bounds
}

// columns returns a series' samples, and where it ended unless only samples are asked for. Of
// histograms that are only counted each one is a number.
func (k *kernelScratch) columns(s *oneSeries, of *kernelQuestion) (kernel.Columns, error) {
	onlySamples := of.function != ""
	if of, is := s.parts[0].samples.(*lined); is && len(s.parts) == 1 {
		k.Times, k.Values = of.numbers(&k.line, !onlySamples, k.Times, k.Values)
		return k.Columns, nil
	}
	if of, is := s.parts[0].samples.(floats); is && len(s.parts) == 1 && (onlySamples || len(s.parts[0].ends) == 0) {
		return k.columnsOf(of), nil
	}
	times, values := k.Times[:0], k.Values[:0]
	s.Iterator(k.iterator)
	for it := k.iterator; it.Next() != 0; {
		if it.parts[0].isHistogram() && !of.onlyCounts() {
			return kernel.Columns{}, errEngine
		}
		t, v := it.AtT(), 0.0
		if it.stale || !it.parts[0].isHistogram() {
			_, v = it.At()
		}
		if kernel.IsMissing(v) && onlySamples {
			continue
		}
		times, values = append(times, t), append(values, v)
	}
	k.Times, k.Values = times, values
	return k.Columns, k.iterator.Err()
}

// columnsOf returns the samples of a counter or a gauge.
func (k *kernelScratch) columnsOf(of floats) kernel.Columns {
	if of.Metric.Kind == frame.GaugeDouble {
		return kernel.Columns{Times: of.At, Values: of.Doubles}
	}
	k.Values = k.Values[:0]
	for _, v := range of.Ints {
		k.Values = append(k.Values, frame.Scale(v, of.Metric.Exponent))
	}
	return kernel.Columns{Times: of.At, Values: k.Values}
}

// add adds up what comes of a node.
func (r *kernelRun) add(blocks <-chan block) error {
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
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}

func (r *kernelRun) addRows(rows []row) error {
	for i := range rows {
		if err := r.addRow(&rows[i]); err != nil {
			return err
		}
		if of := rows[i].histograms; of != nil {
			r.rows.Put(of)
		}
	}
	return nil
}
