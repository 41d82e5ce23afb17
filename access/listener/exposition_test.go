package listener_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/access/listener"
)

// mustExposition asks for /metrics as who may see names.
func mustExposition(t *testing.T, reg *prometheus.Registry, names listener.Names) string {
	t.Helper()
	e := listener.NewExposition(reg, func(*http.Request) (listener.Names, error) {
		return names, nil
	}, nil, promhttp.HandlerOpts{})
	return mustGet(t, e)
}

func mustGet(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	b, err := io.ReadAll(w.Result().Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v", w.Code, err)
	}
	return string(b)
}

// named has a family of each type with names in it, and one without.
func named() *prometheus.Registry {
	reg := prometheus.NewRegistry()
	work := []string{"class", "client", "keyspace", "table", "datacenter"}
	operations := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "operations_total",
		Help: "O."}, work)
	operations.WithLabelValues("bulk", "acme/r", "shop", "items", "dc1").Add(3)
	operations.WithLabelValues("bulk", "other/r", "cars", "parts", "dc2").Add(4)
	operations.WithLabelValues("bulk", "acme", "shop", "users", "dc1").Add(5)
	operations.WithLabelValues("serving", "acme-x/r", "shop", "items", "dc1").Add(7)
	waiting := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "waiting", Help: "W."},
		[]string{"account"})
	waiting.WithLabelValues("acme").Set(2)
	waiting.WithLabelValues("other").Set(9)
	tables := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "rows", Help: "R."},
		[]string{"table"})
	tables.WithLabelValues("items").Set(1)
	tables.WithLabelValues("users").Set(1)
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "seconds", Help: "S.",
		Buckets: []float64{1, 2}}, []string{"node", "kind"})
	took := prometheus.NewSummaryVec(prometheus.SummaryOpts{Name: "took", Help: "T.",
		Objectives: map[float64]float64{0.5: 0.1}}, []string{"key"})
	for i, n := range []string{"n1", "n2", "n3"} {
		seconds.WithLabelValues(n, "a").Observe(float64(i) + 0.5)
		took.WithLabelValues(n).Observe(float64(i))
	}
	plain := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "plain", Help: "P.",
		Buckets: []float64{1}}, []string{"route"})
	plain.WithLabelValues("GET /v1/nodes").Observe(0.5)
	reg.MustRegister(operations, waiting, tables, seconds, took, plain)
	return reg
}

// TestExposition adds up what may not be seen, and nothing else.
func TestExposition(t *testing.T) {
	reg := named()
	whole := mustGet(t, promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	if all := mustExposition(t, reg, listener.AllNames); all != whole {
		t.Errorf("who may see all sees %s, want %s", all, whole)
	}
	const plain = `# HELP plain P.
# TYPE plain histogram
plain_bucket{route="GET /v1/nodes",le="1"} 1
plain_bucket{route="GET /v1/nodes",le="+Inf"} 1
plain_sum{route="GET /v1/nodes"} 0.5
plain_count{route="GET /v1/nodes"} 1
`
	const rest = `# HELP rows R.
# TYPE rows gauge
rows 2
# HELP seconds S.
# TYPE seconds histogram
seconds_bucket{kind="a",le="1"} 1
seconds_bucket{kind="a",le="2"} 2
seconds_bucket{kind="a",le="+Inf"} 3
seconds_sum{kind="a"} 4.5
seconds_count{kind="a"} 3
# HELP took T.
# TYPE took summary
took_sum 3
took_count 3
# HELP waiting W.
# TYPE waiting gauge
`
	const head = `# HELP operations_total O.
# TYPE operations_total counter
`
	none := head + `operations_total{class="bulk"} 12
operations_total{class="serving"} 7
` + plain + rest + "waiting 11\n"
	if got := mustExposition(t, reg, nil); got != none {
		t.Errorf("without names there is\n%s, want\n%s", got, none)
	}
	own := head +
		`operations_total{class="bulk",client="acme",datacenter="dc1",keyspace="shop",table="users"} 5
operations_total{class="bulk",client="acme/r",datacenter="dc1",keyspace="shop",table="items"} 3
operations_total{class="bulk"} 4
operations_total{class="serving"} 7
` + plain + rest + "waiting{account=\"acme\"} 2\nwaiting 9\n"
	if got := mustExposition(t, reg, func(account string) bool { return account == "acme" }); got !=
		own {
		t.Errorf("with its own names there is\n%s, want\n%s", got, own)
	}
}

// TestExpositionRefuses leaves an error to who knows its status, and answers a bounded number at
// once.
func TestExpositionRefuses(t *testing.T) {
	wrong := errors.New("wrong")
	e := listener.NewExposition(named(), func(*http.Request) (listener.Names, error) {
		return nil, wrong
	},
		func(w http.ResponseWriter, _ *http.Request, err error) { http.Error(w, err.Error(), 401) },
		promhttp.HandlerOpts{})
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != 401 || strings.TrimSpace(w.Body.String()) != "wrong" {
		t.Errorf("%d %s", w.Code, w.Body)
	}

	began, release := make(chan struct{}, 100), make(chan struct{})
	reg := prometheus.NewRegistry()
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "held", Help: "H."},
		func() float64 {
			began <- struct{}{}
			<-release
			return 1
		}))
	e = listener.NewExposition(reg, func(*http.Request) (listener.Names, error) { return nil, nil },
		nil, promhttp.HandlerOpts{})
	codes := make(chan int, 8)
	for range 8 {
		go func() {
			w := httptest.NewRecorder()
			e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			codes <- w.Code
		}()
	}
	for range 8 {
		<-began
	}
	ninth := make(chan *httptest.ResponseRecorder, 1)
	go func() {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		ninth <- w
	}()
	select {
	case w := <-ninth:
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("the ninth is answered %d %v", w.Code, w.Header())
		}
	case <-began:
		t.Error("the ninth is answered, too")
	}
	close(release)
	for range 8 {
		if code := <-codes; code != http.StatusOK {
			t.Error(code)
		}
	}
}
