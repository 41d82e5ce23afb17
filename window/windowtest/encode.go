package windowtest

import (
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// encode fills a frame with the node's state against n.key, by FORMAT.md and as plainly as can be.
func (n *Node) encode(f *frame.Frame) {
	if n.key == nil {
		f.Identity = frame.Identity{Datacenter: n.Datacenter, Rack: n.Rack,
			Facts: []frame.Fact{{Name: "os", Value: "Linux"}}}
		f.Bounds = n.bounds
		for _, t := range n.types {
			f.Templates = append(f.Templates, t.Template)
		}
	}
	for ti, t := range n.types {
		var base []*entity
		if n.key != nil {
			base = n.key.types[ti].live
		}
		var live []*entity   // in order of entity number
		var number []int     // of each
		var before []*entity // key frame's state of each, or nil
		var removed []int
		for i, b := range base {
			j := slices.IndexFunc(t.live, func(e *entity) bool { return e.born == b.born })
			if j < 0 {
				removed = append(removed, i)
				continue
			}
			live, number, before = append(live, t.live[j]), append(number, i), append(before, b)
		}
		var rows [][]string
		for _, e := range t.live {
			if !slices.ContainsFunc(base, func(b *entity) bool { return b.born == e.born }) {
				live, number, before = append(live, e), append(number, len(base)+len(rows)),
					append(before, nil)
				rows = append(rows, e.labels)
			}
		}
		if len(rows) > 0 {
			f.Added = append(f.Added, frame.Entities{Template: ti, Rows: rows})
		}
		if len(removed) > 0 {
			f.Removed = append(f.Removed, frame.Removed{Template: ti, Entities: removed})
		}
		presence, values := frame.Group{Template: ti}, frame.Group{Template: ti}
		for mi := range t.Metrics {
			m := &t.Metrics[mi]
			p, v := frame.Column{Metric: mi}, frame.Column{Metric: mi}
			for i, e := range live {
				now, zero := e.cells[mi], cell{counts: make([]int64, len(e.cells[mi].counts))}
				was := zero
				if before[i] != nil {
					was = before[i].cells[mi]
				}
				if now.absent != was.absent {
					p.Entities = append(p.Entities, number[i])
				}
				if was.absent {
					was = zero
				}
				if !now.absent && entry(&v, m, was, now) {
					v.Entities = append(v.Entities, number[i])
				}
			}
			for _, c := range []*frame.Column{&p, &v} {
				if len(c.Entities) == len(live) {
					c.All = true
				}
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

// entry appends an entry to a column if the value differs.
func entry(c *frame.Column, m *frame.Metric, was, now cell) bool {
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
		d := frame.Buckets{Sum: now.word - was.word}
		for i := range now.counts {
			if n := now.counts[i] - was.counts[i]; n != 0 {
				d.Index, d.Count = append(d.Index, int32(i)), append(d.Count, n)
			}
		}
		if d.Sum != 0 || len(d.Index) > 0 {
			c.Histograms = append(c.Histograms, d)
			return true
		}
	}
	return false
}
