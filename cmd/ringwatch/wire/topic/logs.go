package topic

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/stream"
)

// Topics in which processes tell each other something, beside that of frames. A log is such a topic
// of which the last entry of each key counts.
const (
	states   = "ringwatch.rules"      // what is known of alerts, by cluster
	given    = "ringwatch.rule-files" // files given through the API, by account
	Recorded = "ringwatch.recorded"   // what rules over all clusters look at
	pulse    = "ringwatch.pulse"      // that ingest works
	roster   = "ringwatch.nodes"      // since when nodes are there, and how they left
)

// maxStateBytes bounds what is kept of a cluster's alerts: 10,000 of them, packed, are some 300 KB.
const maxStateBytes = 12 << 20

// StatesLog is the topic of what is known of alerts.
func StatesLog(partitions int32) stream.LogConfig {
	c := stream.DefaultLogConfig(states)
	c.Partitions, c.MaxEntryBytes, c.MaxLastBytes = partitions, maxStateBytes, 1<<30
	return c
}

// FilesLog is the topic of rule files given through the API.
func FilesLog() stream.LogConfig {
	c := stream.DefaultLogConfig(given)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 1<<20
	return c
}

// AwayKnown is how long it is known when nobody took frames.
const AwayKnown = 14 * 24 * time.Hour

// PulseLog is the topic of the sign that ingest works. One that keeps it for less than a new one
// would have Ringwatch forget when it was away itself.
func PulseLog() stream.LogConfig {
	c := stream.DefaultLogConfig(pulse)
	c.Partitions, c.Retention, c.Lengthen = 1, AwayKnown+24*time.Hour, true
	return c
}

// RosterLog is the topic of since when nodes are there, and how they left.
func RosterLog() stream.LogConfig {
	c := stream.DefaultLogConfig(roster)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 16<<10
	return c
}

// Log makes a log's topic if need be, and returns the process's one client of it.
func (t *Topics) Log(ctx context.Context, c stream.LogConfig) (*stream.Log, error) {
	t.logsMu.Lock()
	defer t.logsMu.Unlock()
	if l := t.logs[c.Topic]; l != nil {
		return l, nil
	}
	e, err := t.Open()
	if err != nil {
		return nil, err
	}
	frames := t.config.Kafka.FramesConfig
	if err := engine.Retry(ctx, t.log, "the topic "+c.Topic, stream.Retryable,
		func(ctx context.Context) error {
			return stream.EnsureLog(ctx, e, frames, c)
		}); err != nil {
		return nil, err
	}
	l, err := stream.NewLog(e, frames, c, t.metrics)
	if err == nil {
		t.logs[c.Topic] = l
	}
	return l, err
}

// Follow reads the last entry of each key of a log, and returns what reads on from there.
func Follow(ctx context.Context, log *stream.Log, take func(stream.Entry) error) (
	func(context.Context) error, error) {
	entries, at, err := log.Last(ctx, nil)
	for _, e := range entries {
		_ = take(e)
	}
	return func(ctx context.Context) error { return log.Follow(ctx, at, take) }, err
}

// KeepReading reads the last entry of each key of a log, and then follows it, however often Kafka
// is away, until ctx ends. opened is told of the log once it is there.
func (t *Topics) KeepReading(ctx context.Context, c stream.LogConfig,
	opened *atomic.Pointer[stream.Log], take func(stream.Entry) error) error {
	for ctx.Err() == nil {
		log, err := t.Log(ctx, c)
		if errors.Is(err, ErrNone) {
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
			t.log.Debug("cannot read a topic now; trying again", "topic", c.Topic, "error", err)
			clock.Pause(ctx, time.Second)
		}
	}
	return nil
}
