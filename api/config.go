package api

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// Config says where to listen and what a request may ask for.
type Config struct {
	Listen string       `yaml:"listen"` // host:port; port 0 takes a free one
	TLS    listener.TLS `yaml:"tls"`
	// TrustedProxies are the networks of the proxies in front; their X-Forwarded-For says where a
	// request comes from.
	TrustedProxies listener.Proxies `yaml:"trusted_proxies"`
	// PublicURL is how clients reach the API: discovery sends Prometheus there, and links in alerts
	// begin with it. Empty: discovery sends clients to the address that they use themselves.
	PublicURL string `yaml:"public_url"`
	// AccessLog: a log line for each request.
	AccessLog bool `yaml:"access_log"`

	// RecentSpan is how far back the recent source is asked; what is older is the store's.
	RecentSpan time.Duration `yaml:"recent_span"`
	// MaxRange bounds the time range of a request: two weeks are kept raw, a month is what people
	// ask for.
	MaxRange time.Duration `yaml:"max_range"`
	// MaxPoints bounds the values in an answer. A million are about 60 MB of JSON.
	MaxPoints int `yaml:"max_points"`
	// MaxSeries bounds the series in an answer. A node of 1,000 tables has 180,000.
	MaxSeries int `yaml:"max_series"`
	// MaxResponseBytes bounds an answer before it is packed.
	MaxResponseBytes int64 `yaml:"max_response_bytes"`
	// MaxSelectors bounds how often metrics= or match[]= may be there.
	MaxSelectors int `yaml:"max_selectors"`
	// Selectors bounds what the selectors of one request cost.
	Selectors selector.Config `yaml:"selectors"`
	// MaxQueryBytes bounds what stands after the ? of a URL, MaxRequestBytes a request's body.
	MaxQueryBytes   int   `yaml:"max_query_bytes"`
	MaxRequestBytes int64 `yaml:"max_request_bytes"`
	// AnswersBytes bounds what is kept of answers, encoded, for who asks for everything newest
	// before it has changed: some 27 KB for a node of 2,000 series. 0 keeps none.
	AnswersBytes int64 `yaml:"answers_bytes"`
	// KeptBytes bounds what is kept of newest values that PromQL asked for. 0 keeps none.
	KeptBytes int64 `yaml:"-"`
	// HeardBytes bounds what is kept of when nodes were heard of, for up over time. 0 keeps
	// nothing.
	HeardBytes int64 `yaml:"-"`
	// NodesTTL is how long the list of an account's nodes is remembered, so that a read of recent
	// values asks no store.
	NodesTTL time.Duration `yaml:"nodes_ttl"`
	// DiscoverySpan is how long a silent node stays in /v1/discovery, so that Prometheus says it
	// is down. A node that was taken out of its cluster goes then, too.
	DiscoverySpan time.Duration `yaml:"discovery_span"`

	// Operators are accounts whose admin keys see in /v1/qps what all accounts ask for, and the
	// roles themselves. Without it each account sees its own clients.
	Operators []string `yaml:"operators"`

	// RequestTimeout bounds the work for one request. It ends before the server's own write
	// timeout.
	RequestTimeout time.Duration `yaml:"request_timeout"`
	// ShutdownTimeout bounds the wait for requests under way when the server ends.
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout"`

	Clock func() time.Time `yaml:"-"` // time.Now unless a test says otherwise
}

// DefaultConfig returns loopback and limits for a dashboard's requests.
func DefaultConfig() Config {
	return Config{
		Listen:           "127.0.0.1:9470",
		RecentSpan:       15 * time.Minute,
		MaxRange:         31 * 24 * time.Hour,
		MaxPoints:        1_000_000,
		MaxSeries:        1_000_000,
		MaxResponseBytes: 256 << 20,
		MaxSelectors:     32,
		Selectors:        selector.DefaultConfig(),
		MaxQueryBytes:    16 << 10,
		MaxRequestBytes:  1 << 20,
		AnswersBytes:     256 << 20,
		KeptBytes:        64 << 20,
		HeardBytes:       64 << 20,
		NodesTTL:         5 * time.Second,
		DiscoverySpan:    24 * time.Hour,
		RequestTimeout:   30 * time.Second,
		ShutdownTimeout:  10 * time.Second,
		Clock:            time.Now,
	}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		wrong = append(wrong, fmt.Errorf("listen: %q is not host:port", c.Listen))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"recent_span", c.RecentSpan}, {"max_range", c.MaxRange}, {"nodes_ttl", c.NodesTTL},
		{"discovery_span", c.DiscoverySpan}, {"request_timeout", c.RequestTimeout},
		{"shutdown_timeout", c.ShutdownTimeout}} {
		if d.value <= 0 {
			wrong = append(wrong, fmt.Errorf("%s is %v: use more than 0", d.name, d.value))
		}
	}
	for _, n := range []struct {
		name  string
		value int64
	}{{"max_points", int64(c.MaxPoints)}, {"max_series", int64(c.MaxSeries)},
		{"max_response_bytes", c.MaxResponseBytes}, {"max_selectors", int64(c.MaxSelectors)},
		{"max_query_bytes", int64(c.MaxQueryBytes)}, {"max_request_bytes", c.MaxRequestBytes}} {
		if n.value < 1 {
			wrong = append(wrong, fmt.Errorf("%s is %d: use more than 0", n.name, n.value))
		}
	}
	if c.AnswersBytes < 0 {
		wrong = append(wrong, fmt.Errorf("answers_bytes is %d: use 0 to keep no answers, or more",
			c.AnswersBytes))
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" &&
		(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
			strings.Trim(u.Path, "/") != "" || u.RawQuery != "") {
		wrong = append(wrong,
			fmt.Errorf("public_url: %q must have the form https://ringwatch.example:9470",
				c.PublicURL))
	}
	if err := c.Selectors.Validate(); err != nil {
		wrong = append(wrong, fmt.Errorf("selectors: %w", err))
	}
	wrong = append(wrong, c.TLS.Validate(), c.TrustedProxies.Validate())
	return errors.Join(wrong...)
}

// Reader returns what of the configuration is for Deps.Reader.
func (c *Config) Reader() read.Config {
	return read.Config{RecentSpan: c.RecentSpan, NodesTTL: c.NodesTTL,
		Timeout:   c.RequestTimeout,
		KeptBytes: c.KeptBytes, HeardBytes: c.HeardBytes, Clock: c.Clock}
}

// limits are what an answer may have.
func (c *Config) limits() budget.Limits {
	return budget.Limits{Series: c.MaxSeries, Values: c.MaxPoints, Bytes: c.MaxResponseBytes}
}
