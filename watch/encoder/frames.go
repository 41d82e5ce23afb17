package encoder

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// keyFrame fills a key frame with tables, and remembers what it says.
func (e *Encoder) keyFrame(f *frame.Frame, tables []reading.Table) {
	e.key = &keyed{frame: f, identity: f.Identity, tables: map[string]*keyedTable{}}
	for i := range tables {
		t := &tables[i]
		k := &keyedTable{number: i, at: make(map[string]int, len(t.Rows))}
		var key []byte
		var rows [][]string
		places := make([]int, 0, len(t.Rows))
		for row := range t.Rows {
			key = joined(key[:0], t.Rows[row])
			if _, twice := k.at[string(key)]; twice {
				continue
			}
			k.at[string(key)] = len(rows)
			rows, places = append(rows, e.row(t.Rows[row])), append(places, row)
		}
		k.table = copied(t, places)
		e.key.tables[t.Type] = k
		template := frame.Template{Type: t.Type, Labels: t.Labels}
		for j := range t.Columns {
			template.Metrics = append(template.Metrics, metricOf(f, &t.Columns[j]))
		}
		f.Templates = append(f.Templates, template)
		f.Added = append(f.Added, frame.Entities{Template: i, Rows: rows})
		m := merge{rows: places, keys: slices.Repeat([]int{-1}, len(places))}
		m.columns(f, i, t, nil)
	}
}

// row returns an entity's label values as a frame has them.
func (e *Encoder) row(row []string) []string {
	list := make([]string, 0, len(row)+len(e.labels))
	for _, v := range row {
		list = append(list, Clipped(v))
	}
	for _, l := range e.labels {
		list = append(list, Clipped(l.Value))
	}
	return list
}

// metricOf returns a column's metric, with its bounds among the frame's.
func metricOf(f *frame.Frame, c *reading.Column) frame.Metric {
	m := frame.Metric{Name: c.Name, Kind: c.Kind, Unit: c.Unit, Exponent: c.Exponent}
	if !c.Kind.IsHistogram() {
		return m
	}
	m.HasSum = c.HasSum
	m.Bounds = slices.IndexFunc(f.Bounds, func(b frame.Bounds) bool {
		return sameBounds(b, c.Bounds)
	})
	if m.Bounds < 0 {
		m.Bounds = len(f.Bounds)
		f.Bounds = append(f.Bounds, c.Bounds)
	}
	return m
}

func sameBounds(a, b frame.Bounds) bool {
	return a.Exponent == b.Exponent && slices.Equal(a.Upper, b.Upper)
}

// copied returns a table with copies of the values of some rows. Rows themselves are not needed.
func copied(t *reading.Table, places []int) reading.Table {
	own := reading.Table{Type: t.Type, Labels: t.Labels, Rows: make([][]string, 0, len(places)),
		Columns: slices.Clone(t.Columns)}
	for _, p := range places {
		own.Rows = append(own.Rows, t.Rows[p])
	}
	for i := range own.Columns {
		c := &own.Columns[i]
		from := t.Columns[i]
		switch c.Kind {
		case frame.Counter, frame.Gauge:
			c.Ints = make([]int64, 0, len(places))
			for _, p := range places {
				c.Ints = append(c.Ints, from.Ints[p])
			}
		case frame.GaugeDouble:
			c.Doubles = make([]float64, 0, len(places))
			for _, p := range places {
				c.Doubles = append(c.Doubles, from.Doubles[p])
			}
		default:
			c.Histograms = make([]reading.Histogram, 0, len(places))
			for _, p := range places {
				h := from.Histograms[p]
				h.Counts = slices.Clone(h.Counts)
				c.Histograms = append(c.Histograms, h)
			}
		}
	}
	return own
}

// delta fills a delta frame with what differs from the key frame. It returns false if only a key
// frame can say it: an entity type is new, or is another than it was.
func (e *Encoder) delta(f *frame.Frame, tables []reading.Table) bool {
	f.KeyAge = f.At - e.key.frame.At
	there := map[string]*reading.Table{}
	for i := range tables {
		k := e.key.tables[tables[i].Type]
		if k == nil || !k.same(&tables[i]) {
			return false
		}
		there[tables[i].Type] = &tables[i]
	}
	for i := range e.key.frame.Templates {
		k := e.key.tables[e.key.frame.Templates[i].Type]
		t := there[k.table.Type]
		if t == nil { // all its entities are gone
			t = &reading.Table{Type: k.table.Type, Columns: k.table.Columns}
		}
		m, removed, added := k.merge(t)
		if len(removed) > 0 {
			f.Removed = append(f.Removed, frame.Removed{Template: i, Entities: removed})
		}
		if len(added) > 0 {
			rows := make([][]string, 0, len(added))
			for _, row := range added {
				rows = append(rows, e.row(t.Rows[row]))
			}
			f.Added = append(f.Added, frame.Entities{Template: i, Rows: rows})
		}
		if len(m.rows) > 0 {
			m.columns(f, i, t, &k.table)
		}
	}
	return true
}

// same reports whether a table has the labels and metrics that the key frame's had.
func (k *keyedTable) same(t *reading.Table) bool {
	return slices.Equal(k.table.Labels, t.Labels) &&
		slices.EqualFunc(k.table.Columns, t.Columns, func(a, b reading.Column) bool {
			return a.Name == b.Name && a.Kind == b.Kind && a.Unit == b.Unit &&
				a.Exponent == b.Exponent && a.HasSum == b.HasSum && sameBounds(a.Bounds, b.Bounds)
		})
}

// merge says which entities a frame has, by ascending number: where each is in the new table and
// where it was in the key frame's, -1 if it was not.
type merge struct{ rows, keys, numbers []int }

// merge finds a table's rows among the key frame's. added has the rows that are new.
func (k *keyedTable) merge(t *reading.Table) (m merge, removed, added []int) {
	count := len(k.table.Rows)
	if sameRows(k.table.Rows, t.Rows) {
		m.rows = make([]int, count)
		for i := range m.rows {
			m.rows[i] = i
		}
		m.keys = m.rows
		return m, nil, nil
	}
	place := slices.Repeat([]int{-1}, count)
	fresh := map[string]bool{}
	var key []byte
	for row := range t.Rows {
		key = joined(key[:0], t.Rows[row])
		if i, known := k.at[string(key)]; known {
			if place[i] < 0 {
				place[i] = row
			}
		} else if !fresh[string(key)] {
			fresh[string(key)] = true
			added = append(added, row)
		}
	}
	for i, row := range place {
		if row < 0 {
			removed = append(removed, i)
			continue
		}
		m.rows, m.keys = append(m.rows, row), append(m.keys, i)
		m.numbers = append(m.numbers, i)
	}
	for i, row := range added {
		m.rows, m.keys = append(m.rows, row), append(m.keys, -1)
		m.numbers = append(m.numbers, count+i)
	}
	return m, removed, added
}

// sameRows reports whether rows are the same in the same order. Rows of two readings mostly share
// memory, and then this costs little.
func sameRows(a, b [][]string) bool {
	return len(a) == len(b) && slices.EqualFunc(a, b, func(x, y []string) bool {
		return len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0] || slices.Equal(x, y))
	})
}

// number returns the number of the i-th entity.
func (m *merge) number(i int) int {
	if m.numbers == nil {
		return i
	}
	return m.numbers[i]
}

// columns adds a table's presence and values, as differences to the key frame's, which was of the
// same shape; nil for a key frame.
func (m *merge) columns(f *frame.Frame, template int, t, was *reading.Table) {
	presence, values := frame.Group{Template: template}, frame.Group{Template: template}
	for i := range t.Columns {
		c := &t.Columns[i]
		gone, differs := frame.Column{Metric: i}, frame.Column{Metric: i}
		for j, row := range m.rows {
			var base *reading.Column
			had := true // an entity that is added is compared with one that is there
			if m.keys[j] >= 0 {
				base = &was.Columns[i]
				had = present(base, m.keys[j])
			}
			has := present(c, row)
			if has != had {
				gone.Entities = append(gone.Entities, m.number(j))
			}
			if !had {
				base = nil // it counts from zero
			}
			if has && differ(&differs, c, row, base, m.keys[j]) {
				differs.Entities = append(differs.Entities, m.number(j))
			}
		}
		addColumn(&presence, gone, len(m.rows))
		addColumn(&values, differs, len(m.rows))
	}
	if len(presence.Columns) > 0 {
		f.Presence = append(f.Presence, presence)
	}
	if len(values.Columns) > 0 {
		f.Values = append(f.Values, values)
	}
}

// addColumn adds a column that says something of some of so many entities.
func addColumn(g *frame.Group, c frame.Column, live int) {
	if len(c.Entities) == 0 {
		return
	}
	if len(c.Entities) == live {
		c.All, c.Entities = true, nil
	}
	g.Columns = append(g.Columns, c)
}

// differ adds a row's difference to its base to a column; false if there is none. A nil base is
// zero.
func differ(to *frame.Column, c *reading.Column, row int, base *reading.Column, at int) bool {
	switch c.Kind {
	case frame.Counter, frame.Gauge:
		d := c.Ints[row]
		if base != nil {
			d -= base.Ints[at]
		}
		if d != 0 {
			to.Ints = append(to.Ints, d)
		}
		return d != 0
	case frame.GaugeDouble:
		v, zero := c.Doubles[row], 0.0
		if base != nil {
			zero = base.Doubles[at]
		}
		if v == zero {
			return false
		}
		to.Doubles = append(to.Doubles, v)
		return true
	}
	h := &c.Histograms[row]
	b := frame.Buckets{}
	var from reading.Histogram
	if base != nil {
		from = base.Histograms[at]
	}
	if c.HasSum {
		b.Sum = h.Sum - from.Sum
	}
	for i, n := range h.Counts {
		if from.Counts != nil {
			n -= from.Counts[i]
		}
		if n != 0 {
			b.Index, b.Count = append(b.Index, int32(i)), append(b.Count, n)
		}
	}
	if len(b.Index) == 0 && b.Sum == 0 {
		return false
	}
	to.Histograms = append(to.Histograms, b)
	return true
}
