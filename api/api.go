// Package api is what users touch: the HTTP server. It turns requests into questions to package
// query, and what that says into answers. Begin with Server. It may import what reads and what it
// serves (query, dictionary, console, ring), and access, frame, memory and window; no role.
//
// What it promises:
//   - Every answer under /v1 is limited to the account of the request's key.
//   - Every refusal is a 4xx whose JSON names the field and the remedy.
//   - An answer is right whether Redis is there or not. Metrics say which source gave it.
//   - A failure is a status, never a torn answer. In a stream of many nodes everything after the
//     first node is whole, or says what it lacks (see stream).
//
// What bites: the list of an account's nodes is remembered for NodesTTL, so a new node appears
// that much later in lists.
package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/console"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window/events"
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
func (c *Config) Reader() query.ReaderConfig {
	return query.ReaderConfig{RecentSpan: c.RecentSpan, NodesTTL: c.NodesTTL,
		Timeout:   c.RequestTimeout,
		KeptBytes: c.KeptBytes, HeardBytes: c.HeardBytes, Clock: c.Clock}
}

// Node is a node as the store's metadata describes it.
type Node = query.Node

// Deps are what the server works with.
type Deps struct {
	// Admit returns who a request comes from, as account.Door does.
	Admit func(*http.Request) (account.Principal, error)
	// Limit counts a request of an account, and of one of its nodes if node is not empty, as
	// limit.Limiter.Take does: it returns 0, or how long to wait and whose limit was met. nil:
	// there are no limits.
	Limit func(ctx context.Context, account, node string) (after time.Duration, whose string)

	// Reader reads what nodes have sent. The server's metrics and its own may go into one registry.
	Reader *query.Reader
	// StoreReady returns nil when the store answers.
	StoreReady func(context.Context) error
	// Warning returns what an operator should know of the store although it is ready, or ""; nil:
	// nothing ever.
	Warning func(context.Context) string

	// Catalog returns an account's catalogue, whose entries Engine evaluates where they are asked
	// for by name. nil: there are no such names.
	Engine  *query.Engine
	Catalog func(account string) *catalog.Catalog

	// Series knows which series there are; nil: there are no endpoints for them.
	Series Series
	// SeriesState says in words how fresh Series is, "ok" if all is well; nil if there is no
	// Series.
	SeriesState func() string

	// Lookup reads rows by key; nil: there are no tables for it.
	Lookup Lookup
	// Work tells who asks for how much of Cassandra; nil: there is no endpoint for it.
	Work Work

	// Report makes reports of clusters; nil: there is no endpoint for them.
	Report MakeReport

	// Safe returns an account's conditions for maintenance, which Engine evaluates; nil: there is
	// no endpoint for them.
	Safe func(account string) *safe.Conditions

	// Events reads what happened on an account's nodes; nil: there are no endpoints for that. It
	// does not look at what a key may see: clusters are named by the caller.
	Events func(ctx context.Context, account string, q events.Query) (events.Page, error)
	// Advice returns what an account is told of its alerts, by numbers that Engine has and by
	// Events; nil: there is no endpoint for it.
	Advice func(account string) *advice.Rules

	// Forget puts into every process's roster that a node has left; nil: nobody can.
	Forget func(context.Context, roster.Record) error

	// Installed is how this Ringwatch is installed.
	Installed Installation
	// Away returns when nobody took frames, as query.Sources.Away does. Nil: nothing is known of it.
	Away func() []query.Span

	// MakeKey makes keys for POST /v1/keys; nil: keys are in the configuration only.
	MakeKey MakeKey
	// Sessions lets people sign in to the console for longer than a page lives; nil: nobody can.
	Sessions *account.Sessions

	// RecentReady returns nil when the recent source answers; nil if there is none.
	RecentReady func(context.Context) error

	// Routes are endpoints of other packages.
	Routes []listener.Route

	// Near reports whether the process is near its memory limit, so that it takes no new work.
	// nil: never.
	Near func() bool

	Metrics *prometheus.Registry // the server's own metrics go in, /metrics shows all that is in
	Log     *slog.Logger
}

// Server is the HTTP server. New makes one.
type Server struct {
	config   Config
	deps     Deps
	metrics  *metrics
	observer *listener.Observer
	parser   *selector.Parser
	answers  *answers
	console  *console.Handler
	reports  reports
	advised  advised
	listener net.Listener
	http     *http.Server
}

// New validates, registers the server's metrics and binds; Run serves.
func New(c Config, d Deps) (*Server, error) {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if d.Log == nil {
		d.Log = slog.Default()
	}
	s := &Server{config: c, deps: d}
	var err error
	if s.parser, err = selector.New(c.Selectors); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if s.console, err = console.New(); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	socket, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("api: cannot listen on %s: set api.listen to another address: %w",
			c.Listen, err)
	}
	if s.listener, err = c.TLS.Listener(socket, d.Log); err != nil {
		socket.Close()
		return nil, fmt.Errorf("api: %w", err)
	}
	s.metrics = newMetrics(d.Metrics)
	if s.answers, err = newAnswers(c.AnswersBytes, d.Metrics); err != nil {
		socket.Close()
		return nil, fmt.Errorf("api: cannot keep answers: %w", err)
	}
	if s.observer, err = listener.NewObserver("api", c.AccessLog, c.TrustedProxies, d.Log,
		d.Metrics); err != nil {
		socket.Close()
		return nil, fmt.Errorf("api: cannot register a metric: %w", err)
	}
	s.http = &http.Server{
		Handler: s.handler(),
		// A browser opens connections before it needs them, and a busy one takes long to use them:
		// a page whose script meets the end of such a connection stays blank.
		ReadHeaderTimeout: 30 * time.Second,
		ReadTimeout:       time.Minute, // bodies are small
		WriteTimeout:      2 * c.RequestTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(d.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Addr returns where the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Run serves until ctx ends, then gives requests under way ShutdownTimeout to finish.
func (s *Server) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.http.Serve(s.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("api: %w", err)
	case <-ctx.Done():
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.ShutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(bounded)
	if err != nil {
		_ = s.http.Close() // what did not finish in time is cut off
	}
	<-ended
	if err != nil {
		return fmt.Errorf("api: requests under way were cut off: %w", err)
	}
	return nil
}
