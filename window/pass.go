package window

import (
	"iter"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// pass is a decoded frame and how its numbers translate to those of the window.
type pass struct {
	frame     *frame.Frame
	key       *pass        // itself in a key frame
	templates []*metricMap // by template number; nil: the template never had an entity
	entities  []*entityMap // by template number; nil: no entity
	// key frames: each template's entities in the last pass where they were others than the
	// key frame's
	last map[int]*entityMap
}

// newKeyPass returns the pass of a key frame.
func newKeyPass(f *frame.Frame) *pass {
	p := &pass{frame: f}
	p.key = p
	return p
}

// metricMap is how the metrics of one template translate.
type metricMap struct {
	dictionary   *dictionaryBuilder
	toDictionary []int32 // metric of the template → metric of the dictionary
	// metric of the dictionary → metric of the template or −1, of those that were known then
	toTemplate []int32
}

// has reports whether the template has a metric of the dictionary.
func (m *metricMap) has(metric int) bool {
	return metric < len(m.toTemplate) && m.toTemplate[metric] >= 0
}

// entityMap is which entities of a template are live in a pass, and how their numbers translate.
// Passes whose entities do not differ share one.
type entityMap struct {
	dictionary  *dictionaryBuilder
	keyEntities int     // entity numbers below it are the key frame's
	rows        []int32 // entity number → row of the dictionary, −1: removed
	live        []int32 // numbers of the live entities, ascending
	// row of the dictionary → entity number, −1: not there; of the rows that were known then
	byRow []int32
}

// entityMapBytes is what an entity takes in an entityMap, and in what compares that.
const entityMapBytes = 16

func (p *pass) template(i int) *frame.Template { return p.frame.Template(p.key.frame, i) }

// resolve sets templates and entities: it numbers the pass's metrics and entities in dictionaries.
// The key frame's pass must have been resolved before.
func (p *pass) resolve(ds *dictionaryBuilders) {
	isKey := p.key == p
	if isKey && p.templates != nil {
		return
	}
	n := len(p.frame.Templates)
	if !isKey {
		n += len(p.key.frame.Templates)
	}
	p.templates, p.entities = make([]*metricMap, n), make([]*entityMap, n)
	if !isKey {
		copy(p.templates, p.key.templates)
		copy(p.entities, p.key.entities)
	}
	for _, g := range p.frame.Removed {
		r := p.ownEntities(g.Template)
		for _, e := range g.Entities {
			r.rows[e] = -1
		}
	}
	for _, g := range p.frame.Added {
		if p.templates[g.Template] == nil {
			t := p.template(g.Template)
			d := ds.builder(t.Type, frame.LabelsOf(p.frame.Node, t.Labels))
			m := &metricMap{dictionary: d,
				toDictionary: ds.metrics(d, t, func(i int) *frame.Bounds {
					return p.frame.BoundsOf(p.key.frame, i)
				})}
			m.toTemplate = inverse(m.toDictionary, len(d.result.Metrics))
			p.templates[g.Template] = m
		}
		r := p.ownEntities(g.Template)
		for _, values := range g.Rows {
			r.rows = append(r.rows, p.templates[g.Template].dictionary.row(values))
		}
		ds.bytes += p.templates[g.Template].dictionary.newBytes()
		if isKey {
			r.keyEntities = len(r.rows)
		}
	}
	for i, r := range p.entities {
		if r == nil || !isKey && r == p.key.entityMapOf(i) {
			continue
		}
		if last := p.key.last[i]; last != nil && last.dictionary == p.templates[i].dictionary &&
			slices.Equal(last.rows, r.rows) {
			p.entities[i] = last
			continue
		}
		r.dictionary = p.templates[i].dictionary
		ds.bytes += int64(len(r.rows)) * entityMapBytes
		for e, row := range r.rows {
			if row >= 0 {
				r.live = append(r.live, int32(e))
			}
		}
		r.byRow = inverse(r.rows, len(r.dictionary.result.Rows))
		if p.key.last == nil {
			p.key.last = map[int]*entityMap{}
		}
		p.key.last[i] = r
	}
}

// ownEntities returns a template's entityMap that is this pass's alone, so that it may be changed.
func (p *pass) ownEntities(template int) *entityMap {
	r := p.entities[template]
	switch {
	case r == nil:
		r = &entityMap{}
	case p.key != p && r == p.key.entityMapOf(template):
		r = &entityMap{keyEntities: r.keyEntities, rows: slices.Clone(r.rows)}
	default:
		return r
	}
	p.entities[template] = r
	return r
}

func (p *pass) entityMapOf(template int) *entityMap {
	if template < len(p.entities) {
		return p.entities[template]
	}
	return nil
}

// entity returns the number of the entity that is live in a row, −1 for none.
func (r *entityMap) entity(row int32) int32 {
	if r == nil || int(row) >= len(r.byRow) {
		return -1
	}
	return r.byRow[row]
}

// keyEntity returns the entity of a row if the key frame has it, else −1: it starts from zero.
func (r *entityMap) keyEntity(row int32) int32 {
	if e := r.entity(row); int(e) < r.keyEntities {
		return e
	}
	return -1
}

// inverse returns the way back of a translation to numbers below size; −1: nothing leads there.
func inverse(numbers []int32, size int) []int32 {
	back := make([]int32, size)
	for i := range back {
		back[i] = -1
	}
	for i, n := range numbers {
		if n >= 0 {
			back[n] = int32(i)
		}
	}
	return back
}

// selected are the entities that a column speaks of, each with its entry in the column.
func (r *entityMap) selected(c *frame.Column) iter.Seq2[int, int32] {
	return func(yield func(entry int, entity int32) bool) {
		if c.All {
			for i, e := range r.live {
				if !yield(i, e) {
					return
				}
			}
			return
		}
		for i, e := range c.Entities {
			if !yield(i, int32(e)) {
				return
			}
		}
	}
}

// find returns what the pass has of a dictionary's type: nil and nil if it has no entity of it.
func (p *pass) find(d *dictionaryBuilder) (*metricMap, *entityMap) {
	for i, m := range p.templates {
		if m != nil && m.dictionary == d && p.entities[i] != nil {
			return m, p.entities[i]
		}
	}
	return nil, nil
}

// columnsByMetric returns what the frame says of a template's metrics, by metric of the dictionary;
// nil if it says nothing.
func (p *pass) columnsByMetric(m *metricMap) (list []*metricColumns) {
	if m == nil {
		return nil
	}
	column := func(c *frame.Column) *metricColumns {
		if list == nil {
			list = make([]*metricColumns, len(m.dictionary.result.Metrics))
		}
		n := m.toDictionary[c.Metric]
		if list[n] == nil {
			list[n] = &metricColumns{}
		}
		return list[n]
	}
	for c := range p.groupColumns(p.frame.Presence, m) {
		column(c).presence = c
	}
	for c := range p.groupColumns(p.frame.Values, m) {
		column(c).values = c
	}
	return list
}

// groupColumns are the columns that groups of a frame have of a template.
func (p *pass) groupColumns(groups []frame.Group, m *metricMap) iter.Seq[*frame.Column] {
	return func(yield func(*frame.Column) bool) {
		for g := range groups {
			if p.templates[groups[g].Template] != m {
				continue
			}
			for i := range groups[g].Columns {
				if !yield(&groups[g].Columns[i]) {
					return
				}
			}
		}
	}
}
