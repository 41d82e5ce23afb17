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
)

// peer is a Prometheus or a VictoriaMetrics as a side.
type peer struct{ *peers.Peer }

func (p *peer) name() string { return p.Name }

func (p *peer) pid() int { return p.Pid() }

func (p *peer) write(ctx context.Context, _ *dataset, _ int, w *window.Window) error {
	return p.Write(ctx, w.Select(0, 1<<60), nil)
}

func (p *peer) settle(ctx context.Context, d *dataset) error { return p.Settle(ctx, d.start, d.end) }

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

func (p *peer) query(ctx context.Context, path string, form url.Values) (series, points int, err error) {
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
	return p.query(ctx, "/api/v1/query", url.Values{"query": {fmt.Sprintf("{node=%q}", d.nodes[node])}, "time": {seconds(d.end)}, "nocache": {"1"}})
}

// metric asks for the raw samples of one metric of some nodes, one query for all.
func (p *peer) metric(ctx context.Context, d *dataset, nodes []int, name string) (series, points int, err error) {
	var ids []string
	for _, n := range nodes {
		ids = append(ids, d.nodes[n].String())
	}
	if p.Form != peers.Native { // a histogram is several series there
		name = `__name__=~"` + name + `(_bucket|_sum)?"`
	} else {
		name = `__name__="` + name + `"`
	}
	q := fmt.Sprintf("{%s,node=~%q}[%ds]", name, strings.Join(ids, "|"), (d.end-d.start)/1000)
	return p.query(ctx, "/api/v1/query", url.Values{"query": {q}, "time": {seconds(d.end - 1)}, "nocache": {"1"}})
}

// coarse asks for everything of a node at five minutes.
func (p *peer) coarse(ctx context.Context, d *dataset, node int) (series, points int, err error) {
	return p.query(ctx, "/api/v1/query_range", url.Values{"query": {fmt.Sprintf("{node=%q}", d.nodes[node])}, "step": {"300"},
		"start": {seconds(d.start + 300_000)}, "end": {seconds(d.end)}, "nocache": {"1"}})
}
