package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestOps asks what a consuming role says of itself when it runs alone, with a certificate and
// without.
func TestOps(t *testing.T) {
	cert, key := mustCertificate(t)
	transport, err := (&client.TLSFlags{CAFile: cert}).Transport()
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for scheme, tls := range map[string]listener.TLS{"http": {},
		"https": {CertFile: cert, KeyFile: key}} {
		p := &wire.Process{Config: &settings.Config{}, Metrics: prometheus.NewRegistry(),
			Log: slog.New(slog.DiscardHandler)}
		p.Metrics.MustRegister(prometheus.NewCounter(prometheus.CounterOpts{Name: "one",
			Help: "One."}))
		var ready atomic.Bool
		address := fmt.Sprintf("127.0.0.1:%d", engines.FreePorts(t, 1)[0])
		ops, err := p.Ops(settings.ConsumerConfig{Listen: address, TLS: tls},
			func(context.Context) error {
				if !ready.Load() {
					return errors.New("not yet")
				}
				return nil
			}, func(context.Context) string { return "it may rain" })
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ops(ctx) }()
		for path, want := range map[string]struct {
			status int
			body   string
		}{"/-/healthy": {200, "healthy\n"}, "/-/ready": {503, "not yet\n"},
			"/metrics": {200, "# HELP one One.\n# TYPE one counter\none 0\n"}} {
			answer, err := client.Get(scheme + "://" + address + path)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || answer.StatusCode != want.status || string(body) != want.body {
				t.Errorf("%s %s: %d %q %v", scheme, path, answer.StatusCode, body, err)
			}
		}
		ready.Store(true)
		if answer, err := client.Get(scheme + "://" + address + "/-/ready"); err != nil ||
			answer.StatusCode != 200 {
			t.Error(scheme, answer, err)
		} else {
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil || string(body) != "ready\nwarning: it may rain\n" {
				t.Errorf("%s: ready says %q %v", scheme, body, err)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(scheme, err)
		}
		if _, err := p.Ops(settings.ConsumerConfig{Listen: address,
			TLS: listener.TLS{CertFile: "none", KeyFile: "none"}}, nil, nil); err == nil {
			t.Error("a certificate that is not there is taken")
		}
	}
}
