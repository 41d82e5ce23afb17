package numbering

import (
	"iter"

	"github.com/ringwatch/ringwatch/frame"
)

// Columns are what a frame says of a metric; nil: nothing.
type Columns struct{ Presence, Values *frame.Column }

func ColumnsOf(list []*Columns, metric int) Columns {
	if metric < len(list) && list[metric] != nil {
		return *list[metric]
	}
	return Columns{}
}

// ColumnsByMetric returns what the frame says of a template's metrics, by metric of the dictionary;
// nil if it says nothing.
func (p *Pass) ColumnsByMetric(m *Metrics) (list []*Columns) {
	if m == nil {
		return nil
	}
	column := func(c *frame.Column) *Columns {
		if list == nil {
			list = make([]*Columns, len(m.Dictionary.Result.Metrics))
		}
		n := m.toDictionary[c.Metric]
		if list[n] == nil {
			list[n] = &Columns{}
		}
		return list[n]
	}
	for c := range p.groupColumns(p.Frame.Presence, m) {
		column(c).Presence = c
	}
	for c := range p.groupColumns(p.Frame.Values, m) {
		column(c).Values = c
	}
	return list
}

// groupColumns are the columns that groups of a frame have of a template.
func (p *Pass) groupColumns(groups []frame.Group, m *Metrics) iter.Seq[*frame.Column] {
	return func(yield func(*frame.Column) bool) {
		for g := range groups {
			if p.Templates[groups[g].Template] != m {
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
