package uniting

import (
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// source is a type as one of the windows of a union has it, and how its numbers translate.
type source struct {
	typ  *window.Type // nil: the window has no such type
	rows []int32      // its row → the union's; nil: they are the same
	// The union's row → its row, and the union's metric → its metric. −1: it has none; nil: they
	// are the same.
	byRow    []int32
	byMetric []int32
}

// metric returns the source's number of a metric of the union, −1 if it has none.
func (s *source) metric(m int) int {
	if s.byMetric == nil {
		return m
	}
	return int(s.byMetric[m])
}

func (s *source) cursor(c *columns.Column) sourceCursor {
	r := sourceCursor{has: true, column: c, live: s.typ.PresenceOf(c), rows: s.rows, byRow: s.byRow}
	r.setPending()
	return r
}

// translate sets how the source's numbers and those of the union's dictionary translate.
func (s *source) translate(d *window.Dictionary) {
	if len(s.typ.Rows) < len(d.Rows) { // else they are the same
		s.rows, s.byRow = make([]int32, len(s.typ.Rows)), make([]int32, len(d.Rows))
		for i, j := range rowPairs(d.Rows, s.typ.Rows) {
			s.byRow[i] = int32(j)
			if j >= 0 {
				s.rows[j] = int32(i)
			}
		}
	}
	s.byMetric = window.Inverse(nil, len(d.Metrics))
	next, identical := 0, len(s.typ.Metrics) == len(d.Metrics)
	for i := range s.typ.Metrics {
		n := findMetric(d.Metrics, &s.typ.Metrics[i], next)
		s.byMetric[n] = int32(i)
		identical = identical && n == i
		next = n + 1
	}
	if identical {
		s.byMetric = nil
	}
}
