package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/engines"
	"github.com/ringwatch/ringwatch/window"
)

// peerModules are the peers' versions: small modules of their own below bench/store/peers, built into the engines' cache.
var peerModules = map[string]string{
	"prometheus":        "github.com/prometheus/prometheus/cmd/prometheus",
	"prometheus-native": "github.com/prometheus/prometheus/cmd/prometheus", // the same with histograms as native ones
	"victoriametrics":   "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics",
}

// buildPeer returns a peer's program, building it the first time: VictoriaMetrics in half a minute, Prometheus in five. The version is its module's.
func buildPeer(ctx context.Context, name string, progress func(string, ...any)) (program, version string, err error) {
	pkg := peerModules[name]
	name, _, _ = strings.Cut(name, "-")
	dir := filepath.Join("bench", "store", "peers", name)
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Version}}", pkg)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return "", "", fmt.Errorf("%s: %w; run make bench-store from the repository's root", dir, err)
	}
	version = strings.TrimSpace(string(out))
	cache, err := engines.CacheDir()
	if err != nil {
		return "", "", err
	}
	program = filepath.Join(cache, "peers", name+"-"+version)
	if _, err := os.Stat(program); err == nil {
		return program, version, nil
	}
	progress("building %s %s, once for all later runs", name, version)
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", program+".new", pkg)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("building %s: %w\n%s", name, err, out)
	}
	return program, version, os.Rename(program+".new", program)
}

// peer is a running Prometheus or VictoriaMetrics.
type peer struct {
	label   string
	version string
	dir     string
	url     string
	native  bool // takes histograms as one series
	process *engines.Process
	start   func(context.Context) error
	disk    func() (data, index int64, err error)
	flush   func(context.Context, *peer, *dataset) error
	pending []prompb.TimeSeries
}

func startPeer(ctx context.Context, name, dir string, progress func(string, ...any)) (*peer, error) {
	program, version, err := buildPeer(ctx, name, progress)
	if err != nil {
		return nil, err
	}
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	p := &peer{label: name, version: version, dir: filepath.Join(dir, name), url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	var args []string
	data := filepath.Join(p.dir, "data")
	switch name {
	case "prometheus", "prometheus-native":
		p.native, p.flush = name != "prometheus", flushPrometheus
		p.disk = func() (int64, int64, error) { return blockBytes(data) }
		config := filepath.Join(p.dir, "prometheus.yml")
		if err := os.WriteFile(config, []byte("global: {}\n"), 0o600); err != nil {
			return nil, err
		}
		args = []string{"--config.file=" + config, "--storage.tsdb.path=" + data, "--storage.tsdb.retention.time=5y", "--web.enable-remote-write-receiver",
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port)}
	case "victoriametrics":
		p.flush = flushVictoria
		p.disk = func() (int64, int64, error) { return victoriaBytes(data) }
		args = []string{"-storageDataPath=" + data, "-retentionPeriod=5y", fmt.Sprintf("-httpListenAddr=127.0.0.1:%d", port), "-search.maxUniqueTimeseries=10000000"}
	}
	p.start = func(ctx context.Context) (err error) {
		if p.process, err = engines.StartProcess(engines.ProcessConfig{Name: name, Path: program, Args: args, Log: filepath.Join(p.dir, name+".log")}); err != nil {
			return err
		}
		return p.wait(ctx)
	}
	return p, p.start(ctx)
}

// wait waits until the peer answers.
func (p *peer) wait(ctx context.Context) error {
	ready, cancel := context.WithTimeout(ctx, engines.StartTimeout)
	defer cancel()
	err := line.Until(ready, p.label, func(ctx context.Context) error {
		if !p.process.Running() {
			cancel()
		}
		_, err := p.get(ctx, map[bool]string{false: "/-/ready", true: "/health"}[p.label == "victoriametrics"], nil)
		return err
	})
	if err != nil {
		p.process.Kill()
		words, _ := engines.LastWords(p.process.LogFile())
		return fmt.Errorf("%w; its log ends with %q", err, words)
	}
	return nil
}

func (p *peer) get(ctx context.Context, path string, form url.Values) ([]byte, error) {
	var body io.Reader
	method := http.MethodGet
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, body)
	if err != nil {
		return nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return p.do(req)
}

func (p *peer) do(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answered %s: %.300s", p.label, resp.Status, b)
	}
	return b, err
}

// samplesPerWrite is how many samples a remote-write request carries, as Prometheus's own sender does by the thousand.
const samplesPerWrite = 5000

func (p *peer) name() string { return p.label }

func (p *peer) pid() int { return p.process.Pid() }

// write sends a node's window, a request for some thousand samples.
func (p *peer) write(ctx context.Context, d *dataset, node int, w *window.Window) error {
	n := 0
	for _, s := range w.Select(0, 1<<60) {
		for _, ts := range p.translate(&s) {
			p.pending = append(p.pending, ts)
			if n += len(ts.Samples) + len(ts.Histograms); n >= samplesPerWrite {
				if err := p.send(ctx); err != nil {
					return err
				}
				n = 0
			}
		}
	}
	return p.send(ctx)
}

func (p *peer) send(ctx context.Context) error {
	if len(p.pending) == 0 {
		return nil
	}
	b, err := (&prompb.WriteRequest{Timeseries: p.pending}).Marshal()
	if err != nil {
		return err
	}
	p.pending = p.pending[:0]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/api/v1/write", bytes.NewReader(s2.EncodeSnappy(nil, b)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	_, err = p.do(req)
	return err
}

func (p *peer) settle(ctx context.Context, d *dataset) error { return p.flush(ctx, p, d) }

func (p *peer) stop() {
	if p.process != nil {
		p.process.Kill()
	}
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

func (p *peer) query(ctx context.Context, path string, form url.Values) (series, points int, err error) {
	b, err := p.get(ctx, path, form)
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
	if !p.native { // a histogram is several series there
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

// marker is a series that only moves Prometheus's clock.
func (p *peer) marker(ctx context.Context, at int64) error {
	p.pending = append(p.pending, prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: "marker"}}, Samples: []prompb.Sample{{Value: 1, Timestamp: at}}})
	return p.send(ctx)
}

// flushPrometheus makes blocks of all data: the head is cut when something comes that is three hours newer, and blocks of two hours become one of six when there are
// two later ones. It polls until neither head nor small blocks hold data.
func flushPrometheus(ctx context.Context, p *peer, d *dataset) error {
	for _, hours := range []int64{4, 6, 8, 11} {
		if err := p.marker(ctx, d.end+hours*3600_000+1800_000); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	return line.Until(ctx, "Prometheus to compact", func(ctx context.Context) error {
		b, err := p.get(ctx, "/api/v1/status/tsdb", nil)
		if err != nil {
			return err
		}
		var s struct {
			Data struct{ HeadStats struct{ MinTime int64 } }
		}
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if s.Data.HeadStats.MinTime < d.end {
			return fmt.Errorf("its head still begins at %d", s.Data.HeadStats.MinTime)
		}
		blocks, err := readBlocks(filepath.Join(p.dir, "data"))
		if err != nil {
			return err
		}
		small := 0
		for _, m := range blocks {
			if m.MinTime < d.end && m.MaxTime-m.MinTime < 6*3600_000 {
				small++
			}
		}
		if small > 1 && d.end-d.start > 2*3600_000 {
			return fmt.Errorf("%d small blocks are left", small)
		}
		return nil
	})
}

type block struct {
	MinTime, MaxTime int64
	dir              string
}

func readBlocks(dir string) ([]block, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	var list []block
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // being replaced
		}
		m := block{dir: filepath.Dir(f)}
		if json.Unmarshal(b, &m) == nil {
			list = append(list, m)
		}
	}
	return list, err
}

func blockBytes(dir string) (data, index int64, err error) {
	blocks, err := readBlocks(dir)
	for _, b := range blocks {
		n, err := dirBytes(filepath.Join(b.dir, "chunks"))
		if err != nil {
			return 0, 0, err
		}
		i, err := os.Stat(filepath.Join(b.dir, "index"))
		if err != nil {
			return 0, 0, err
		}
		data, index = data+n, index+i.Size()
	}
	return data, index, err
}

// flushVictoria merges all parts of a month to one. What is in memory it writes when it ends, so it is started anew.
func flushVictoria(ctx context.Context, p *peer, d *dataset) error {
	if err := p.process.Stop(ctx); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
	for _, path := range []string{"/internal/force_flush", "/internal/force_merge"} {
		if _, err := p.get(ctx, path, nil); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	quiet := 0
	return line.Until(ctx, "VictoriaMetrics to merge", func(ctx context.Context) error {
		b, err := p.get(ctx, "/metrics", nil)
		if err != nil {
			return err
		}
		for _, l := range strings.Split(string(b), "\n") {
			if busy := strings.HasPrefix(l, "vm_active_merges{") || strings.HasPrefix(l, "vm_active_force_merges"); busy && !strings.HasSuffix(l, " 0") {
				quiet = 0
				return fmt.Errorf("it merges: %s", l)
			}
		}
		if quiet++; quiet < 50 { // a merge that begins a moment later
			return fmt.Errorf("it may still begin to merge")
		}
		return nil
	})
}

func victoriaBytes(dir string) (data, index int64, err error) {
	if data, err = dirBytes(filepath.Join(dir, "data")); err != nil {
		return 0, 0, err
	}
	index, err = dirBytes(filepath.Join(dir, "indexdb"))
	return data, index, err
}

func dirBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		i, err := e.Info()
		if err == nil {
			n += i.Size()
		}
		return err
	})
	return n, err
}
