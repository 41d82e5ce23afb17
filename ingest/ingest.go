// Package ingest takes frames over HTTP, checks them, and forwards the same bytes.
//
// What it promises:
//   - A 2xx is sent only after all in-sync replicas have the frame.
//   - What is answered 4xx was not forwarded, and sending it again makes no sense; 429 and 503 say when to send it again. Every refusal is one
//     sentence with the remedy and is counted by its reason.
//   - Memory is bounded by Config.MaxInFlightBytes plus what a few frames take while they are checked.
//
// What bites:
//   - After a 503 the frame may be in Kafka nevertheless: it is sent again, and consumers take a repetition.
//   - A delta frame is checked only to the end of its compression: reading it needs its key frame, which ingest does not keep.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/semaphore"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/front"
)

// FramesPath is where frames are posted to.
const FramesPath = "/v1/frames"

// SentHeader is the request header in which a sender gives its clock at the time of sending, in ms since the Unix epoch. With it a
// wrong clock is told from a frame that waited in a spool.
const SentHeader = "Ringwatch-Sent"

// Config says where to listen and what to refuse.
type Config struct {
	Listen string    `yaml:"listen"` // loopback unless told otherwise
	TLS    front.TLS `yaml:"tls"`
	// TrustedProxies are the networks of the proxies in front; their X-Forwarded-For says where a request comes from.
	TrustedProxies front.Proxies `yaml:"trusted_proxies"`
	AccessLog      bool          `yaml:"access_log"` // a log line for each request; 10,000 nodes at 5 s make 2,000 a second

	MaxFrameBytes int64 `yaml:"max_frame_bytes"` // a key frame of 10,000 tables is about 2 MiB
	MaxRawBytes   int   `yaml:"max_raw_bytes"`   // of a payload, unpacked
	MaxSeries     int   `yaml:"max_series"`      // entities × metrics of a key frame; 10,000 tables have 2 million

	MaxSkew time.Duration `yaml:"max_skew"` // how far a sender's clock may be off; two windows
	MaxAge  time.Duration `yaml:"max_age"`  // of a frame that waited; the time raw data is kept, since older rows would expire at once

	FramesPerSecond float64 `yaml:"frames_per_second"` // of an account at all ingest processes together; 10,000 nodes at 5 s are 2,000
	FramesBurst     int     `yaml:"frames_burst"`      // agents emptying their spools at once

	MaxInFlightBytes int64         `yaml:"max_in_flight_bytes"` // of bodies and payloads at once; beyond it 503
	BodyTimeout      time.Duration `yaml:"body_timeout"`        // for a body to arrive; a slow sender holds its bytes that long
	DrainTimeout     time.Duration `yaml:"drain_timeout"`       // for requests under way when stopping
}

// DefaultConfig is for a fleet of 10,000 nodes.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:9471", MaxFrameBytes: 8 << 20, MaxRawBytes: 32 << 20, MaxSeries: 4_000_000,
		MaxSkew: 10 * time.Minute, MaxAge: 14 * 24 * time.Hour, FramesPerSecond: 5_000, FramesBurst: 20_000,
		MaxInFlightBytes: 512 << 20, BodyTimeout: 15 * time.Second, DrainTimeout: 10 * time.Second,
	}
}

// Validate reports everything that is wrong at once.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("ingest: "+format, args...))
		}
	}
	_, _, err := net.SplitHostPort(c.Listen)
	check(err == nil, "listen is %q: use host:port", c.Listen)
	check(c.MaxFrameBytes >= 1024 && c.MaxFrameBytes <= frame.MaxFrameBytes, "max_frame_bytes is %d: use 1024 to %d", c.MaxFrameBytes, frame.MaxFrameBytes)
	check(c.MaxRawBytes >= 1024 && c.MaxRawBytes <= frame.MaxRawBytes, "max_raw_bytes is %d: use 1024 to %d", c.MaxRawBytes, frame.MaxRawBytes)
	check(c.MaxSeries >= 1 && c.MaxSeries <= frame.MaxCells, "max_series is %d: use 1 to %d", c.MaxSeries, frame.MaxCells)
	check(c.MaxSkew >= time.Second, "max_skew is %s: use at least 1s", c.MaxSkew)
	check(c.MaxAge >= c.MaxSkew, "max_age is %s: use at least max_skew, %s", c.MaxAge, c.MaxSkew)
	check(c.FramesPerSecond >= 1e-6 && c.FramesPerSecond <= 1e6, "frames_per_second is %g: use more than 0 and at most 1000000", c.FramesPerSecond)
	check(c.FramesBurst >= 1 && c.FramesBurst <= 1e9, "frames_burst is %d: use 1 to 1000000000", c.FramesBurst)
	check(c.MaxInFlightBytes >= c.MaxFrameBytes+int64(c.MaxRawBytes), "max_in_flight_bytes is %d: use at least max_frame_bytes + max_raw_bytes, %d", c.MaxInFlightBytes, c.MaxFrameBytes+int64(c.MaxRawBytes))
	check(c.BodyTimeout >= 100*time.Millisecond, "body_timeout is %s: use at least 100ms", c.BodyTimeout)
	check(c.DrainTimeout >= 0, "drain_timeout is %s: use 0 or more", c.DrainTimeout)
	if err := errors.Join(c.TLS.Validate(), c.TrustedProxies.Validate()); err != nil {
		errs = append(errs, fmt.Errorf("ingest: %w", err))
	}
	return errors.Join(errs...)
}

// Deps is what ingest needs of others. All fields but Limit and Operators are needed.
type Deps struct {
	// Admit returns who a request comes from, as account.Door.Admit does, errors included.
	Admit func(*http.Request) (account.Principal, error)
	// Operators are the accounts whose admin keys see all names in /metrics, see account.Names.
	Operators []string
	// Limit counts a frame of an account, as limit.Limiter.Take does: it returns 0, or how long to wait. nil: there is no limit.
	Limit func(ctx context.Context, account string) time.Duration
	// Publish returns nil when all in-sync replicas have the frame, and within bounded time, as stream.Producer.Publish does. It may
	// keep b.
	Publish func(ctx context.Context, account, cluster string, b []byte) error
	// Retryable reports whether the sender may send the frame again after Publish failed so, as stream.Retryable does.
	Retryable func(error) bool
	// Ready asks once whether frames could be published.
	Ready    func(context.Context) error
	Registry *prometheus.Registry // takes our metrics, answers /metrics
	Log      *slog.Logger
}

// Server is the HTTP server of ingest.
type Server struct {
	config   Config
	deps     Deps
	metrics  *metrics
	inFlight *semaphore.Weighted // bytes
	checking *semaphore.Weighted // frames being unpacked: it is all CPU, more at once would only take memory
	now      func() time.Time
	listener net.Listener
	http     *http.Server
}

// New checks the configuration and binds the address, and serves nothing yet.
func New(c Config, d Deps) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if d.Admit == nil || d.Publish == nil || d.Retryable == nil || d.Ready == nil || d.Registry == nil || d.Log == nil {
		return nil, errors.New("ingest: a field of Deps is not set")
	}
	m, err := newMetrics(d.Registry)
	if err != nil {
		return nil, err
	}
	observer, err := front.NewObserver("ingest", c.AccessLog, c.TrustedProxies, d.Log, d.Registry)
	if err != nil {
		return nil, fmt.Errorf("ingest: cannot register a metric: %w", err)
	}
	s := &Server{
		config: c, deps: d, metrics: m,
		inFlight: semaphore.NewWeighted(c.MaxInFlightBytes), checking: semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))), now: time.Now,
	}
	mux := http.NewServeMux()
	mux.HandleFunc(FramesPath, s.frames)
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "healthy") })
	mux.HandleFunc("GET /-/ready", s.ready)
	mux.Handle("GET /metrics", exposition(d))
	s.http = &http.Server{
		Handler:           observer.Wrap(mux, http.NotFoundHandler()),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       5*time.Second + c.BodyTimeout, // the body's own deadline is set when it is read
		WriteTimeout:      time.Minute + c.BodyTimeout,   // Publish is bounded by itself
		IdleTimeout:       2 * time.Minute,               // agents come back every few seconds
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug), // whatever comes to an open port
	}
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("ingest: cannot listen on %s: stop what listens there or set ingest.listen: %w", c.Listen, err)
	}
	if s.listener, err = c.TLS.Listener(listener, d.Log); err != nil {
		listener.Close()
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return s, nil
}

// Addr returns the address that New has bound.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close frees the address of a server that is not run.
func (s *Server) Close() error { return s.listener.Close() }

// Run serves until ctx ends, then lets requests under way finish for Config.DrainTimeout.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("ingest: serving ended: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	if err := s.http.Shutdown(drain); err != nil {
		s.deps.Log.Warn("requests were cut off when stopping; their senders send again", "error", err)
		s.http.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("ingest: serving ended: %w", err)
	}
	return nil
}

// exposition answers /metrics, with the names that a key of scope admin may see.
func exposition(d Deps) http.Handler {
	refuse := func(w http.ResponseWriter, _ *http.Request, err error) { refuseKey(err).write(w) }
	return front.NewExposition(d.Registry, account.Names(d.Admit, d.Operators), refuse, promhttp.HandlerOpts{Registry: d.Registry})
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.deps.Ready(ctx); err != nil {
		http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}
