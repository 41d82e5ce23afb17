package building

import (
	"slices"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// typeBuilder makes the columns of one type, pass by pass in order of time.
//
// It costs what the frames say, not what there is. A metric that no frame mentions has no
// columnBuilder. A columnBuilder looks only at the cells that this pass or the one before mentions
// (sparseStep), unless the key frame, the entities or the column's presence changed: then it looks
// at every row (fullStep).
type typeBuilder struct {
	dictionary *numbering.Dictionary
	// by metric of the dictionary; nil: zero and present wherever the entity is live
	columns  []*columnBuilder
	known    int  // metrics that there were at the last pass
	begun    bool // the type has had an entity
	live     columns.Comings
	now      []bool              // by row: live in the last pass
	entities *numbering.Entities // of the last pass

	key        *numbering.Pass      // of the last pass
	keyColumns []*numbering.Columns // what it says by metric

	// Scratch, by row.
	state    []int8 // in a full step: 1 present
	entry    []int32
	reported int64 // bytes that step has returned
}

// passType is a type as a pass has it: nil and nil if the pass has no entity of it.
type passType struct {
	metrics  *numbering.Metrics
	entities *numbering.Entities
}

// step enters what a pass says, which is the window's instant t. It returns by how many bytes the
// builder has grown.
func (b *typeBuilder) step(p *numbering.Pass, t int32) (grown int64) {
	at := b.find(p)
	if p.Key != b.key {
		b.key, b.keyColumns = p.Key, p.Key.ColumnsByMetric(b.find(p.Key).metrics)
	}
	if at.entities != nil || b.begun {
		b.enterColumns(p, at, t)
		b.enterLive(at.entities, t)
		b.begun = true
	}
	total := int64(cap(b.now)+cap(b.state)) + 4*int64(cap(b.entry)) + 8*int64(2*cap(b.live.Row))
	for _, c := range b.columns {
		if c != nil {
			total += c.bytes()
		}
	}
	grown, b.reported = total-b.reported, total
	return grown
}

// find finds the type in a pass.
func (b *typeBuilder) find(p *numbering.Pass) (at passType) {
	at.metrics, at.entities = p.Find(b.dictionary)
	return at
}

// enterLive enters which entities have come and gone.
func (b *typeBuilder) enterLive(r *numbering.Entities, t int32) {
	if r == b.entities {
		return
	}
	b.entities = r
	b.now = columns.Grown(b.now, len(b.dictionary.Result.Rows))
	for row := range b.now {
		if there := r.Entity(int32(row)) >= 0; there != b.now[row] {
			b.now[row] = there
			b.live.Add(int32(row), t)
		}
	}
}

// enterColumns enters what a pass says of each metric.
func (b *typeBuilder) enterColumns(p *numbering.Pass, at passType, t int32) {
	var list []*numbering.Columns
	if p != p.Key {
		list = p.ColumnsByMetric(at.metrics)
	}
	b.columns = columns.Grown(b.columns, len(b.dictionary.Result.Metrics))
	for metric, c := range b.columns {
		s, base := numbering.ColumnsOf(list, metric), numbering.ColumnsOf(b.keyColumns, metric)
		if c == nil {
			if at.entities == nil || at.metrics.Has(metric) && s == (numbering.Columns{}) &&
				base == (numbering.Columns{}) &&
				(metric < b.known || !b.begun) {
				continue
			}
			c = b.begin(metric)
			b.columns[metric] = c
		}
		b.enterColumn(c, metric, p, at, s, base, t)
	}
	b.known = len(b.dictionary.Result.Metrics)
}

// begin makes the builder of a column of which nothing was said so far. Until now it was present
// wherever the entity was live, or nowhere, if its template did not have it.
func (b *typeBuilder) begin(metric int) *columnBuilder {
	c := &columnBuilder{}
	if m := &b.dictionary.Result.Metrics[metric]; m.Kind.IsHistogram() {
		c.values = newHistogramCells(m)
	} else {
		c.values = newScalarCells(m)
	}
	if metric < b.known {
		c.comings = columns.Comings{Row: slices.Clone(b.live.Row), At: slices.Clone(b.live.At)}
		c.now = slices.Clone(b.now)
	}
	return c
}

// enterColumn enters what a pass says of one metric: s of the frame, base of its key frame.
func (b *typeBuilder) enterColumn(c *columnBuilder, metric int, p *numbering.Pass, at passType,
	s, base numbering.Columns,
	t int32) {
	if at.entities == nil && c.entities == nil && c.key != nil {
		c.values.useValues(nil)
		return
	}
	rows := len(b.dictionary.Result.Rows)
	c.values.grow(rows)
	c.now = columns.Grown(c.now, rows)
	for len(c.lookedAt) < rows {
		c.lookedAt = append(c.lookedAt, -1)
	}
	full := p.Key != c.key || at.entities != c.entities || c.presenceChanged || s.Presence != nil
	if p.Key != c.key {
		c.key = p.Key
		r := b.find(p.Key).entities
		c.absent = absentIn(c.absent, base.Presence, r)
		c.values.useKeyFrame(base.Values, r)
	}
	c.presenceChanged = s.Presence != nil
	c.values.useValues(s.Values)
	if full {
		b.fullStep(t, at, metric, s, c)
	} else {
		c.sparseStep(t, at.entities, s.Values)
	}
	c.entities = at.entities
}

// fullStep looks at every row.
func (b *typeBuilder) fullStep(t int32, at passType, metric int, s numbering.Columns,
	c *columnBuilder) {
	rows := len(b.dictionary.Result.Rows)
	b.state, b.entry = columns.Grown(b.state, rows), columns.Grown(b.entry, rows)
	clear(b.state)
	c.touched = c.touched[:0]
	if at.entities != nil && at.metrics.Has(metric) {
		for _, entity := range at.entities.Live {
			row := at.entities.Rows[entity]
			b.entry[row] = -1
			if int(entity) >= len(c.absent) || !c.absent[entity] {
				b.state[row] = 1
			}
		}
		if s.Presence != nil {
			for _, entity := range at.entities.Selected(s.Presence) {
				b.state[at.entities.Rows[entity]] ^= 1
			}
		}
		if s.Values != nil {
			for i, entity := range at.entities.Selected(s.Values) {
				row := at.entities.Rows[entity]
				b.entry[row] = int32(i)
				c.touched = append(c.touched, row)
			}
		}
	}
	for row := range b.state {
		there := b.state[row] == 1
		if there != c.now[row] {
			c.now[row] = there
			c.comings.Add(int32(row), t)
			if !there {
				c.values.detach(int32(row))
			}
		}
		if there {
			c.values.set(int32(row), t, at.entities.KeyEntity(int32(row)), b.entry[row])
		}
	}
}

// finish gives the columns to the type, whose rows have their final order.
func (b *typeBuilder) finish(t *window.Type) {
	order := b.dictionary.Order
	t.Live = b.live.Sorted(order)
	t.Columns = make([]*columns.Column, len(t.Metrics))
	for metric, c := range b.columns {
		if c == nil {
			continue
		}
		out := c.values.column(order)
		if own := c.comings.Sorted(order); !own.Equal(t.Live) {
			if out == nil {
				out = &columns.Column{}
			}
			out.Present = own
		}
		t.Columns[metric] = out
		// one is sorted after the other, so that there is one copy at a time
		b.columns[metric] = nil
	}
}
