package wire

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/files"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// The groups of the roles that read the stream.
const (
	StoreGroup    = "ringwatch-store"
	lokiGroup     = "ringwatch-loki" // of what is pushed to a Loki
	RecentGroup   = "ringwatch-recent"
	RulesGroup    = "ringwatch-rules"
	AccountsGroup = "ringwatch-rules-accounts" // of what rules over all clusters look at
)

// ErrNoStream is for a role that runs alone.
var ErrNoStream = errors.New("kafka.brokers is empty: " + engine.NoBrokers)

// OpenStream returns what keeps the topics: Kafka or, where it has no address, files of this
// process. It opens them once.
func (p *Process) OpenStream() (stream.Engine, error) {
	p.streamMu.Lock()
	defer p.streamMu.Unlock()
	if p.topics != nil {
		return p.topics, nil
	}
	if len(p.Config.Kafka.Brokers) > 0 {
		k, err := kafka.New(p.Config.Kafka.Config, p.Log)
		if err == nil {
			p.topics = k
		}
		return k, err
	}
	if p.Role != "all" {
		return nil, ErrNoStream
	}
	dir := filepath.Join(p.Config.Data.Dir, "stream")
	f, err := files.Open(files.Config{Dir: dir, MaxBytes: p.Config.StreamBytes(),
		Registerer: p.Metrics},
		p.Log)
	if err != nil {
		return nil, exit.Usage(datadir.Unwritable(err))
	}
	p.Log.Info("the stream is kept in files", "directory", dir)
	p.topics, p.closeStream, p.streamWarns = f, f.Close, f.Warning
	// rows do not go for a moment's peak
	p.Config.Cassandra.Besides = func() int64 { return min(f.Bytes(), p.Config.StreamBytes()) }
	return f, nil
}

// Warning is what an operator should know of the store and the stream although they answer.
func (p *Process) Warning(db *store.Store) func(context.Context) string {
	return func(ctx context.Context) string {
		list := []string{db.Warning(ctx)}
		p.streamMu.Lock()
		warns := p.streamWarns
		p.streamMu.Unlock()
		if warns != nil {
			list = append(list, warns())
		}
		return strings.Join(slices.DeleteFunc(list, func(text string) bool { return text == "" }),
			"; ")
	}
}

// EndStream gives up what OpenStream has opened, when no role uses it any more.
func (p *Process) EndStream() error {
	p.streamMu.Lock()
	defer p.streamMu.Unlock()
	if p.closeStream == nil {
		return nil
	}
	return p.closeStream()
}

// EnsureTopic makes or checks a topic of frames; every role that uses one does so first, since any
// may start first.
func (p *Process) EnsureTopic(ctx context.Context, c stream.Config) (stream.Engine, error) {
	e, err := p.OpenStream()
	if err != nil {
		return nil, err
	}
	err = engine.Retry(ctx, p.Log, "the topic "+c.Topic, stream.Retryable,
		func(ctx context.Context) error { return stream.EnsureTopic(ctx, e, c) })
	if errors.Is(err, files.ErrVersion) {
		err = exit.Usage(err)
	}
	return e, err
}

// again reads frames again for recent.
func (p *Process) again(e stream.Engine) recent.Again {
	return func(ctx context.Context, w stream.Walk, f func([]stream.Record) error) error {
		return stream.Again(ctx, e, p.Config.Kafka.Topic, w, f)
	}
}
