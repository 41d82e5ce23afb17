package window

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// typeBuilder makes the columns of one type, pass by pass in order of time.
//
// It costs what the frames say, not what there is. A metric that no frame mentions has no
// columnBuilder. A columnBuilder looks only at the cells that this pass or the one before mentions
// (sparseStep), unless the key frame, the entities or the column's presence changed: then it looks
// at every row (fullStep).
type typeBuilder struct {
	dictionary *dictionaryBuilder
	// by metric of the dictionary; nil: zero and present wherever the entity is live
	columns  []*columnBuilder
	known    int  // metrics that there were at the last pass
	begun    bool // the type has had an entity
	live     edges
	now      []bool     // by row: live in the last pass
	entities *entityMap // of the last pass

	key        *pass            // of the last pass
	keyColumns []*metricColumns // what it says by metric

	// Scratch, by row.
	state    []int8 // in a full step: 1 present
	entry    []int32
	reported int64 // bytes that step has returned
}

// passType is a type as a pass has it: nil and nil if the pass has no entity of it.
type passType struct {
	metrics  *metricMap
	entities *entityMap
}

// metricColumns are what a frame says of a metric; nil: nothing.
type metricColumns struct{ presence, values *frame.Column }

// cells is the values of one metric: scalars or histograms.
type cells interface {
	// grow makes room for so many rows.
	grow(rows int)
	// useKeyFrame takes the key frame's values; nil if it has none.
	useKeyFrame(c *frame.Column, r *entityMap)
	// useValues takes the frame's entries, which set refers to; nil if there are none.
	useValues(c *frame.Column)
	// set sets a row's value at an instant: the key frame's of an entity (−1: zero) and, on top of
	// it, entry i of the frame's (−1: none).
	set(row, at, entity, i int32)
	// detach copies a row's value, so that it holds no frame in memory.
	detach(row int32)
	// column returns the changes; order is the final number of each row.
	column(order []int32) *column
	// bytes returns what all this takes.
	bytes() int64
}

// columnBuilder makes one column.
type columnBuilder struct {
	values          cells
	comings         edges
	now             []bool  // by row: present in the last pass
	lookedAt        []int32 // by row: the instant at which a sparse step looked at it
	touched         []int32 // rows that the last pass gave a value
	absent          []bool  // by entity of the key frame
	key             *pass
	entities        *entityMap
	presenceChanged bool // the last pass changed presence
}

func (c *columnBuilder) bytes() int64 {
	return c.values.bytes() + int64(cap(c.now)+cap(c.absent)) +
		4*int64(cap(c.lookedAt)+cap(c.touched)) + 8*int64(2*cap(c.comings.row))
}

// step enters what a pass says, which is the window's instant t. It returns by how many bytes the
// builder has grown.
func (b *typeBuilder) step(p *pass, t int32) (grown int64) {
	at := b.find(p)
	if p.key != b.key {
		b.key, b.keyColumns = p.key, p.key.columnsByMetric(b.find(p.key).metrics)
	}
	if at.entities != nil || b.begun {
		b.enterColumns(p, at, t)
		b.enterLive(at.entities, t)
		b.begun = true
	}
	total := int64(cap(b.now)+cap(b.state)) + 4*int64(cap(b.entry)) + 8*int64(2*cap(b.live.row))
	for _, c := range b.columns {
		if c != nil {
			total += c.bytes()
		}
	}
	grown, b.reported = total-b.reported, total
	return grown
}

// find finds the type in a pass.
func (b *typeBuilder) find(p *pass) (at passType) {
	at.metrics, at.entities = p.find(b.dictionary)
	return at
}

func metricColumnsOf(list []*metricColumns, metric int) metricColumns {
	if metric < len(list) && list[metric] != nil {
		return *list[metric]
	}
	return metricColumns{}
}

// enterLive enters which entities have come and gone.
func (b *typeBuilder) enterLive(r *entityMap, t int32) {
	if r == b.entities {
		return
	}
	b.entities = r
	b.now = grown(b.now, len(b.dictionary.result.Rows))
	for row := range b.now {
		if there := r.entity(int32(row)) >= 0; there != b.now[row] {
			b.now[row] = there
			b.live.add(int32(row), t)
		}
	}
}

// enterColumns enters what a pass says of each metric.
func (b *typeBuilder) enterColumns(p *pass, at passType, t int32) {
	var list []*metricColumns
	if p != p.key {
		list = p.columnsByMetric(at.metrics)
	}
	b.columns = grown(b.columns, len(b.dictionary.result.Metrics))
	for metric, c := range b.columns {
		s, base := metricColumnsOf(list, metric), metricColumnsOf(b.keyColumns, metric)
		if c == nil {
			if at.entities == nil || at.metrics.has(metric) && s == (metricColumns{}) &&
				base == (metricColumns{}) &&
				(metric < b.known || !b.begun) {
				continue
			}
			c = b.begin(metric)
			b.columns[metric] = c
		}
		b.enterColumn(c, metric, p, at, s, base, t)
	}
	b.known = len(b.dictionary.result.Metrics)
}

// begin makes the builder of a column of which nothing was said so far. Until now it was present
// wherever the entity was live, or nowhere, if its template did not have it.
func (b *typeBuilder) begin(metric int) *columnBuilder {
	c := &columnBuilder{}
	if m := &b.dictionary.result.Metrics[metric]; m.Kind.IsHistogram() {
		c.values = newHistogramCells(m)
	} else {
		c.values = newScalarCells(m)
	}
	if metric < b.known {
		c.comings = edges{row: slices.Clone(b.live.row), at: slices.Clone(b.live.at)}
		c.now = slices.Clone(b.now)
	}
	return c
}

// enterColumn enters what a pass says of one metric: s of the frame, base of its key frame.
func (b *typeBuilder) enterColumn(c *columnBuilder, metric int, p *pass, at passType,
	s, base metricColumns,
	t int32) {
	if at.entities == nil && c.entities == nil && c.key != nil {
		c.values.useValues(nil)
		return
	}
	rows := len(b.dictionary.result.Rows)
	c.values.grow(rows)
	c.now = grown(c.now, rows)
	for len(c.lookedAt) < rows {
		c.lookedAt = append(c.lookedAt, -1)
	}
	full := p.key != c.key || at.entities != c.entities || c.presenceChanged || s.presence != nil
	if p.key != c.key {
		c.key = p.key
		r := b.find(p.key).entities
		c.absent = absentIn(c.absent, base.presence, r)
		c.values.useKeyFrame(base.values, r)
	}
	c.presenceChanged = s.presence != nil
	c.values.useValues(s.values)
	if full {
		b.fullStep(t, at, metric, s, c)
	} else {
		c.sparseStep(t, at.entities, s.values)
	}
	c.entities = at.entities
}

// absentIn says by entity of the key frame whether it has no value there.
func absentIn(absent []bool, c *frame.Column, r *entityMap) []bool {
	absent = absent[:0]
	if r == nil {
		return absent
	}
	absent = append(absent, make([]bool, r.keyEntities)...)
	if c != nil {
		for _, e := range r.selected(c) {
			absent[e] = true
		}
	}
	return absent
}

// fullStep looks at every row.
func (b *typeBuilder) fullStep(t int32, at passType, metric int, s metricColumns,
	c *columnBuilder) {
	rows := len(b.dictionary.result.Rows)
	b.state, b.entry = grown(b.state, rows), grown(b.entry, rows)
	clear(b.state)
	c.touched = c.touched[:0]
	if at.entities != nil && at.metrics.has(metric) {
		for _, entity := range at.entities.live {
			row := at.entities.rows[entity]
			b.entry[row] = -1
			if int(entity) >= len(c.absent) || !c.absent[entity] {
				b.state[row] = 1
			}
		}
		if s.presence != nil {
			for _, entity := range at.entities.selected(s.presence) {
				b.state[at.entities.rows[entity]] ^= 1
			}
		}
		if s.values != nil {
			for i, entity := range at.entities.selected(s.values) {
				row := at.entities.rows[entity]
				b.entry[row] = int32(i)
				c.touched = append(c.touched, row)
			}
		}
	}
	for row := range b.state {
		there := b.state[row] == 1
		if there != c.now[row] {
			c.now[row] = there
			c.comings.add(int32(row), t)
			if !there {
				c.values.detach(int32(row))
			}
		}
		if there {
			c.values.set(int32(row), t, at.entities.keyEntity(int32(row)), b.entry[row])
		}
	}
}

// sparseStep looks at the rows that this pass or the one before says something of.
func (c *columnBuilder) sparseStep(t int32, r *entityMap, values *frame.Column) {
	before := len(c.touched)
	if values != nil {
		for i, entity := range r.selected(values) {
			row := r.rows[entity]
			c.values.set(row, t, r.keyEntity(row), int32(i))
			c.lookedAt[row] = t
			c.touched = append(c.touched, row)
		}
	}
	for _, row := range c.touched[:before] {
		if c.lookedAt[row] != t {
			c.values.set(row, t, r.keyEntity(row), -1)
		}
	}
	c.touched = append(c.touched[:0], c.touched[before:]...)
}

// finish gives the columns to the type, whose rows have their final order.
func (b *typeBuilder) finish(t *Type) {
	order := b.dictionary.order
	t.live = b.live.sorted(order)
	t.columns = make([]*column, len(t.Metrics))
	for metric, c := range b.columns {
		if c == nil {
			continue
		}
		out := c.values.column(order)
		if own := c.comings.sorted(order); !own.equal(t.live) {
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
