package selecting

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// cursor walks the present cells of one column, row by row, instant by instant.
type cursor struct {
	column   *columns.Column // nil: all zero
	live     *columns.Presence
	instants int32

	instant   int32    // where the cursor stands after next
	word      int64    // value there: integer, double's bits, index of a text or a histogram's sum
	counts    []int64  // histograms only: counts there; scratch
	noBuckets bool     // a histogram without buckets
	size      int      // its number of buckets
	total     int64    // its count
	filled    []uint16 // buckets that a change of the row has named, in any order
	named     []bool   // the same by bucket

	edges  []int32           // of the row, from the one that ends or begins what lies ahead
	here   bool              // between edges: present
	change int               // next change of the row
	last   int               // end of the row's changes
	shared *window.Histogram // what was given out and still holds
}

func newCursor(t *window.Type, metric int, instants int32) *cursor {
	c := &cursor{column: t.Columns[metric], instants: instants}
	c.live = t.PresenceOf(c.column)
	c.noBuckets = c.column.LacksBuckets()
	if n := t.Metrics[metric].Buckets(); c.noBuckets {
		c.size = n
	} else if n > 0 {
		c.counts, c.named = make([]int64, n), make([]bool, n)
	}
	return c
}

// row sets the cursor before the first instant of a row.
func (c *cursor) row(row int32) {
	c.instant, c.word, c.total, c.change, c.last = -1, 0, 0, 0, 0
	for _, b := range c.filled {
		c.counts[b], c.named[b] = 0, false
	}
	c.filled, c.shared = c.filled[:0], nil
	edges, full := c.live.EdgesOf(row)
	c.edges, c.here = edges, full
	if c.column != nil {
		if i, found := c.column.Find(row); found {
			c.change, c.last = c.column.ChangesOf(i)
		}
	}
}

// next moves on to the next instant that is present, not before first and before end, and reports
// whether there is one.
func (c *cursor) next(first, end int32) bool {
	i := max(c.instant+1, first)
	for len(c.edges) > 0 && c.edges[0] <= i {
		c.here = !c.here
		c.edges = c.edges[1:]
	}
	if !c.here {
		if len(c.edges) == 0 {
			return false
		}
		i = c.edges[0]
		c.edges, c.here = c.edges[1:], true
	}
	if i >= end || i >= c.instants {
		return false
	}
	c.instant = i
	for c.change < c.last && c.column.At[c.change] <= i {
		c.apply()
	}
	return true
}

func (c *cursor) apply() {
	switch {
	case c.noBuckets:
		c.word += c.column.Words[c.change]
		c.total += c.column.Totals[c.change]
	case c.counts == nil:
		c.word = c.column.Words[c.change]
	default:
		c.word += c.column.Words[c.change]
		from, to := c.column.BucketsOf(c.change)
		for j := from; j < to; j++ {
			b := c.column.Bucket[j]
			c.counts[b] += c.column.Count[j]
			if !c.named[b] {
				c.named[b] = true
				c.filled = append(c.filled, b)
			}
		}
		c.shared = nil
	}
	c.change++
}

func (c *cursor) text() string {
	if c.column == nil || len(c.column.Texts) == 0 {
		return ""
	}
	return c.column.Texts[c.word]
}

// histogram returns the value; its lists are shared between instants that do not differ.
func (c *cursor) histogram() window.Histogram {
	if c.noBuckets {
		return window.Histogram{Size: c.size, Sum: c.word, Total: c.total}
	}
	if c.shared != nil {
		return *c.shared
	}
	slices.Sort(c.filled)
	n := 0
	for _, b := range c.filled {
		if c.counts[b] != 0 {
			n++
		}
	}
	h := &window.Histogram{Size: len(c.counts), Sum: c.word}
	if n > 0 {
		h.Filled, h.Counts = make([]uint16, 0, n), make([]int64, 0, n)
	}
	for _, b := range c.filled {
		if c.counts[b] != 0 {
			h.Filled, h.Counts = append(h.Filled, b), append(h.Counts, c.counts[b])
		}
	}
	c.shared = h
	return *h
}

// appendTo appends the value where the cursor stands to a series.
func (c *cursor) appendTo(s *window.Series, at int64) {
	s.At = append(s.At, at)
	switch s.Metric.Kind {
	case frame.Counter, frame.Gauge:
		s.Ints = append(s.Ints, c.word)
	case frame.GaugeDouble:
		s.Doubles = append(s.Doubles, math.Float64frombits(uint64(c.word)))
	case frame.String:
		s.Strings = append(s.Strings, c.text())
	default:
		s.Histograms = append(s.Histograms, c.histogram())
	}
}
