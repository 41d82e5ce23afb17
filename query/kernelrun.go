package query

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
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
	if s.plan.onlyVirtual() || s.isInstant() || s.mayBeHistograms() && !s.takesHistograms(k) || recordersOf(nodes) > 1 {
		return nil, nil, errEngine
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
	if err := r.add(r.stream(ctx, func(context.Context, *memory.Lease) ([]*oneSeries, error) {
		return first, nil
	})); err != nil {
		return nil, err
	}
	begin := func(i int) <-chan block {
		return r.stream(ctx, func(ctx context.Context, lease *memory.Lease) ([]*oneSeries, error) {
			return r.node(ctx, &nodes[i], nil, lease)
		})
	}
	var begun []<-chan block
	for i := range min(ahead, len(nodes)) {
		begun = append(begun, begin(i))
	}
	for i := range nodes {
		if err := r.add(begun[0]); err != nil {
			return nil, err
		}
		if begun = begun[1:]; i+ahead < len(nodes) {
			begun = append(begun, begin(i+ahead))
		}
	}
	return r.answer()
}

// mayBeHistograms reports whether native histograms may be among the series.
func (s *selection) mayBeHistograms() bool {
	found := false
	s.plan.kinds(s.kinds(s.who), func(k frame.Kind, classic bool) {
		found = found || k.IsHistogram() && !classic
	})
	return found
}

// takesHistograms reports whether a kernel knows what to make of native histograms: of samples, not
// of rollups.
func (s *selection) takesHistograms(k *kernelQuestion) bool {
	return k.aggregates && k.operation.TakesHistograms() &&
		(k.function == "rate" || k.function == "increase") &&
		!slices.ContainsFunc(s.pieces, func(p piece) bool { return !p.raw() })
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

// stream reads series and computes them block by block. The memory of the series is given back when
// the last block is taken.
func (r *kernelRun) stream(
	ctx context.Context, read func(context.Context, *memory.Lease) ([]*oneSeries, error),
) <-chan block {
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
		lease := memory.Of(within)
		list, err := read(within, lease)
		if err != nil {
			send(block{err: err})
			return
		}
		scratch := r.scratch.Get().(*kernelScratch)
		defer r.scratch.Put(scratch)
		b := block{lease: lease}
		for i, s := range list {
			one, some, err := r.compute(ctx, scratch, s)
			bytes := one.bytes()
			if err == nil {
				err = lease.Take(bytes)
			}
			if err != nil {
				send(block{err: err})
				return
			}
			list[i] = nil
			if !some {
				lease.Give(bytes)
				continue
			}
			b.rows, b.bytes = append(b.rows, one), b.bytes+bytes
			if len(b.rows) == blockRows || b.bytes >= blockBytes {
				if !send(b) {
					return
				}
				b = block{lease: lease}
			}
		}
		if len(b.rows) > 0 && !send(b) {
			return
		}
		send(block{})
	})
	return blocks
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
	if s.parts[0].isHistogram() {
		h, m, bounds := scratch.histogramsOf(s)
		if h == nil || m.Kind != frame.Histogram || !r.takesHistograms(r.k) {
			return one, false, errEngine
		}
		one.histograms = r.rows.Get().(*kernel.HistogramRow)
		one.histograms.Reset()
		if !r.k.counts {
			one.bounds = bounds
		}
		some, err := scratch.Rise(ctx, h, r.k.function == "rate", len(bounds)+1, !r.k.counts, one.histograms)
		return one, some, err
	}
	c, err := scratch.columns(s, r.k.function != "")
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

// histogramsOf returns the samples of a series of histograms, its metric and bounds; nil if its
// parts must be joined.
func (k *kernelScratch) histogramsOf(s *oneSeries) (*kernel.Histograms, *window.Metric, []float64) {
	if len(s.parts) > 1 {
		return nil, nil, nil
	}
	v, h := &k.line, &k.histograms
	var m *window.Metric
	var bounds []float64
	switch of := s.parts[0].samples.(type) {
	case *lined:
		of.Read(v, of.from, of.to, true)
		m, bounds = of.Metric, of.upper
	case histograms:
		v.Of(of.Series)
		m, bounds = of.Metric, of.bounds
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

// columns returns a series' samples, and where it ended unless only samples are asked for.
func (k *kernelScratch) columns(s *oneSeries, onlySamples bool) (kernel.Columns, error) {
	if of, is := s.parts[0].samples.(*lined); is && len(s.parts) == 1 {
		if of.isHistogram() {
			return kernel.Columns{}, errEngine
		}
		k.Times, k.Values = of.numbers(&k.line, !onlySamples, k.Times, k.Values)
		return k.Columns, nil
	}
	values := k.Values[:0]
	if of, is := s.parts[0].samples.(floats); is && len(s.parts) == 1 && (onlySamples || len(s.parts[0].ends) == 0) {
		if of.Metric.Kind == frame.GaugeDouble {
			return kernel.Columns{Times: of.At, Values: of.Doubles}, nil
		}
		for _, v := range of.Ints {
			values = append(values, frame.Scale(v, of.Metric.Exponent))
		}
		k.Values = values
		return kernel.Columns{Times: of.At, Values: values}, nil
	}
	times := k.Times[:0]
	s.Iterator(k.iterator)
	for it := k.iterator; it.Next() != 0; {
		if it.parts[0].isHistogram() {
			return kernel.Columns{}, errEngine
		}
		t, v := it.At()
		if math.Float64bits(v) == value.StaleNaN && onlySamples {
			continue
		}
		times, values = append(times, t), append(values, v)
	}
	k.Times, k.Values = times, values
	return k.Columns, k.iterator.Err()
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
		for i := range b.rows {
			if err := r.addRow(&b.rows[i]); err != nil {
				return err
			}
			if of := b.rows[i].histograms; of != nil {
				r.rows.Put(of)
			}
		}
		b.lease.Give(b.bytes)
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return context.Canceled
}
