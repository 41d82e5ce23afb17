package fleet

import (
	"math"

	"github.com/ringwatch/ringwatch/frame"
)

// fill writes into a frame what differs from the window's key frame; everything if there is none
// yet.
func (n *Node) fill(f *frame.Frame) {
	key := n.key
	if key == nil {
		f.Identity = n.Identity
		f.Bounds = n.shape.bounds
		for ti, t := range n.shape.types {
			f.Templates = append(f.Templates, t.Template)
			if len(t.rows) > 0 {
				f.Added = append(f.Added, frame.Entities{Template: ti, Rows: t.rows})
			}
		}
	}
	for ti, t := range n.shape.types {
		presence, values := frame.Group{Template: ti}, frame.Group{Template: ti}
		for m := range t.Metrics {
			p, v := frame.Column{Metric: m}, frame.Column{Metric: m}
			for r := range t.rows {
				i := m*len(t.rows) + r
				now, was := &n.now[ti][i], &cell{}
				if key != nil {
					was = &key[ti][i]
				}
				if now.absent != was.absent {
					p.Entities = append(p.Entities, r)
				}
				if was.absent {
					was = &cell{}
				}
				if !now.absent && appendDifference(&v, &t.Metrics[m], was, now) {
					v.Entities = append(v.Entities, r)
				}
			}
			for _, c := range []*frame.Column{&p, &v} {
				c.All = len(c.Entities) == len(t.rows)
			}
			if len(p.Entities) > 0 {
				presence.Columns = append(presence.Columns, p)
			}
			if len(v.Entities) > 0 {
				values.Columns = append(values.Columns, v)
			}
		}
		if len(presence.Columns) > 0 {
			f.Presence = append(f.Presence, presence)
		}
		if len(values.Columns) > 0 {
			f.Values = append(f.Values, values)
		}
	}
}

// appendDifference appends an entry to a column if the value differs.
func appendDifference(c *frame.Column, m *frame.Metric, was, now *cell) bool {
	switch m.Kind {
	case frame.Counter, frame.Gauge:
		if now.word != was.word {
			c.Ints = append(c.Ints, now.word-was.word)
			return true
		}
	case frame.GaugeDouble:
		if math.Float64bits(now.double) != math.Float64bits(was.double) {
			c.Doubles = append(c.Doubles, now.double)
			return true
		}
	case frame.String:
		if now.text != was.text {
			c.Strings = append(c.Strings, now.text)
			return true
		}
	default:
		d := frame.Buckets{}
		if m.HasSum {
			d.Sum = now.word - was.word
		}
		for b, count := range now.counts {
			if was.counts != nil {
				count -= was.counts[b]
			}
			if count != 0 {
				d.Index, d.Count = append(d.Index, int32(b)), append(d.Count, count)
			}
		}
		if d.Sum != 0 || len(d.Index) > 0 {
			c.Histograms = append(c.Histograms, d)
			return true
		}
	}
	return false
}
