// Package loki pushes what happened on nodes to a Loki. Begin with Pusher, which is a handler of
// the stream: it has a consumer group of its own, so a Loki that is slow or away keeps nobody else
// waiting, and what is not pushed yet is in the stream.
//
// What it promises: every event that the stream keeps is pushed at least once, in Loki's JSON form,
// in order within a cluster. An event that is pushed twice is the same line at the same time of the
// same stream, which Loki keeps once. What Loki refuses for good is dropped and counted. Where
// events of several accounts are pushed, those of one that meet Loki's limits wait beside the
// others', a bounded number of them for a bounded time.
package loki

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
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

const (
	// A push has at most so many events and bytes: a Loki takes 4 MiB by default, and a proxy
	// before it 1 MiB. The events of one frame more may come to it.
	maxEntries = 1000
	maxBytes   = 512 << 10
	// maxHalvings is how often a batch is cut to find out which of its events are refused.
	maxHalvings = 64

	// Of one account so many bytes may wait, and so many of all, for so long.
	maxParked, maxAllParked = 8 << 20, 64 << 20
	parkedFor               = time.Hour
	// Between tries of what waits lies so much, doubled each time.
	minWait, maxWait = time.Second, time.Minute
)

// Pusher pushes events. It implements stream.Handler.
type Pusher struct {
	config  Config
	address string
	client  *http.Client
	log     *slog.Logger

	pushed, failures prometheus.Counter
	dropped          *prometheus.CounterVec

	// done are the offsets up to which events have been pushed or parked: what comes again after
	// an error need not be.
	done map[source]int64
	// parked are what Loki's limits kept out, while others' events go on.
	parked map[source]*queue
}

// source is whose events are pushed together: in order, and apart from others'.
type source struct {
	partition int32
	account   string
}

// queue has the batches of a source that wait.
type queue struct {
	batches []*batch
	next    time.Time // when to try again
	wait    time.Duration
}

// New returns a Pusher.
func New(c Config, reg prometheus.Registerer, log *slog.Logger) (*Pusher, error) {
	client, err := commonconfig.NewClientFromConfig(c.HTTP.config(), "loki")
	if err != nil {
		return nil, fmt.Errorf("events.loki.http_config: %w", err)
	}
	client.Timeout = c.Timeout
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(
			prometheus.CounterOpts{Name: "ringwatch_loki_" + name + "_total",
				Help: help})
	}
	p := &Pusher{config: c, address: c.address(), client: client, log: log,
		pushed:   counter("pushed", "Events that the Loki has taken."),
		failures: counter("failures", "Pushes that failed and are made again."),
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ringwatch_loki_dropped_total",
			Help: "Events not pushed: refused (the Loki never takes them), limited (its limits " +
				"kept them out for too long), unreadable (their frame cannot be read)."},
			[]string{"reason"}),
		done: map[source]int64{}, parked: map[source]*queue{}}
	for _, m := range []prometheus.Collector{p.pushed, p.failures, p.dropped} {
		if err := reg.Register(m); err != nil {
			return nil, fmt.Errorf("loki: cannot register a metric: %w", err)
		}
	}
	for _, reason := range []string{"refused", "limited", "unreadable"} {
		p.dropped.WithLabelValues(reason)
	}
	return p, nil
}

// batch is what is pushed at once.
type batch struct {
	entries  []entry
	streams  map[streamLabels]bool
	bytes    int   // of its JSON
	through  int64 // the offset that it ends with
	halvings int   // that are left
	since    time.Time
}

// entry is an event.
type entry struct {
	labels streamLabels
	value  [2]string
	offset int64
}

// streamLabels are what Loki knows a stream by.
type streamLabels struct {
	// Account is there if everybody's events are pushed: clusters of two accounts may have one
	// name.
	Account  string `json:"account,omitempty"`
	Cluster  string `json:"cluster"`
	Node     string `json:"node"`
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
}

type streamJSON struct {
	Stream streamLabels `json:"stream"`
	Values [][2]string  `json:"values"`
}

func (b *batch) add(account string, e *events.Event, offset int64) {
	s := e.Stream()
	labels := streamLabels{account, s.Cluster, s.Node, s.Kind, s.Severity}
	value := [2]string{strconv.FormatInt(e.At*int64(time.Millisecond), 10), e.Line()}
	text, _ := json.Marshal(value) // strings always can be
	b.bytes += len(text) + len(",")
	if !b.streams[labels] {
		b.streams[labels] = true
		text, _ = json.Marshal(streamJSON{Stream: labels})
		b.bytes += len(text)
	}
	b.entries = append(b.entries, entry{labels, value, offset})
}

// Handle implements stream.Handler.
func (p *Pusher) Handle(ctx context.Context, records []stream.Record) error {
	open, order := map[source]*batch{}, []source{}
	for i := range records {
		r := &records[i]
		of := source{r.Partition, r.Account}
		if done, is := p.done[of]; is && r.Offset <= done ||
			p.config.Account != "" && r.Account != p.config.Account {
			continue
		}
		b := open[of]
		if b == nil {
			b = &batch{streams: map[streamLabels]bool{}, halvings: maxHalvings}
			open[of], order = b, append(order, of)
		}
		if err := p.add(b, r); err != nil {
			p.dropped.WithLabelValues("unreadable").Inc()
		}
		b.through = r.Offset
		if len(b.entries) >= maxEntries || b.bytes >= maxBytes {
			if err := p.send(ctx, of, b); err != nil {
				return err
			}
			delete(open, of)
		}
	}
	for _, of := range order {
		if b := open[of]; b != nil {
			if err := p.send(ctx, of, b); err != nil {
				return err
			}
			delete(open, of) // which order may name again
		}
	}
	return nil
}

// send pushes a batch, or parks it.
func (p *Pusher) send(ctx context.Context, of source, b *batch) error {
	if p.parked[of] != nil {
		p.park(of, b)
	} else if err := p.push(ctx, b); err != nil {
		// Where there is but one account, nobody else waits with it.
		if !limited(err) || p.config.Account != "" {
			p.done[of] = b.entries[0].offset - 1
			return fmt.Errorf("loki: cannot push events: %w", err)
		}
		p.log.Warn("the Loki's limits keep events out, which wait", "account", of.account,
			"events", len(b.entries), "error", err)
		p.park(of, b)
	}
	p.done[of] = b.through
	return nil
}

// park keeps a batch for Tick, if there is room.
func (p *Pusher) park(of source, b *batch) {
	if len(b.entries) == 0 {
		return
	}
	own, all := b.bytes, b.bytes
	for other, q := range p.parked {
		for _, b := range q.batches {
			if all += b.bytes; other.account == of.account {
				own += b.bytes
			}
		}
	}
	if own > maxParked || all > maxAllParked {
		p.drop(of, b)
		return
	}
	if p.parked[of] == nil {
		p.parked[of] = &queue{wait: minWait}
	}
	p.parked[of].batches = append(p.parked[of].batches, b)
}

// drop leaves out a batch that has waited for too long, or for which there is no room.
func (p *Pusher) drop(of source, b *batch) {
	p.dropped.WithLabelValues("limited").Add(float64(len(b.entries)))
	p.log.Warn("events are dropped: the Loki's limits keep too many out", "account", of.account,
		"events", len(b.entries))
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
	account := ""
	if p.config.Account == "" {
		account = r.Account
	}
	for i := range list {
		b.add(account, &events.Event{Event: list[i], Cluster: r.Cluster, Node: h.Node,
			FrameAt: h.At, Index: i}, r.Offset)
	}
	return nil
}

// push sends a batch. What is refused for good is dropped, alone if it can be found out. After an
// error the batch has what is not pushed yet.
func (p *Pusher) push(ctx context.Context, b *batch) error {
	for size := len(b.entries); len(b.entries) > 0; {
		size = min(size, len(b.entries))
		err := p.post(ctx, b.entries[:size])
		r, is := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			p.pushed.Add(float64(size))
		case !is || !r.forGood():
			p.failures.Inc()
			return err
		case size > 1 && b.halvings > 0:
			b.halvings--
			size /= 2
			continue
		default:
			p.dropped.WithLabelValues("refused").Add(float64(size))
			p.log.Warn("the Loki refuses events, which are dropped", "events", size, "error", err)
		}
		b.entries = b.entries[size:]
		size *= 2
	}
	return nil
}

// refusal is an answer other than that events have been taken.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("it answered %d %s: %s", r.status,
		http.StatusText(r.status), r.text))
}

// forGood reports whether the push never will be taken: too old, out of order, not valid, too
// large. Anything else somebody can mend.
func (r *refusal) forGood() bool {
	return r.status == http.StatusBadRequest || r.status == http.StatusRequestEntityTooLarge ||
		r.status == http.StatusUnprocessableEntity
}

// maxReason bounds what is read of a refusal.
const maxReason = 500

// limited reports whether Loki's limits kept events out. Which limits, it does not say.
func limited(err error) bool {
	r, is := errors.AsType[*refusal](err)
	return is && r.status == http.StatusTooManyRequests
}

// post sends events. An answer that does not take them is a refusal.
func (p *Pusher) post(ctx context.Context, list []entry) error {
	var streams []*streamJSON
	of := map[streamLabels]*streamJSON{}
	for i := range list {
		e := &list[i]
		s := of[e.labels]
		if s == nil {
			s = &streamJSON{Stream: e.labels}
			of[e.labels], streams = s, append(streams, s)
		}
		s.Values = append(s.Values, e.value)
	}
	body, err := json.Marshal(map[string]any{"streams": streams})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
	if p.config.Tenant != "" {
		r.Header.Set("X-Scope-OrgID", p.config.Tenant)
	}
	answer, err := p.client.Do(r)
	if err != nil {
		if u := (*url.Error)(nil); errors.As(err, &u) {
			err = u.Err // without the address, which may have a token in it
		}
		return err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReason))
	if answer.StatusCode/100 == 2 {
		return nil
	}
	return &refusal{answer.StatusCode, strings.TrimSpace(string(text))}
}

// Tick implements stream.Handler: it tries again what waits.
func (p *Pusher) Tick(ctx context.Context, now time.Time) error {
	for of, q := range p.parked {
		if now.Before(q.next) {
			continue
		}
		for len(q.batches) > 0 {
			b := q.batches[0]
			if b.since.IsZero() {
				b.since = now
			}
			switch err := p.push(ctx, b); {
			case err == nil:
				q.wait = minWait
			case !limited(err):
				return fmt.Errorf("loki: cannot push events: %w", err)
			case now.Sub(b.since) > parkedFor:
				p.drop(of, b)
			default:
				q.next, q.wait = now.Add(q.wait), min(2*q.wait, maxWait)
			}
			if now.Before(q.next) {
				break
			}
			q.batches = q.batches[1:]
		}
		if len(q.batches) == 0 {
			delete(p.parked, of)
		}
	}
	return nil
}

// LowWater implements stream.Handler: a restart needs what waits, and no more.
func (p *Pusher) LowWater(partition int32) (offset int64, ok bool) {
	for of, q := range p.parked {
		if first := q.batches[0].entries[0].offset; of.partition == partition &&
			(!ok || first < offset) {
			offset, ok = first, true
		}
	}
	return offset, ok
}

// Revoke implements stream.Handler.
func (p *Pusher) Revoke(partition int32) {
	maps.DeleteFunc(p.done, func(of source, _ int64) bool { return of.partition == partition })
	maps.DeleteFunc(p.parked, func(of source, _ *queue) bool { return of.partition == partition })
}
