package main

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// plain is an inverted index as time series databases have it: a row of labels per series, and
// for each label's value the numbers of the series that have it.
type plain struct {
	series   []labels.Labels
	postings map[string]map[string][]uint32
	all      []uint32
}

func newPlain() *plain { return &plain{postings: map[string]map[string][]uint32{}} }

func (p *plain) add(d *window.Dictionary) {
	build := labels.NewScratchBuilder(8)
	node := d.Node.String()
	for i := range d.Metrics {
		for _, row := range d.Rows {
			build.Reset()
			build.Add(labels.MetricName, d.Metrics[i].Name)
			build.Add("cluster", d.Cluster)
			build.Add("datacenter", d.Datacenter)
			build.Add("rack", d.Rack)
			build.Add("node", node)
			for j, l := range d.Labels {
				build.Add(l, row[j])
			}
			build.Sort()
			ls := build.Labels()
			n := uint32(len(p.series))
			p.series = append(p.series, ls)
			p.all = append(p.all, n)
			ls.Range(func(l labels.Label) {
				values := p.postings[l.Name]
				if values == nil {
					values = map[string][]uint32{}
					p.postings[l.Name] = values
				}
				values[l.Value] = append(values[l.Value], n)
			})
		}
	}
}

// find returns the series that match, ascending.
func (p *plain) find(matchers []*labels.Matcher) []uint32 {
	var found []uint32
	for i, m := range matchers {
		list := p.postingsOf(m)
		if i == 0 {
			found = list
		} else {
			found = intersect(found, list)
		}
		if len(found) == 0 {
			return nil
		}
	}
	return found
}

// postingsOf returns the series that one matcher matches. Matchers that match the empty text are
// not needed here.
func (p *plain) postingsOf(m *labels.Matcher) []uint32 {
	if m.Type == labels.MatchEqual {
		return p.postings[m.Name][m.Value]
	}
	var union []uint32
	for v, list := range p.postings[m.Name] {
		if m.Matches(v) {
			union = append(union, list...)
		}
	}
	slices.Sort(union)
	return union
}

func intersect(a, b []uint32) []uint32 {
	var both []uint32
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			both = append(both, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return both
}

// values returns the values of a label.
func (p *plain) values(name string) []string {
	list := make([]string, 0, len(p.postings[name]))
	for v := range p.postings[name] {
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}
