package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/files"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// framesConfig is what every engine of the stream needs to know.
type framesConfig = stream.Config

// kafkaConfig is what the topics are like, and where Kafka is.
type kafkaConfig struct {
	framesConfig
	kafka.Config
}

func defaultKafka() kafkaConfig {
	return kafkaConfig{framesConfig: stream.DefaultConfig(), Config: kafka.DefaultConfig()}
}

// Validate reports everything that is wrong at once.
func (c kafkaConfig) Validate() error {
	return errors.Join(c.framesConfig.Validate(), c.Config.Validate())
}

// The groups of the roles that read the stream.
const (
	storeGroup    = "ringwatch-store"
	lokiGroup     = "ringwatch-loki" // of what is pushed to a Loki
	recentGroup   = "ringwatch-recent"
	rulesGroup    = "ringwatch-rules"
	accountsGroup = "ringwatch-rules-accounts" // of what rules over all clusters look at
)

// errNoStream is for a role that runs alone.
var errNoStream = errors.New("kafka.brokers is empty: " + noBrokers)

// openStream returns what keeps the topics: Kafka or, where it has no address, files of this
// process. It opens them once.
func (p *process) openStream() (stream.Engine, error) {
	p.streamMu.Lock()
	defer p.streamMu.Unlock()
	if p.topics != nil {
		return p.topics, nil
	}
	if len(p.Kafka.Brokers) > 0 {
		k, err := kafka.New(p.Kafka.Config, p.log)
		if err == nil {
			p.topics = k
		}
		return k, err
	}
	if p.role != "all" {
		return nil, errNoStream
	}
	dir := filepath.Join(p.Data.Dir, "stream")
	f, err := files.Open(files.Config{Dir: dir, MaxBytes: p.streamBytes(), Registerer: p.metrics},
		p.log)
	if err != nil {
		return nil, usageError{unwritable(err)}
	}
	p.log.Info("the stream is kept in files", "directory", dir)
	p.topics, p.closeStream, p.streamWarns = f, f.Close, f.Warning
	// rows do not go for a moment's peak
	p.Cassandra.Besides = func() int64 { return min(f.Bytes(), p.streamBytes()) }
	return f, nil
}

// warning is what an operator should know of the store and the stream although they answer.
func (p *process) warning(db *store.Store) func(context.Context) string {
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

// endStream gives up what openStream has opened, when no role uses it any more.
func (p *process) endStream() error {
	p.streamMu.Lock()
	defer p.streamMu.Unlock()
	if p.closeStream == nil {
		return nil
	}
	return p.closeStream()
}

// ensureTopic makes or checks a topic of frames; every role that uses one does so first, since any
// may start first.
func (p *process) ensureTopic(ctx context.Context, c stream.Config) (stream.Engine, error) {
	e, err := p.openStream()
	if err != nil {
		return nil, err
	}
	err = retry(ctx, p.log, "the topic "+c.Topic, stream.Retryable,
		func(ctx context.Context) error { return stream.EnsureTopic(ctx, e, c) })
	if errors.Is(err, files.ErrVersion) {
		err = usageError{err}
	}
	return e, err
}

// again reads frames again for recent.
func (p *process) again(e stream.Engine) recent.Again {
	return func(ctx context.Context, w stream.Walk, f func([]stream.Record) error) error {
		return stream.Again(ctx, e, p.Kafka.Topic, w, f)
	}
}
