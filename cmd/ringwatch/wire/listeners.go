package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
)

// Ops serves what a role without a listener of its own still owes its operator: /-/healthy,
// /-/ready and /metrics, and Alertmanager's API where people are told. What warning, which may be
// nil, returns stands below "ready": the role works all the same.
func (p *Process) Ops(c settings.ConsumerConfig, ready func(context.Context) error,
	warning func(context.Context) string) (Part, error) {
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
	mux.Handle("GET /metrics", p.exposition(account.Names(p.Door.Admit, p.Config.API.Operators)))
	if p.people != nil {
		for _, r := range alertmanagerAPI(p) {
			mux.HandleFunc(r.Pattern, p.admitted(r))
		}
	}
	return p.listen(c.Listen, c.TLS, mux)
}

// exposition answers /metrics with the names that a request may see.
func (p *Process) exposition(names func(*http.Request) (listener.Names, error)) http.Handler {
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
	return listener.NewExposition(p.Metrics, names, refuse, promhttp.HandlerOpts{})
}

// MetricsPart serves /metrics with all names on a listener of its own, if the configuration has
// one.
func (p *Process) MetricsPart() (Part, error) {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", p.exposition(func(*http.Request) (listener.Names, error) {
		return listener.AllNames, nil
	}))
	return p.listen(p.Config.Metrics.Listen, p.Config.Metrics.TLS, mux)
}

// listen serves what is for operators. Without an address it waits for the end.
func (p *Process) listen(address string, tls listener.TLS, mux *http.ServeMux) (Part, error) {
	if address == "" {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	plain, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another address, or stop the "+
			"program that uses it", address, err)
	}
	l, err := tls.Listener(plain, p.Log)
	if err != nil {
		plain.Close()
		return nil, err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	p.Log.Info("metrics", "address", l.Addr().String())
	return func(ctx context.Context) error {
		stop := context.AfterFunc(ctx, func() { server.Close() })
		defer stop()
		if err := server.Serve(l); ctx.Err() == nil {
			return err
		}
		return nil
	}, nil
}
