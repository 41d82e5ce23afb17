package uniting

import (
	"slices"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// joiner makes the columns of one type of a union from those of its sources. It goes row by row,
// and in a row from run to run, where a change of a source is a change of the union, but for the
// first.
type joiner struct {
	typ      *window.Type // of the union
	timeline *timeline
	runs     []run           // if each source's column was read
	sources  []source        // by window
	cursors  []sourceCursor  // by window, of the column at hand
	active   []*sourceCursor // those whose windows have runs

	// The column at hand, in lists that the next one uses again.
	out    columns.Changes // without row
	rows   []int32
	end    []int32
	edges  []int32
	absent *columns.Column // once there is one

	// Texts.
	texts  []string
	number map[string]int64

	// Histograms without buckets: how the counts differ.
	totals []int64

	// Histograms: the row's value at the last instant, and where it is not zero.
	last     []int64
	lastSum  int64
	low, top int
	begun    bool    // there has been a change
	counts   []int64 // of a source that has only one run
}

// build returns the column of the changes that were collected, nil if there are none.
func (j *joiner) build(noBuckets bool) *columns.Column {
	o := &j.out
	if len(o.At) == 0 {
		return nil
	}
	all := make([]int32, 0, 2*len(j.rows)+len(o.At)+len(o.BucketEnd))
	cut := func(list []int32) []int32 {
		from := len(all)
		all = append(all, list...)
		return all[from:len(all):len(all)]
	}
	c := &columns.Column{Rows: cut(j.rows), End: cut(j.end), At: cut(o.At),
		Words: slices.Clone(o.Words)}
	switch {
	case noBuckets:
		c.Totals = slices.Clone(j.totals)
	case o.Hist:
		c.BucketEnd = cut(o.BucketEnd)
		c.Bucket, c.Count = slices.Clone(o.Bucket), slices.Clone(o.Count)
	}
	if len(j.texts) > 1 {
		c.Texts = j.texts
	}
	return c
}
