package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Dialer makes connections with TLS, each with what the files say at that moment. The engines'
// own drivers cannot do that: they read certificates once, and RootCAs cannot change in a
// tls.Config that is in use. Its methods may be called from many goroutines.
type Dialer struct {
	client Client
	names  []string
	files  *Watched[*material]
}

// watching has what was read from the files of each Client, once in a process: an engine has many
// clients, and a broken file is told once.
var watching sync.Map // Client → *Watched[*material]

// Dialer returns one for the Client's server. A server's certificate may have the name that is
// dialled, or one of names; those are for engines whose clients learn only addresses. With a
// ServerName only that counts. Files are read when they are first needed.
func (c *Client) Dialer(log *slog.Logger, names ...string) *Dialer {
	of := *c
	files, _ := watching.LoadOrStore(of, &Watched[*material]{
		Files: []string{of.CAFile, of.CertFile, of.KeyFile}, Load: of.load, Log: log,
	})
	d := &Dialer{client: of, files: files.(*Watched[*material])}
	for _, name := range names {
		if host, _, err := net.SplitHostPort(name); err == nil {
			name = host
		}
		if net.ParseIP(name) == nil { // an address speaks for itself alone
			d.names = append(d.names, name)
		}
	}
	return d
}

// DialContext connects and shakes hands.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d.Over(ctx, &net.Dialer{}, network, address)
}

// Over is DialContext on a connection of dialer's. Its Timeout is for the handshake, too.
func (d *Dialer) Over(ctx context.Context, dialer *net.Dialer,
	network, address string) (net.Conn, error) {
	m, err := d.files.Current()
	if err != nil {
		return nil, err
	}
	if dialer.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, dialer.Timeout)
		defer cancel()
	}
	plain, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &conn{of: &attempt{client: &d.client, address: address, own: m.own}}
	c.Conn = tls.Client(plain, d.config(m, c.of))
	if err := c.Conn.HandshakeContext(ctx); err != nil {
		plain.Close()
		return nil, c.of.explain(err)
	}
	return c, nil
}

// config is for one connection.
func (d *Dialer) config(m *material, of *attempt) *tls.Config {
	host, _, err := net.SplitHostPort(of.address)
	if err != nil {
		host = of.address
	}
	names := append([]string{host}, d.names...)
	if d.client.ServerName != "" {
		names = []string{d.client.ServerName}
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		ServerName: names[0],
		// Verify below does what this leaves out, with more than one name.
		InsecureSkipVerify: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			return verify(s.PeerCertificates, m.roots, names)
		},
		// Our certificate is sent whatever authorities the server names. Then the server says what
		// is wrong with it, instead of that there is none.
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			of.asked.Store(true)
			if m.own == nil {
				return &tls.Certificate{}, nil
			}
			return m.own, nil
		},
	}
}

// verify checks a server's chain, and that it is called by one of names.
func verify(chain []*x509.Certificate, roots *x509.CertPool, names []string) error {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	if _, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between}); err !=
		nil {
		return &notTrusted{leaf: chain[0], err: err}
	}
	for _, name := range names {
		if chain[0].VerifyHostname(name) == nil {
			return nil
		}
	}
	return &notNamed{leaf: chain[0], names: names}
}

// attempt is what is known of a connection whose end must be explained.
type attempt struct {
	client  *Client
	address string
	own     *tls.Certificate
	asked   atomic.Bool // the server asked for our certificate
}

// lastWord is how long a connection that ended may take to say why.
const lastWord = time.Second

// conn is a TLS connection that explains a refusal which comes after the handshake: with TLS 1.3
// the server checks our certificate only after our side is done.
type conn struct {
	*tls.Conn
	of    *attempt
	heard atomic.Bool // the server sent something: it has let us in
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.heard.Store(true)
	} else if err != nil && !c.heard.Load() {
		err = c.of.explain(err)
	}
	return n, err
}

// Write implements net.Conn. A server that refused us may have closed the connection before our
// first bytes came. Its reason can still be read.
func (c *conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil || c.heard.Load() {
		return n, err
	}
	if e, ok := err.(net.Error); ok && e.Timeout() {
		return n, err
	}
	if c.Conn.SetReadDeadline(time.Now().Add(lastWord)) == nil {
		if _, why := c.Conn.Read(make([]byte, 1)); why != nil {
			if refusal, ok := c.of.explain(why).(*Error); ok {
				return n, refusal
			}
		}
	}
	return n, c.of.explain(err)
}

// Greet connects, says hello in the engine's protocol and waits for the first byte of the answer:
// only then has the server let us in. It returns the server's certificate.
func (d *Dialer) Greet(ctx context.Context, address string,
	hello []byte) (*x509.Certificate, error) {
	made, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := made.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	if _, err = made.Write(hello); err == nil {
		_, err = made.Read(make([]byte, 1))
	}
	if err != nil {
		if _, ok := err.(*Error); ok {
			return nil, err
		}
		return nil, fmt.Errorf("%s does not answer: %w", address, err)
	}
	return made.(*conn).ConnectionState().PeerCertificates[0], nil
}

// Speaks reports whether an address takes TLS, whoever it is and whether or not it lets us in.
func Speaks(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, speaksWithin)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer plain.Close()
	spoke := false
	_ = tls.Client(plain, &tls.Config{
		InsecureSkipVerify: true, // nothing is sent, and all that counts is that it answers
		VerifyConnection:   func(tls.ConnectionState) error { spoke = true; return nil },
	}).HandshakeContext(ctx)
	return spoke
}

// speaksWithin bounds a look at whether a port takes TLS.
const speaksWithin = 3 * time.Second
