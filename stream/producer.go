package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ErrPublish is what every error of Publish wraps. Retryable tells whether to try again; when it is true, Kafka may have the frame nevertheless.
var ErrPublish = errors.New("stream: the frame is not known to be in Kafka")

// Producer publishes frames. It is safe for concurrent use.
type Producer struct {
	config  Config
	client  *kgo.Client
	metrics producerMetrics
}

// producerMetrics is the hop's ledger: accepted = published + dropped + pending.
type producerMetrics struct {
	accepted, published prometheus.Counter
	dropped             *prometheus.CounterVec
	pending             prometheus.Gauge
	seconds             prometheus.Histogram
}

// NewProducer checks the configuration and makes the client, which connects on first use: Kafka may be away now and come later.
func NewProducer(c Config, reg prometheus.Registerer, log *slog.Logger) (*Producer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	client, err := c.client(log,
		kgo.DefaultProduceTopic(c.Topic),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(0), // an agent waits for every frame; under load frames batch by themselves while a request is out
		kgo.ProducerBatchMaxBytes(c.MaxMessageBytes),
		kgo.ProducerBatchCompression(kgo.NoCompression()), // frames are compressed
		kgo.MaxBufferedBytes(c.MaxBufferedBytes),
		kgo.ProduceRequestTimeout(c.PublishTimeout),
		kgo.RecordDeliveryTimeout(c.PublishTimeout),
		// Kafka's duplicate check stays on for the client's own retries. Giving up a request whose answer is overdue may leave a
		// frame in Kafka that the agent sends again; consumers do not mind, and memory stays bounded while a broker hangs.
		kgo.AllowIdempotentProduceCancellation(),
		// Same partition as every other Kafka client would choose for the key.
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
	)
	if err != nil {
		return nil, err
	}
	p := &Producer{config: c, client: client}
	m := &p.metrics
	m.accepted = prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_stream_publish_accepted_total", Help: "Frames given to Publish."})
	m.published = prometheus.NewCounter(prometheus.CounterOpts{Name: "ringwatch_stream_publish_published_total", Help: "Frames that all in-sync replicas have."})
	m.dropped = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ringwatch_stream_publish_dropped_total", Help: "Frames that Publish answered with an error, by reason; after a timeout Kafka may have them."}, []string{"reason"})
	m.pending = prometheus.NewGauge(prometheus.GaugeOpts{Name: "ringwatch_stream_publish_pending", Help: "Frames that Publish has not answered yet."})
	m.seconds = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "ringwatch_stream_publish_seconds", Help: "Time until all in-sync replicas had the frame.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 13)})
	for _, reason := range []string{"failed", "full", "timeout", "cancelled", "refused"} {
		m.dropped.WithLabelValues(reason) // 0 until it happens, so that a rule sees the first time, too
	}
	for _, c := range []prometheus.Collector{m.accepted, m.published, m.dropped, m.pending, m.seconds} {
		if err := reg.Register(c); err != nil {
			client.Close()
			return nil, fmt.Errorf("stream: cannot register a metric: %w", err)
		}
	}
	return p, nil
}

// Publish returns nil once all in-sync replicas have the frame b of the account's cluster, and an error that wraps ErrPublish after
// Config.PublishTimeout at the latest. b must not be changed afterwards, not even after an error: the client may still be sending it.
func (p *Producer) Publish(ctx context.Context, account, cluster string, b []byte) error {
	p.metrics.accepted.Inc()
	p.metrics.pending.Inc()
	defer p.metrics.pending.Dec()
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.config.PublishTimeout)
	defer cancel()
	done := make(chan error, 1)
	// The record lives on when the caller goes away: giving it up would give up the other frames of its partition, too.
	p.client.TryProduce(context.WithoutCancel(ctx), &kgo.Record{Key: recordKey(account, cluster), Value: b}, func(_ *kgo.Record, err error) { done <- err })
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
	case errors.Is(err, kgo.ErrMaxBuffered):
		reason = "full"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, kgo.ErrRecordTimeout):
		reason = "timeout"
	case errors.Is(err, context.Canceled):
		reason = "cancelled"
	case !Retryable(err):
		reason = "refused"
	}
	p.metrics.dropped.WithLabelValues(reason).Inc()
	return fmt.Errorf("%w: %w", ErrPublish, err)
}

// Ready asks Kafka once and returns nil when a broker answers.
func (p *Producer) Ready(ctx context.Context) error {
	if err := p.client.Ping(ctx); err != nil {
		return fmt.Errorf("stream: no Kafka broker answers: %w", err)
	}
	return nil
}

// Close fails what Publish still waits for and ends the client's goroutines. Publish fails from then on.
func (p *Producer) Close() { p.client.Close() }
