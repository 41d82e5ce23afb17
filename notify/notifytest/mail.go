// Package notifytest has receivers of alerts for tests. Begin with MustMail.
package notifytest

import (
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

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// MailServer is an SMTP server on loopback that keeps what it takes. It is safe for concurrent use.
type MailServer struct {
	Address string
	CA      string // the file of its authority; "": it has no TLS
	Refuses string // a recipient
	Cuts    bool   // the connection, in the middle of a mail

	mu    sync.Mutex
	mails []Mail
}

// Mail is one that was taken.
type Mail struct {
	From, To   string
	Subject    string
	Text, HTML string
	Encrypted  bool
	User       string // who signed in; "": nobody
}

// MustMail starts a server. With TLS it offers STARTTLS. Who signs in is wanted, with the password
// "sesame" and any name, if signIn says so.
func MustMail(t *testing.T, withTLS, signIn bool) *MailServer {
	t.Helper()
	m := &MailServer{}
	s := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &mailSession{server: m, conn: c, wants: signIn}, nil
	}))
	s.Domain = "mail.example.org"
	if withTLS {
		web := httptest.NewUnstartedServer(nil) // it has a certificate for 127.0.0.1
		web.StartTLS()
		t.Cleanup(web.Close)
		s.TLSConfig = web.TLS.Clone()
		s.TLSConfig.NextProtos = nil
		m.CA = filepath.Join(t.TempDir(), "ca.pem")
		text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
		if err := os.WriteFile(m.CA, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.Address = l.Addr().String()
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return m
}

// Got is what came so far.
func (m *MailServer) Got() []Mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]Mail{}, m.mails...)
}

type mailSession struct {
	server   *MailServer
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
	if to == s.server.Refuses {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1},
			Message: "no such mailbox here"}
	}
	s.to = to
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	if s.server.Cuts {
		return s.conn.Conn().Close()
	}
	one, err := readMail(r)
	if err != nil {
		return fmt.Errorf("no mail: %w", err)
	}
	_, one.Encrypted = s.conn.TLSConnectionState()
	one.From, one.To, one.User = s.from, s.to, s.user
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.mails = append(s.server.mails, one)
	return nil
}

func (s *mailSession) Reset()        {}
func (s *mailSession) Logout() error { return nil }

// readMail reads a mail as mail programs do: headers, and the two alternatives.
func readMail(r io.Reader) (one Mail, err error) {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return one, err
	}
	if one.Subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
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
			one.HTML = string(text)
		} else {
			one.Text = string(text)
		}
	}
}
