package listener

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/ringwatch/ringwatch/access/certs"
)

// authority signs certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// writer is a function that takes what is written.
type writer func([]byte) (int, error)

// Write implements io.Writer.
func (w writer) Write(b []byte) (int, error) { return w(b) }

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey,
		key))
	return &authority{key, must[*x509.Certificate](t)(x509.ParseCertificate(der))}
}

// issue writes a certificate and its key.
func (a *authority) issue(t *testing.T, name, certFile, keyFile string) {
	t.Helper()
	key := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der := must[[]byte](t)(x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey,
		a.key))
	write(t, certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, keyFile,
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY",
			Bytes: must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key))}))
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// write replaces a file, with a time that differs from before on any file system.
func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	stamp = stamp.Add(time.Second)
	if err := os.Chtimes(file, stamp, stamp); err != nil {
		t.Fatal(err)
	}
}

var stamp = time.Now()

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	c := TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"),
		ClientCAFile: filepath.Join(dir, "clients.pem")}
	servers, clients, strangers := newAuthority(t, "servers"), newAuthority(t, "clients"),
		newAuthority(t, "strangers")
	servers.issue(t, "first", c.CertFile, c.KeyFile)
	write(t, c.ClientCAFile, clients.pem())
	own := func(a *authority) *tls.Certificate {
		cert, key := filepath.Join(dir, "client.pem"), filepath.Join(dir, "client-key.pem")
		a.issue(t, "client", cert, key)
		pair := must[tls.Certificate](t)(tls.LoadX509KeyPair(cert, key))
		return &pair
	}
	client, stranger := own(clients), own(strangers)

	var log bytes.Buffer
	now := time.Now()
	plain := must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0"))
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	f := c.watched(slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), nil)))
	f.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	must[*tls.Config](t)(f.Current())
	listener := listener(plain, f)
	later := func() {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(certs.Recheck)
	}
	logged := func() string {
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Proto)
	}), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	roots := x509.NewCertPool()
	roots.AddCert(servers.cert)
	ask := func(mine *tls.Certificate, most uint16) (name, said string, err error) {
		config := &tls.Config{RootCAs: roots, MaxVersion: most,
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if mine == nil {
					return &tls.Certificate{}, nil
				}
				return mine, nil
			}}
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get(
			"https://" + listener.Addr().String())
		if err != nil {
			return "", "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return answer.TLS.PeerCertificates[0].Subject.CommonName, string(body), err
	}
	expect := func(want string) {
		t.Helper()
		if name, said, err := ask(client, 0); err != nil || name != want || said != "HTTP/2.0" {
			t.Errorf("%s %s %v, want %s", name, said, err, want)
		}
	}
	expect("first")
	for what, cert := range map[string]*tls.Certificate{"no certificate": nil,
		"a stranger's": stranger} {
		if _, _, err := ask(cert, 0); err == nil {
			t.Errorf("%s is let in", what)
		}
	}
	if _, _, err := ask(client, tls.VersionTLS11); err == nil {
		t.Error("TLS 1.1 is let in")
	}
	// In the middle of a replacement the certificate and the key do not belong together.
	oldKey := must[[]byte](t)(os.ReadFile(c.KeyFile))
	servers.issue(t, "second", c.CertFile, c.KeyFile)
	newKey := must[[]byte](t)(os.ReadFile(c.KeyFile))
	write(t, c.KeyFile, oldKey)
	expect("first") // not looked at yet
	later()
	expect("first")
	later()
	expect("first")
	if n := strings.Count(logged(), "cannot be used"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, logged())
	}
	write(t, c.KeyFile, newKey)
	later()
	expect("second")
	if !strings.Contains(logged(), "reloaded") {
		t.Error("the new certificate is not logged")
	}
	// Other clients.
	write(t, c.ClientCAFile, strangers.pem())
	later()
	if name, _, err := ask(stranger, 0); err != nil || name != "second" {
		t.Error(name, err)
	}
	if _, _, err := ask(client, 0); err == nil {
		t.Error("a client of the former authority is let in")
	}

	for _, c := range []struct {
		tls  TLS
		want []string
	}{
		{TLS{}, nil},
		{TLS{CertFile: "x"}, []string{"both cert_file and key_file"}},
		{TLS{ClientCAFile: "x"}, []string{"both cert_file and key_file"}},
		{TLS{CertFile: "none", KeyFile: "none", ClientCAFile: c.KeyFile},
			[]string{"cert_file none", "no PEM certificate"}},
	} {
		err := c.tls.Validate()
		if err == nil {
			_, err = c.tls.Listener(plain, nil)
		}
		if (err != nil) != (c.want != nil) {
			t.Error(c.tls, err)
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v does not name %s", err, want)
			}
		}
	}
	if l, err := (TLS{}).Listener(plain, nil); l != plain || err != nil {
		t.Error("without a certificate it is another listener", err)
	}
}

func value(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		t.Fatal(err)
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

func TestObserver(t *testing.T) {
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	o, err := NewObserver("test", true, nil, slog.New(slog.NewJSONHandler(&log, nil)), reg)
	if err != nil {
		t.Fatal(err)
	}
	const key = "rw_0123456789_abcdefghij"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /a/{x}", func(w http.ResponseWriter, r *http.Request) {
		Admitted(r.Context(), "acme", "id/name")
		if ID(r.Context()) != w.Header().Get(RequestID) {
			t.Error("another id")
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "12345")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /empty", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})
	server := httptest.NewServer(o.Wrap(mux, http.NotFoundHandler()))
	t.Cleanup(server.Close)
	ask := func(path, id string) (*http.Response, error) {
		q := must[*http.Request](t)(http.NewRequestWithContext(t.Context(), http.MethodGet,
			server.URL+path, nil))
		q.Header.Set("Authorization", "Bearer "+key)
		q.Header.Set("User-Agent", "me "+key)
		if id != "" {
			q.Header.Set(RequestID, id)
		}
		answer, err := http.DefaultClient.Do(q)
		if err == nil {
			answer.Body.Close()
		}
		return answer, err
	}
	for id, taken := range map[string]bool{"trace-1_2.3:4": true, "": false, "a b": false,
		"é": false, strings.Repeat("x", 65): false, key: false} {
		answer := must[*http.Response](t)(ask("/a/"+key, id))
		if got := answer.Header.Get(RequestID); (got == id) != taken || got == "" ||
			answer.StatusCode != http.StatusTeapot {
			t.Errorf("%q becomes %q, %s", id, got, answer.Status)
		}
	}
	must[*http.Response](t)(ask("/empty", "e"))
	must[*http.Response](t)(ask("/nowhere?key="+key, "n"))
	if _, err := ask("/panic", "p"); err == nil {
		t.Error("a panic is an answer")
	}
	server.Close() // waits for all, so that all lines are there
	for _, want := range []string{`"request":"trace-1_2.3:4"`, `"path":"/a/rw_…"`,
		`"status":418,"bytes":5,`, `"account":"acme","key":"id/name"`, `"agent":"me rw_…"`,
		`"path":"/empty","status":200,"bytes":0`, `"path":"/nowhere","status":404`,
		`"path":"/panic","status":500`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("nothing of %s in\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), key) || strings.Count(log.String(), `"msg":"access"`) != 9 {
		t.Errorf("the access log:\n%s", log.String())
	}
	for route, codes := range map[string]map[string]float64{"GET /a/{x}": {"418": 6},
		"GET /empty": {"200": 1}, "none": {"404": 1}, "GET /panic": {"500": 1}} {
		for code, want := range codes {
			if got := value(t, o.requests.WithLabelValues(route, code)); got != want {
				t.Errorf("%s %s: %v, want %v", route, code, got, want)
			}
		}
	}
	if got := value(t, o.inFlight); got != 0 {
		t.Error(got, "are under way")
	}
	if ID(context.Background()) != "" {
		t.Error("an id outside of a request")
	}
	Admitted(context.Background(), "a", "k") // does nothing
	if _, err := NewObserver("test", false, nil, nil, reg); !errors.As(err,
		new(prometheus.AlreadyRegisteredError)) {
		t.Error(err)
	}
}
