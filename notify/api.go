package notify

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// What one request and one account's requests may take. Prometheus posts 64 to 256 alerts at once.
const (
	maxBody     = 8 << 20
	maxRequests = 8 // of an account at once: a list of all alerts is some 40 MB
)

// routes are Alertmanager's, as they are.
func (a *account) routes() http.Handler {
	m := http.NewServeMux()
	healthy := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "OK") }
	m.HandleFunc("GET /-/healthy", healthy)
	m.HandleFunc("GET /-/ready", healthy)
	m.Handle("GET /metrics", promhttp.HandlerFor(a.reg, promhttp.HandlerOpts{}))
	m.Handle("/api/v2/", a.checked(a.api.Handler))
	under := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case under <- struct{}{}:
			defer func() { <-under }()
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests of this account are under way: try again",
				maxRequests), http.StatusServiceUnavailable)
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		m.ServeHTTP(w, r)
	})
}

// checked answers for a silence when it is on disk. Alertmanager's own handler cannot know.
func (a *account) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !changesSilences(r) {
			next.ServeHTTP(w, r)
			return
		}
		if err := a.silenceFile.failed(); err != nil {
			if err := a.shorten(false); err != nil {
				refuse(w, err)
				return
			}
		}
		answer := &held{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		if err := a.silenceFile.failed(); err != nil {
			refuse(w, err)
			return
		}
		answer.send(w)
	})
}

func changesSilences(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead &&
		strings.HasPrefix(r.URL.Path, "/api/v2/silence")
}

func refuse(w http.ResponseWriter, err error) {
	http.Error(w, "the silence cannot be written to disk: "+err.Error(),
		http.StatusInternalServerError)
}

// held is an answer that is not sent yet.
type held struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (h *held) Header() http.Header         { return h.header }
func (h *held) WriteHeader(status int)      { h.status = status }
func (h *held) Write(b []byte) (int, error) { return h.body.Write(b) }

func (h *held) send(w http.ResponseWriter) {
	for name, values := range h.header {
		w.Header()[name] = values
	}
	w.WriteHeader(h.status)
	_, _ = w.Write(h.body.Bytes())
}
