package ingest

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
)

// Server is the HTTP server of ingest.
type Server struct {
	config   Config
	deps     Deps
	metrics  *metrics
	shares   *shares // bytes in flight
	payloads *payloads
	senders  senders
	clocks   *wrongClocks
	known    knownNodes
	now      func() time.Time
	listener net.Listener
	inside   *inside
	http     *http.Server
}

// New checks the configuration and binds the address, and serves nothing yet.
func New(c Config, d Deps) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if d.Admit == nil || d.Publish == nil || d.Retryable == nil || d.Ready == nil ||
		d.Registry == nil || d.Log == nil {
		return nil, errors.New("ingest: a required field of Deps is not set")
	}
	observer, err := listener.NewObserver("ingest", c.AccessLog, c.TrustedProxies, d.Log,
		d.Registry)
	if err != nil {
		return nil, fmt.Errorf("ingest: cannot register a metric: %w", err)
	}
	if d.Bound == nil { // keys that are bound to a node by name need nobody who knows first nodes
		d.Bound = account.NewBindings(nil).Check
	}
	s := &Server{config: c, deps: d, shares: newShares(&c), now: time.Now,
		senders: senders{seed: maphash.MakeSeed(), again: claimAgain}}
	if s.metrics, err = newMetrics(d.Registry, s.shares.bytes); err != nil {
		return nil, err
	}
	now := func() time.Time { return s.now() }
	s.payloads = newPayloads(&s.config, d.Memory)
	s.known = knownNodes{config: &s.config, deps: &s.deps, now: now}
	s.clocks = newWrongClocks(&senders{seed: maphash.MakeSeed(), again: clockSaid}, now)
	if err := d.Registry.Register(s.clocks); err != nil {
		return nil, fmt.Errorf("ingest: cannot register a metric: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(FramesPath, s.frames)
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "healthy")
	})
	mux.HandleFunc("GET /-/ready", s.ready)
	mux.Handle("GET /metrics", exposition(d))
	s.http = &http.Server{
		Handler:           observer.Wrap(mux, http.NotFoundHandler()),
		ReadHeaderTimeout: 5 * time.Second,
		// the body's own deadline is set when it is read
		ReadTimeout:    5*time.Second + c.BodyTimeout,
		WriteTimeout:   time.Minute + c.BodyTimeout, // Publish is bounded by itself
		IdleTimeout:    2 * time.Minute,             // agents come back every few seconds
		MaxHeaderBytes: 16 << 10,
		// whatever comes to an open port
		ErrorLog: slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
	}
	s.inside = newInside()
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("ingest: cannot listen on %s: stop the program that listens "+
			"there, or change ingest.listen: %w", c.Listen, err)
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
func (s *Server) Close() error { return errors.Join(s.listener.Close(), s.inside.Close()) }

// Run serves until ctx ends, then lets requests under way finish for Config.DrainTimeout.
func (s *Server) Run(ctx context.Context) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(s.listener) }()
	go func() { _ = s.http.Serve(s.inside) }() // until Shutdown closes it, too
	select {
	case err := <-served:
		return fmt.Errorf("ingest: serving ended: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	if err := s.http.Shutdown(drain); err != nil {
		s.deps.Log.Warn("requests were cut off at the stop; their senders will send again",
			"error", err)
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
	return listener.NewExposition(d.Registry, account.Names(d.Admit, d.Operators), refuse,
		promhttp.HandlerOpts{Registry: d.Registry})
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

// Dial connects to the server from inside its process. It waits until the server runs.
func (s *Server) Dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case s.inside.calls <- theirs:
		return ours, nil
	case <-s.inside.closed:
	case <-ctx.Done():
	}
	ours.Close()
	theirs.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, net.ErrClosed
}
