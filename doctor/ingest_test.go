package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs certificates for servers of the test's own.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func mustAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem")}
	a.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // fails for unknown curves only
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject:   pkix.Name{CommonName: "the test's CA"},
		NotBefore: time.Now().Add(-1000 * time.Hour), NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, _ = x509.ParseCertificate(der) // just made
	if err := os.WriteFile(a.file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		0o644); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *authority) sign(t *testing.T, ends time.Time,
	change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(2),
		NotBefore: time.Now().Add(-500 * time.Hour), NotAfter: ends,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func mustServe(t *testing.T, certificate *tls.Certificate, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	if certificate == nil {
		server.Start()
	} else {
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
		server.StartTLS()
	}
	t.Cleanup(server.Close)
	return server.URL
}

// refusesEmptyFrame answers as ingest does, after its look at the key.
func refusesEmptyFrame(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusBadRequest)
	w.Write([]byte(`{"error":{"reason":"truncated","message":"the frame ends early"}}`))
}

func examine(t *testing.T, a agentConfig) []Result {
	t.Helper()
	n := &node{agent: a}
	n.checkIngest(t.Context())
	return n.Results
}

// want fails unless one of the results has this name and status and says so.
func want(t *testing.T, results []Result, name string, status Status, says string) {
	t.Helper()
	for _, r := range results {
		if r.Name == name && r.Status == status &&
			strings.Contains(r.Message+" → "+r.Remedy, says) {
			if status != OK && r.Remedy == "" {
				t.Errorf("%+v has no remedy", r)
			}
			return
		}
	}
	t.Errorf("no %s %s with %q in %+v", status, name, says, results)
}

func TestTLS(t *testing.T) {
	ca, other := mustAuthority(t), mustAuthority(t)
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	keep := func(*x509.Certificate) {}
	for _, c := range []struct {
		name    string
		ends    time.Time
		change  func(*x509.Certificate)
		trusted string
		status  Status
		says    string
	}{
		{"Good", in(900 * time.Hour), keep, ca.file, OK, "signed by " + ca.file},
		{"EndsSoon", in(30 * time.Hour), keep, ca.file, Warn, "ends on"},
		{"Expired", in(-30 * time.Hour), keep, ca.file, Fail, "has expired on"},
		{"OtherCA", in(900 * time.Hour), keep, other.file, Fail, "which is not in " + other.file},
		{"NoCA", in(900 * time.Hour), keep, "", Fail,
			"name your CA's certificate in ingest.ca_file"},
		{"OtherName", in(900 * time.Hour), func(c *x509.Certificate) {
			c.IPAddresses, c.DNSNames = nil, []string{"ingest.example"}
		}, ca.file, Fail, "is for other names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cert := ca.sign(t, c.ends, c.change)
			keys := 0
			address := mustServe(t, &cert, func(w http.ResponseWriter, r *http.Request) {
				keys++
				refusesEmptyFrame(w, r)
			})
			results := examine(t, agentConfig{urls: []string{address + "/v1/frames"}, key: "rw_x",
				caFile: c.trusted})
			want(t, results, "tls", c.status, c.says)
			if c.status == Fail && keys != 0 {
				t.Error("the key went to a server that is not trusted")
			}
			if c.status != Fail {
				want(t, results, "ingest", OK, "accepts this key")
			}
		})
	}
	if results := examine(t, agentConfig{urls: []string{"https://127.0.0.1:1/v1/frames"},
		caFile: "/does/not/exist"}); len(results) != 1 {
		t.Errorf("%+v", results)
	} else {
		want(t, results, "tls", Fail, "ingest.ca_file: open /does/not/exist")
	}
	want(t,
		examine(t,
			agentConfig{urls: []string{mustServe(t, nil, refusesEmptyFrame) + "/v1/frames"}}),
		"ingest", OK, "answers")
}

func TestClock(t *testing.T) {
	for _, c := range []struct {
		off    time.Duration
		status Status
		says   string
	}{
		{0, OK, "agree"},
		{-time.Minute, Warn, "differs"},
		{time.Hour, Fail, "differs"},
		{-time.Hour, Fail, "by NTP"},
	} {
		address := mustServe(t, nil, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(c.off).UTC().Format(http.TimeFormat))
			refusesEmptyFrame(w, r)
		})
		want(t, examine(t, agentConfig{urls: []string{address}}), "clock", c.status, c.says)
	}
	address := mustServe(t, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil
		refusesEmptyFrame(w, r)
	})
	want(t, examine(t, agentConfig{urls: []string{address}}), "clock", Warn,
		"does not tell its time")
}

// TestNotIngest asks servers that are something else.
func TestNotIngest(t *testing.T) {
	for _, c := range []struct {
		handler http.HandlerFunc
		status  Status
		says    string
	}{
		{http.NotFound, Fail, "404, so it is not a Ringwatch ingest"},
		{func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1<<20)) }, Fail,
			"200, so it is not a Ringwatch ingest"},
		{func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) },
			Fail, "redirects are not followed"},
		{func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, Fail,
			"does not answer"},
		{func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(503)
			w.Write([]byte(`{"error":{"reason":"overloaded","message":"too \u001b[31mmuch"}}`))
		}, Warn, "cannot say now whether the key is right: too  [31mmuch"},
	} {
		want(t, examine(t, agentConfig{urls: []string{mustServe(t, nil, c.handler)}, key: "rw_x"}),
			"ingest", c.status, c.says)
	}
}
