package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

// Error says in one sentence why a server and we do not come together, and what to do about it.
type Error struct {
	Message string
	Remedy  string
	Cause   error // nil: Message says all
}

// Error implements error.
func (e *Error) Error() string { return e.Message + "; " + e.Remedy }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// notTrusted is a server's certificate that does not hold.
type notTrusted struct {
	leaf *x509.Certificate
	err  error
}

func (e *notTrusted) Error() string { return e.err.Error() }
func (e *notTrusted) Unwrap() error { return e.err }

// notNamed is a server's certificate for somebody else.
type notNamed struct {
	leaf  *x509.Certificate
	names []string // that would have done
}

func (e *notNamed) Error() string {
	return fmt.Sprintf("the certificate is for %s, not for %s", namesOf(e.leaf),
		strings.Join(e.names, " or "))
}

// explain puts an error of the handshake, or of the first words after it, into a sentence. What has
// nothing to do with TLS comes back as it is.
func (a *attempt) explain(err error) error {
	say := func(remedy, format string, args ...any) error {
		return &Error{Message: a.address + fmt.Sprintf(format, args...), Remedy: remedy, Cause: err}
	}
	var remote *net.OpError
	refused := errors.As(err, &remote) && remote.Op == "remote error"
	var named *notNamed
	var trusted *notTrusted
	switch {
	case errors.As(err, new(*Error)), isTimeout(err):
		return err
	case errors.As(err, &named):
		return say(fmt.Sprintf("name one of its names in %s, or give the server a certificate "+
			"for this one", a.client.key("server_name")),
			"'s certificate is for %s, not for %s", namesOf(named.leaf),
			strings.Join(named.names, " or "))
	case errors.As(err, &trusted):
		return a.explainTrust(trusted, say)
	case errors.As(err, new(tls.RecordHeaderError)):
		return say("name its port for TLS, or leave "+strings.TrimSuffix(a.client.key(""), ".")+
			" out", " does not speak TLS")
	case a.asked.Load() && a.own == nil:
		return say(fmt.Sprintf("set %s and %s", a.client.key("cert_file"),
			a.client.key("key_file")),
			" demands a client certificate, and we have none (%v)", err)
	case a.asked.Load() && refused:
		leaf, ends := a.own.Leaf, ""
		if time.Now().After(leaf.NotAfter) {
			ends = ", which ended on " + day(leaf.NotAfter)
		}
		return say("let the server trust that authority, or use a certificate that it accepts",
			" does not accept our certificate %s, signed by %s%s (%v)",
			nameOf(leaf.Subject.String()), nameOf(leaf.Issuer.String()), ends, err)
	case refused:
		return say("look at the server's log, and at its settings for TLS: 1.2 or later is needed",
			" refuses the handshake (%v)", err)
	}
	return fmt.Errorf("%s ended the connection in the handshake, so look whether this port "+
		"speaks TLS: %w", a.address, err)
}

func (a *attempt) explainTrust(e *notTrusted,
	say func(remedy, format string, args ...any) error) error {
	var invalid x509.CertificateInvalidError
	issuer := nameOf(e.leaf.Issuer.String())
	switch {
	case errors.As(e.err, &invalid) && invalid.Reason == x509.Expired:
		c, of := invalid.Cert, "certificate"
		if c == nil {
			c = e.leaf
		}
		if !c.Equal(e.leaf) {
			of = "authority " + nameOf(c.Subject.String())
		}
		if time.Now().Before(c.NotBefore) {
			return say("compare this machine's clock", "'s %s is not valid before %s", of,
				c.NotBefore.UTC().Format(time.RFC3339))
		}
		return say("renew it", "'s %s expired on %s", of, day(c.NotAfter))
	case errors.As(e.err, new(x509.UnknownAuthorityError)) && a.client.CAFile == "":
		return say(fmt.Sprintf("name the file with that authority in %s", a.client.key("ca_file")),
			"'s certificate is signed by %s, which this machine does not trust", issuer)
	case errors.As(e.err, new(x509.UnknownAuthorityError)):
		return say(fmt.Sprintf("add that authority to the file, or name another in %s",
			a.client.key("ca_file")),
			"'s certificate is signed by %s, which is not in %s", issuer, a.client.CAFile)
	}
	return say("look at it: openssl s_client -showcerts -connect "+a.address,
		"'s certificate is not accepted (%v)", e.err)
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed)
}

// mostNames is how many names of a certificate a sentence has.
const mostNames = 5

// namesOf lists for whom a certificate is.
func namesOf(c *x509.Certificate) string {
	names := make([]string, 0, len(c.DNSNames)+len(c.IPAddresses))
	for _, name := range c.DNSNames {
		names = append(names, nameOf(name))
	}
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	switch n := len(names); {
	case n == 0:
		return "nobody (it has no subject alternative name)"
	case n > mostNames:
		return strings.Join(names[:mostNames], ", ") + fmt.Sprintf(" and %d more", n-mostNames)
	}
	return strings.Join(names, ", ")
}

// nameOf bounds a text of a certificate, which comes from elsewhere, and takes control characters
// out.
func nameOf(text string) string {
	const most = 200
	if text == "" {
		return "nobody"
	}
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
