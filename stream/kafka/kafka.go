// Package kafka keeps the stream's topics in Kafka. It is the only package that knows Kafka. Begin
// with Kafka, which promises what stream.Engine says. Of our packages it imports stream and
// access/certs.
package kafka

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/stream"
)

// Config says where Kafka is, and how often it keeps the topics that we make.
type Config struct {
	Brokers []string     `yaml:"brokers"` // host:port; the others are learnt from any that answers
	TLS     certs.Client `yaml:"tls"`
	SASL    SASL         `yaml:"sasl"` // zero: none

	// InstanceID, if set, must differ between processes and stay with one across its restarts (a
	// host's name, say). A process that was killed and comes back as itself has its partitions at
	// once instead of after the session timeout; one that is shut down keeps them for that long.
	InstanceID string `yaml:"instance_id"`

	ReplicationFactor int16 `yaml:"replication_factor"` // 1 on one broker, 3 in production
	// how many replicas "all in-sync" are at least; 2 beside a replication factor of 3
	MinInsyncReplicas int16 `yaml:"min_insync_replicas"`
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

// DefaultConfig names no brokers, and is for one.
func DefaultConfig() Config {
	return Config{TLS: certs.Section("kafka.tls"), ReplicationFactor: 1, MinInsyncReplicas: 1}
}

// dialTimeout is for a connection to a broker, with its TLS.
const dialTimeout = 3 * time.Second

// Validate reports everything that is wrong at once. Without brokers the rest may be as it is.
func (c Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("stream: "+format, args...))
		}
	}
	for _, b := range c.Brokers {
		_, port, err := net.SplitHostPort(b)
		check(err == nil && port != "", "broker %q is not host:port", b)
	}
	check(c.ReplicationFactor >= 1,
		"replication_factor is %d: use 1 on one broker, 3 in production", c.ReplicationFactor)
	check(c.MinInsyncReplicas >= 1 && c.MinInsyncReplicas <= c.ReplicationFactor,
		"min_insync_replicas is %d: use 1 to replication_factor, %d", c.MinInsyncReplicas,
		c.ReplicationFactor)
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
	return nil, fmt.Errorf("sasl mechanism %q: use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
		s.Mechanism)
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
	opts = append(opts,
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID("ringwatch"),
		kgo.WithLogger(logger{k.log}),
		kgo.DisableClientMetrics(),
		// A frozen broker is given up on after this, above what the request itself may take.
		kgo.RequestTimeoutOverhead(5*time.Second),
		// A broker that comes back is found within this.
		kgo.MetadataMinAge(250*time.Millisecond),
		// Partitions that an operator adds are found within this.
		kgo.MetadataMaxAge(30*time.Second),
	)
	if c.TLS.Enabled {
		files, dialer := c.TLS.Dialer(k.log), &net.Dialer{Timeout: dialTimeout}
		opts = append(opts,
			kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
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
