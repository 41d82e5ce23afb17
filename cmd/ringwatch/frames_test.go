package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window"
)

// sent is what became of one frame.
type sent struct {
	at       int64
	accepted bool
	entities [][]frametest.Entity // the node's state
}

const (
	killWindows = 3  // that frames of a test come to
	killFrames  = 50 // a window
)

func post(ctx context.Context, l *line.Line, b []byte) bool {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Ingest+"/v1/frames",
		bytes.NewReader(b))
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+l.Key)
	req.Header.Set("Content-Type", frame.ContentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode/100 == 2
}

func copyEntities(entities [][]frametest.Entity) [][]frametest.Entity {
	all := make([][]frametest.Entity, len(entities))
	for t := range entities {
		for _, e := range entities[t] {
			cells := slices.Clone(e.Cells)
			for i := range cells {
				cells[i].Counts = slices.Clone(cells[i].Counts)
			}
			all[t] = append(all[t], frametest.Entity{Labels: e.Labels, Cells: cells})
		}
	}
	return all
}

func mustStore(t *testing.T, l *line.Line) *store.Store {
	t.Helper()
	c := store.DefaultConfig()
	c.Hosts = []string{l.Cassandra.Addr()}
	c.Timeout = time.Minute // a crowded machine is no outage
	db, err := store.New(c, store.NewMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// checkNode waits until all accepted frames of a node are answered and all its windows are
// columns, and compares every value.
func checkNode(t *testing.T, db *store.Store, account string, node *frametest.Node, frames []sent,
	first int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	byAt := map[int64]*sent{}
	for i := range frames {
		byAt[frames[i].at] = &frames[i]
	}
	to := first + killWindows*frame.WindowMillis - 1
	err := line.Until(ctx, "all accepted frames of node "+node.ID.String(),
		func(ctx context.Context) error {
			all, report, err := db.Reader(store.Dashboard(account), memory.Unbounded()).Read(ctx,
				account, node.ID, first, to)
			if err != nil {
				return err
			}
			if report.Raw != killWindows || report.Fresh != 0 {
				return fmt.Errorf("%d windows are columns, %d are fresh", report.Raw, report.Fresh)
			}
			return compare(all, node, byAt)
		})
	if err != nil {
		t.Errorf("%v", err)
	}
}

func compare(all []window.Series, node *frametest.Node, byAt map[int64]*sent) error {
	byLabels := map[string]*window.Series{}
	for i := range all {
		key := all[i].Labels.String()
		if byLabels[key] != nil {
			return fmt.Errorf("series %s is there twice", key)
		}
		byLabels[key] = &all[i]
	}
	for template, tpl := range node.Templates {
		for m, metric := range tpl.Metrics {
			for e := range node.Entities[template] {
				b := labels.NewBuilder(labels.FromStrings("__name__", metric.Name, "cluster",
					node.Cluster, "datacenter", node.Identity.Datacenter,
					"rack", node.Identity.Rack, "node", node.ID.String()))
				for i, name := range tpl.Labels {
					b.Set(name, node.Entities[template][e].Labels[i])
				}
				key := b.Labels().String()
				s := byLabels[key]
				if s == nil {
					return fmt.Errorf("series %s is missing", key)
				}
				if err := compareSeries(s, metric.Kind, byAt, func(f *sent) frametest.Cell {
					return f.entities[template][e].Cells[m]
				}); err != nil {
					return fmt.Errorf("%s: %w", key, err)
				}
				delete(byLabels, key)
			}
		}
	}
	for key := range byLabels {
		return fmt.Errorf("series %s was never sent", key)
	}
	return nil
}

func compareSeries(s *window.Series, kind frame.Kind, byAt map[int64]*sent,
	cell func(*sent) frametest.Cell) error {
	found := map[int64]bool{}
	for i, at := range s.At {
		f := byAt[at]
		if f == nil {
			return fmt.Errorf("a value at %d, when no frame was sent", at)
		}
		if found[at] {
			return fmt.Errorf("two values at %d", at)
		}
		found[at] = true
		want := cell(f)
		if want.Absent {
			return fmt.Errorf("a value at %d, where there was none", at)
		}
		var equal bool
		switch kind {
		case frame.Counter, frame.Gauge:
			equal = s.Ints[i] == want.Int
		case frame.GaugeDouble:
			equal = s.Doubles[i] == want.Double
		case frame.String:
			equal = s.Strings[i] == want.Text
		default:
			equal = slices.Equal(s.Histograms[i].Dense(nil), want.Counts) &&
				s.Histograms[i].Sum == want.Sum
		}
		if !equal {
			return fmt.Errorf("another value at %d than %+v", at, want)
		}
	}
	for at, f := range byAt {
		if f.accepted && !found[at] && !cell(f).Absent {
			return fmt.Errorf("the frame at %d was accepted and is not there", at)
		}
	}
	return nil
}
