package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ops serves what a role without a listener of its own still owes its operator: /-/healthy, /-/ready and /metrics. What warning, which may be nil, returns
// stands below "ready": the role works all the same.
func (p *process) ops(c consumerConfig, ready func(context.Context) error, warning func(context.Context) string) (part, error) {
	if c.Listen == "" {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	plain, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address or stop what has it", c.Listen, err)
	}
	l, err := c.TLS.Listener(plain, p.log)
	if err != nil {
		plain.Close()
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "healthy") })
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
		if warning == nil {
			return
		}
		if text := warning(r.Context()); text != "" {
			fmt.Fprintln(w, "warning: "+text)
		}
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.metrics, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	p.log.Info("metrics", "address", l.Addr())
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { server.Close() })
		defer stop()
		if err := server.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	}, nil
}

// retry calls try until it succeeds or fails for good, with a pause that grows to five seconds.
func retry(ctx context.Context, log *slog.Logger, what string, retryable func(error) bool, try func(context.Context) error) error {
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := try(ctx)
		if err == nil || ctx.Err() != nil || !retryable(err) {
			return err
		}
		log.Warn("trying again", "what", what, "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
