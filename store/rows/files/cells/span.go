package cells

import "slices"

// Span is what is known of many cells without looking at them.
type Span struct {
	First   int64 `json:"first"`   // the earliest write time; meaningless without rows
	Last    int64 `json:"last"`    // the latest
	Expires int64 `json:"expires"` // when the last of them expires, seconds; 0: never
	Rows    int   `json:"rows"`
}

// Add takes a row into the span.
func (s *Span) Add(cells []Cell) {
	last := LastExpiry(cells)
	switch {
	case s.Rows == 0:
		s.First, s.Last, s.Expires = cells[0].Stamp, cells[0].Stamp, last
	case last == 0 || s.Expires == 0:
		s.Expires = 0
	default:
		s.Expires = max(s.Expires, last)
	}
	s.Rows++
	for i := range cells {
		s.First, s.Last = min(s.First, cells[i].Stamp), max(s.Last, cells[i].Stamp)
	}
}

// Dead reports whether all of it has expired.
func (s *Span) Dead(now int64) bool { return s.Rows == 0 || s.Expires != 0 && s.Expires <= now }

// Hidden reports whether a cell with this write time may hide something of the Span, so that to
// forget the cell would let it be read again.
func (s *Span) Hidden(stamp, now int64) bool { return !s.Dead(now) && s.First < stamp }

// Forget returns a function that removes the expired cells of a row. An expired cell that may still
// hide an older value elsewhere stays, without its own value; others are the spans of elsewhere.
func Forget(others []Span, now int64) func([]Cell) []Cell {
	oldest, hides := int64(0), false
	for i := range others {
		if !others[i].Dead(now) && (!hides || others[i].First < oldest) {
			oldest, hides = others[i].First, true
		}
	}
	return func(list []Cell) []Cell {
		if !slices.ContainsFunc(list, func(c Cell) bool { return c.Dead(now) }) {
			return list
		}
		var out []Cell
		for _, c := range list {
			if c.Dead(now) {
				if !hides || c.Stamp <= oldest {
					continue
				}
				c.Value = nil
			}
			out = append(out, c)
		}
		return out
	}
}
