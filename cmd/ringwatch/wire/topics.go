package wire

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/stream"
)

// Topics in which processes tell each other something, beside that of frames. A log is such a topic
// of which the last entry of each key counts.
const (
	statesTopic   = "ringwatch.rules"      // what is known of alerts, by cluster
	filesTopic    = "ringwatch.rule-files" // files given through the API, by account
	RecordedTopic = "ringwatch.recorded"   // what rules over all clusters look at
	pulseTopic    = "ringwatch.pulse"      // that ingest works
	rosterTopic   = "ringwatch.nodes"      // since when nodes are there, and how they left
)

// maxStateBytes bounds what is kept of a cluster's alerts: 10,000 of them, packed, are some 300 KB.
const maxStateBytes = 12 << 20

// StatesLog is the topic of what is known of alerts.
func StatesLog(p *Process) stream.LogConfig {
	c := stream.DefaultLogConfig(statesTopic)
	c.Partitions, c.MaxEntryBytes, c.MaxLastBytes = p.Config.Kafka.Partitions, maxStateBytes, 1<<30
	return c
}

// FilesLog is the topic of rule files given through the API.
func FilesLog(p *Process) stream.LogConfig {
	c := stream.DefaultLogConfig(filesTopic)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 1<<20
	return c
}

// PulseLog is the topic of the sign that ingest works. One that keeps it for less than a new one
// would have Ringwatch forget when it was away itself.
func PulseLog(p *Process) stream.LogConfig {
	c := stream.DefaultLogConfig(pulseTopic)
	c.Partitions, c.Retention, c.Lengthen = 1, awayKnown+24*time.Hour, true
	return c
}

// RosterLog is the topic of since when nodes are there, and how they left.
func RosterLog(p *Process) stream.LogConfig {
	c := stream.DefaultLogConfig(rosterTopic)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 16<<10
	return c
}

// openLog makes a log's topic if need be, and its client.
func (p *Process) openLog(ctx context.Context, c stream.LogConfig) (*stream.Log, error) {
	topics, err := p.OpenStream()
	if err != nil {
		return nil, err
	}
	err = engine.Retry(ctx, p.Log, "the topic "+c.Topic, stream.Retryable,
		func(ctx context.Context) error {
			return stream.EnsureLog(ctx, topics, p.Config.Kafka.FramesConfig, c)
		})
	if err != nil {
		return nil, err
	}
	return stream.NewLog(topics, p.Config.Kafka.FramesConfig, c, p.Metrics)
}

// sharedLog is openLog, once a process and topic.
func (p *Process) sharedLog(ctx context.Context, c stream.LogConfig) (*stream.Log, error) {
	p.logsMu.Lock()
	defer p.logsMu.Unlock()
	if l := p.Logs[c.Topic]; l != nil {
		return l, nil
	}
	l, err := p.openLog(ctx, c)
	if err == nil {
		if p.Logs == nil {
			p.Logs = map[string]*stream.Log{}
		}
		p.Logs[c.Topic] = l
	}
	return l, err
}

// follow reads the last entry of each key of a log, and returns what reads on from there.
func follow(ctx context.Context, log *stream.Log, take func(stream.Entry) error) (Part, error) {
	entries, at, err := log.Last(ctx, nil)
	for _, e := range entries {
		_ = take(e)
	}
	return func(ctx context.Context) error { return log.Follow(ctx, at, take) }, err
}

// keepReading reads the last entry of each key of a log, and then follows it, however often Kafka
// is away, until ctx ends. opened is told of the log once it is there.
func (p *Process) keepReading(ctx context.Context, c stream.LogConfig,
	opened *atomic.Pointer[stream.Log], take func(stream.Entry) error) error {
	for ctx.Err() == nil {
		log, err := p.sharedLog(ctx, c)
		if errors.Is(err, ErrNoStream) {
			<-ctx.Done()
			return nil
		}
		if err == nil {
			if opened != nil {
				opened.Store(log)
			}
			var last []stream.Entry
			var at stream.Position
			if last, at, err = log.Last(ctx, nil); err == nil {
				for _, e := range last {
					_ = take(e)
				}
				err = log.Follow(ctx, at, take)
			}
		}
		if err != nil && ctx.Err() == nil {
			p.Log.Debug("cannot read a topic now; trying again", "topic", c.Topic, "error", err)
			Pause(ctx, time.Second)
		}
	}
	return nil
}

// labelled tells the producers of a process apart.
func labelled(reg prometheus.Registerer, of string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"producer": of}, reg)
}
