package ingest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
)

// TestTLSAndAccessLog sends a frame through TLS and finds it in the access log, without its key.
func TestTLSAndAccessLog(t *testing.T) {
	other := httptest.NewTLSServer(nil) // for its certificate
	defer other.Close()
	pair := other.TLS.Certificates[0]
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE",
		Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	s := mustServe(t, func(context.Context, string, string, []byte) error { return nil },
		func(c *Config, d *Deps) {
			c.TLS.CertFile, c.TLS.KeyFile, c.AccessLog = cert, key, true
			d.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"https://"+s.Addr().String()+FramesPath, bytes.NewReader(node{}.mustKey(t)))
	if err != nil {
		t.Fatal(err)
	}
	q.SetBasicAuth("agent", writer)
	q.Header.Set("Content-Type", frame.ContentType)
	q.Header.Set("X-Request-Id", "mine")
	answer, err := other.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent || answer.TLS == nil ||
		answer.Header.Get("X-Request-Id") != "mine" {
		t.Errorf("%s %v", answer.Status, answer.Header)
	}
	q.Header.Del("X-Request-Id")
	if q.Body, err = q.GetBody(); err != nil {
		t.Fatal(err)
	}
	if answer, err = other.Client().Do(q); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent || len(answer.Header) != 2 ||
		answer.Header.Get("Date") == "" || answer.Header.Get(ClockHeader) == "" {
		t.Errorf("an answer of which the clock alone is looked at says more: %s %v", answer.Status,
			answer.Header)
	}
	other.Client().CloseIdleConnections()
	s.stop() // then the line is there
	for _, want := range []string{"request=mine", "path=/v1/frames", "status=204", "account=acme",
		"key=agents"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("nothing of %s in %s", want, log.String())
		}
	}
	if strings.Contains(log.String(), writer) {
		t.Error("the log has a key")
	}
	if n := s.counts(t, "requests_total")[""]; n != 0 {
		t.Error("labels are missing")
	}
	if got := s.counts(t, "requests_total")["204"]; got != 2 {
		t.Errorf("%v", s.counts(t, "requests_total"))
	}
	c := DefaultConfig()
	c.TLS.CertFile = cert
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "ingest: tls: set both") {
		t.Error(err)
	}
}
