// Package stream is the only one that knows Kafka: it publishes frames and hands them to consumers.
//
// What it promises:
//   - Publish returns nil only when all in-sync replicas have the frame.
//   - The frames of a cluster keep their order and are seen by one consumer of a group at a time.
//   - A consumer sees every published frame at least once: an offset is committed only when the effect of everything before it is
//     done, and when the handler still needs older frames (an open window), only up to those.
//   - What a consumer holds is bounded by one fetch per broker and one batch.
//
// What bites:
//   - At least once: handlers see frames again after a restart, a rebalance, or a Publish whose answer got lost. Effects are idempotent.
//   - The partition of a cluster follows from the number of partitions. Adding some moves clusters, and for a moment a cluster's old
//     and new frames may be with two consumers.
//   - Kafka measures a message after batching: Config.MaxMessageBytes must exceed the largest frame by a little.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/ringwatch/ringwatch/certs"
)

// Config says where Kafka is and what the topic of frames is like.
type Config struct {
	Brokers []string     `yaml:"brokers"` // host:port; the others are learnt from any that answers
	Topic   string       `yaml:"topic"`
	TLS     certs.Client `yaml:"tls"`
	SASL    SASL         `yaml:"sasl"` // zero: none

	// InstanceID, if set, must differ between processes and stay with one across its restarts (a host's name, say). A process that was killed and comes
	// back as itself has its partitions at once instead of after the session timeout; one that is shut down keeps them for that long.
	InstanceID string `yaml:"instance_id"`

	// The rest says how EnsureTopic makes the topic.
	Partitions        int32         `yaml:"partitions"`          // an upper bound for useful consumers of a group; 16 is room for a fleet of 10,000 nodes
	ReplicationFactor int16         `yaml:"replication_factor"`  // 1 on one broker, 3 in production
	MinInsyncReplicas int16         `yaml:"min_insync_replicas"` // how many replicas "all in-sync" are at least; 2 beside a replication factor of 3
	Retention         time.Duration `yaml:"retention"`           // how far a consumer can be stopped, rebuilt or walked back
	MaxMessageBytes   int32         `yaml:"max_message_bytes"`   // the largest frame (16 MiB) and Kafka's own bytes around it

	PublishTimeout   time.Duration `yaml:"publish_timeout"`    // within which Publish answers; shorter than an agent's patience, at least 1 s
	MaxBufferedBytes int           `yaml:"max_buffered_bytes"` // of frames waiting for Kafka; beyond it Publish fails at once
}

// SASL is how to log in to Kafka.
type SASL struct {
	Mechanism string `yaml:"mechanism"` // PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512
	User      string `yaml:"user"`
	Password  string `yaml:"password"`
}

// String leaves the password out.
func (s SASL) String() string { return fmt.Sprintf("{%s %s (redacted)}", s.Mechanism, s.User) }

// GoString is String: %#v shows no password either.
func (s SASL) GoString() string { return s.String() }

// DefaultConfig is for one broker on this machine.
func DefaultConfig() Config {
	return Config{
		Brokers:           []string{"127.0.0.1:9092"},
		TLS:               certs.Section("kafka.tls"),
		Topic:             "ringwatch.frames",
		Partitions:        16,
		ReplicationFactor: 1,
		MinInsyncReplicas: 1,
		Retention:         24 * time.Hour,
		MaxMessageBytes:   17 << 20,
		PublishTimeout:    5 * time.Second,
		MaxBufferedBytes:  256 << 20,
	}
}

// dialTimeout is for a connection to a broker, with its TLS.
const dialTimeout = 3 * time.Second

var topicPattern = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// Validate reports everything that is wrong at once.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("stream: "+format, args...))
		}
	}
	check(len(c.Brokers) > 0, "brokers is empty: name at least one host:port")
	for _, b := range c.Brokers {
		_, port, err := net.SplitHostPort(b)
		check(err == nil && port != "", "broker %q is not host:port", b)
	}
	check(topicPattern.MatchString(c.Topic) && strings.Trim(c.Topic, ".") != "", "topic %q: use 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'", c.Topic)
	check(c.Partitions >= 1 && c.Partitions <= 10_000, "partitions is %d: use 1 to 10000", c.Partitions)
	check(c.ReplicationFactor >= 1, "replication_factor is %d: use 1 on one broker, 3 in production", c.ReplicationFactor)
	check(c.MinInsyncReplicas >= 1 && c.MinInsyncReplicas <= c.ReplicationFactor, "min_insync_replicas is %d: use 1 to replication_factor, %d", c.MinInsyncReplicas, c.ReplicationFactor)
	check(c.Retention >= time.Hour, "retention is %s: use at least 1h, so that a consumer can be restarted", c.Retention)
	check(c.MaxMessageBytes >= 64<<10 && c.MaxMessageBytes <= 64<<20, "max_message_bytes is %d: use 65536 to 67108864", c.MaxMessageBytes)
	check(c.PublishTimeout >= time.Second, "publish_timeout is %s: use at least 1s", c.PublishTimeout)
	check(c.MaxBufferedBytes >= int(c.MaxMessageBytes), "max_buffered_bytes is %d: use at least max_message_bytes, %d", c.MaxBufferedBytes, c.MaxMessageBytes)
	if c.SASL != (SASL{}) {
		_, err := c.SASL.mechanism()
		check(err == nil, "%v", err)
		check(c.SASL.User != "" && c.SASL.Password != "", "sasl needs user and password")
	}
	return errors.Join(errs...)
}

func (s SASL) mechanism() (sasl.Mechanism, error) {
	switch s.Mechanism {
	case "PLAIN":
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism(), nil
	case "SCRAM-SHA-512":
		return scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("sasl mechanism %q: use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", s.Mechanism)
}

// client makes a client with what all our clients share. It connects when it is first used.
func (c Config) client(log *slog.Logger, opts ...kgo.Opt) (*kgo.Client, error) {
	opts = append(opts,
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID("ringwatch"),
		kgo.WithLogger(logger{log}),
		kgo.DisableClientMetrics(),
		// A frozen broker is given up on after this, above what the request itself may take.
		kgo.RequestTimeoutOverhead(5*time.Second),
		// A broker that comes back is found within this.
		kgo.MetadataMinAge(250*time.Millisecond),
		// Partitions that an operator adds are found within this.
		kgo.MetadataMaxAge(30*time.Second),
	)
	if c.TLS.Enabled {
		files, dialer := c.TLS.Dialer(log), &net.Dialer{Timeout: dialTimeout}
		opts = append(opts, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			return files.Over(ctx, dialer, network, address)
		}))
	} else {
		opts = append(opts, kgo.DialTimeout(dialTimeout))
	}
	if c.SASL != (SASL{}) {
		m, err := c.SASL.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("stream: cannot make a Kafka client: %w", err)
	}
	return client, nil
}

// Retryable reports whether the same call may succeed later without anyone changing what is sent. It is false only for what Kafka will never
// take; a missing permission or topic is the operator's to mend, and then the same bytes are welcome.
func Retryable(err error) bool {
	for _, never := range []error{ErrEntry, kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTopicException} {
		if errors.Is(err, never) {
			return false
		}
	}
	return err != nil
}

// recordKey is the key of a cluster's frames. Account names have no slash, clusters may.
func recordKey(account, cluster string) []byte { return []byte(account + "/" + cluster) }

func splitKey(key []byte) (account, cluster string, ok bool) {
	account, cluster, ok = strings.Cut(string(key), "/")
	return account, cluster, ok && account != "" && cluster != ""
}

// logger hands the client's warnings on. What it logs below that is of no use to an operator.
type logger struct{ log *slog.Logger }

// Level implements kgo.Logger.
func (l logger) Level() kgo.LogLevel {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		return kgo.LogLevelInfo
	}
	return kgo.LogLevelWarn
}

// Log implements kgo.Logger.
func (l logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	to := slog.LevelDebug
	switch level {
	case kgo.LogLevelError:
		to = slog.LevelError
	case kgo.LogLevelWarn:
		to = slog.LevelWarn
	}
	l.log.Log(context.Background(), to, "kafka: "+msg, keyvals...)
}
