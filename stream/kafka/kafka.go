// Package kafka keeps the stream's topics in Kafka. Of the stream, it alone knows Kafka.
// Begin with Kafka, which promises what stream.Engine says. Of our packages it imports stream,
// access/broker and access/certs.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/access/broker"
	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/stream"
)

// Config says where Kafka is, and how often it keeps the topics that we make.
type Config struct {
	Brokers []string     `yaml:"brokers"` // host:port; the others are learnt from any that answers
	TLS     certs.Client `yaml:"tls"`
	SASL    broker.SASL  `yaml:"sasl"` // zero: none

	// InstanceID, if set, must differ between processes and stay with one across its restarts (a
	// host's name, say). A process that was killed and comes back as itself has its partitions at
	// once instead of after the session timeout; one that is shut down keeps them for that long.
	InstanceID string `yaml:"instance_id"`

	ReplicationFactor int16 `yaml:"replication_factor"` // 1 on one broker, 3 in production
	// how many replicas "all in-sync" are at least; 2 beside a replication factor of 3
	MinInsyncReplicas int16 `yaml:"min_insync_replicas"`
}

// DefaultConfig names no brokers, and is for one.
func DefaultConfig() Config {
	return Config{TLS: certs.Section("kafka.tls"), ReplicationFactor: 1, MinInsyncReplicas: 1}
}

// Validate reports everything that is wrong at once. Without brokers the rest may be as it is.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("stream: "+format, args...))
		}
	}
	for _, err := range []error{broker.ValidateAddresses(c.Brokers), c.SASL.Validate()} {
		check(err == nil, "%w", err)
	}
	check(c.ReplicationFactor >= 1,
		"replication_factor is %d: use 1 on one broker, 3 in production", c.ReplicationFactor)
	check(c.MinInsyncReplicas >= 1 && c.MinInsyncReplicas <= c.ReplicationFactor,
		"min_insync_replicas is %d: use 1 to replication_factor, %d", c.MinInsyncReplicas,
		c.ReplicationFactor)
	return errors.Join(errs...)
}

// Kafka is a stream.Engine. Each of its calls has a client of its own.
type Kafka struct {
	config Config
	log    *slog.Logger
}

// New checks the configuration. Kafka may be away.
func New(c Config, log *slog.Logger) (*Kafka, error) {
	if len(c.Brokers) == 0 {
		return nil, errors.New("stream: brokers is empty: name at least one host:port")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Kafka{config: c, log: log}, nil
}

// client makes a client with what all our clients share. It connects when it is first used.
func (k *Kafka) client(opts ...kgo.Opt) (*kgo.Client, error) {
	c := k.config
	shared, err := broker.Options(c.Brokers, c.TLS, c.SASL, k.log)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(opts, shared...)...)
	if err != nil {
		return nil, fmt.Errorf("stream: cannot make a Kafka client: %w", err)
	}
	return client, nil
}

// explained gives an error of Kafka's the cause that the stream has a word for.
func explained(err error) error {
	for _, never := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord,
		kerr.InvalidTopicException} {
		if errors.Is(err, never) {
			return stream.Because(err, stream.ErrRefused)
		}
	}
	switch {
	case errors.Is(err, kgo.ErrMaxBuffered):
		return stream.Because(err, stream.ErrFull)
	case errors.Is(err, kgo.ErrRecordTimeout):
		return stream.Because(err, context.DeadlineExceeded)
	}
	return err
}
