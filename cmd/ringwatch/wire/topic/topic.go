// Package topic has the topics of the stream that a process reads and writes, in Kafka or in files.
// Begin with Topics. One of them has frames; others are logs, in which processes tell each other
// something.
package topic

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/files"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// The groups of the roles that read the stream.
const (
	StoreGroup    = "ringwatch-store"
	LokiGroup     = "ringwatch-loki" // of what is pushed to a Loki
	RecentGroup   = "ringwatch-recent"
	RulesGroup    = "ringwatch-rules"
	AccountsGroup = "ringwatch-rules-accounts" // of what rules over all clusters look at
)

// ErrNone is for a role that runs alone.
var ErrNone = errors.New("kafka.brokers is empty: " + engine.NoBrokers)

// Topics are those of a process.
type Topics struct {
	config  *settings.Config
	role    string
	metrics *prometheus.Registry
	log     *slog.Logger

	mu     sync.Mutex
	stream stream.Engine // once a role has asked for it
	files  *files.Files  // the same; nil: it is no files

	logsMu sync.Mutex
	logs   map[string]*stream.Log // by topic
}

// New returns the topics of a process with a role, and opens none.
func New(c *settings.Config, role string, reg *prometheus.Registry, log *slog.Logger) *Topics {
	return &Topics{config: c, role: role, metrics: reg, log: log, logs: map[string]*stream.Log{}}
}

// Open returns what keeps the topics: Kafka or, where it has no address, files of this process. It
// opens them once.
func (t *Topics) Open() (stream.Engine, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream != nil {
		return t.stream, nil
	}
	c := t.config
	if len(c.Kafka.Brokers) > 0 {
		k, err := kafka.New(c.Kafka.Config, t.log)
		if err == nil {
			t.stream = k
		}
		return k, err
	}
	if t.role != "all" {
		return nil, ErrNone
	}
	dir := filepath.Join(c.Data.Dir, "stream")
	f, err := files.Open(files.Config{Dir: dir, MaxBytes: c.StreamBytes(), Registerer: t.metrics},
		t.log)
	if err != nil {
		return nil, exit.Usage(datadir.Unwritable(err))
	}
	t.log.Info("the stream is kept in files", "directory", dir)
	t.stream, t.files = f, f
	// rows do not go for a moment's peak
	c.Cassandra.Besides = func() int64 { return min(f.Bytes(), c.StreamBytes()) }
	return f, nil
}

// Warning is what an operator should know of the stream although it answers; empty: nothing.
func (t *Topics) Warning() string {
	t.mu.Lock()
	f := t.files
	t.mu.Unlock()
	if f == nil {
		return ""
	}
	return f.Warning()
}

// Close gives up what Open has opened in files, when no role uses it any more.
func (t *Topics) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.files == nil {
		return nil
	}
	return t.files.Close()
}

// Ensure makes or checks a topic of frames; every role that uses one does so first, since any
// may start first.
func (t *Topics) Ensure(ctx context.Context, c stream.Config) (stream.Engine, error) {
	e, err := t.Open()
	if err != nil {
		return nil, err
	}
	err = engine.Retry(ctx, t.log, "the topic "+c.Topic, stream.Retryable,
		func(ctx context.Context) error { return stream.EnsureTopic(ctx, e, c) })
	if errors.Is(err, files.ErrVersion) {
		err = exit.Usage(err)
	}
	return e, err
}
