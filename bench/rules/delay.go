package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// delays are those of one evaluation interval's alerts.
type delays struct {
	Interval float64   // seconds
	Seconds  []float64 // from a sample's sending until Alertmanager has its alert
}

// less returns a quantile of the delays, less the interval.
func (d *delays) less(q float64) float64 { return bench.Quantile(d.Seconds, q) - d.Interval }

// intervals are those whose delay is measured, in seconds.
var intervals = []int{5, 15}

const (
	delayNodes    = 3
	delayInterval = 5 * time.Second // between a node's frames
	gaugeName     = "bench_signal"
)

// live is a small fleet whose first node has a gauge that alerts are about.
type live struct {
	*line.Line
	mu     sync.Mutex
	nodes  []*frametest.Node
	value  int64
	alerts string // URL of Alertmanager's
}

// delay measures how late alerts are at an Alertmanager, through Kafka and the real roles.
func (r *report) delay(ctx context.Context, o options, dir string) error {
	l, stop, err := startLive(ctx, o, filepath.Join(dir, "live"))
	if err != nil {
		return err
	}
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() { failed <- l.send(ctx) }()
	defer func() { cancel(); <-failed }()
	for _, seconds := range intervals {
		r.Delays = append(r.Delays, delays{Interval: float64(seconds)})
	}
	longest := intervals[len(intervals)-1]
	for k := range o.firings + 1 { // the first waits for the processes, too, and does not count
		found, err := l.fire(ctx)
		if err != nil {
			return err
		}
		if k > 0 {
			for i, s := range found {
				r.Delays[i].Seconds = append(r.Delays[i].Seconds, s)
			}
			bench.Progress("alert %d of %d: after %.2f s (every %d s), %.2f s (every %d s)", k,
				o.firings, found[0], intervals[0], found[1], intervals[1])
		}
		select {
		case <-time.After(time.Duration(rand.Int64N(int64(longest) * int64(time.Second)))):
		case err := <-failed:
			failed <- nil
			return fmt.Errorf("the nodes' frames: %w", err)
		}
	}
	return nil
}

func startLive(ctx context.Context, o options, dir string) (l *live, stop func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	file := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(file, []byte(signalRules()), 0o600); err != nil {
		return nil, nil, err
	}
	am, err := engines.StartAlertmanager(ctx, engines.AlertmanagerConfig{
		Dir: filepath.Join(dir, "alertmanager"), Config: "route: {receiver: none}\n" +
			"receivers: [{name: none}]\n"})
	if err != nil {
		return nil, nil, err
	}
	l = &live{alerts: "http://" + am.Addr() + "/api/v2/alerts"}
	l.Line, err = line.Start(ctx, line.Config{Dir: dir, Binary: o.binary, Progress: bench.Say,
		More: fmt.Sprintf("rules: {files: [%q]}\nnotify:\n  alertmanagers:\n"+
			"    - {static_configs: [{targets: [%q]}]}\n", file, am.Addr())})
	if err != nil {
		_ = am.Kill()
		return nil, nil, err
	}
	for i := range delayNodes {
		n := frametest.New("live", uint64(i+1), 10)
		n.Interval = delayInterval.Milliseconds()
		n.Templates = append(n.Templates, frame.Template{Type: "bench",
			Metrics: []frame.Metric{{Name: gaugeName, Kind: frame.Gauge}}})
		n.Entities = append(n.Entities, []frametest.Entity{{Cells: make([]frametest.Cell, 1)}})
		l.nodes = append(l.nodes, n)
	}
	return l, func() { l.Stop(); _ = am.Kill() }, nil
}

// signalRules has a rule of each interval; each value of the signal is an alert of its own.
func signalRules() string {
	text := "groups:\n"
	for _, s := range intervals {
		text += fmt.Sprintf("- name: every%d\n  interval: %ds\n  rules:\n  - alert: Every%d\n"+
			"    expr: %s > 0\n    for: 0s\n    labels: {signal: '{{ $value }}'}\n", s, s, s,
			gaugeName)
	}
	return text
}

// send sends each node's frames at their time until ctx ends.
func (l *live) send(ctx context.Context) error {
	for i := 0; ; i = (i + 1) % delayNodes {
		if err := l.frame(ctx, i); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-time.After(delayInterval / delayNodes):
		case <-ctx.Done():
			return nil
		}
	}
}

// frame sends a node's frame of this instant.
func (l *live) frame(ctx context.Context, i int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.nodes[i]
	n.Step()
	if i == 0 {
		n.Entities[len(n.Entities)-1][0].Cells[0].Int = l.value
	}
	return l.Post(ctx, l.Key, n.Frame(time.Now().UnixMilli()))
}

// fire changes the signal and returns after how many seconds Alertmanager has the alert of each
// interval.
func (l *live) fire(ctx context.Context) ([]float64, error) {
	l.mu.Lock()
	l.value++
	want := strconv.FormatInt(l.value, 10)
	l.mu.Unlock()
	began := time.Now()
	if err := l.frame(ctx, 0); err != nil {
		return nil, err
	}
	found := make([]float64, len(intervals))
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	address := l.alerts + "?filter=" + url.QueryEscape(fmt.Sprintf("signal=%q", want))
	return found, line.Until(ctx, "the alerts at Alertmanager", func(ctx context.Context) error {
		var list []struct{ Labels map[string]string }
		b, err := line.Get(ctx, line.Plain, address, "")
		if err == nil {
			err = json.Unmarshal(b, &list)
		}
		if err != nil {
			return err
		}
		missing := 0
		for i, seconds := range intervals {
			for _, a := range list {
				if a.Labels["alertname"] == fmt.Sprint("Every", seconds) && found[i] == 0 {
					found[i] = time.Since(began).Seconds()
				}
			}
			if found[i] == 0 {
				missing++
			}
		}
		if missing > 0 {
			return fmt.Errorf("%d alerts are not there", missing)
		}
		return nil
	})
}
