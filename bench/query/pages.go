package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench/crowd"
)

// pages are the dashboards of a folder as questions: all panels of each, over six hours by the
// minute, with everything chosen that can be. Only a set with all metrics has them.
func (f *report) pages(ctx context.Context, b *bed) ([]question, error) {
	if b.set.Few || f.dashboards == "" {
		return nil, nil
	}
	native, err := histograms(ctx, b.sides[0])
	if err != nil {
		return nil, err
	}
	panels, err := crowd.Panels(f.dashboards, b.variables.clusters[0], b.variables.table,
		func(metric string) bool { return native[metric] })
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

// histograms asks which metrics are.
func histograms(ctx context.Context, s *side) (map[string]bool, error) {
	body, err := s.open(ctx, "/api/v1/metadata", nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var a struct {
		Data map[string][]struct{ Type string }
	}
	if err := json.NewDecoder(body).Decode(&a); err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for name, list := range a.Data {
		found[name] = len(list) > 0 &&
			(list[0].Type == "histogram" || list[0].Type == "gaugehistogram")
	}
	return found, nil
}
