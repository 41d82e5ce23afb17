// Package api is what users touch: the HTTP server. It turns requests into questions to package
// query, and what that says into answers. Begin with Server. It may import what reads and what it
// serves (query, dictionary, console, ring), and access, frame, memory and window; no role.
//
// A request passes admit, which asks whose it is and whether it may be answered now, and then the
// room of what it asks. Each room has a Handler, which declares what it needs, and its Routes:
//   - nodes: which nodes and clusters there are, and where to scrape them
//   - values, series, scrape: numbers as JSON, which there are, and as exposition text
//   - eventlog: what happened; activity: what runs, who is connected, what was repaired
//   - safe, advice, report: what to do, in words, and what a day was like
//   - keys, qps, lookup: keys and sessions, the use of Cassandra, rows by key
//   - promapi and loki speak other systems' APIs; who starts the server adds them
//
// Below the rooms stand fleet (which nodes a request means), instant (PromQL at an instant), latest
// (everything newest, encoded), payload and exposition (JSON and text of series), and on the ground
// request, reply, refusal, budget and literal: what a request says, how an answer is written, why
// there is none, how large it may be, and its numbers and texts.
//
// What it promises:
//   - Every answer under /v1 is limited to the account of the request's key.
//   - Every refusal is a 4xx whose JSON names the field and the remedy.
//   - An answer is right whether Redis is there or not. Metrics say which source gave it.
//   - A failure is a status, never a torn answer. In a stream of many nodes everything after the
//     first node is whole, or says what it lacks (see package values).
//
// What bites: the list of an account's nodes is remembered for NodesTTL, so a new node appears
// that much later in lists.
package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ringwatch/ringwatch/access/listener"
)

// Server is the HTTP server. New makes one.
type Server struct {
	config   Config
	deps     Deps
	routes   []route
	observer *listener.Observer
	listener net.Listener
	http     *http.Server
}

// New validates, registers the server's metrics and binds; Run serves.
func New(c Config, d Deps) (*Server, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	s := &Server{config: c, deps: d}
	socket, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("api: cannot listen on %s: set api.listen to another address: %w",
			c.Listen, err)
	}
	if s.listener, err = c.TLS.Listener(socket, d.Log); err != nil {
		socket.Close()
		return nil, fmt.Errorf("api: %w", err)
	}
	if s.routes, err = newRoutes(&c, &d); err != nil {
		socket.Close()
		return nil, fmt.Errorf("api: %w", err)
	}
	if s.observer, err = listener.NewObserver("api", c.AccessLog, c.TrustedProxies, d.Log,
		d.Metrics); err != nil {
		socket.Close()
		return nil, fmt.Errorf("api: cannot register a metric: %w", err)
	}
	s.http = &http.Server{
		Handler: s.handler(),
		// A browser opens connections before it needs them, and a busy one takes long to use them:
		// a page whose script meets the end of such a connection stays blank.
		ReadHeaderTimeout: 30 * time.Second,
		ReadTimeout:       time.Minute, // bodies are small
		WriteTimeout:      2 * c.RequestTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Patterns returns the patterns of all endpoints, such as "GET /v1/nodes".
func (s *Server) Patterns() []string {
	var list []string
	for _, r := range s.routes {
		list = append(list, r.pattern)
	}
	return list
}

// Addr returns where the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, then gives requests under way ShutdownTimeout to finish.
func (s *Server) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("api: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ShutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(bounded)
	if err != nil {
		_ = s.http.Close() // what did not finish in time is cut off
	}
	<-ended
	if err != nil {
		return fmt.Errorf("api: requests under way were cut off: %w", err)
	}
	return nil
}
