package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/common/version"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/frame"
)

const (
	patience = 10 * time.Second
	// maxAnswer bounds what is kept of an answer; ours are a sentence, and an agent's /metrics
	// begins with itself.
	maxAnswer = 64 << 10
	// maxSkew is ingest's max_skew unless configured otherwise: beyond it frames are refused.
	maxSkew = 10 * time.Minute
	// someSkew makes graphs of several nodes disagree visibly.
	someSkew = 5 * time.Second
	// renewBefore is when a certificate's end becomes worth a word.
	renewBefore = 14 * 24 * time.Hour
)

// answer is what came back from one request.
type answer struct {
	status int
	date   time.Time     // the server's clock, zero if it did not say
	local  time.Time     // ours, in the middle of the request
	took   time.Duration // there and back
	body   string
	err    error
}

func ask(ctx context.Context, client *http.Client, method, address, key string) (a answer) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return answer{err: err}
	}
	request.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", frame.ContentType)
	}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return answer{err: err}
	}
	defer response.Body.Close()
	a.took = time.Since(began)
	a.local = began.Add(a.took / 2)
	a.status = response.StatusCode
	a.date, _ = http.ParseTime(response.Header.Get("Date"))
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	a.body, a.err = string(body), err
	return a
}

func (n *node) checkIngest(ctx context.Context) {
	if len(n.agent.urls) == 0 {
		n.add("ingest", OK, "", "nothing is sent: ingest.urls is not set")
		return
	}
	key := n.agent.key
	if n.agent.keyFile != "" {
		text, err := os.ReadFile(n.agent.keyFile)
		if err != nil {
			n.add("key", Fail, "create it, readable for Cassandra's user; a running agent reads "+
				"it without a restart",
				"the key file cannot be read: %v", err)
			return
		}
		key = strings.TrimSpace(string(text))
	}
	trust, err := n.trust()
	if err != nil {
		n.add("tls", Fail, "correct the PEM files of section ingest", "%v", err)
		return
	}
	// As the agent does: no proxy, and no redirect, which would carry the key elsewhere.
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: trust,
		DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}
	for _, address := range n.agent.urls {
		u, err := url.Parse(address)
		if err != nil {
			n.add("ingest", Fail, "correct ingest.urls", "%s is not a URL", address)
			continue
		}
		if u.Scheme == "https" && !n.checkTLS(ctx, u, trust) {
			continue // the key does not go to a server that is not who it should be
		}
		n.checkAddress(u, ask(ctx, client, http.MethodPost, address, key))
	}
}

// checkAddress reads the answer to an empty frame.
func (n *node) checkAddress(u *url.URL, a answer) {
	where := u.Scheme + "://" + u.Host
	if a.err != nil {
		n.add("ingest", Fail, "check ingest.urls, the firewall between, and that ingest runs",
			"%s does not answer: %v", where, a.err)
		return
	}
	var refusal struct {
		Error struct{ Reason, Message string }
	}
	ours := json.Unmarshal([]byte(a.body), &refusal) == nil && refusal.Error.Reason != ""
	said := oneLine(refusal.Error.Message)
	switch {
	case ours && a.status == http.StatusBadRequest && refusal.Error.Reason == "truncated":
		// an empty frame is, after the key was looked at
		n.add("ingest", OK, "", "%s answers in %s and accepts this key", where,
			a.took.Round(time.Millisecond))
	case ours && (a.status == http.StatusUnauthorized || a.status == http.StatusForbidden):
		n.add("key", Fail, "put a key with the scope write into agent.yaml (ringwatch key create "+
			"--scopes write)", "%s refuses the key: %s", where, said)
	case ours &&
		(a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable):
		n.add("ingest", Warn, "run doctor again later; the agent waits and sends again by itself",
			"%s cannot say now whether the key is right: %s", where, said)
	case ours:
		n.add("ingest", Fail, "see ingest's log", "%s answers %d: %s", where, a.status, said)
	case a.status >= 300 && a.status < 400:
		n.add("ingest", Fail, "put the address itself into ingest.urls: redirects are not followed",
			"%s answers %d", where, a.status)
	default:
		n.add("ingest", Fail, "check ingest.urls and any proxy before it",
			"%s answers %d, so it is not a Ringwatch ingest", where, a.status)
	}
	n.checkClock(where, a)
}

func (n *node) checkClock(where string, a answer) {
	if a.date.IsZero() {
		n.add("clock", Warn, "compare this node's clock with that of ingest by hand",
			"%s does not tell its time", where)
		return
	}
	// Date has whole seconds, cut off.
	skew := a.local.Sub(a.date.Add(500 * time.Millisecond))
	unsure := 500*time.Millisecond + a.took/2
	switch {
	case skew.Abs() > maxSkew+unsure:
		n.add("clock", Fail, "set this node's clock, by NTP for example: ingest refuses its frames",
			"this node's clock differs from %s's by %s", where, skew.Round(time.Second))
	case skew.Abs() > someSkew+unsure:
		n.add("clock", Warn, "set this node's clock, by NTP for example",
			"this node's clock differs from %s's by %s", where, skew.Round(time.Second))
	default:
		n.add("clock", OK, "", "this node's clock and %s's agree to about a second", where)
	}
}

// trust is whom the agent will trust: its own CA, or this machine's.
func (n *node) trust() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if n.agent.caFile != "" {
		var err error
		if c.RootCAs, err = certs.ReadAuthorities(n.agent.caFile); err != nil {
			return nil, fmt.Errorf("ingest.ca_file: %w", err)
		}
	}
	if n.agent.certFile != "" {
		pair, err := tls.LoadX509KeyPair(n.agent.certFile, n.agent.certKeyFile)
		if err != nil {
			return nil, fmt.Errorf("ingest.cert_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// checkTLS shakes hands without sending anything and looks at the certificate itself, to say what
// is wrong with it.
func (n *node) checkTLS(ctx context.Context, u *url.URL, trust *tls.Config) bool {
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "443")
	}
	look := trust.Clone()
	look.InsecureSkipVerify = true // looked at below, and nothing is sent
	look.ServerName = u.Hostname()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&tls.Dialer{Config: look}).DialContext(ctx, "tcp", address)
	if err != nil {
		n.add("tls", Fail, "check ingest.urls, the firewall between, and that ingest uses TLS",
			"no TLS connection to %s: %v", address, err)
		return false
	}
	defer conn.Close()
	chain := conn.(*tls.Conn).ConnectionState().PeerCertificates
	leaf := chain[0]
	intermediates := x509.NewCertPool()
	for _, c := range chain[1:] {
		intermediates.AddCert(c)
	}
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: u.Hostname(), Roots: trust.RootCAs,
		Intermediates: intermediates})
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	until := leaf.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case errors.As(err, &unknown) && trust.RootCAs == nil:
		n.add("tls", Fail, "name your CA's certificate in ingest.ca_file",
			"%s's certificate is signed by %s, which this machine does not trust", address,
			oneLine(leaf.Issuer.String()))
	case errors.As(err, &unknown):
		n.add("tls", Fail, "put the CA that signed it into ingest.ca_file",
			"%s's certificate is signed by %s, which is not in %s", address,
			oneLine(leaf.Issuer.String()), n.agent.caFile)
	case errors.As(err, &name):
		n.add("tls", Fail, "use a name of the certificate in ingest.urls, or make a certificate "+
			"for this one", "%s's certificate is for other names: %v", address, name)
	case time.Now().After(leaf.NotAfter):
		n.add("tls", Fail, "renew it", "%s's certificate has expired on %s", address, until)
	case err != nil:
		n.add("tls", Fail, "look at the certificate: openssl s_client -connect "+address,
			"%s's certificate is not accepted: %v", address, err)
	case time.Until(leaf.NotAfter) < renewBefore:
		n.add("tls", Warn, "renew it before that", "%s's certificate ends on %s", address, until)
		return true
	case trust.RootCAs == nil:
		n.add("tls", OK, "", "%s's certificate is good until %s by this machine's list; Java has "+
			"a list of its own, so name an authority of your own in ingest.ca_file", address, until)
		return true
	default:
		n.add("tls", OK, "", "%s's certificate is signed by %s and good until %s", address,
			n.agent.caFile, until)
		return true
	}
	return false
}

// oneLine takes control characters out of text that comes from elsewhere.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
}
