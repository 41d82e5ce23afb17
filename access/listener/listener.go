// Package listener is what stands before the handlers of each role that listens: TLS, request
// ids, the access log and metrics by route and code. Begin with Observer. Of our packages it
// imports account and certs.
//
// What it promises:
//   - Every request has an id, in its answer's header and in all log lines about it.
//   - No log line has a key's text.
//   - Labels of metrics are routes and codes, never what a client has chosen.
package listener

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// RequestID is the header of a request's id. A client's own is taken if it is 1 to 64 of a-z,
// A-Z, 0-9 and -_.: and made otherwise.
const RequestID = "X-Request-Id"

// Observer gives requests their id, counts them and logs them.
type Observer struct {
	log      *slog.Logger
	access   bool
	proxies  trusted
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// NewObserver registers the metrics ringwatch_ROLE_requests_total, _request_seconds and
// _requests_in_flight. access: a line per request goes to log. A request that came through one of
// the proxies has its client's address in RemoteAddr, for handlers and log.
func NewObserver(role string, access bool, proxies Proxies, log *slog.Logger,
	reg prometheus.Registerer) (*Observer, error) {
	networks, err := proxies.parse()
	if err != nil {
		return nil, err
	}
	o := &Observer{
		log: log, access: access, proxies: networks,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "ringwatch",
			Subsystem: role, Name: "requests_total",
			Help: "Answered requests, by route and status."}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: "ringwatch",
			Subsystem: role, Name: "request_seconds",
			Help:    "Time from a request's header to its answer's last byte.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 17)}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "ringwatch", Subsystem: role,
			Name: "requests_in_flight", Help: "Requests under way."}),
	}
	for _, c := range []prometheus.Collector{o.requests, o.seconds, o.inFlight} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// visit is what is known of a request under way.
type visit struct {
	id, account, key string
}

type visitKey struct{}

// ID returns the request's id, or "" outside of a request.
func ID(ctx context.Context) string {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v.id
	}
	return ""
}

// Admitted notes for the access log whose request it is. key is the key's name or id, never its
// text. It is called by the request's own goroutine.
func Admitted(ctx context.Context, account, key string) {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		v.account, v.key = account, key
	}
}

// Wrap returns a handler that answers with mux, and with missing where mux has no route.
func (o *Observer) Wrap(mux *http.ServeMux, missing http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		o.inFlight.Inc()
		v := &visit{id: r.Header.Get(RequestID)}
		if !wellFormed(v.id) {
			v.id = newID()
		}
		w.Header().Set(RequestID, v.id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
		peer := r.RemoteAddr
		r.RemoteAddr = o.proxies.remote(r)
		_, route := mux.Handler(r)
		seen := &recorder{ResponseWriter: w, status: http.StatusInternalServerError}
		defer func() { // also when the handler panics, which the server deals with
			took := time.Since(began)
			label := route
			if label == "" {
				label = "none"
			}
			o.inFlight.Dec()
			o.requests.WithLabelValues(label, strconv.Itoa(seen.status)).Inc()
			o.seconds.WithLabelValues(label).Observe(took.Seconds())
			if o.access {
				o.log.LogAttrs(r.Context(), slog.LevelInfo, "access", slog.String("request", v.id),
					slog.String("remote", r.RemoteAddr), via(peer, r.RemoteAddr),
					slog.String("method", shortened(r.Method)),
					slog.String("path", shortened(r.URL.Path)), slog.Int("status", seen.status),
					slog.Int64("bytes", seen.bytes), slog.Duration("took", took),
					slog.String("account", v.account), slog.String("key", v.key),
					slog.String("agent", shortened(r.UserAgent())))
			}
		}()
		if route == "" {
			missing.ServeHTTP(seen, r)
		} else {
			mux.ServeHTTP(seen, r)
		}
		if !seen.wrote { // the server writes 200 then
			seen.status = http.StatusOK
		}
	})
}

// via names the proxy that a request came from; nothing, if it came from none.
func via(peer, remote string) slog.Attr {
	if peer == remote {
		return slog.Attr{} // is left out
	}
	return slog.String("via", peer)
}

func newID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// wellFormed reports whether a client's request id may go into headers and logs.
func wellFormed(id string) bool {
	return id != "" && len(id) <= 64 &&
		strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:") ==
			"" && !secret.MatchString(id)
}

// secret is what may be a key's text.
var secret = regexp.MustCompile(`rw_[0-9A-Za-z_]{8,}`)

// shortened makes what a client has chosen fit for a log: no keys, and not as long as it likes.
func shortened(text string) string {
	text = secret.ReplaceAllString(text[:min(len(text), 1024)], "rw_…")
	return text[:min(len(text), 256)]
}

// recorder remembers how a request was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	wrote  bool
}

func (r *recorder) WriteHeader(status int) {
	if !r.wrote && status >= 200 { // 1xx are not the answer
		r.status, r.wrote = status, true
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if !r.wrote {
		r.status, r.wrote = http.StatusOK, true
	}
	n, err := r.ResponseWriter.Write(b)
	r.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach what lies below.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
