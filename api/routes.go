package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/account"
)

// route is one endpoint. Exactly one of open and scoped is set.
type route struct {
	pattern string
	open    http.HandlerFunc // for everybody
	scoped  scopedHandler    // for keys with the read scope
}

// scopedHandler answers for an account. It writes nothing before it is sure of success and returns an error otherwise.
type scopedHandler func(w http.ResponseWriter, r *http.Request, p account.Principal) error

func (s *Server) routes() []route {
	return append(s.seriesRoutes(), []route{
		{pattern: "GET /v1/clusters", scoped: s.getClusters},
		{pattern: "GET /v1/nodes", scoped: s.getNodes},
		{pattern: "GET /v1/nodes/{id}/metrics", scoped: s.getMetrics},
		{pattern: "GET /v1/nodes/{id}/prometheus", scoped: s.getPrometheus},
		{pattern: "GET /-/healthy", open: getHealthy},
		{pattern: "GET /-/ready", open: s.getReady},
		{pattern: "GET /metrics", open: promhttp.HandlerFor(s.deps.Metrics, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP},
		{pattern: "GET /{$}", open: getHome},
	}...)
}

// Patterns returns the patterns of all endpoints, such as "GET /v1/nodes".
func (s *Server) Patterns() []string {
	var list []string
	for _, r := range s.routes() {
		list = append(list, r.pattern)
	}
	return list
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		h := r.open
		if r.scoped != nil {
			h = s.admit(r.scoped)
		}
		mux.HandleFunc(r.pattern, h)
	}
	return s.observe(mux)
}

// admit lets a handler answer for the account of the request's key.
func (s *Server) admit(h scopedHandler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.config.RequestTimeout)
		defer cancel()
		p, err := s.deps.Admit(r)
		if err == nil && !p.Can(account.Read) {
			err = &Error{Status: http.StatusForbidden, Reason: "no_scope", Field: "Authorization", Message: "this key may not read: use one with the scope read"}
		}
		if err == nil {
			err = h(w, r.WithContext(ctx), p)
		}
		if err == nil {
			return
		}
		e := asError(ctx, err)
		if e.Status >= 500 && r.Context().Err() == nil {
			s.deps.Log.Warn("a request failed", "request", w.Header().Get(requestID), "path", r.URL.Path, "account", p.Account, "error", err, "cause", e.cause)
		}
		writeError(w, e)
	}
}

const requestID = "X-Request-Id"

// observe gives each request its id, its metrics and its line in the access log, and answers for paths that there are not.
func (s *Server) observe(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		s.metrics.inFlight.Inc()
		defer s.metrics.inFlight.Dec()
		id := r.Header.Get(requestID)
		if !printable(id) {
			var random [8]byte
			_, _ = rand.Read(random[:]) // never fails
			id = hex.EncodeToString(random[:])
		}
		w.Header().Set(requestID, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		seen := &recorder{ResponseWriter: w, status: http.StatusOK}
		handler, pattern := mux.Handler(r)
		if pattern == "" {
			pattern = "none"
			handler = missing(mux)
		}
		if pattern == "none" {
			handler.ServeHTTP(seen, r)
		} else {
			mux.ServeHTTP(seen, r) // unlike handler it sets the path's values
		}
		took := time.Since(began)
		s.metrics.requests.WithLabelValues(pattern, strconv.Itoa(seen.status)).Inc()
		s.metrics.seconds.WithLabelValues(pattern).Observe(took.Seconds())
		s.deps.Log.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("request", id), slog.String("remote", r.RemoteAddr), slog.String("method", r.Method),
			slog.String("path", r.URL.Path), slog.Int("status", seen.status), slog.Int64("bytes", seen.bytes), slog.Duration("took", took))
	})
}

// missing answers where no route is: 405 if there is one for GET, else 404.
func missing(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		get := r.Clone(r.Context())
		get.Method = http.MethodGet
		if _, pattern := mux.Handler(get); pattern != "" && r.Method != http.MethodGet {
			w.Header().Set("Allow", "GET, HEAD")
			writeError(w, &Error{Status: http.StatusMethodNotAllowed, Reason: "method", Message: r.Method + " is not for this path: use GET"})
			return
		}
		writeError(w, &Error{Status: http.StatusNotFound, Reason: "no_such_path", Message: "there is nothing here: / lists what there is"})
	})
}

// printable reports whether a client's request id may go into headers and logs.
func printable(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") == ""
}

// recorder remembers how a request was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	wrote  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote {
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	r.wrote = true
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach what lies below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
