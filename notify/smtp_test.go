package notify

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/prometheus/prometheus/model/labels"
)

// mailServer is an SMTP server on loopback that keeps what it takes.
type mailServer struct {
	address, ca string // the file of its authority
	refuses     string // a recipient
	cuts        bool   // the connection, in the middle of a mail

	mu    sync.Mutex
	mails []received
}

type received struct {
	from, to   string
	subject    string
	text, html string
	encrypted  bool
	user       string
}

// mustMail starts a server. With TLS it offers STARTTLS, and wants user and password "sesame".
func mustMail(t *testing.T, withTLS bool) *mailServer {
	t.Helper()
	m := &mailServer{}
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &mailSession{server: m, conn: c, wants: withTLS}, nil
	}))
	s.Domain = "mail.example.org"
	if withTLS {
		web := httptest.NewUnstartedServer(nil) // it has a certificate for 127.0.0.1
		web.StartTLS()
		t.Cleanup(web.Close)
		s.TLSConfig = web.TLS.Clone()
		s.TLSConfig.NextProtos = nil
		m.ca = filepath.Join(t.TempDir(), "ca.pem")
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
		if err := os.WriteFile(m.ca, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = l.Addr().String()
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return m
}

func (m *mailServer) got() []received {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]received{}, m.mails...)
}

type mailSession struct {
	server   *mailServer
	conn     *smtp.Conn
	wants    bool
	user     string
	from, to string
}

func (s *mailSession) AuthMechanisms() []string {
	if !s.wants {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if password != "sesame" {
			return smtp.ErrAuthFailed
		}
		s.user = user
		return nil
	}), nil
}

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	if s.wants && s.user == "" {
		return smtp.ErrAuthRequired
	}
	s.from = from
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to == s.server.refuses {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1},
			Message: "no such mailbox here"}
	}
	s.to = to
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	if s.server.cuts {
		return s.conn.Conn().Close()
	}
	one, err := readMail(r)
	if err != nil {
		return fmt.Errorf("no mail: %w", err)
	}
	_, one.encrypted = s.conn.TLSConnectionState()
	one.from, one.to, one.user = s.from, s.to, s.user
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.mails = append(s.server.mails, one)
	return nil
}

func (s *mailSession) Reset()        {}
func (s *mailSession) Logout() error { return nil }

// readMail reads a mail as mail programs do: headers, and the two alternatives.
func readMail(r io.Reader) (one received, err error) {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return one, err
	}
	if one.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return one, err
	}
	kind, of, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		return one, fmt.Errorf("%s: %w", kind, err)
	}
	parts := multipart.NewReader(m.Body, of["boundary"])
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			return one, nil
		}
		if err != nil {
			return one, err
		}
		text, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			return one, err
		}
		if strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
			one.html = string(text)
		} else {
			one.text = string(text)
		}
	}
}

// mailTo is a configuration that sends to a server.
func mailTo(m *mailServer, more string) string {
	tls := "require_tls: false"
	if m.ca != "" {
		tls = fmt.Sprintf("tls_config: {ca_file: %q}", m.ca)
	}
	return fmt.Sprintf(`
route: {receiver: me, group_by: [cluster], group_wait: 500ms, group_interval: 1s}
receivers:
  - name: me
    email_configs:
      - {to: me@example.org, from: ringwatch@example.org, smarthost: %q, send_resolved: true, %s%s}
`, m.address, tls, more)
}

// TestMail: an alert and its end are mails by STARTTLS, with who sends them, in two forms.
func TestMail(t *testing.T) {
	m := mustMail(t, true)
	o := options(t.TempDir(), mustParse(t, mailTo(m, ", auth_username: u, auth_password: sesame")))
	o.Insights = func(_ context.Context, account string, alerts []map[string]string) []Insight {
		if account != "shop" || alerts[0]["alertname"] != "A" {
			t.Errorf("asked for %s: %v", account, alerts)
		}
		return []Insight{{Host: "db-7 (10.0.0.7)", Advice: "Look <here>."}}
	}
	n := mustOpen(t, o)
	a := firing("A", "severity", "critical", "node", nodeID)
	a.Annotations = labels.FromStrings("description", "It hurts.")
	mustPut(t, n, a)
	eventually(t, func() bool { return len(m.got()) == 1 },
		func() string { return fmt.Sprint(len(m.got()), " mails") })
	one := m.got()[0]
	if !one.encrypted || one.user != "u" || one.to != "me@example.org" ||
		one.from != "ringwatch@example.org" {
		t.Errorf("%+v", one)
	}
	const subject = "Critical: A on db-7 (10.0.0.7) in cluster c, since "
	if !strings.HasPrefix(one.subject, subject) || strings.Contains(one.text, nodeID) ||
		!strings.HasPrefix(one.text, one.subject+"\r\n\r\nIt hurts.\r\nAdvice: Look <here>.") ||
		!strings.Contains(one.html, "Look &lt;here&gt;.") {
		t.Errorf("%+v", one)
	}
	mustPut(t, n, ended(a))
	eventually(t, func() bool { return len(m.got()) == 2 },
		func() string { return fmt.Sprint(len(m.got()), " mails") })
	if got := m.got()[1].subject; !strings.HasPrefix(got, "Ended after ") {
		t.Error(got)
	}
}

// mustTest is what becomes of a test of the receiver me.
func mustTest(t *testing.T, config string, atMost time.Duration) Delivery {
	t.Helper()
	o := options(t.TempDir(), mustParse(t, config))
	if atMost > 0 {
		o.testTime = atMost
	}
	n := mustOpen(t, o)
	list, err := n.Test(t.Context(), "shop", "me")
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	return list[0]
}

// TestMailTests: a test says that the server took it, or why not in the server's own words.
func TestMailTests(t *testing.T) {
	m := mustMail(t, true)
	if d := mustTest(t, mailTo(m, ", auth_username: u, auth_password: sesame"), 0); !d.Delivered ||
		d.Integration != "email[0]" || d.To != "me@example.org" || d.Why != "" {
		t.Errorf("%+v", d)
	}
	if got := m.got(); len(got) != 1 || !strings.HasPrefix(got[0].subject, "This is a test") ||
		!strings.HasPrefix(got[0].text, "This is a test") {
		t.Errorf("%+v", got)
	}
	plain, cut := mustMail(t, false), mustMail(t, false)
	cut.cuts = true
	refusing := mustMail(t, false)
	refusing.refuses = "me@example.org"
	silent := &mailServer{address: mustSilent(t)}
	nobody := &mailServer{address: "127.0.0.1:1"}
	for _, c := range []struct {
		what, config, why string
		atMost            time.Duration
	}{
		{"a wrong password", mailTo(m, ", auth_username: u, auth_password: wrong"), "535", 0},
		{"no user", mailTo(m, ""), "uthenticat", 0},
		{"no STARTTLS", strings.Replace(mailTo(plain, ""), ", require_tls: false", "", 1),
			"STARTTLS", 0},
		{"no mailbox", mailTo(refusing, ""), "no such mailbox here", 0},
		{"cut", mailTo(cut, ""), "EOF", 0},
		{"silence", mailTo(silent, ""), "no answer within 300ms", 300 * time.Millisecond},
		{"nobody", mailTo(nobody, ""), "refused", 0},
	} {
		d := mustTest(t, c.config, c.atMost)
		if d.Delivered || !strings.Contains(d.Why, c.why) || strings.Contains(d.Why, "sesame") ||
			strings.Contains(d.Why, "\n") {
			t.Errorf("%s: %+v", c.what, d)
		}
	}
}

// mustSilent takes connections and says nothing.
func mustSilent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}
