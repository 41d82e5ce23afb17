package own

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/send"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/following"
)

// ingest is one that answers as it is told, and keeps what it took.
type ingest struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	took   [][]byte
	asked  int
}

func mustIngest(t *testing.T) *ingest {
	t.Helper()
	i := &ingest{status: http.StatusNoContent}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.asked++
		b, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/frames" ||
			r.Header.Get("Authorization") != "Bearer rw_own" ||
			r.Header.Get("Content-Type") != frame.ContentType {
			t.Errorf("%v %s %v", err, r.URL.Path, r.Header)
		}
		if i.status == http.StatusNoContent {
			i.took = append(i.took, b)
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(i.status)
		if i.status != http.StatusNoContent {
			io.WriteString(w, `{"error":{"reason":"scope","message":"key own may not write"}}`)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *ingest) say(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
}

type rig struct {
	*Sender
	registry *prometheus.Registry
	ingest   *ingest
	log      bytes.Buffer
	now      time.Time
}

func mustRig(t *testing.T, change func(*Config)) *rig {
	t.Helper()
	r := &rig{registry: prometheus.NewRegistry(), ingest: mustIngest(t),
		now: time.UnixMilli(1_790_000_000_000)}
	c := DefaultConfig()
	c.URL, c.Key, c.Instance = r.ingest.URL+"/", "rw_own", "host-1:9470"
	if change != nil {
		change(&c)
	}
	var err error
	r.Sender, err = New(c, Deps{Gatherer: r.registry, Metrics: r.registry, Role: "api",
		Log: slog.New(slog.NewTextHandler(&r.log, nil)), Clock: func() time.Time { return r.now }})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// step lets an interval pass.
func (r *rig) step(t *testing.T) {
	r.now = r.now.Add(r.config.Interval)
	r.pass(t.Context(), true)
}

func (r *rig) value(t *testing.T, name string) (sum float64) {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.Metric {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// ledger checks that each frame is somewhere.
func (r *rig) ledger(t *testing.T) {
	t.Helper()
	made := r.value(t, "ringwatch_self_frames_total")
	found := r.value(t, "ringwatch_self_sent_total") + r.value(t, "ringwatch_self_dropped_total") +
		r.value(t, "ringwatch_self_queued")
	if made != found || made == 0 {
		t.Errorf("%v frames were made, %v are accounted for", made, found)
	}
}

// read returns the series of a frame as readers see them.
func read(t *testing.T, b []byte) map[string]*following.Cell {
	t.Helper()
	h, _, err := frame.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	if !h.IsKey() || !frame.IsProcess(h.Node) || h.Cluster != "ringwatch-self" {
		t.Fatalf("%+v", h)
	}
	got := map[string]*following.Cell{}
	follower := following.New(window.Node{Account: "a", ID: h.Node}, nil)
	if _, err := follower.Frame(nil, b, func(v *following.Cell) {
		one := *v
		got[v.Labels().String()] = &one
	}); err != nil {
		t.Fatal(err)
	}
	return got
}

const place = `cluster="ringwatch-self", instance="host-1:9470", job="ringwatch", `

// TestFrame: each kind of metric comes back with its labels and its value.
func TestFrame(t *testing.T) {
	r := mustRig(t, nil)
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_requests_total"},
		[]string{"code", "node"})
	requests.WithLabelValues("200", "n1").Add(12)
	requests.WithLabelValues("500", "n1")
	cpu := prometheus.NewCounter(prometheus.CounterOpts{Name: "process_cpu_seconds_total"})
	cpu.Add(0.123456789)
	half := prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_halves_total"})
	half.Add(2.5)
	age := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_age_seconds"})
	age.Set(-1.5)
	none := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_none"})
	none.Set(math.NaN())
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "ringwatch_took_seconds",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}, []string{"route"})
	for _, v := range []float64{0.0005, 0.001, 0.3, 100} {
		took.WithLabelValues("/").Observe(v)
	}
	took.WithLabelValues("/none")
	size := prometheus.NewSummary(prometheus.SummaryOpts{Name: "ringwatch_size_bytes",
		Objectives: map[float64]float64{0.5: 0.1}})
	size.Observe(7)
	native := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ringwatch_native",
		NativeHistogramBucketFactor: 1.1})
	native.Observe(1)
	r.registry.MustRegister(requests, cpu, half, age, none, took, size, native)
	r.step(t)
	if len(r.ingest.took) != 1 {
		t.Fatalf("%d frames came: %s", len(r.ingest.took), &r.log)
	}
	got := read(t, r.ingest.took[0])
	number := func(text string, want float64) {
		t.Helper()
		c := got[text]
		if c == nil {
			var near []string
			for l := range got {
				if strings.HasPrefix(l, text[:20]) {
					near = append(near, l)
				}
			}
			t.Errorf("%s is not there, but %q", text, near)
			return
		}
		m := c.Of.Metrics[c.Metric]
		v := c.Double
		if m.Kind == frame.Counter {
			v = frame.Scale(c.Int, m.Exponent)
		}
		if v != want {
			t.Errorf("%s is %v, want %v", text, v, want)
		}
	}
	number(`{__name__="ringwatch_process_up", `+place+`role="api"}`, 1)
	number(`{__name__="ringwatch_requests_total", cluster="ringwatch-self", code="200", `+
		`exported_node="n1", instance="host-1:9470", job="ringwatch", role="api"}`, 12)
	number(`{__name__="ringwatch_requests_total", cluster="ringwatch-self", code="500", `+
		`exported_node="n1", instance="host-1:9470", job="ringwatch", role="api"}`, 0)
	number(`{__name__="process_cpu_seconds_total", `+place+`role="api"}`, 0.123456789)
	number(`{__name__="ringwatch_halves_total", `+place+`role="api"}`, 2.5)
	number(`{__name__="ringwatch_age_seconds", `+place+`role="api"}`, -1.5)
	number(`{__name__="ringwatch_size_bytes", `+place+`quantile="0.5", role="api"}`, 7)
	number(`{__name__="ringwatch_size_bytes_sum", `+place+`role="api"}`, 7)
	number(`{__name__="ringwatch_size_bytes_count", `+place+`role="api"}`, 1)
	h := got[`{__name__="ringwatch_took_seconds", `+place+`role="api", route="/"}`]
	if h == nil {
		t.Fatal("the histogram is not there")
	}
	m := h.Of.Metrics[h.Metric]
	if m.Kind != frame.Histogram || m.Unit != "seconds" ||
		frame.Scale(h.Histogram.Sum, m.Exponent) != 100.3015 ||
		!slices.Equal(h.Histogram.Counts, []int64{2, 1, 1}) ||
		!slices.Equal(h.Histogram.Filled, []uint16{0, 9, 14}) {
		t.Errorf("the histogram is %+v of %+v", h.Histogram, m)
	}
	for i, v := range prometheus.ExponentialBuckets(0.001, 2, 14) {
		if frame.Scale(m.Bounds.Upper[i], m.Bounds.Exponent) != v {
			t.Errorf("bound %d is %+v", i, m.Bounds)
		}
	}
	if got[`{__name__="ringwatch_took_seconds", `+place+`role="api", route="/none"}`] == nil {
		t.Error("a histogram of nothing is not there")
	}
	for l := range got {
		if strings.Contains(l, "ringwatch_none") || strings.Contains(l, "ringwatch_native") {
			t.Errorf("%s is there", l)
		}
	}
	r.step(t)
	if left := r.value(t, "ringwatch_self_series_dropped_total"); left != 2 {
		t.Errorf("%v series were left out: the native one, twice", left)
	}
	r.ledger(t)
}

// TestBounds: a frame has so many series at most, ours first, and says how many it left out.
func TestBounds(t *testing.T) {
	r := mustRig(t, func(c *Config) { c.MaxSeries = 40 })
	many := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "a_many"}, []string{"i"})
	for i := range 100 {
		many.WithLabelValues(strconv.Itoa(i) + strings.Repeat("x", 3000)).Set(1)
	}
	ours := prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_z"})
	r.registry.MustRegister(many, ours)
	r.step(t)
	got := read(t, r.ingest.took[0])
	if len(got) != 40 || got[`{__name__="ringwatch_z", `+place+`role="api"}`] == nil {
		t.Errorf("%d series", len(got))
	}
	if left := r.value(t, "ringwatch_self_series_dropped_total"); left < 60 || left > 100 {
		t.Errorf("%v series were left out", left)
	}

	// Fewer still if they are long: random text does not shrink.
	r = mustRig(t, func(c *Config) { c.MaxSeries = 5000 })
	many = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "a_many"}, []string{"i"})
	seed := uint64(1)
	for range 5000 {
		var text strings.Builder
		for text.Len() < 1000 {
			seed = seed*6364136223846793005 + 1442695040888963407
			text.WriteString(strconv.FormatUint(seed, 36))
		}
		many.WithLabelValues(text.String()).Set(1)
	}
	r.registry.MustRegister(many)
	r.step(t)
	if n := len(r.ingest.took[0]); n > maxFrameBytes || n < maxFrameBytes/4 {
		t.Errorf("the frame has %d bytes", n)
	}
}

// TestIngestAway: frames wait, the oldest leave, and all is accounted for and said once.
func TestIngestAway(t *testing.T) {
	r := mustRig(t, nil)
	r.ingest.say(http.StatusServiceUnavailable)
	for range queueFrames + 5 {
		r.step(t)
	}
	if n := r.value(t, "ringwatch_self_dropped_total"); n != 5 {
		t.Errorf("%v frames were dropped, want 5", n)
	}
	if n := strings.Count(r.log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d lines are in the log: %s", n, &r.log)
	}
	if r.ingest.asked != queueFrames+5 {
		t.Errorf("ingest was asked %d times: once an interval is enough", r.ingest.asked)
	}
	r.ledger(t)
	r.ingest.say(http.StatusNoContent)
	r.step(t)
	if len(r.ingest.took) != queueFrames || len(r.queue.frames) != 0 || r.queue.bytes != 0 {
		t.Errorf("%d frames came, %d wait", len(r.ingest.took), len(r.queue.frames))
	}
	last := int64(0)
	for _, b := range r.ingest.took {
		h, _, err := frame.Parse(b)
		if err != nil || h.At <= last {
			t.Errorf("%d after %d, %v", h.At, last, err)
		}
		last = h.At
	}
	if !strings.Contains(r.log.String(), "again") {
		t.Errorf("the log does not say that it works again: %s", &r.log)
	}
	r.ledger(t)
}

// TestRefused: a wrong key is said at once and once, its frames wait; a wrong frame is dropped.
func TestRefused(t *testing.T) {
	r := mustRig(t, nil)
	r.ingest.say(http.StatusForbidden)
	r.step(t)
	r.step(t)
	if text := r.log.String(); strings.Count(text, "level=WARN") != 1 ||
		!strings.Contains(text, "key own may not write") || !strings.Contains(text, "self.key") {
		t.Errorf("the log says %s", text)
	}
	if len(r.queue.frames) != 2 {
		t.Errorf("%d frames wait", len(r.queue.frames))
	}
	r.ingest.say(http.StatusUnprocessableEntity)
	r.step(t)
	if len(r.queue.frames) != 0 || r.value(t, "ringwatch_self_dropped_total") != 3 {
		t.Errorf("%d frames wait", len(r.queue.frames))
	}
	r.ledger(t)
}

// TestFarewell: the last frame says that the end is meant, and nothing else; an ingest that hangs
// holds the end up for a second.
func TestFarewell(t *testing.T) {
	r := mustRig(t, nil)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		r.ingest.mu.Lock()
		n := len(r.ingest.took)
		r.ingest.mu.Unlock()
		if n > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("ingest took no frame within two minutes")
		}
		time.Sleep(time.Millisecond) // between two looks
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.Farewell()
	r.ledger(t)
	got := read(t, r.ingest.took[len(r.ingest.took)-1])
	up := got[`{__name__="ringwatch_process_up", `+place+`role="api"}`]
	if len(got) != 1 || up == nil || up.Double != 0 {
		t.Errorf("the last frame has %v", got)
	}
}

// TestConfig: what is wrong is said, all at once.
func TestConfig(t *testing.T) {
	good := DefaultConfig()
	if err := good.Validate(); err != nil || good.On() {
		t.Error(err)
	}
	bad := Config{Config: send.Config{URL: "ingest:9471", Key: "a", KeyFile: "b"},
		Interval: time.Millisecond, Cluster: "*"}
	err := bad.Validate()
	for _, word := range []string{"url", "key_file", "interval", "cluster", "max_series"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s is missing in %v", word, err)
		}
	}
	good.KeyFile = "/nowhere"
	if _, err := New(good, Deps{Metrics: prometheus.NewRegistry()}); err == nil {
		t.Error("a file that is not there is no error")
	}
}
