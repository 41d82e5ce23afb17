package window

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// pass is a decoded frame and how its numbers translate to those of the window.
type pass struct {
	*frame.Frame
	key       *pass        // itself in a key frame
	templates []*metricMap // by template number; nil: the template never had an entity
	entities  []*entityMap // by template number; nil: no entity
	// key frames: each template's entities in the last pass where they were others than the
	// key frame's
	last map[int]*entityMap
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

func (p *pass) template(i int) *frame.Template { return p.Template(p.key.Frame, i) }

// resolve sets templates and entities: it numbers the pass's metrics and entities in dictionaries.
// The key frame's pass must have been resolved before.
func (p *pass) resolve(ds *dictionaryBuilders) {
	isKey := p.key == p
	if isKey && p.templates != nil {
		return
	}
	n := len(p.Templates)
	if !isKey {
		n += len(p.key.Templates)
	}
	p.templates, p.entities = make([]*metricMap, n), make([]*entityMap, n)
	if !isKey {
		copy(p.templates, p.key.templates)
		copy(p.entities, p.key.entities)
	}
	for _, g := range p.Removed {
		r := p.ownEntities(g.Template)
		for _, e := range g.Entities {
			r.rows[e] = -1
		}
	}
	for _, g := range p.Added {
		if p.templates[g.Template] == nil {
			t := p.template(g.Template)
			d := ds.of(t.Type, frame.LabelsOf(p.Node, t.Labels))
			m := &metricMap{dictionary: d,
				toDictionary: ds.metrics(d, t, func(i int) *frame.Bounds {
					return p.BoundsOf(p.key.Frame, i)
				})}
			m.toTemplate = inverse(m.toDictionary, len(d.Metrics))
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
		r.byRow = inverse(r.rows, len(r.dictionary.Rows))
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
