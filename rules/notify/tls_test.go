package notify

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// TestAlertmanagerTLS: a real one that speaks TLS and wants a password is told by who trusts its
// certificate. Who does not keeps the alert, and fails until it is stopped.
func TestAlertmanagerTLS(t *testing.T) {
	told := newPeople(t)
	cert, key := newCertificate(t)
	am := engines.MustAlertmanager(t, told.quick(), func(c *engines.AlertmanagerConfig) {
		c.Web = fmt.Sprintf("tls_server_config: {cert_file: %q, key_file: %q}\n%s", cert, key,
			basicAuth)
	})
	c := testConfig()
	c.LateSpacing, c.StopTimeout = 0, time.Second
	for _, trusted := range []string{cert, ""} {
		c.Alertmanagers = append(c.Alertmanagers, alertmanagerConfig(t, "{scheme: https, "+
			"tls_config: {ca_file: %q}, basic_auth: {username: ringwatch, password: secret}, "+
			"static_configs: [{targets: [%q]}]}", trusted, am.Addr()))
	}
	n, reg, stop := mustNotifier(t, c, Deps{})
	n.Send(t.Context(), []Alert{firing("down", 50)})
	told.hear(t, "down", "firing")
	eventually.Nil(t, "the other one to be refused", func() error {
		if m := sums(t, reg); m["ringwatch_notify_failures_total alertmanagers-1"] == 0 {
			return fmt.Errorf("%v", m)
		}
		return nil
	})
	n.Send(t.Context(), []Alert{resolved("down", 50, 55)})
	told.hear(t, "down", "firing resolved")
	stop()
	if m := sums(t, reg); m["ringwatch_notify_sent_total alertmanagers-0"] != 2 ||
		m["ringwatch_notify_sent_total alertmanagers-1"] != 0 {
		t.Errorf("%v", m)
	}
}

// newCertificate writes a certificate of 127.0.0.1 that signs itself, and its key.
func newCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, of string, b []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		text := pem.EncodeToMemory(&pem.Block{Type: of, Bytes: b})
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", private)
}
