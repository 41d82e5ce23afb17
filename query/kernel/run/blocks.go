package run

import (
	"context"
	"sync"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/kernel"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/query/share"
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

// rowSource gives what is to be added up: rows, or series of which rows are to be computed.
type rowSource func(context.Context, *memory.Lease) ([]row, []*series.Series, error)

// computation reads series and computes their rows, in blocks. It does so for several nodes at
// once.
type computation struct {
	selection *selection.Selection
	k         *question
	steps     kernel.Steps
	scratch   sync.Pool // *scratch
	rows      sync.Pool // *kernel.HistogramRow
	streams   sync.WaitGroup
}

// newComputation returns that of a question at some steps, whose selector has this offset, in ms.
func newComputation(
	s *selection.Selection, k *question, steps kernel.Steps, offset int64,
) *computation {
	c := &computation{selection: s, k: k, steps: steps}
	c.scratch.New = func() any {
		return &scratch{slider: kernel.Slider{Func: kernel.Function(k.function), Steps: steps,
			Width: k.width, Offset: offset}, iterator: &series.Iterator{}}
	}
	c.rows.New = func() any { return kernel.NewHistogramRow(steps.N) }
	return c
}

// ofNode is a node, whose newest state may be known.
func (c *computation) ofNode(n *window.Node, known *read.LatestSeries) rowSource {
	return func(ctx context.Context, lease *memory.Lease) ([]row, []*series.Series, error) {
		if known == nil && c.selection.IsInstant() {
			lists, done, err := c.selection.Newest(ctx, n, nil)
			if err != nil {
				return nil, nil, err
			}
			rows, is, err := c.rowsOf(lists)
			if done && is || err != nil {
				return rows, nil, err
			}
		}
		list, err := c.selection.ReadNode(ctx, n, known, lease)
		return nil, list, err
	}
}

// stream reads series and computes them block by block. The memory of the series is given back when
// the last block is taken.
func (c *computation) stream(ctx context.Context, read rowSource) <-chan block {
	blocks := make(chan block, blocksAhead)
	c.streams.Go(func() {
		defer close(blocks)
		within, end := c.selection.Scope(ctx)
		defer end()
		send := func(b block) bool {
			select {
			case blocks <- b:
				return true
			case <-ctx.Done():
				return false
			}
		}
		send(block{err: c.blocks(within, read, send)})
	})
	return blocks
}

// blocks reads and computes, and sends what comes of it.
func (c *computation) blocks(ctx context.Context, read rowSource, send func(block) bool) error {
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
	scratch := c.scratch.Get().(*scratch)
	defer c.scratch.Put(scratch)
	for next := 0; next < len(list) && err == nil; {
		err = share.OnCPU(ctx, func() (err error) {
			next, err = c.fill(ctx, &b, scratch, list, next)
			return err
		})
		if err == nil && b.isFull() {
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

// fill computes the rows of series from one on until a block is full, and returns the next one. The
// lease gives what the rows take.
func (c *computation) fill(
	ctx context.Context, b *block, scratch *scratch, list []*series.Series, from int,
) (next int, err error) {
	for next = from; next < len(list) && !b.isFull(); next++ {
		one, some, err := c.compute(ctx, scratch, list[next])
		if err != nil {
			return next, err
		}
		list[next] = nil
		if !some {
			continue
		}
		bytes := one.bytes()
		if err := b.lease.Take(bytes); err != nil {
			return next, err
		}
		b.rows, b.bytes = append(b.rows, one), b.bytes+bytes
	}
	return next, nil
}

func (b *block) isFull() bool { return len(b.rows) >= blockRows || b.bytes >= blockBytes }

// compute returns what the question's function gives of a series, and whether that is anything.
func (c *computation) compute(ctx context.Context, scratch *scratch,
	s *series.Series) (row, bool, error) {
	one := row{labels: s.Metric}
	if err := ctx.Err(); err != nil {
		return one, false, err
	}
	if s.Segments[0].IsHistogram() && !c.k.onlyCounts() {
		some, err := c.histogramRow(ctx, scratch, s, &one)
		return one, some, err
	}
	samples, err := scratch.columns(s, c.k)
	if err != nil {
		return one, false, err
	}
	one.values = make([]float64, c.steps.N)
	if c.k.function == "" {
		return one, kernel.Lookback(samples, c.steps, c.selection.Query.Lookback,
			scratch.slider.Offset, one.values), nil
	}
	some, err := scratch.slider.Slide(ctx, samples, one.values)
	return one, some, err
}

// histogramRow computes the row of a series of histograms.
func (c *computation) histogramRow(
	ctx context.Context, scratch *scratch, s *series.Series, one *row,
) (bool, error) {
	h, m, bounds := scratch.histogramsOf(s, c.k.function == "")
	if h == nil || !takesHistograms(c.selection, c.k, m.Kind) {
		return false, errUseEngine
	}
	one.histograms = c.rows.Get().(*kernel.HistogramRow)
	one.histograms.Reset()
	if !c.k.counts {
		one.bounds = bounds
	}
	buckets := len(bounds) + 1
	if c.k.function == "" {
		return scratch.slider.LookbackHistograms(h, c.selection.Query.Lookback, buckets,
			!c.k.counts, one.histograms), nil
	}
	return scratch.slider.Increase(ctx, h, c.k.function == "rate", buckets, !c.k.counts,
		one.histograms)
}
