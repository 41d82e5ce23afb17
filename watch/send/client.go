package send

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/version"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/frame"
)

// Config says where frames are sent.
type Config struct {
	// URL is that of an ingest, without a path.
	URL string `yaml:"url"`
	// Key is an API key with the scope write, KeyFile a file that holds one.
	Key     string `yaml:"key"`
	KeyFile string `yaml:"key_file"`
	// CAFile has certificates, PEM, that ingest's may be signed by; empty: this machine's.
	CAFile string `yaml:"ca_file"`
}

// DefaultConfig returns the configuration without a key.
func DefaultConfig() Config { return Config{URL: "http://127.0.0.1:9471"} }

// On reports whether there is a key.
func (c *Config) On() bool { return c.Key != "" || c.KeyFile != "" }

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	if u, err := url.Parse(c.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" ||
		u.Host == "" {
		wrong = append(wrong, fmt.Errorf("url: %q must be the http:// or https:// URL of an ingest",
			c.URL))
	}
	if c.Key != "" && c.KeyFile != "" {
		wrong = append(wrong, errors.New("key and key_file are both set: set only one"))
	}
	return errors.Join(wrong...)
}

// Client posts frames to an ingest.
type Client struct {
	client  *http.Client
	address string
	key     string
	clock   func() time.Time
}

// postTimeout bounds one request to ingest.
const postTimeout = 10 * time.Second

// NewClient reads the key and the certificates.
func NewClient(c Config, clock func() time.Time) (*Client, error) {
	own := &Client{key: c.Key, address: strings.TrimSuffix(c.URL, "/") + "/v1/frames", clock: clock}
	if c.KeyFile != "" {
		text, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("key_file: %w", err)
		}
		own.key = strings.TrimSpace(string(text))
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = workers
	if c.CAFile != "" {
		pool, err := certs.ReadAuthorities(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	own.client = &http.Client{Transport: transport, Timeout: postTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the key goes nowhere else
		}}
	return own, nil
}

// Through makes the client connect by dial, whatever the URL's host: to an ingest of this process.
func (c *Client) Through(dial func(context.Context) (net.Conn, error)) {
	transport := c.client.Transport.(*http.Transport)
	transport.Proxy = nil
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx)
	}
}

// Close closes idle connections.
func (c *Client) Close() { c.client.CloseIdleConnections() }

// Answer is what ingest says of a frame that it does not take.
type Answer struct {
	Status  int
	Message string
	After   time.Duration // after which it may be sent again; 0: not said
}

func (a *Answer) Error() string { return fmt.Sprintf("%d: %s", a.Status, a.Message) }

// Again reports whether a frame is to be sent again: all but what ingest says of the frame itself,
// as with agents. A key that is refused may be put right.
func Again(err error) bool {
	if said, is := errors.AsType[*Answer](err); is {
		switch said.Status {
		case http.StatusBadRequest, http.StatusRequestEntityTooLarge,
			http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
			return false
		}
	}
	return err != nil
}

// sentHeader has our clock, by which ingest tells a frame that waited from a clock that is wrong.
const sentHeader = "Ringwatch-Sent"

// maxAnswer bounds what is read of ingest's answer.
const maxAnswer = 4 << 10

// Post sends one frame. The error is an *Answer if ingest said no.
func (c *Client) Post(ctx context.Context, b []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(b))
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
	r.Header.Set("Content-Type", frame.ContentType)
	r.Header.Set("Authorization", "Bearer "+c.key)
	r.Header.Set(sentHeader, strconv.FormatInt(c.clock().UnixMilli(), 10))
	said, err := c.client.Do(r)
	if err != nil {
		return err
	}
	defer said.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(said.Body, maxAnswer))
	if said.StatusCode/100 == 2 {
		return nil
	}
	var body struct{ Error struct{ Message string } }
	if json.Unmarshal(text, &body) != nil || body.Error.Message == "" {
		body.Error.Message = strings.TrimSpace(string(text))
	}
	seconds, _ := strconv.Atoi(said.Header.Get("Retry-After"))
	return &Answer{said.StatusCode, body.Error.Message, time.Duration(seconds) * time.Second}
}
