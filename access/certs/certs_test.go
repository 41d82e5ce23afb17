package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/certs/certstest"
)

// server is a TLS server that echoes, with what config says at that moment.
type server struct {
	net.Listener
	config atomic.Pointer[tls.Config]
}

func newServer(t *testing.T, config *tls.Config) *server {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{}
	s.config.Store(config)
	s.Listener = tls.NewListener(plain,
		&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return s.config.Load(), nil
		}})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				_, _ = io.Copy(c, c)
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		s.Close()
		wg.Wait()
	})
	return s
}

// files are those of a test, by name.
func files(t *testing.T) func(name string) string {
	dir := t.TempDir()
	return func(name string) string { return filepath.Join(dir, name) }
}

func mustPair(t *testing.T, cert, key string) tls.Certificate {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// TestRefusals: each reason for which a server and a client do not come together is one sentence
// that names the key to set, whichever version of TLS they speak.
func TestRefusals(t *testing.T) {
	at := files(t)
	ours, foreign := certstest.New(t, "our authority"), certstest.New(t, "foreign authority")
	ours.Write(t, at("ca"))
	foreign.Write(t, at("foreign-ca"))
	ours.Issue(t, at("server.crt"), at("server.key"), "server", "db1.example", "127.0.0.1")
	ours.IssueUntil(t, time.Now().Add(-time.Hour), at("old.crt"), at("old.key"), "server",
		"127.0.0.1")
	ours.Issue(t, at("client.crt"), at("client.key"), "ringwatch")
	ours.IssueUntil(t, time.Now().Add(-time.Hour), at("ended.crt"), at("ended.key"), "ringwatch")
	foreign.Issue(t, at("stranger.crt"), at("stranger.key"), "stranger")
	clients, err := ReadAuthorities(at("ca"))
	if err != nil {
		t.Fatal(err)
	}
	good := func(c *Client) {
		c.CAFile, c.CertFile, c.KeyFile = at("ca"), at("client.crt"), at("client.key")
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		demanding := &tls.Config{Certificates: []tls.Certificate{mustPair(t, at("server.crt"),
			at("server.key"))}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients,
			MaxVersion: version}
		old := demanding.Clone()
		old.Certificates = []tls.Certificate{mustPair(t, at("old.crt"), at("old.key"))}
		s := newServer(t, demanding)
		for _, c := range []struct {
			what   string
			change func(*Client)
			server *tls.Config
			want   string // in the message and the remedy; empty: let in
		}{
			{"all right", func(*Client) {}, demanding, ""},
			{"its name", func(c *Client) { c.ServerName = "db1.example" }, demanding, ""},
			{"no certificate", func(c *Client) { c.CertFile, c.KeyFile = "", "" }, demanding,
				"demands a client certificate, and we have none|set db.tls.cert_file and " +
					"db.tls.key_file"},
			{"a stranger's", func(c *Client) {
				c.CertFile, c.KeyFile = at("stranger.crt"), at("stranger.key")
			}, demanding, "does not accept our certificate CN=stranger, signed by CN=foreign " +
				"authority (|let the server trust"},
			{"our end", func(c *Client) {
				c.CertFile, c.KeyFile = at("ended.crt"), at("ended.key")
			}, demanding, "signed by CN=our authority, which ended on |use a certificate"},
			{"another name", func(c *Client) { c.ServerName = "db2.example" }, demanding,
				"'s certificate is for db1.example, 127.0.0.1, not for " +
					"db2.example|db.tls.server_name"},
			{"a foreign authority", func(c *Client) { c.CAFile = at("foreign-ca") }, demanding,
				"is signed by CN=our authority, which is not in " + at("foreign-ca") +
					"|db.tls.ca_file"},
			{"this machine's authorities", func(c *Client) { c.CAFile = "" }, demanding,
				"is signed by CN=our authority, which this machine does not trust|db.tls.ca_file"},
			{"its end", func(*Client) {}, old, "'s certificate expired on |renew"},
		} {
			client := Section("db.tls")
			client.Present()
			good(&client)
			c.change(&client)
			s.config.Store(c.server)
			cert, err := client.Dialer(nil).Greet(t.Context(), s.Addr().String(), []byte("hello"))
			if c.want == "" {
				if err != nil || cert.Subject.CommonName != "server" {
					t.Errorf("%x, %s: %v", version, c.what, err)
				}
				continue
			}
			message, remedy, _ := strings.Cut(c.want, "|")
			if e, ok := errors.AsType[*Error](err); !ok ||
				!strings.HasPrefix(e.Message, s.Addr().String()) ||
				!strings.Contains(e.Message, message) || !strings.Contains(e.Remedy, remedy) ||
				strings.Contains(e.Error(), "\n") {
				t.Errorf("%x, %s: it says %v, want %q", version, c.what, err, c.want)
			}
		}
	}
}

// TestNamesOfAnEngine: a server that is called by its address may have one of the engine's host
// names, and only with a server_name must it be that one.
func TestNamesOfAnEngine(t *testing.T) {
	at := files(t)
	a := certstest.New(t, "authority")
	a.Write(t, at("ca"))
	a.Issue(t, at("crt"), at("key"), "server", "db2.example")
	s := newServer(t,
		&tls.Config{Certificates: []tls.Certificate{mustPair(t, at("crt"), at("key"))}})
	client := Client{Enabled: true, CAFile: at("ca")}
	dial := func(names ...string) error {
		c, err := client.Dialer(nil, names...).DialContext(t.Context(), "tcp", s.Addr().String())
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := dial("db1.example", "db2.example:9042"); err != nil {
		t.Error(err)
	}
	for _, names := range [][]string{nil, {"db1.example:9042"}, {"10.0.0.1:9042"}} {
		if err := dial(names...); err == nil ||
			!strings.Contains(err.Error(), "is for db2.example, not for 127.0.0.1") {
			t.Error(names, err)
		}
	}
	client.ServerName = "db1.example"
	if err := dial("db2.example"); err == nil ||
		!strings.Contains(err.Error(), "not for db1.example;") {
		t.Error(err)
	}
}

// TestNoTLS: a port without TLS, one that ends the connection, and one that says nothing.
func TestNoTLS(t *testing.T) {
	for what, test := range map[string]struct {
		serve func(net.Conn)
		want  string
	}{
		"speaks": {func(c net.Conn) { _, _ = io.WriteString(c, "-ERR what is this?\r\n") },
			"does not speak TLS; name its port for TLS, or leave db.tls out"},
		"ends":    {func(net.Conn) {}, "look whether this port speaks TLS"},
		"is mute": {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "deadline exceeded"},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Read(make([]byte, 1<<10))
				test.serve(c)
				c.Close()
			}
		})
		client := Section("db.tls")
		client.Present()
		ctx := t.Context()
		if what == "is mute" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
		}
		if _, err := client.Dialer(nil).DialContext(ctx, "tcp", l.Addr().String()); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", what, err, test.want)
		}
		if Speaks(ctx, l.Addr().String()) {
			t.Errorf("a port that %s is taken for one with TLS", what)
		}
		l.Close()
		wg.Wait()
	}
}

// TestFilesAreReadAgain: our certificate, its key and the authorities are replaced while we run.
// What is broken leaves the earlier ones in use, and is logged once.
func TestFilesAreReadAgain(t *testing.T) {
	at := files(t)
	first, second := certstest.New(t, "first"), certstest.New(t, "second")
	config := func(a *certstest.Authority, name string) *tls.Config {
		a.Write(t, at(name+"-ca"))
		a.Issue(t, at(name+".crt"), at(name+".key"), name, "127.0.0.1")
		clients, err := ReadAuthorities(at(name + "-ca"))
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{
			Certificates: []tls.Certificate{mustPair(t, at(name+".crt"), at(name+".key"))},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: clients,
		}
	}
	one, two := config(first, "one"), config(second, "two")
	s := newServer(t, one)
	first.Write(t, at("ca"))
	first.Issue(t, at("crt"), at("key"), "ringwatch")
	client := Client{Enabled: true, CAFile: at("ca"), CertFile: at("crt"), KeyFile: at("key")}
	var log bytes.Buffer
	d := client.Dialer(slog.New(slog.NewTextHandler(&log, nil)))
	now := time.Now()
	d.files.Now = func() time.Time { return now }
	ask := func() (string, error) {
		now = now.Add(Recheck)
		cert, err := d.Greet(t.Context(), s.Addr().String(), []byte("hello"))
		if err != nil {
			return "", err
		}
		return cert.Subject.CommonName, nil
	}
	expect := func(want string) {
		t.Helper()
		if name, err := ask(); err != nil || name != want {
			t.Errorf("%s, %v, want %s", name, err, want)
		}
	}
	expect("one")
	if other := client.Dialer(nil); other.files != d.files {
		t.Error("two clients of one engine read its files twice")
	}
	// A half of the pair.
	key, err := os.ReadFile(at("key"))
	if err != nil {
		t.Fatal(err)
	}
	second.Issue(t, at("crt"), at("key"), "ringwatch")
	newKey, err := os.ReadFile(at("key"))
	if err != nil {
		t.Fatal(err)
	}
	certstest.Put(t, at("key"), key)
	expect("one")
	expect("one")
	if n := strings.Count(log.String(), "does not belong to the certificate"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, log.String())
	}
	certstest.Put(t, at("key"), newKey)
	if _, err := ask(); err == nil ||
		!strings.Contains(err.Error(), "does not accept our certificate CN=ringwatch, signed by "+
			"CN=second") {
		t.Error("the new certificate is not used:", err)
	}
	if !strings.Contains(log.String(), "reloaded") {
		t.Error("the new certificate is not logged")
	}
	s.config.Store(two)
	if _, err := ask(); err == nil ||
		!strings.Contains(err.Error(), "signed by CN=second, which is not in") {
		t.Error("the old authority is not asked:", err)
	}
	certstest.Put(t, at("ca"), []byte("half a fi"))
	if _, err := ask(); err == nil ||
		!strings.Contains(err.Error(), "signed by CN=second, which is not in") {
		t.Error("broken authorities do not leave the earlier ones:", err)
	}
	second.Write(t, at("ca"))
	expect("two")
	if err := os.Remove(at("ca")); err != nil {
		t.Fatal(err)
	}
	expect("two")
	if n := strings.Count(log.String(), "earlier ones stay in use"); n != 3 {
		t.Errorf("three files were broken, and it is logged %d times:\n%s", n, log.String())
	}
}

// TestFilesThatCannotBeUsed: all of them are told at once, each with its key.
func TestFilesThatCannotBeUsed(t *testing.T) {
	at := files(t)
	a := certstest.New(t, "authority")
	a.Issue(t, at("crt"), at("key"), "ringwatch")
	a.Issue(t, at("crt2"), at("key2"), "ringwatch")
	certstest.Put(t, at("locked"),
		[]byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n-----END ENCRYPTED PRIVATE "+
			"KEY-----\n"))
	for _, c := range []struct {
		client Client
		want   []string
	}{
		{Client{}, nil},
		{Client{CAFile: "none"}, nil}, // switched off
		{Client{Enabled: true}, nil},
		{Client{Enabled: true, CertFile: at("crt"), KeyFile: at("key")}, nil},
		{Client{Enabled: true, CertFile: "x"},
			[]string{"db.tls.cert_file: it needs db.tls.key_file"}},
		{Client{Enabled: true, KeyFile: "x"},
			[]string{"db.tls.key_file: it needs db.tls.cert_file"}},
		{Client{Enabled: true, ServerName: "https://db:9042"}, []string{"db.tls.server_name"}},
		{Client{Enabled: true, ServerName: "*.example"}, []string{"db.tls.server_name"}},
		{Client{Enabled: true, CAFile: at("none"), CertFile: at("none"), KeyFile: at("none")},
			[]string{"db.tls.ca_file: open ", "db.tls.cert_file: open ", "db.tls.key_file: open "}},
		{Client{Enabled: true, CAFile: at("key"), CertFile: at("key"), KeyFile: at("crt")},
			[]string{"db.tls.ca_file: " + at("key") + " holds no PEM certificate",
				"db.tls.cert_file: ",
				"db.tls.key_file: " + at("crt") + " holds no PEM private key"}},
		{Client{Enabled: true, CertFile: at("crt"), KeyFile: at("key2")},
			[]string{"db.tls.key_file: the key in " + at("key2") +
				" does not belong to the certificate in " + at("crt")}},
		{Client{Enabled: true, CertFile: at("crt"), KeyFile: at("locked")},
			[]string{"db.tls.key_file: the key in " + at("locked") + " has a passphrase"}},
	} {
		c.client.section = "db.tls"
		err := c.client.Check()
		if c.want == nil {
			if err != nil {
				t.Errorf("%+v: %v", c.client, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%+v is taken", c.client)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", c.client, err, want)
			}
		}
		if n := strings.Count(err.Error(), "\n") + 1; n != len(c.want) {
			t.Errorf("%+v: %d errors, want %d: %v", c.client, n, len(c.want), err)
		}
	}
}

// TestFilesThatComeLater: a connection is refused with what is wrong with the files until they are
// there.
func TestFilesThatComeLater(t *testing.T) {
	at := files(t)
	a := certstest.New(t, "authority")
	a.Issue(t, at("crt"), at("key"), "server", "127.0.0.1")
	s := newServer(t,
		&tls.Config{Certificates: []tls.Certificate{mustPair(t, at("crt"), at("key"))}})
	client := Client{Enabled: true, CAFile: at("ca"), section: "db.tls"}
	d := client.Dialer(slog.New(slog.DiscardHandler))
	now := time.Now()
	d.files.Now = func() time.Time { return now }
	for range 2 {
		if _, err := d.DialContext(t.Context(), "tcp", s.Addr().String()); err == nil ||
			!strings.Contains(err.Error(), "db.tls.ca_file: open") {
			t.Error(err)
		}
		now = now.Add(Recheck)
	}
	a.Write(t, at("ca"))
	now = now.Add(Recheck)
	if _, err := d.Greet(t.Context(), s.Addr().String(), []byte("hello")); err != nil {
		t.Error(err)
	}
}

// TestRefusedBeforeWeSpeak: a server that sent us away and has gone before our first words came is
// understood all the same.
func TestRefusedBeforeWeSpeak(t *testing.T) {
	at := files(t)
	a := certstest.New(t, "authority")
	a.Write(t, at("ca"))
	a.Issue(t, at("crt"), at("key"), "server", "127.0.0.1")
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	config := &tls.Config{Certificates: []tls.Certificate{mustPair(t, at("crt"), at("key"))},
		ClientAuth: tls.RequireAnyClientCert}
	gone := make(chan error, 1)
	go func() {
		c, err := plain.Accept()
		if err == nil {
			_ = tls.Server(c, config).Handshake()
			err = c.Close()
		}
		gone <- err
	}()
	client := Client{Enabled: true, CAFile: at("ca"), section: "db.tls"}
	c, err := client.Dialer(nil).DialContext(t.Context(), "tcp", plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := <-gone; err != nil {
		t.Fatal(err)
	}
	for err == nil { // the first words may still go
		_, err = c.Write([]byte("hello"))
	}
	if e, ok := errors.AsType[*Error](err); !ok ||
		!strings.Contains(e.Error(),
			"demands a client certificate, and we have none (remote error") {
		t.Error(err)
	}
}
