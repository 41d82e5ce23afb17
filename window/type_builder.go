package window

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// typeBuilder makes the columns of one type, pass by pass in order of time.
//
// Its cost is what the frames say, not what there is: a metric of which no frame says anything has
// no columnBuilder, and from pass to pass one looks at the cells that either of the two says
// something of. Only where the key frame, the entities or the presence of a column change does it
// look at every row.
type typeBuilder struct {
	draft *draft
	// by metric of the draft; nil: zero and present wherever the entity is live
	columns []*columnBuilder
	known   int  // metrics that there were at the last pass
	begun   bool // the type has had an entity
	live    edges
	now     []bool  // by row: live in the last pass
	roster  *roster // of the last pass

	key     *pass   // of the last pass
	keySaid []*said // what it says by metric

	// Scratch, by row.
	state []int8 // in a full step: 1 present
	entry []int32
	told  int64 // bytes that step has told of
}

// place is where a pass has the type: nil and nil if it has no entity of it.
type place struct {
	m *mapping
	r *roster
}

// said is what a pass says of a metric.
type said struct{ presence, values *frame.Column }

// cells is the values of one metric: scalars or histograms.
type cells interface {
	// grow makes room for so many rows.
	grow(rows int)
	// base takes over the key frame's values of n entities; nil if it has none.
	base(c *frame.Column, r *roster)
	// values takes over the entries that set refers to; nil if there are none.
	values(c *frame.Column)
	// set gives a row at an instant the base value of an entity (−1: zero) and entry i of the
	// values (−1: none).
	set(row, at, entity, i int32)
	// park keeps a row's value beyond the frames that it is from.
	park(row int32)
	// column returns the changes; order is the final number of each row.
	column(order []int32) *column
	// bytes returns what all this takes.
	bytes() int64
}

// columnBuilder makes one column.
type columnBuilder struct {
	cells
	edges
	now     []bool  // by row: present in the last pass
	stamp   []int32 // by row: the instant at which a sparse step looked at it
	touched []int32 // rows that the last pass gave a value
	absent  []bool  // by entity of the key frame
	key     *pass
	before  *roster
	odd     bool // the last pass changed presence
}

func (c *columnBuilder) bytes() int64 {
	return c.cells.bytes() + int64(cap(c.now)+cap(c.absent)) +
		4*int64(cap(c.stamp)+cap(c.touched)) + 8*int64(2*cap(c.row))
}

// step enters what a pass says, which is the window's instant t. It returns by how many bytes the
// builder has grown.
func (b *typeBuilder) step(p *pass, t int32) (grown int64) {
	at := b.find(p)
	if p.key != b.key {
		b.key, b.keySaid = p.key, b.index(p.key, b.find(p.key))
	}
	if at.r != nil || b.begun {
		b.columnsOf(p, at, t)
		b.liveOf(at.r, t)
		b.begun = true
	}
	total := int64(cap(b.now)+cap(b.state)) + 4*int64(cap(b.entry)) + 8*int64(2*cap(b.live.row))
	for _, c := range b.columns {
		if c != nil {
			total += c.bytes()
		}
	}
	grown, b.told = total-b.told, total
	return grown
}

// find finds the type in a pass.
func (b *typeBuilder) find(p *pass) place {
	for i, m := range p.templates {
		if m != nil && m.draft == b.draft && p.entities[i] != nil {
			return place{m, p.entities[i]}
		}
	}
	return place{}
}

// index returns what a pass says by metric of the draft; nil if nothing.
func (b *typeBuilder) index(p *pass, at place) (list []*said) {
	if at.m == nil {
		return nil
	}
	each := func(groups []frame.Group, take func(s *said, c *frame.Column)) {
		for g := range groups {
			if p.templates[groups[g].Template] != at.m {
				continue
			}
			if list == nil {
				list = make([]*said, len(b.draft.Metrics))
			}
			for i := range groups[g].Columns {
				c := &groups[g].Columns[i]
				m := at.m.metrics[c.Metric]
				if list[m] == nil {
					list[m] = &said{}
				}
				take(list[m], c)
			}
		}
	}
	each(p.Presence, func(s *said, c *frame.Column) { s.presence = c })
	each(p.Values, func(s *said, c *frame.Column) { s.values = c })
	return list
}

func saidOf(list []*said, metric int) said {
	if metric < len(list) && list[metric] != nil {
		return *list[metric]
	}
	return said{}
}

// liveOf notes which entities have come and gone.
func (b *typeBuilder) liveOf(r *roster, t int32) {
	if r == b.roster {
		return
	}
	b.roster = r
	b.now = grown(b.now, len(b.draft.Rows))
	for row := range b.now {
		if there := r.entity(int32(row)) >= 0; there != b.now[row] {
			b.now[row] = there
			b.live.add(int32(row), t)
		}
	}
}

// columnsOf enters what a pass says of each metric.
func (b *typeBuilder) columnsOf(p *pass, at place, t int32) {
	var list []*said
	if p != p.key {
		list = b.index(p, at)
	}
	b.columns = grown(b.columns, len(b.draft.Metrics))
	for metric, c := range b.columns {
		s, base := saidOf(list, metric), saidOf(b.keySaid, metric)
		if c == nil {
			if at.r == nil || at.m.has(metric) && s == (said{}) && base == (said{}) &&
				(metric < b.known || !b.begun) {
				continue
			}
			c = b.begin(metric)
			b.columns[metric] = c
		}
		b.column(c, metric, p, at, s, base, t)
	}
	b.known = len(b.draft.Metrics)
}

// begin makes the builder of a column of which nothing was said so far. Until now it was present
// wherever the entity was live, or nowhere, if its template did not have it.
func (b *typeBuilder) begin(metric int) *columnBuilder {
	c := &columnBuilder{}
	if m := &b.draft.Metrics[metric]; m.Kind.IsHistogram() {
		c.cells = newHistogramCells(m)
	} else {
		c.cells = newScalarCells(m)
	}
	if metric < b.known {
		c.edges = edges{row: slices.Clone(b.live.row), at: slices.Clone(b.live.at)}
		c.now = slices.Clone(b.now)
	}
	return c
}

func (b *typeBuilder) column(c *columnBuilder, metric int, p *pass, at place, s, base said,
	t int32) {
	if at.r == nil && c.before == nil && c.key != nil {
		c.values(nil)
		return
	}
	rows := len(b.draft.Rows)
	c.grow(rows)
	c.now = grown(c.now, rows)
	for len(c.stamp) < rows {
		c.stamp = append(c.stamp, -1)
	}
	full := p.key != c.key || at.r != c.before || c.odd || s.presence != nil
	if p.key != c.key {
		c.key = p.key
		r := b.find(p.key).r
		c.absent = absentIn(c.absent, base.presence, r)
		c.base(base.values, r)
	}
	c.odd = s.presence != nil
	c.values(s.values)
	if full {
		b.fullStep(t, at, metric, s, c)
	} else {
		c.sparseStep(t, at.r, s.values)
	}
	c.before = at.r
}

// absentIn says by entity of the key frame whether it has no value there.
func absentIn(absent []bool, c *frame.Column, r *roster) []bool {
	absent = absent[:0]
	if r == nil {
		return absent
	}
	absent = append(absent, make([]bool, r.keyed)...)
	if c != nil {
		eachSelected(c, r, func(_ int, e int32) { absent[e] = true })
	}
	return absent
}

// eachSelected calls f with the position and number of each entity that a column speaks of.
func eachSelected(c *frame.Column, r *roster, f func(i int, entity int32)) {
	if c.All {
		for i, e := range r.live {
			f(i, e)
		}
		return
	}
	for i, e := range c.Entities {
		f(i, int32(e))
	}
}

// fullStep looks at every row.
func (b *typeBuilder) fullStep(t int32, at place, metric int, s said, c *columnBuilder) {
	rows := len(b.draft.Rows)
	b.state, b.entry = grown(b.state, rows), grown(b.entry, rows)
	clear(b.state)
	c.touched = c.touched[:0]
	if at.r != nil && at.m.has(metric) {
		for _, entity := range at.r.live {
			row := at.r.rows[entity]
			b.entry[row] = -1
			if int(entity) >= len(c.absent) || !c.absent[entity] {
				b.state[row] = 1
			}
		}
		if s.presence != nil {
			eachSelected(s.presence, at.r, func(_ int, entity int32) {
				b.state[at.r.rows[entity]] ^= 1
			})
		}
		if s.values != nil {
			eachSelected(s.values, at.r, func(i int, entity int32) {
				row := at.r.rows[entity]
				b.entry[row] = int32(i)
				c.touched = append(c.touched, row)
			})
		}
	}
	for row := range b.state {
		there := b.state[row] == 1
		if there != c.now[row] {
			c.now[row] = there
			c.edges.add(int32(row), t)
			if !there {
				c.park(int32(row))
			}
		}
		if there {
			c.set(int32(row), t, at.r.keyedEntity(int32(row)), b.entry[row])
		}
	}
}

// sparseStep looks at the rows that this pass or the one before says something of.
func (c *columnBuilder) sparseStep(t int32, r *roster, values *frame.Column) {
	before := len(c.touched)
	if values != nil {
		eachSelected(values, r, func(i int, entity int32) {
			row := r.rows[entity]
			c.set(row, t, r.keyedEntity(row), int32(i))
			c.stamp[row] = t
			c.touched = append(c.touched, row)
		})
	}
	for _, row := range c.touched[:before] {
		if c.stamp[row] != t {
			c.set(row, t, r.keyedEntity(row), -1)
		}
	}
	c.touched = append(c.touched[:0], c.touched[before:]...)
}

// finish gives the columns to the type, whose rows have their final order.
func (b *typeBuilder) finish(t *Type) {
	order := b.draft.order
	t.live = b.live.sorted(order)
	t.columns = make([]*column, len(t.Metrics))
	for metric, c := range b.columns {
		if c == nil {
			continue
		}
		out := c.column(order)
		if own := c.edges.sorted(order); !own.equal(t.live) {
			if out == nil {
				out = &column{}
			}
			out.present = own
		}
		t.columns[metric] = out
		// one is sorted after the other, so that there is one copy at a time
		b.columns[metric] = nil
	}
}
