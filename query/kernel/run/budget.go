package run

import (
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/selection"
	"github.com/ringwatch/ringwatch/query/series"
)

// budget is what an answer takes: of the query's memory, and of its series.
type budget struct {
	query *selection.Query
	lease *memory.Lease
	bytes int64
	count int64 // of series
}

// hold takes the memory of a series of the answer.
func (b *budget) hold(bytes int64) error {
	err := b.take(bytes + series.SeriesCost)
	if err != nil {
		return err
	}
	b.count++
	return b.query.Source.TooManySeries(b.query.Series.Add(1))
}

func (b *budget) take(bytes int64) error {
	if err := b.lease.Take(bytes); err != nil {
		return err
	}
	b.bytes += bytes
	return nil
}

// give gives back what the answer does not need any more.
func (b *budget) give(bytes int64) {
	b.lease.Give(bytes)
	b.bytes -= bytes
}

// drop gives back what the answer took: the engine is to answer.
func (b *budget) drop() {
	b.lease.Give(b.bytes)
	b.query.Series.Add(-b.count)
}

// giveSeries gives back a series that the answer does not have any more.
func (b *budget) giveSeries() {
	b.give(series.SeriesCost)
	b.query.Series.Add(-1)
	b.count--
}
