package scrape

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// run starts one of Debian's programs until the test ends, and waits until it answers.
func run(t *testing.T, program string, port int, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatalf("%s is missing: apt-get install %s", program, program)
	}
	log := filepath.Join(t.TempDir(), program+".log")
	p, err := engines.StartProcess(engines.ProcessConfig{Name: program, Path: path, Args: args,
		Log: log, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("%s says\n%s", program, text)
		}
	})
	address := "127.0.0.1:" + strconv.Itoa(port)
	eventually.Nil(t, program, func() error {
		answer, err := http.Get("http://" + address + "/metrics")
		if err == nil {
			answer.Body.Close()
		}
		return err
	})
	return address
}

// prometheusHas returns what a Prometheus has of a job, as values does.
func prometheusHas(t *testing.T, address, job string) map[string]float64 {
	t.Helper()
	answer, err := http.Get("http://" + address + "/api/v1/query?query=" +
		url.QueryEscape(fmt.Sprintf(`{job=%q}`, job)))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if json.NewDecoder(answer.Body).Decode(&body) != nil {
		return nil // it is not ready
	}
	all := map[string]float64{}
	for _, s := range body.Data.Result {
		name := s.Metric["__name__"]
		for _, l := range []string{"__name__", "job", "instance"} {
			delete(s.Metric, l)
		}
		for _, l := range []string{"le", "quantile"} { // Prometheus 3 writes 1.0 where 2 wrote 1
			if v, err := strconv.ParseFloat(s.Metric[l], 64); err == nil {
				s.Metric[l] = number(v)
			}
		}
		v, _ := strconv.ParseFloat(s.Value[1].(string), 64)
		if !math.IsNaN(v) { // frames have none
			all[text(name, s.Metric)] = v
		}
	}
	return all
}

// TestRealTargets reads real programs and what a role of ours has, beside Debian's Prometheus with
// the same section, and compares the series and the values of those that stood still.
func TestRealTargets(t *testing.T) {
	engines.Needed(t, "node_exporter, VictoriaMetrics and Prometheus")
	ports := engines.FreePorts(t, 3)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	node := run(t, "prometheus-node-exporter", ports[0], "--web.listen-address="+at(0),
		"--no-collector.systemd")
	victoria := run(t, "victoria-metrics", ports[1], "-httpListenAddr="+at(1),
		"-storageDataPath="+t.TempDir())
	role := httptest.NewServer(promhttp.HandlerFor(ownRegistry(t), promhttp.HandlerOpts{
		EnableOpenMetrics: true}))
	defer role.Close()

	section := fmt.Sprintf(`
- job_name: node
  static_configs:
  - targets: ['%s']
    labels: {env: test}
- job_name: prometheus
  static_configs: [{targets: ['%s']}]
- job_name: victoria
  static_configs: [{targets: ['%s']}]
  metric_relabel_configs:
  - {source_labels: [__name__], regex: 'vm_concurrent_.*', action: drop}
- job_name: ours
  static_configs: [{targets: ['%s']}]
  relabel_configs: [{source_labels: [__address__], regex: '.*:(.*)', target_label: port}]
`, node, at(2), victoria, strings.TrimPrefix(role.URL, "http://"))
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte("global: {scrape_interval: 1s}\nscrape_configs:"+section),
		0o600); err != nil {
		t.Fatal(err)
	}
	beside := run(t, "prometheus", ports[2], "--config.file="+file, "--storage.tsdb.path="+dir,
		"--web.listen-address="+at(2))
	r := start(t, section, func(c *Config, _ *Deps) {
		c.Interval, c.Timeout = time.Second, time.Second
	})
	for _, job := range []string{"node", "prometheus", "victoria", "ours"} {
		// A gauge may rise and fall between two scrapes, so a series is to be equal once.
		still, equal := map[string]bool{}, map[string]bool{}
		eventually.Nil(t, job+" as Prometheus has it", func() error {
			before := prometheusHas(t, beside, job)
			r.drop()
			x := r.next(job, func(x taken) bool { return x.target.Job == job && isUp(x) })
			ours := values(x.Reading)
			time.Sleep(1100 * time.Millisecond)
			after := prometheusHas(t, beside, job)
			var wrong []string
			for name, v := range after {
				w, there := ours[name]
				if !there {
					wrong = append(wrong, name+" is missing")
				}
				if before[name] != v || strings.HasPrefix(name, "scrape_") ||
					name == "prometheus_tsdb_head_active_appenders" {
					continue // in motion, or of Prometheus's own scrape
				}
				if still[name] = true; there && (w == v || near(name, w, v)) {
					equal[name] = true
				}
				if !equal[name] {
					wrong = append(wrong, fmt.Sprintf("%s is %v, not %v", name, w, v))
				}
			}
			for name := range ours {
				if _, there := after[name]; !there {
					wrong = append(wrong, name+" is there alone")
				}
			}
			if len(wrong) > 0 || len(still) < 30 {
				return fmt.Errorf("of %d series, %d of them still: %d differ: %.400q", len(after),
					len(still), len(wrong), wrong)
			}
			for _, target := range r.Targets() {
				if target.Job == job && (target.Error != "" || !target.Up) {
					return errors.New(target.Error)
				}
			}
			t.Logf("%s: %d series, %d of them stood still and are equal", job, len(after),
				len(equal))
			return nil
		})
	}
	x := r.next("node_exporter's facts", func(x taken) bool { return x.target.Job == "node" })
	if len(x.Facts) != 3 || x.Facts[0].Value != node {
		t.Errorf("facts are %v", x.Facts)
	}
}

// near takes sums of histograms for equal that are not multiples of the last place.
func near(name string, a, b float64) bool {
	return strings.Contains(name, "_sum") && math.Abs(a-b) <= 1e-6
}

// ownRegistry has what a role of ours has: Go's and the process's metrics, a summary and a
// histogram.
func ownRegistry(t *testing.T) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "ringwatch_request_duration_seconds", Help: "h",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 15)}, []string{"code"})
	summary := prometheus.NewSummary(prometheus.SummaryOpts{Name: "ringwatch_s_seconds", Help: "s",
		Objectives: map[float64]float64{0.5: 0.05, 0.99: 0.001}})
	bytes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_sent_bytes_total",
		Help: "c"}, []string{"cluster", "topic", "quantile"})
	reg.MustRegister(latency, summary, bytes, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for i := range 100 {
		latency.WithLabelValues(strconv.Itoa(200 + i%3)).Observe(float64(i) / 64)
		summary.Observe(float64(i) / 64)
	}
	bytes.WithLabelValues("", "a", "").Add(1 << 40)
	bytes.WithLabelValues("", "b", "0.5").Add(12345)
	return reg
}
