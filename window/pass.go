package window

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// pass is a decoded frame and how its numbers translate to those of the window.
type pass struct {
	*frame.Frame
	key       *pass      // itself in a key frame
	templates []*mapping // by template number; nil: the template never had an entity
	entities  []*roster  // by template number; nil: no entity
	// key frames: the roster of each template in the last pass that differed from the key frame's
	last map[int]*roster
}

// mapping is how the numbers of one template translate.
type mapping struct {
	draft   *draft
	metrics []int32 // metric of the template → metric of the draft
	// metric of the draft → metric of the template or −1, of those that were known then
	back []int32
}

// has reports whether the template has a metric of the draft.
func (m *mapping) has(metric int) bool { return metric < len(m.back) && m.back[metric] >= 0 }

// roster is which entities of a template are live in a pass. Passes whose entities do not differ
// share one.
type roster struct {
	draft *draft
	keyed int     // entity numbers below it are the key frame's
	rows  []int32 // entity number → row of the draft, −1: removed
	live  []int32 // numbers of the live entities, ascending
	// row of the draft → entity number, −1: not there; of the rows that were known then
	byRow []int32
}

// rosterBytes is what a roster takes per entity, and what comparing it does.
const rosterBytes = 16

func (p *pass) template(i int) *frame.Template { return p.Template(p.key.Frame, i) }

// know enters a pass's entities in the drafts. The key frame's pass must have been there before.
func (p *pass) know(ds *drafts) {
	isKey := p.key == p
	if isKey && p.templates != nil {
		return
	}
	n := len(p.Templates)
	if !isKey {
		n += len(p.key.Templates)
	}
	p.templates, p.entities = make([]*mapping, n), make([]*roster, n)
	if !isKey {
		copy(p.templates, p.key.templates)
		copy(p.entities, p.key.entities)
	}
	for _, g := range p.Removed {
		r := p.own(g.Template)
		for _, e := range g.Entities {
			r.rows[e] = -1
		}
	}
	for _, g := range p.Added {
		if p.templates[g.Template] == nil {
			t := p.template(g.Template)
			d := ds.of(t.Type, frame.LabelsOf(p.Node, t.Labels))
			m := &mapping{draft: d, metrics: ds.metrics(d, t, func(i int) *frame.Bounds {
				return p.BoundsOf(p.key.Frame, i)
			})}
			m.back = inverse(m.metrics, len(d.Metrics))
			p.templates[g.Template] = m
		}
		r := p.own(g.Template)
		for _, values := range g.Rows {
			r.rows = append(r.rows, p.templates[g.Template].draft.row(values))
		}
		ds.bytes += p.templates[g.Template].draft.added()
		if isKey {
			r.keyed = len(r.rows)
		}
	}
	for i, r := range p.entities {
		if r == nil || !isKey && r == p.key.roster(i) {
			continue
		}
		if last := p.key.last[i]; last != nil && last.draft == p.templates[i].draft &&
			slices.Equal(last.rows, r.rows) {
			p.entities[i] = last
			continue
		}
		r.draft = p.templates[i].draft
		ds.bytes += int64(len(r.rows)) * rosterBytes
		for e, row := range r.rows {
			if row >= 0 {
				r.live = append(r.live, int32(e))
			}
		}
		r.byRow = inverse(r.rows, len(r.draft.Rows))
		if p.key.last == nil {
			p.key.last = map[int]*roster{}
		}
		p.key.last[i] = r
	}
}

// own returns a roster that may be changed.
func (p *pass) own(template int) *roster {
	r := p.entities[template]
	switch {
	case r == nil:
		r = &roster{}
	case p.key != p && r == p.key.roster(template):
		r = &roster{keyed: r.keyed, rows: slices.Clone(r.rows)}
	default:
		return r
	}
	p.entities[template] = r
	return r
}

func (p *pass) roster(template int) *roster {
	if template < len(p.entities) {
		return p.entities[template]
	}
	return nil
}

// entity returns the number of the entity that is live in a row, −1 for none.
func (r *roster) entity(row int32) int32 {
	if r == nil || int(row) >= len(r.byRow) {
		return -1
	}
	return r.byRow[row]
}

// keyedEntity returns the entity of a row if the key frame has it, else −1: it starts from zero.
func (r *roster) keyedEntity(row int32) int32 {
	if e := r.entity(row); int(e) < r.keyed {
		return e
	}
	return -1
}

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
