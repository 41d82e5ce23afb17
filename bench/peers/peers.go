// Package peers runs the time series databases that Ringwatch is measured beside, a Prometheus
// and a VictoriaMetrics of known versions, and writes to them what a fleet's windows hold, in a
// form that suits each.
package peers

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/window"
)

// Modules are the peers by name; their versions are those of small modules of their own below
// bench/peers, built into the engines' cache.
var Modules = map[string]string{
	"prometheus":      "github.com/prometheus/prometheus/cmd/prometheus",
	"victoriametrics": "github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics",
}

// build returns a peer's program, building it the first time: VictoriaMetrics in half a minute,
// Prometheus in five. The version is its module's.
func build(ctx context.Context, name string, progress func(string, ...any)) (program,
	version string, err error) {
	pkg := Modules[name]
	dir := filepath.Join("bench", "peers", name)
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Module.Version}}", pkg)
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return "", "", fmt.Errorf("%s: %w; run make from the repository's root", dir, err)
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

// Form is how a peer keeps histograms.
type Form int

const (
	// Sparse is a counter for each bucket that was used, not cumulative over buckets, and a sum:
	// the smallest form that holds all.
	Sparse Form = iota
	// Classic is what a Prometheus that scrapes Ringwatch keeps: _bucket with le, _sum and
	// _count. Histograms that have counted nothing are left out.
	Classic
)

// Peer is a running Prometheus or VictoriaMetrics.
type Peer struct {
	Name, Version string
	URL           string
	Form          Form
	Samples       int64 // that were sent

	dir     string
	process *engines.Process
	start   func(context.Context) error
	pending []prompb.TimeSeries
}

// Start starts a peer on a free port, with its data below dir. It builds the program if no earlier
// run has. sections are of a Prometheus's configuration, as YAML; its files are named by absolute
// paths.
func Start(
	ctx context.Context, name, dir string, progress func(string, ...any), sections ...string,
) (*Peer, error) {
	program, version, err := build(ctx, name, progress)
	if err != nil {
		return nil, err
	}
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return nil, err
	}
	p := &Peer{Name: name, Version: version, dir: filepath.Join(dir, name),
		URL: fmt.Sprintf("http://127.0.0.1:%d", port)}
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return nil, err
	}
	var args []string
	data := filepath.Join(p.dir, "data")
	switch name {
	case "prometheus":
		config := filepath.Join(p.dir, "prometheus.yml")
		text := cmp.Or(strings.Join(sections, ""), "global: {}\n")
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			return nil, err
		}
		args = []string{"--config.file=" + config, "--storage.tsdb.path=" + data,
			"--storage.tsdb.retention.time=5y", "--web.enable-remote-write-receiver",
			fmt.Sprintf("--web.listen-address=127.0.0.1:%d", port)}
	case "victoriametrics":
		args = []string{"-storageDataPath=" + data, "-retentionPeriod=5y",
			fmt.Sprintf("-httpListenAddr=127.0.0.1:%d", port),
			"-search.maxUniqueTimeseries=10000000",
			"-search.latencyOffset=0s"} // else it gives the value before for what is younger
	}
	p.start = func(ctx context.Context) (err error) {
		if p.process, err = engines.StartProcess(engines.ProcessConfig{Name: name, Path: program,
			Args: args, Log: filepath.Join(p.dir, name+".log")}); err != nil {
			return err
		}
		return p.wait(ctx)
	}
	return p, p.start(ctx)
}

// wait waits until the peer answers.
func (p *Peer) wait(ctx context.Context) error {
	ready, cancel := context.WithTimeout(ctx, engines.StartTimeout)
	defer cancel()
	err := line.Until(ready, p.Name, func(ctx context.Context) error {
		if !p.process.Running() {
			cancel()
		}
		_, err := p.Get(ctx,
			map[bool]string{false: "/-/ready", true: "/health"}[p.Name == "victoriametrics"], nil)
		return err
	})
	if err != nil {
		p.process.Kill()
		words, _ := engines.LastWords(p.process.LogFile())
		return fmt.Errorf("%w; its log ends with %q", err, words)
	}
	return nil
}

// Get asks with GET, or with a form with POST.
func (p *Peer) Get(ctx context.Context, path string, form url.Values) ([]byte, error) {
	var body io.Reader
	method := http.MethodGet
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, p.URL+path, body)
	if err != nil {
		return nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return p.do(req)
}

func (p *Peer) do(req *http.Request) ([]byte, error) {
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answered %s: %.300s", p.Name, resp.Status, b)
	}
	return b, err
}

// samplesPerWrite is how many samples a remote-write request carries, as Prometheus's own sender
// does by the thousand.
const samplesPerWrite = 5000

// Pid is that of its process.
func (p *Peer) Pid() int { return p.process.Pid() }

// Write sends series, a request for some thousand samples. At those of the instants at which a
// series is there no more it ends, as one ends that a Prometheus scrapes; nil: it is not looked
// after.
func (p *Peer) Write(ctx context.Context, list []window.Series, instants []int64) error {
	n := 0
	for i := range list {
		for _, ts := range p.seriesOf(&list[i], instants) {
			p.pending = append(p.pending, ts)
			if n += len(ts.Samples); n >= samplesPerWrite {
				if err := p.send(ctx); err != nil {
					return err
				}
				n = 0
			}
		}
	}
	return p.send(ctx)
}

// seriesOf translates a series and ends it where it is there no more.
func (p *Peer) seriesOf(s *window.Series, instants []int64) []prompb.TimeSeries {
	list, ended := p.translate(s), ends(s.At, instants)
	for i := range list {
		ts := &list[i]
		if len(ended) == 0 || len(ts.Samples) == 0 {
			continue
		}
		for _, at := range ended {
			ts.Samples = append(ts.Samples,
				prompb.Sample{Timestamp: at, Value: math.Float64frombits(value.StaleNaN)})
		}
		slices.SortFunc(ts.Samples, func(a, b prompb.Sample) int {
			return cmp.Compare(a.Timestamp, b.Timestamp)
		})
	}
	return list
}

// ends returns the instants after one of at that are not in at; both ascend.
func ends(at, instants []int64) (list []int64) {
	there := false
	for _, t := range instants {
		_, found := slices.BinarySearch(at, t)
		if there && !found {
			list = append(list, t)
		}
		there = found
	}
	return list
}

// Send sends what is no series of a window.
func (p *Peer) Send(ctx context.Context, list ...prompb.TimeSeries) error {
	p.pending = append(p.pending, list...)
	return p.send(ctx)
}

func (p *Peer) send(ctx context.Context) error {
	if len(p.pending) == 0 {
		return nil
	}
	b, err := (&prompb.WriteRequest{Timeseries: p.pending}).Marshal()
	if err != nil {
		return err
	}
	for i := range p.pending {
		p.Samples += int64(len(p.pending[i].Samples))
	}
	p.pending = p.pending[:0]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL+"/api/v1/write",
		bytes.NewReader(s2.EncodeSnappy(nil, b)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	_, err = p.do(req)
	return err
}

// Restart ends it in good order and starts it again with the same data.
func (p *Peer) Restart(ctx context.Context) error {
	if err := p.process.Stop(ctx); err != nil {
		return err
	}
	return p.start(ctx)
}

// Stop ends it at once.
func (p *Peer) Stop() {
	if p.process != nil {
		p.process.Kill()
	}
}
