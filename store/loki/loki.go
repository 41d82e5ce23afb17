// Package loki pushes what happened on nodes to a Loki. Begin with Pusher, which is a handler of
// the stream: it has a consumer group of its own, so a Loki that is slow or away keeps nobody else
// waiting, and what is not pushed yet is in the stream.
//
// What it promises: every event that the stream keeps is pushed at least once, in Loki's JSON form,
// in order within a cluster. An event that is pushed twice is the same line at the same time of the
// same stream, which Loki keeps once. What Loki refuses for good is dropped and counted.
package loki

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"
	yaml2 "go.yaml.in/yaml/v2" // Prometheus's types are made for it

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/events"
)

// Config says which Loki events are pushed to.
type Config struct {
	// URL is the Loki's; without a path it is that of Loki's own API. Empty: nothing is pushed.
	URL string `yaml:"url"`
	// Tenant is sent as X-Scope-OrgID. Empty: it is not.
	Tenant string `yaml:"tenant"`
	// Account is whose events are pushed. Empty: everybody's.
	Account string        `yaml:"account"`
	HTTP    HTTP          `yaml:"http_config"`
	Timeout time.Duration `yaml:"timeout"` // of one request
}

// HTTP is Prometheus's http_config: basic_auth, authorization, tls_config. The zero value is that
// of an empty section.
type HTTP struct {
	given *commonconfig.HTTPClientConfig
}

// DefaultConfig pushes nothing.
func DefaultConfig() Config { return Config{Timeout: 10 * time.Second} }

// UnmarshalYAML reads the section strictly.
func (h *HTTP) UnmarshalYAML(text []byte) error {
	h.given = &commonconfig.HTTPClientConfig{}
	err := yaml2.UnmarshalStrict(text, h.given)
	if err == nil {
		return nil
	}
	// The library's lines are those of the section alone.
	return errors.New(strings.Join(strings.Fields(lineNumber.ReplaceAllString(
		strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:\n"), "")), " "))
}

var lineNumber = regexp.MustCompile(`(?:yaml: )?line \d+: `)

// config is what the section says.
func (h *HTTP) config() commonconfig.HTTPClientConfig {
	if h.given == nil {
		return commonconfig.DefaultHTTPClientConfig
	}
	return *h.given
}

// On reports whether anything is pushed.
func (c *Config) On() bool { return c.URL != "" }

// Validate reports everything that is wrong at once.
func (c *Config) Validate() error {
	if !c.On() {
		return nil
	}
	var errs []error
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" ||
		u.Scheme != "http" && u.Scheme != "https" {
		errs = append(errs, errors.New("loki.url must have the form https://host:3100"))
	}
	if c.Timeout < 100*time.Millisecond || c.Timeout > time.Minute {
		errs = append(errs, fmt.Errorf("loki.timeout is %s: use 100ms to 1m", c.Timeout))
	}
	of := c.HTTP.config()
	if err := of.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("loki.http_config: %w", err))
	}
	return errors.Join(errs...)
}

// pushPath is that of Loki's API.
const pushPath = "/loki/api/v1/push"

// address is where to push.
func (c *Config) address() string {
	u, err := url.Parse(c.URL)
	if err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = pushPath
		return u.String()
	}
	return c.URL
}

// A push has at most so many events and bytes of lines: Loki takes 4 MiB by default.
const (
	maxEntries = 1000
	maxBytes   = 1 << 20
)

// Pusher pushes events. It implements stream.Handler.
type Pusher struct {
	config  Config
	address string
	client  *http.Client
	log     *slog.Logger

	pushed, failures prometheus.Counter
	dropped          *prometheus.CounterVec

	// done are, by partition, the offsets up to which events have been pushed: what comes again
	// after an error need not be.
	done map[int32]int64
}

// New returns a Pusher.
func New(c Config, reg prometheus.Registerer, log *slog.Logger) (*Pusher, error) {
	client, err := commonconfig.NewClientFromConfig(c.HTTP.config(), "loki")
	if err != nil {
		return nil, fmt.Errorf("events.loki.http_config: %w", err)
	}
	client.Timeout = c.Timeout
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_loki_" + name + "_total",
			Help: help})
	}
	p := &Pusher{config: c, address: c.address(), client: client, log: log,
		pushed:   counter("pushed", "Events that the Loki has taken."),
		failures: counter("failures", "Pushes that failed and are made again."),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_loki_dropped_total",
			Help: "Events not pushed: refused (the Loki never takes them), unreadable (their frame " +
				"cannot be read)."}, []string{"reason"}),
		done: map[int32]int64{}}
	for _, m := range []prometheus.Collector{p.pushed, p.failures, p.dropped} {
		if err := reg.Register(m); err != nil {
			return nil, fmt.Errorf("loki: cannot register a metric: %w", err)
		}
	}
	for _, reason := range []string{"refused", "unreadable"} {
		p.dropped.WithLabelValues(reason)
	}
	return p, nil
}

// batch is one push.
type batch struct {
	streams []*streamJSON
	of      map[streamLabels]*streamJSON
	entries int
	bytes   int
	through map[int32]int64 // by partition, the offsets that it ends with
}

// streamLabels are what Loki knows a stream by.
type streamLabels struct {
	Cluster  string `json:"cluster"`
	Node     string `json:"node"`
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
}

type streamJSON struct {
	Stream streamLabels `json:"stream"`
	Values [][2]string  `json:"values"`
}

func newBatch() *batch {
	return &batch{of: map[streamLabels]*streamJSON{}, through: map[int32]int64{}}
}

func (b *batch) add(e *events.Event) {
	labels := streamLabels(e.Stream())
	s := b.of[labels]
	if s == nil {
		s = &streamJSON{Stream: labels}
		b.of[labels], b.streams = s, append(b.streams, s)
	}
	line := e.Line()
	s.Values = append(s.Values, [2]string{
		strconv.FormatInt(e.At*int64(time.Millisecond), 10), line})
	b.entries++
	b.bytes += len(line) + 200
}

// Handle implements stream.Handler.
func (p *Pusher) Handle(ctx context.Context, records []stream.Record) error {
	b := newBatch()
	for i := range records {
		r := &records[i]
		if done, is := p.done[r.Partition]; is && r.Offset <= done ||
			p.config.Account != "" && r.Account != p.config.Account {
			continue
		}
		if err := p.add(b, r); err != nil {
			p.dropped.WithLabelValues("unreadable").Inc()
		}
		b.through[r.Partition] = r.Offset
		if b.entries >= maxEntries || b.bytes >= maxBytes {
			if err := p.push(ctx, b); err != nil {
				return err
			}
			b = newBatch()
		}
	}
	return p.push(ctx, b)
}

// add adds a frame's events.
func (p *Pusher) add(b *batch, r *stream.Record) error {
	list, err := frame.Events(r.Value)
	if err != nil || len(list) == 0 {
		return err
	}
	h, _, err := frame.Parse(r.Value)
	if err != nil {
		return err
	}
	for i := range list {
		b.add(&events.Event{Event: list[i], Cluster: r.Cluster, Node: h.Node, FrameAt: h.At,
			Index: i})
	}
	return nil
}

// push sends a batch. What is refused for good is dropped.
func (p *Pusher) push(ctx context.Context, b *batch) error {
	if b.entries > 0 {
		refused, err := p.post(ctx, b)
		switch {
		case err == nil:
			p.pushed.Add(float64(b.entries))
		case refused:
			p.dropped.WithLabelValues("refused").Add(float64(b.entries))
			p.log.Warn("the Loki refuses events, which are dropped", "events", b.entries,
				"error", err)
		default:
			p.failures.Inc()
			return fmt.Errorf("loki: cannot push events: %w", err)
		}
	}
	for partition, offset := range b.through {
		p.done[partition] = offset
	}
	return nil
}

// maxReason bounds what is read of a refusal.
const maxReason = 500

// post sends a batch. refused: it never will be taken.
func (p *Pusher) post(ctx context.Context, b *batch) (refused bool, err error) {
	body, err := json.Marshal(map[string]any{"streams": b.streams})
	if err != nil {
		return true, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Ringwatch")
	if p.config.Tenant != "" {
		r.Header.Set("X-Scope-OrgID", p.config.Tenant)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the address, which may have a token in it
		}
		return false, err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReason))
	if answer.StatusCode/100 == 2 {
		return false, nil
	}
	err = fmt.Errorf("it answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
	switch answer.StatusCode {
	// Too old, out of order, not valid, too large. Anything else somebody can mend.
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true, err
	}
	return false, err
}

// Tick implements stream.Handler.
func (p *Pusher) Tick(context.Context, time.Time) error { return nil }

// LowWater implements stream.Handler: what Handle has done, a restart needs no more.
func (p *Pusher) LowWater(int32) (int64, bool) { return 0, false }

// Revoke implements stream.Handler.
func (p *Pusher) Revoke(partition int32) { delete(p.done, partition) }
