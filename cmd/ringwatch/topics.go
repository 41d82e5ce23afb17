package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/stream"
)

// Topics in which processes tell each other something, beside that of frames. A log is such a topic
// of which the last entry of each key counts.
const (
	statesTopic   = "ringwatch.rules"      // what is known of alerts, by cluster
	filesTopic    = "ringwatch.rule-files" // files given through the API, by account
	recordedTopic = "ringwatch.recorded"   // what rules over all clusters look at
	pulseTopic    = "ringwatch.pulse"      // that ingest works
	rosterTopic   = "ringwatch.nodes"      // since when nodes are there, and how they left
)

// maxStateBytes bounds what is kept of a cluster's alerts: 10,000 of them, packed, are some 300 KB.
const maxStateBytes = 12 << 20

func (p *process) statesLog() stream.LogConfig {
	c := stream.DefaultLogConfig(statesTopic)
	c.Partitions, c.MaxEntryBytes, c.MaxLastBytes = p.Kafka.Partitions, maxStateBytes, 1<<30
	return c
}

func (p *process) filesLog() stream.LogConfig {
	c := stream.DefaultLogConfig(filesTopic)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 1<<20
	return c
}

func (p *process) pulseLog() stream.LogConfig {
	c := stream.DefaultLogConfig(pulseTopic)
	c.Partitions, c.Retention = 1, awayKnown+24*time.Hour
	return c
}

func (p *process) rosterLog() stream.LogConfig {
	c := stream.DefaultLogConfig(rosterTopic)
	c.Partitions, c.Retention, c.MaxEntryBytes = 1, 0, 16<<10
	return c
}

// openLog makes a log's topic if need be, and its client.
func (p *process) openLog(ctx context.Context, c stream.LogConfig) (*stream.Log, error) {
	topics, err := p.openStream()
	if err != nil {
		return nil, err
	}
	err = retry(ctx, p.log, "the topic "+c.Topic, stream.Retryable,
		func(ctx context.Context) error {
			return stream.EnsureLog(ctx, topics, p.Kafka.framesConfig, c)
		})
	if err != nil {
		return nil, err
	}
	return stream.NewLog(topics, p.Kafka.framesConfig, c, p.metrics)
}

// sharedLog is openLog, once a process and topic.
func (p *process) sharedLog(ctx context.Context, c stream.LogConfig) (*stream.Log, error) {
	p.logsMu.Lock()
	defer p.logsMu.Unlock()
	if l := p.logs[c.Topic]; l != nil {
		return l, nil
	}
	l, err := p.openLog(ctx, c)
	if err == nil {
		if p.logs == nil {
			p.logs = map[string]*stream.Log{}
		}
		p.logs[c.Topic] = l
	}
	return l, err
}

// follow reads the last entry of each key of a log, and returns what reads on from there.
func follow(ctx context.Context, log *stream.Log, take func(stream.Entry) error) (part, error) {
	entries, at, err := log.Last(ctx, nil)
	for _, e := range entries {
		_ = take(e)
	}
	return func(ctx context.Context) error { return log.Follow(ctx, at, take) }, err
}

// keepReading reads the last entry of each key of a log, and then follows it, however often Kafka
// is away, until ctx ends. opened is told of the log once it is there.
func (p *process) keepReading(ctx context.Context, c stream.LogConfig,
	opened *atomic.Pointer[stream.Log], take func(stream.Entry) error) error {
	for ctx.Err() == nil {
		log, err := p.sharedLog(ctx, c)
		if errors.Is(err, errNoStream) {
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
			p.log.Debug("cannot read a topic now; trying again", "topic", c.Topic, "error", err)
			pause(ctx, time.Second)
		}
	}
	return nil
}

// labelled tells the producers of a process apart.
func labelled(reg prometheus.Registerer, of string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"producer": of}, reg)
}
