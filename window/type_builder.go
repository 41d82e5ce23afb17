package window

import "github.com/ringwatch/ringwatch/frame"

// typeBuilder makes the columns of one type. It goes metric by metric through the passes in order of time.
//
// Its cost is what the frames say, not what there is: from pass to pass it looks at the cells that either of the two says something of. Only where
// the key frame, the entities or the presence of a column change does it look at every row.
type typeBuilder struct {
	*Type
	draft        *draft
	keys, passes []*pass

	at    []place           // by pass
	keyAt map[*pass]place   // by key frame
	sets  map[*pass][]*said // key frames and passes: what they say by metric of the dictionary; nil: nothing

	// Scratch, by row.
	state   []int8 // in a full step: 1 present
	entry   []int32
	now     []bool // present after the last step
	touched []int32
	stamp   []int32
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
	// base takes over the key frame's values of n entities; nil if it has none.
	base(c *frame.Column, r *roster)
	// values takes over the entries that set refers to; nil if there are none.
	values(c *frame.Column)
	// set gives a row at an instant the base value of an entity (−1: zero) and entry i of the values (−1: none).
	set(row, at, entity, i int32)
	column(rows int) *column
}

func (b *typeBuilder) build() {
	b.locate()
	b.buildLive()
	rows := len(b.Rows)
	b.state, b.entry, b.now, b.stamp = make([]int8, rows), make([]int32, rows), make([]bool, rows), make([]int32, rows)
	for m := range b.Metrics {
		b.columns[m] = b.buildColumn(m)
	}
}

// locate finds the type in each pass.
func (b *typeBuilder) locate() {
	find := func(p *pass) place {
		for i, m := range p.templates {
			if m != nil && m.draft == b.draft && p.entities[i] != nil {
				m.invert()
				p.entities[i].invert()
				return place{m, p.entities[i]}
			}
		}
		return place{}
	}
	b.at, b.keyAt, b.sets = make([]place, len(b.passes)), map[*pass]place{}, map[*pass][]*said{}
	for _, k := range b.keys {
		b.keyAt[k] = find(k)
		b.index(k, b.keyAt[k])
	}
	for i, p := range b.passes {
		b.at[i] = find(p)
		if p.key != p {
			b.index(p, b.at[i])
		}
	}
}

func (b *typeBuilder) index(p *pass, at place) {
	if at.m == nil {
		return
	}
	var list []*said
	each := func(groups []frame.Group, take func(s *said, c *frame.Column)) {
		for g := range groups {
			if p.templates[groups[g].Template] != at.m {
				continue
			}
			if list == nil {
				list = make([]*said, len(b.Metrics))
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
	if list != nil {
		b.sets[p] = list
	}
}

func (b *typeBuilder) said(p *pass, metric int) said {
	if list := b.sets[p]; list != nil && list[metric] != nil {
		return *list[metric]
	}
	return said{}
}

func (b *typeBuilder) buildLive() {
	var e edges
	now := make([]bool, len(b.Rows))
	var last *roster
	for t := range b.passes {
		r := b.at[t].r
		if r == last {
			continue
		}
		last = r
		for row := range now {
			if there := r != nil && r.byRow[row] >= 0; there != now[row] {
				now[row] = there
				e.add(int32(row), int32(t))
			}
		}
	}
	b.live = e.presence(len(now))
}

// ordinary reports whether the metric is present wherever its entities are, and whether no pass gives it any value.
func (b *typeBuilder) ordinary(metric int) (present, zero bool) {
	present, zero = true, true
	look := func(p *pass, at place) {
		s := b.said(p, metric)
		if at.m != nil && at.m.back[metric] < 0 || s.presence != nil {
			present = false
		}
		if s.values != nil {
			zero = false
		}
	}
	for k, at := range b.keyAt {
		look(k, at)
	}
	for t, p := range b.passes {
		look(p, b.at[t])
	}
	return present, zero
}

func (b *typeBuilder) buildColumn(metric int) *column {
	ordinary, zero := b.ordinary(metric)
	if ordinary && zero {
		return nil
	}
	rows := len(b.Rows)
	var c cells
	if m := &b.Metrics[metric]; m.Kind.IsHistogram() {
		c = newHistogramCells(m, rows)
	} else {
		c = newScalarCells(m, rows)
	}
	clear(b.now)
	for i := range b.stamp {
		b.stamp[i] = -1
	}
	b.touched = b.touched[:0]
	absent := make([]bool, 0) // by entity of the key frame
	var e edges
	var before place
	var key *pass
	odd := true // the last pass changed presence
	for t, p := range b.passes {
		at := b.at[t]
		if at.r == nil && before.r == nil {
			continue
		}
		var s said
		if p != p.key {
			s = b.said(p, metric)
		}
		full := p.key != key || at.r != before.r || odd || s.presence != nil
		if p.key != key {
			key = p.key
			keyPlace := b.keyAt[key]
			of := b.said(key, metric)
			absent = absentIn(absent, of.presence, keyPlace.r)
			c.base(of.values, keyPlace.r)
		}
		odd = s.presence != nil
		c.values(s.values)
		if full {
			b.fullStep(int32(t), at, metric, s, absent, c, &e)
		} else {
			b.sparseStep(int32(t), at.r, s.values, c)
		}
		before = at
	}
	out := c.column(rows)
	if !ordinary {
		own := e.presence(rows)
		if !own.equal(b.live) {
			if out == nil {
				out = &column{}
			}
			out.present = own
		}
	}
	return out
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
func (b *typeBuilder) fullStep(t int32, at place, metric int, s said, absent []bool, c cells, e *edges) {
	clear(b.state)
	b.touched = b.touched[:0]
	if at.r != nil && at.m.back[metric] >= 0 {
		for _, entity := range at.r.live {
			row := at.r.rows[entity]
			b.entry[row] = -1
			if int(entity) >= len(absent) || !absent[entity] {
				b.state[row] = 1
			}
		}
		if s.presence != nil {
			eachSelected(s.presence, at.r, func(_ int, entity int32) { b.state[at.r.rows[entity]] ^= 1 })
		}
		if s.values != nil {
			eachSelected(s.values, at.r, func(i int, entity int32) {
				row := at.r.rows[entity]
				b.entry[row] = int32(i)
				b.touched = append(b.touched, row)
			})
		}
	}
	for row := range b.state {
		there := b.state[row] == 1
		if there != b.now[row] {
			b.now[row] = there
			e.add(int32(row), t)
		}
		if there {
			c.set(int32(row), t, at.r.keyedEntity(int32(row)), b.entry[row])
		}
	}
}

// keyedEntity returns the entity of a row if the key frame has it, else −1: it starts from zero.
func (r *roster) keyedEntity(row int32) int32 {
	if e := r.byRow[row]; int(e) < r.keyed {
		return e
	}
	return -1
}

// sparseStep looks at the rows that this pass or the one before says something of.
func (b *typeBuilder) sparseStep(t int32, r *roster, values *frame.Column, c cells) {
	before := len(b.touched)
	if values != nil {
		eachSelected(values, r, func(i int, entity int32) {
			row := r.rows[entity]
			c.set(row, t, r.keyedEntity(row), int32(i))
			b.stamp[row] = t
			b.touched = append(b.touched, row)
		})
	}
	for _, row := range b.touched[:before] {
		if b.stamp[row] != t {
			c.set(row, t, r.keyedEntity(row), -1)
		}
	}
	b.touched = append(b.touched[:0], b.touched[before:]...)
}
