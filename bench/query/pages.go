package main

import (
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench/crowd"
)

// pages are the dashboards of a folder as questions: all panels of each, over six hours by the
// minute, with everything chosen that can be. Only a set with all metrics has them.
func (f *report) pages(b *bed) ([]question, error) {
	if b.set.Few || f.dashboards == "" {
		return nil, nil
	}
	panels, err := crowd.Panels(f.dashboards, b.variables.clusters[0], b.variables.table,
		b.native)
	if err != nil {
		return nil, err
	}
	var list []question
	for len(panels) > 0 {
		q := question{group: page, title: "page " + panels[0].Board}
		for board := panels[0].Board; len(panels) > 0 && panels[0].Board == board; {
			p := panels[0]
			panels = panels[1:]
			one := question{group: panel, title: p.Title, promql: p.Words, theirs: p.Theirs}
			if p.Span > 0 {
				one.span, one.step = 6*time.Hour, time.Minute
			}
			if strings.Contains(one.promql, "histogram_quantile") {
				one.near = sameBucket
			}
			q.panels = append(q.panels, one)
		}
		q.panels = within(q.panels, b.set.span(), f.rounds)
		for i := range q.panels {
			if span := q.panels[i].span; span > 0 {
				q.title += ", " + spanText(span) + " at 1 min"
				break
			}
		}
		list = append(list, q)
	}
	return list, nil
}
