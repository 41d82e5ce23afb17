package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// LogConfig describes a topic of small keyed entries, of which the last of each key matters:
// alerts, state that a process takes up after its restart, records between processes.
type LogConfig struct {
	Topic string `yaml:"topic"`
	// Partitions is best as many as the frames have. Then a cluster's entries are in the partition
	// of the same number, and a process reads one partition here for each that it has of frames.
	Partitions int32 `yaml:"partitions"`
	// Retention is how long an entry is kept that no newer one of its key follows. 0: for ever.
	Retention time.Duration `yaml:"retention"`
	// Lengthen says that a topic that is there is given this retention if it has a shorter one.
	Lengthen bool `yaml:"-"`
	// MaxEntryBytes bounds an entry's key and value together.
	MaxEntryBytes int32 `yaml:"max_entry_bytes"`
	// MaxLastBytes bounds what Last takes into memory, keys and values together.
	MaxLastBytes int64 `yaml:"max_last_bytes"`
}

// DefaultLogConfig is for a topic beside the default one of frames.
func DefaultLogConfig(topic string) LogConfig {
	return LogConfig{
		Topic:         topic,
		Partitions:    DefaultConfig().Partitions,
		Retention:     90 * 24 * time.Hour,
		MaxEntryBytes: 256 << 10,
		MaxLastBytes:  256 << 20,
	}
}

// Validate reports everything that is wrong at once.
func (c LogConfig) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(isTopic(c.Topic),
		"topic %q: use 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'", c.Topic)
	check(c.Partitions >= 1 && c.Partitions <= 10_000,
		"partitions is %d: use 1 to 10000, best as many as kafka.partitions", c.Partitions)
	check(c.Retention == 0 || c.Retention >= time.Hour,
		"retention is %s: use 0, which keeps each key's last entry for ever, or at least 1h",
		c.Retention)
	check(c.MaxEntryBytes >= 1<<10 && c.MaxEntryBytes <= 16<<20,
		"max_entry_bytes is %d: use 1024 to 16777216", c.MaxEntryBytes)
	check(c.MaxLastBytes >= int64(c.MaxEntryBytes),
		"max_last_bytes is %d: use at least max_entry_bytes, %d", c.MaxLastBytes, c.MaxEntryBytes)
	return errors.Join(errs...)
}

// Entry is one record of a Log. A cluster's entries are in one partition, in the order of Publish.
type Entry struct {
	Account, Cluster string // whose it is; both together choose the partition. Neither has a tab
	Key              string // what it is about, within its cluster
	Value            []byte // nil: there is nothing any more, and the key may be forgotten

	// These are set when an entry is read.
	Partition int32
	Offset    int64
	At        time.Time // when it was published
}

// Log publishes entries of one topic and reads them. Errors wrap ErrLog. It is safe for concurrent
// use.
//
// What it promises: Publish returns nil only when the engine keeps the entries; Read hands on
// everything that was published before it began and is still kept; Follow goes on exactly there.
//
// What bites: the engine keeps the last entry of each key and, until it has compacted the topic,
// older ones, too. A Publish that failed may have published.
type Log struct {
	engine  Engine
	log     LogConfig
	to      Publisher
	metrics logMetrics
}

// ErrLog is what every error of Log wraps.
var ErrLog = errors.New("stream: the log of entries")

// logMetrics is the hop's ledger: accepted = published + dropped + pending.
type logMetrics struct {
	accepted, published, dropped, read prometheus.Counter
	pending                            prometheus.Gauge
}

// EnsureLog makes the topic of a Log, compacted and, if it has a retention, also deleted; or it
// checks the one there is. Several processes may do so at once. A topic that would forget the last
// entry of a key is an ErrTopic; one that only differs is logged and left alone, but for what
// Lengthen says.
func EnsureLog(ctx context.Context, e Engine, c Config, l LogConfig) error {
	if err := l.Validate(); err != nil {
		return err
	}
	return e.Ensure(ctx, l.topic(c))
}

// topic is the log's topic in the engine's words.
func (c LogConfig) topic(publish Config) Topic {
	return Topic{
		Name: c.Topic, Partitions: c.Partitions, Retention: c.Retention, Compact: true,
		Lengthen: c.Lengthen, MaxMessageBytes: c.MaxEntryBytes + logOverhead,
		Timeout: publish.PublishTimeout, MaxBufferedBytes: publish.MaxBufferedBytes,
		Partition: partitionOfEntry,
	}
}

// NewLog checks the configuration, of which c says how to publish, and waits for nothing. EnsureLog
// makes the topic.
func NewLog(e Engine, c Config, l LogConfig, reg prometheus.Registerer) (*Log, error) {
	if err := errors.Join(c.Validate(), l.Validate()); err != nil {
		return nil, err
	}
	to, err := e.Open(l.topic(c))
	if err != nil {
		return nil, err
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ringwatch_stream_" + name + "_total", Help: help,
		})
	}
	m := logMetrics{
		accepted:  counter("log_accepted", "Entries given to Publish."),
		published: counter("log_published", "Entries that all in-sync replicas have, or the disk."),
		dropped: counter("log_dropped",
			"Entries that Publish answered with an error; the engine may have them."),
		read: counter("log_read", "Entries read, marks of readers included."),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ringwatch_stream_log_pending",
			Help: "Entries that Publish has not answered yet.",
		}),
	}
	reg = prometheus.WrapRegistererWith(prometheus.Labels{"topic": l.Topic}, reg)
	for _, c := range []prometheus.Collector{
		m.accepted, m.published, m.dropped, m.read, m.pending,
	} {
		if err := reg.Register(c); err != nil {
			to.Close()
			return nil, fmt.Errorf("stream: cannot register a metric: %w", err)
		}
	}
	return &Log{engine: e, log: l, to: to, metrics: m}, nil
}

// logOverhead is what Kafka puts around one entry in a batch, and room.
const logOverhead = 4 << 10

// Publish returns nil once the engine keeps all entries. It tries until ctx ends, however long
// the engine is away, and its attempts make no entry twice. An error that is not Retryable says
// that the engine will never take one of the entries; others of the call may be there.
func (l *Log) Publish(ctx context.Context, entries ...Entry) error {
	messages := make([]*Message, 0, len(entries))
	for _, e := range entries {
		key := entryKey(e)
		switch {
		case e.Account == "" || strings.ContainsAny(e.Account, "/\t") ||
			strings.Contains(e.Cluster, "\t"):
			return fmt.Errorf("%w %s: account %q and cluster %q cannot be a key: name an account, "+
				"and use no '/' or tab", ErrEntry, l.log.Topic, e.Account, e.Cluster)
		case len(key)+len(e.Value) > int(l.log.MaxEntryBytes):
			return fmt.Errorf(
				"%w %s: the entry %.100q has %d bytes, more than max_entry_bytes, %d: "+
					"raise it", ErrEntry, l.log.Topic, key, len(key)+len(e.Value),
				l.log.MaxEntryBytes)
		}
		messages = append(messages, &Message{Key: key, Value: e.Value})
	}
	n := float64(len(messages))
	l.metrics.accepted.Add(n)
	l.metrics.pending.Add(n)
	defer l.metrics.pending.Sub(n)
	// Messages live on when the caller goes away; at most MaxBufferedBytes of them are kept.
	answers := make(chan error, len(messages))
	for _, m := range messages {
		l.to.Publish(m, func(err error) { answers <- err })
	}
	var first error
	published := 0
	for range messages {
		var err error
		select {
		case err = <-answers:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			published++
		} else if first == nil {
			first = err
		}
	}
	l.metrics.published.Add(float64(published))
	l.metrics.dropped.Add(n - float64(published))
	if first != nil {
		return fmt.Errorf("%w %s: %d of %d entries are not known to be kept: %w", ErrLog,
			l.log.Topic, len(messages)-published, len(messages), first)
	}
	return nil
}

// ErrEntry says that an entry is never published as it is: too large, or no key. It wraps ErrLog.
var ErrEntry = fmt.Errorf("%w", ErrLog)

// Close gives up what Publish waits for.
func (l *Log) Close() { l.to.Close() }

// An entry's key is account/cluster, a tab, and Entry.Key.
func entryKey(e Entry) []byte {
	return slices.Concat(recordKey(e.Account, e.Cluster), []byte{'\t'}, []byte(e.Key))
}

func splitEntryKey(key []byte) (account, cluster, of string, ok bool) {
	whose, of, ok := strings.Cut(string(key), "\t")
	if !ok {
		return "", "", "", false
	}
	account, cluster, ok = strings.Cut(whose, "/")
	return account, cluster, of, ok && account != ""
}

// partitionOfEntry leaves Entry.Key out, so that a cluster's entries stay together.
func partitionOfEntry(key []byte, partitions int) int32 {
	whose, _, _ := bytes.Cut(key, []byte{'\t'})
	return partitionOfKey(whose, partitions)
}
