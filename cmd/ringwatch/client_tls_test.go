package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
)

// mustCertificate writes a certificate for 127.0.0.1, for servers and clients, which signs itself.
func mustCertificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1),
		Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert},
		keyFile: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// TestClientTLS asks an API that has a certificate and wants one.
func TestClientTLS(t *testing.T) {
	cert, key := mustCertificate(t)
	nodes := serve(t, func(c *api.Config) {
		c.TLS.CertFile, c.TLS.KeyFile, c.TLS.ClientCAFile = cert, key, cert
	})
	f := flags()
	f.API = "https://" + strings.TrimPrefix(f.API, "http://")
	var out bytes.Buffer
	if err := (&fleet.NodesCmd{Flags: f}).RunTo(t.Context(), &out); err == nil ||
		!strings.Contains(err.Error(), "--ca-file") {
		t.Error("a certificate that nobody knows:", err)
	}
	f.CAFile = cert
	if err := (&fleet.NodesCmd{Flags: f}).RunTo(t.Context(), &out); err == nil {
		t.Error("without a certificate of our own it is let in")
	}
	f.CertFile, f.CertKeyFile = cert, key
	if err := (&fleet.NodesCmd{Flags: f}).RunTo(t.Context(), &out); err != nil ||
		!strings.Contains(out.String(), nodes[0].Identity.Fact("address")) {
		t.Error(err, out.String())
	}
	api, err := f.Client()
	if err != nil {
		t.Fatal(err)
	}
	body, err := api.Get(t.Context(), "/v1/discovery", nil)
	var list []struct{ Labels map[string]string }
	if err != nil || json.Unmarshal(body, &list) != nil || len(list) != 3 ||
		list[0].Labels["__scheme__"] != "https" {
		t.Errorf("%v %s", err, body)
	}
	for _, f := range []client.TLSFlags{{CAFile: "none"}, {CAFile: key}, {CertFile: cert},
		{CertFile: key, CertKeyFile: key}} {
		if _, err := f.Transport(); err == nil || !strings.Contains(err.Error(), "--c") {
			t.Errorf("%+v: %v", f, err)
		}
	}
}
