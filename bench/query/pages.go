package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/api/dashboards/dashboardtest"
	"github.com/ringwatch/ringwatch/bench/peers"
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
	files, err := filepath.Glob(filepath.Join(f.dashboards, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no dashboards: %v", f.dashboards, err)
	}
	var list []question
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var d dashboardtest.Dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if !slices.Contains(d.Tags, "cassandra") {
			continue // the set has nodes of Cassandra alone
		}
		q := question{group: page,
			title: "page " + strings.TrimSuffix(filepath.Base(file), ".json")}
		values := dashboardtest.BuiltIn()
		for _, v := range d.Templating.List {
			values[v.Name] = ".*"
		}
		if strings.Contains(string(text), `=\"$cluster\"`) {
			values["cluster"] = b.variables.clusters[0]
		}
		values["table"] = b.variables.table
		for i := range d.Panels {
			p := &d.Panels[i]
			for _, t := range p.Targets {
				one := question{group: panel,
					title: fmt.Sprintf("%s: %s %s", strings.TrimSuffix(filepath.Base(file),
						".json"), p.Title, t.RefID)}
				if one.promql, err = dashboardtest.Expand(t.Expr, values); err != nil {
					return nil, fmt.Errorf("%s: %w", one.title, err)
				}
				if one.theirs, err = peers.Words(one.promql, func(metric string) bool {
					return native[metric]
				}); err != nil {
					return nil, fmt.Errorf("%s: %w", one.title, err)
				}
				if !t.Instant {
					one.span, one.step = 6*time.Hour, time.Minute
				}
				if strings.Contains(one.promql, "histogram_quantile") {
					one.near = sameBucket
				}
				q.panels = append(q.panels, one)
			}
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
