package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// EnsureTopic makes the topic of frames, or checks the one there is. Several processes may do so
// at once. A topic that would lose frames is an ErrTopic; one that only differs from the
// configuration (someone tuned it) is logged and left alone.
func EnsureTopic(ctx context.Context, e Engine, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	return e.Ensure(ctx, c.topic())
}

// ErrPublish is what every error of Publish wraps. Retryable tells whether to try again; when it
// is true, the engine may have the frame nevertheless.
var ErrPublish = errors.New("stream: the frame is not known to be kept")

// Producer publishes frames. It is safe for concurrent use.
type Producer struct {
	config  Config
	to      Publisher
	metrics producerMetrics
}

// producerMetrics is the hop's ledger: accepted = published + dropped + pending.
type producerMetrics struct {
	accepted, published prometheus.Counter
	dropped             *prometheus.CounterVec
	pending             prometheus.Gauge
	seconds             prometheus.Histogram
}

// NewProducer checks the configuration. It waits for nothing: the engine may be away now and come
// later.
func NewProducer(e Engine, c Config, reg prometheus.Registerer) (*Producer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	to, err := e.Open(c.topic())
	if err != nil {
		return nil, err
	}
	p := &Producer{config: c, to: to}
	m := &p.metrics
	m.accepted = prometheus.NewCounter(
		prometheus.CounterOpts{Name: "ringwatch_stream_publish_accepted_total",
			Help: "Frames given to Publish."})
	m.published = prometheus.NewCounter(
		prometheus.CounterOpts{Name: "ringwatch_stream_publish_published_total",
			Help: "Frames that all in-sync replicas have, or the disk."})
	m.dropped = prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "ringwatch_stream_publish_dropped_total",
			Help: "Frames that Publish answered with an error, by reason; after a timeout the " +
				"engine may have them."}, []string{"reason"})
	m.pending = prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_stream_publish_pending",
		Help: "Frames that Publish has not answered yet."})
	m.seconds = prometheus.NewHistogram(
		prometheus.HistogramOpts{Name: "ringwatch_stream_publish_seconds",
			Help:    "Time until all in-sync replicas, or the disk, had the frame.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 13)})
	for _, reason := range []string{"failed", "full", "timeout", "cancelled", "refused"} {
		// 0 until it happens, so that a rule sees the first time, too
		m.dropped.WithLabelValues(reason)
	}
	for _, c := range []prometheus.Collector{m.accepted, m.published, m.dropped, m.pending,
		m.seconds} {
		if err := reg.Register(c); err != nil {
			to.Close()
			return nil, fmt.Errorf("stream: cannot register a metric: %w", err)
		}
	}
	return p, nil
}

// Publish returns nil once the engine keeps the frame b of the account's cluster, and an error
// that wraps ErrPublish after Config.PublishTimeout at the latest. b must not be changed
// afterwards, not even after an error: the engine may still be taking it.
func (p *Producer) Publish(ctx context.Context, account, cluster string, b []byte) error {
	p.metrics.accepted.Inc()
	p.metrics.pending.Inc()
	defer p.metrics.pending.Dec()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.config.PublishTimeout)
	defer cancel()
	done := make(chan error, 1)
	p.to.Publish(&Message{Key: recordKey(account, cluster), Value: b}, func(err error) {
		done <- err
	})
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		p.metrics.published.Inc()
		p.metrics.seconds.Observe(time.Since(began).Seconds())
		return nil
	}
	reason := "failed"
	switch {
	case errors.Is(err, ErrFull):
		reason = "full"
	case errors.Is(err, context.DeadlineExceeded):
		reason = "timeout"
	case errors.Is(err, context.Canceled):
		reason = "cancelled"
	case !Retryable(err):
		reason = "refused"
	}
	p.metrics.dropped.WithLabelValues(reason).Inc()
	return fmt.Errorf("%w: %w", ErrPublish, err)
}

// Ready asks the engine once and returns nil when it answers.
func (p *Producer) Ready(ctx context.Context) error { return p.to.Ready(ctx) }

// Close fails what Publish still waits for. Publish fails from then on.
func (p *Producer) Close() { p.to.Close() }
