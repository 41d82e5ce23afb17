package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// peer is a Prometheus or a VictoriaMetrics as a side.
type peer struct{ *peers.Peer }

func (p *peer) name() string { return p.Name }

func (p *peer) pid() int { return p.Pid() }

func (p *peer) rows() float64 { return 0 }

func (p *peer) write(ctx context.Context, _ *dataset, _ int64, windows []*window.Window) error {
	for _, w := range windows {
		if err := p.Write(ctx, selecting.Select(w, 0, 1<<60), nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) settle(ctx context.Context, d *dataset) error {
	return p.Settle(ctx, d.start, d.end)
}

// answer is Prometheus's.
type answer struct {
	Data struct {
		Result []struct {
			Value      []any
			Histogram  []any
			Values     [][]any
			Histograms [][]any
		}
	}
}

func (p *peer) query(ctx context.Context, path string, form url.Values) (series,
	points int, err error) {
	b, err := p.Get(ctx, path, form)
	if err != nil {
		return 0, 0, err
	}
	var a answer
	if err := json.Unmarshal(b, &a); err != nil {
		return 0, 0, err
	}
	for _, r := range a.Data.Result {
		points += len(r.Values) + len(r.Histograms)
		if r.Value != nil || r.Histogram != nil {
			points++
		}
	}
	return len(a.Data.Result), points, nil
}

func seconds(millis int64) string { return strconv.FormatFloat(float64(millis)/1000, 'f', 3, 64) }

// latest asks for everything of a node at the last instant.
func (p *peer) latest(ctx context.Context, d *dataset, node int) (series, points int, err error) {
	return p.query(ctx, "/api/v1/query",
		url.Values{"query": {fmt.Sprintf("{node=%q}", d.nodes[node])}, "time": {seconds(d.end)},
			"nocache": {"1"}})
}

// read asks for raw samples, one query for all nodes.
func (p *peer) read(ctx context.Context, d *dataset, nodes []int, what selection) (series,
	points int, err error) {
	var ids, matchers []string
	for _, n := range nodes {
		ids = append(ids, d.nodes[n].String())
	}
	for name, value := range what.labels {
		operator := "="
		if name == "__name__" && p.Form != peers.Native { // a histogram is several series there
			operator, value = "=~", value+"(_bucket|_sum)?"
		}
		matchers = append(matchers, fmt.Sprintf("%s%s%q", name, operator, value))
	}
	matchers = append(matchers, fmt.Sprintf("node=~%q", strings.Join(ids, "|")))
	q := fmt.Sprintf("{%s}[%ds]", strings.Join(matchers, ","), (what.to+1-what.from)/1000)
	return p.query(ctx, "/api/v1/query", url.Values{"query": {q}, "time": {seconds(what.to)},
		"nocache": {"1"}})
}

// coarse asks for everything of a node at five minutes.
func (p *peer) coarse(ctx context.Context, d *dataset, node int, from int64) (series,
	points int, err error) {
	return p.query(ctx, "/api/v1/query_range",
		url.Values{"query": {fmt.Sprintf("{node=%q}", d.nodes[node])}, "step": {"300"},
			"start": {seconds(from + 300_000)}, "end": {seconds(d.end)}, "nocache": {"1"}})
}
