package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
)

// ops serves what a role without a listener of its own still owes its operator: /-/healthy,
// /-/ready and /metrics. What warning, which may be nil, returns stands below "ready": the role
// works all the same.
func (p *process) ops(c consumerConfig, ready func(context.Context) error,
	warning func(context.Context) string) (part, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "healthy")
	})
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
	mux.Handle("GET /metrics", p.exposition(account.Names(p.door.Admit, p.API.Operators)))
	return p.listen(c.Listen, c.TLS, mux)
}

// exposition answers /metrics with the names that a request may see.
func (p *process) exposition(names func(*http.Request) (listener.Names, error)) http.Handler {
	refuse := func(w http.ResponseWriter, _ *http.Request, err error) {
		status := http.StatusUnauthorized
		if many, is := errors.AsType[*account.TooManyError](err); is {
			w.Header().Set("Retry-After", strconv.Itoa(int(many.After.Seconds())+1))
			status = http.StatusTooManyRequests
		} else if errors.Is(err, account.ErrKeysAway) {
			status = http.StatusServiceUnavailable
		} else if errors.Is(err, account.ErrNetwork) {
			status = http.StatusForbidden
		}
		http.Error(w, err.Error(), status)
	}
	return listener.NewExposition(p.metrics, names, refuse, promhttp.HandlerOpts{})
}

// metricsPart serves /metrics with all names on a listener of its own, if the configuration has
// one.
func (p *process) metricsPart() (part, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.exposition(func(*http.Request) (listener.Names, error) {
		return listener.AllNames, nil
	}))
	return p.listen(p.Metrics.Listen, p.Metrics.TLS, mux)
}

// listen serves what is for operators. Without an address it waits for the end.
func (p *process) listen(address string, tls listener.TLS, mux *http.ServeMux) (part, error) {
	if address == "" {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	plain, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address, or stop the "+
			"program that uses it", address, err)
	}
	l, err := tls.Listener(plain, p.log)
	if err != nil {
		plain.Close()
		return nil, err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	p.log.Info("metrics", "address", l.Addr().String())
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { server.Close() })
		defer stop()
		if err := server.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	}, nil
}

// retry calls try until it succeeds or fails for good, with a pause that grows to five seconds. If
// the time for it runs out, it returns what was wrong last.
func retry(ctx context.Context, log *slog.Logger, what string, retryable func(error) bool,
	try func(context.Context) error) error {
	var last error
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if last != nil && timeUp(ctx) {
			return fmt.Errorf("gave up on %s: %w", what, last)
		}
		if ctx.Err() != nil || !retryable(err) {
			return err
		}
		last = err
		log.Warn("trying again", "what", what, "error", err)
		select {
		case <-ctx.Done():
			if timeUp(ctx) {
				return fmt.Errorf("gave up on %s: %w", what, err)
			}
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// timeUp says whether ctx ended because its time ran out, not because somebody stopped the process.
func timeUp(ctx context.Context) bool { return errors.Is(ctx.Err(), context.DeadlineExceeded) }
