package rules

import "slices"

// timeline is the instants at which a node sent, as far as rules look back. Nearly always a node's
// series have a value at each of them, so they share the list: lists of their own would take as
// many bytes as the values. What a series may look at is never changed, so a series with other
// instants takes a copy.
type timeline struct {
	at     []int64 // ms, ascending
	before int     // how many were forgotten that came before
	keep   int64   // ms: the longest that a series keeps
}

// note enters an instant that is newer than all others.
func (l *timeline) note(at, from int64) {
	if n := len(l.at); n > 0 && at <= l.at[n-1] {
		return
	}
	if len(l.at) == cap(l.at) {
		gone, _ := slices.BinarySearch(l.at, from-l.keep-l.keep/trimPart)
		kept := len(l.at) - gone
		more := make([]int64, kept, kept+max(8, kept/4))
		copy(more, l.at[gone:])
		l.at, l.before = more, l.before+gone
	}
	l.at = append(l.at, at)
}

// part returns n instants, up to the newest. Whoever appends to them gets a list of its own.
func (l *timeline) part(n int) []int64 { return l.at[len(l.at)-n : len(l.at) : len(l.at)] }

// ownTimes says that a series' instants are its own list.
const ownTimes = -1

// enter inserts an instant as number i of the series' instants.
func (c *memSeries) enter(i int, at, from int64) {
	if l := c.line; l != nil && i == len(c.At) {
		l.note(at, from)
		newest := l.before + len(l.at) - 1
		if i == 0 {
			c.first = newest
		}
		if c.first >= l.before && c.first+i == newest && l.at[len(l.at)-1] == at {
			c.At = l.part(i + 1)
			return
		}
	}
	c.first = ownTimes
	c.At = put(c.At, i, at)
}

// forget forgets the first n instants. A series that has the node's instants again shares them
// again.
func (c *memSeries) forget(n int) {
	if c.first != ownTimes {
		c.At, c.first = c.At[n:], c.first+n
		return
	}
	c.At = slices.Delete(c.At, 0, n)
	if l, left := c.line, len(c.At); l != nil && left > 0 && left <= len(l.at) &&
		slices.Equal(c.At, l.part(left)) {
		c.At, c.first = l.part(left), l.before+len(l.at)-left
	}
}
