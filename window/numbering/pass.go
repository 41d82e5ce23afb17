// Package numbering gives the metrics and the entities of decoded frames the numbers that they have
// in dictionaries, which grow from frame to frame. Start with Pass: a frame and how its numbers
// translate. Packages building and following make values of it.
package numbering

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Pass is a decoded frame and how its numbers translate to those of the window.
type Pass struct {
	Frame     *frame.Frame
	Key       *Pass       // itself in a key frame
	Templates []*Metrics  // by template number; nil: the template never had an entity
	Entities  []*Entities // by template number; nil: no entity
	// key frames: each template's entities in the last pass where they were others than the
	// key frame's
	last map[int]*Entities
}

// NewKeyPass returns the pass of a key frame.
func NewKeyPass(f *frame.Frame) *Pass {
	p := &Pass{Frame: f}
	p.Key = p
	return p
}

// NewPass returns the pass of a delta frame, whose key frame's pass is key.
func NewPass(f *frame.Frame, key *Pass) *Pass { return &Pass{Frame: f, Key: key} }

// Find returns what the pass has of a dictionary's type: nil and nil if it has no entity of it.
func (p *Pass) Find(d *Dictionary) (*Metrics, *Entities) {
	for i, m := range p.Templates {
		if m != nil && m.Dictionary == d && p.Entities[i] != nil {
			return m, p.Entities[i]
		}
	}
	return nil, nil
}

func (p *Pass) template(i int) *frame.Template { return p.Frame.Template(p.Key.Frame, i) }

// Resolve sets templates and entities: it numbers the pass's metrics and entities in dictionaries.
// The key frame's pass must have been resolved before.
func (p *Pass) Resolve(ds *Dictionaries) {
	isKey := p.Key == p
	if isKey && p.Templates != nil {
		return
	}
	n := len(p.Frame.Templates)
	if !isKey {
		n += len(p.Key.Frame.Templates)
	}
	p.Templates, p.Entities = make([]*Metrics, n), make([]*Entities, n)
	if !isKey {
		copy(p.Templates, p.Key.Templates)
		copy(p.Entities, p.Key.Entities)
	}
	for _, g := range p.Frame.Removed {
		r := p.ownEntities(g.Template)
		for _, e := range g.Entities {
			r.Rows[e] = -1
		}
	}
	for _, g := range p.Frame.Added {
		if p.Templates[g.Template] == nil {
			t := p.template(g.Template)
			d := ds.builder(t.Type, frame.LabelsOf(p.Frame.Node, t.Labels))
			m := &Metrics{Dictionary: d,
				toDictionary: ds.metrics(d, t, func(i int) *frame.Bounds {
					return p.Frame.BoundsOf(p.Key.Frame, i)
				})}
			m.toTemplate = window.Inverse(m.toDictionary, len(d.Result.Metrics))
			p.Templates[g.Template] = m
		}
		r := p.ownEntities(g.Template)
		for _, values := range g.Rows {
			r.Rows = append(r.Rows, p.Templates[g.Template].Dictionary.row(values))
		}
		ds.Bytes += p.Templates[g.Template].Dictionary.newBytes()
		if isKey {
			r.KeyEntities = len(r.Rows)
		}
	}
	for i, r := range p.Entities {
		if r == nil || !isKey && r == p.Key.entitiesOf(i) {
			continue
		}
		if last := p.Key.last[i]; last != nil && last.dictionary == p.Templates[i].Dictionary &&
			slices.Equal(last.Rows, r.Rows) {
			p.Entities[i] = last
			continue
		}
		r.dictionary = p.Templates[i].Dictionary
		ds.Bytes += int64(len(r.Rows)) * entityBytes
		for e, row := range r.Rows {
			if row >= 0 {
				r.Live = append(r.Live, int32(e))
			}
		}
		r.byRow = window.Inverse(r.Rows, len(r.dictionary.Result.Rows))
		if p.Key.last == nil {
			p.Key.last = map[int]*Entities{}
		}
		p.Key.last[i] = r
	}
}

// ownEntities returns a template's Entities that is this pass's alone, so that it may be changed.
func (p *Pass) ownEntities(template int) *Entities {
	r := p.Entities[template]
	switch {
	case r == nil:
		r = &Entities{}
	case p.Key != p && r == p.Key.entitiesOf(template):
		r = &Entities{KeyEntities: r.KeyEntities, Rows: slices.Clone(r.Rows)}
	default:
		return r
	}
	p.Entities[template] = r
	return r
}

func (p *Pass) entitiesOf(template int) *Entities {
	if template < len(p.Entities) {
		return p.Entities[template]
	}
	return nil
}
