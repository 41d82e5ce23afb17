// Package certstest makes authorities and certificates for tests.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

// New returns an authority of that name.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{key: newKey(tb)}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(1000 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.cert = parse(tb, template, template, a.key, a.key)
	return a
}

// Write writes the authority's certificate to a file.
func (a *Authority) Write(tb testing.TB, file string) {
	tb.Helper()
	Put(tb, file, block("CERTIFICATE", a.cert.Raw))
}

// Issue writes a certificate and its key, for servers and clients, with these host names and
// addresses.
func (a *Authority) Issue(tb testing.TB, certFile, keyFile, commonName string, names ...string) {
	tb.Helper()
	a.IssueUntil(tb, time.Now().Add(999*time.Hour), certFile, keyFile, commonName, names...)
}

// IssueUntil is Issue with an end.
func (a *Authority) IssueUntil(tb testing.TB, until time.Time, certFile, keyFile, commonName string,
	names ...string) {
	tb.Helper()
	key := newKey(tb)
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject: pkix.Name{CommonName: commonName}, NotBefore: time.Now().Add(-47 * time.Hour),
		NotAfter:    until,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	cert := parse(tb, template, a.cert, key, a.key)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	Put(tb, certFile, block("CERTIFICATE", cert.Raw))
	Put(tb, keyFile, block("PRIVATE KEY", private))
}

// stamp makes the time of each file that Put writes another, on any file system.
var stamp atomic.Int64

// Put replaces a file at once, as those who renew certificates do, with a time that it never had.
func Put(tb testing.TB, file string, text []byte) {
	tb.Helper()
	fresh := filepath.Join(filepath.Dir(file), ".new-"+filepath.Base(file))
	err := os.WriteFile(fresh, text, 0o600)
	if err == nil {
		at := time.Now().Add(time.Duration(stamp.Add(1)) * time.Second)
		err = os.Chtimes(fresh, at, at)
	}
	if err == nil {
		err = os.Rename(fresh, file)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func parse(tb testing.TB, template, parent *x509.Certificate,
	key, signer *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}

func block(of string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: of, Bytes: der})
}
