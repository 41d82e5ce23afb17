package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/stream"
)

// rulesTopics are the topics of the role rules, and what publishes to two of them.
type rulesTopics struct {
	engine                      stream.Engine
	states, files, pulses, left *stream.Log
	frames, recorded            *stream.Producer
}

// openRulesTopics makes the topics if need be.
func (p *process) openRulesTopics(ctx context.Context) (t rulesTopics, err error) {
	if t.engine, err = p.ensureTopic(ctx, p.Kafka.framesConfig); err != nil {
		return t, err
	}
	recorded := p.Kafka.framesConfig
	recorded.Topic = recordedTopic
	if _, err = p.ensureTopic(ctx, recorded); err != nil {
		return t, err
	}
	for _, l := range []struct {
		into **stream.Log
		c    stream.LogConfig
	}{{&t.states, p.statesLog()}, {&t.files, p.filesLog()}, {&t.pulses, p.pulseLog()},
		{&t.left, p.rosterLog()}} {
		if *l.into, err = p.sharedLog(ctx, l.c); err != nil {
			return t, err
		}
	}
	t.frames, err = stream.NewProducer(t.engine, p.Kafka.framesConfig, labelled(p.metrics, "rules"))
	if err != nil {
		return t, err
	}
	t.recorded, err = stream.NewProducer(t.engine, recorded, labelled(p.metrics, "recorded"))
	return t, err
}

func (t *rulesTopics) close() {
	t.frames.Close()
	t.recorded.Close()
}

// forward hands what was recorded to the process that evaluates over all clusters of an account.
func (t *rulesTopics) forward(ctx context.Context, account string, b []byte) error {
	return t.recorded.Publish(ctx, account, frame.EveryCluster, b)
}

// rulesSettings adds what the configuration says.
func (p *process) rulesSettings(d *rules.Deps) (err error) {
	p.Rules.Config.Clock = clock
	if d.Budget, err = p.rulesBudget(); err != nil {
		return err
	}
	if d.Relabel, err = p.mapping(); err != nil {
		return usageError{err}
	}
	d.More, err = p.deviations()
	return err
}

// rulesConsumer wires the rules of single clusters, or those over all clusters of an account.
func (p *process) rulesConsumer(topics stream.Engine, deps rules.Deps, every bool) (part, error) {
	of, group := p.Kafka.Topic, rulesGroup
	if every {
		of, group = recordedTopic, accountsGroup
	}
	reached := &through{}
	var consumer *stream.Consumer
	deps.Every, deps.Through = every, reached.of
	role, err := rules.New(p.Rules.Config, deps)
	if err != nil {
		return nil, usageError{err}
	}
	c := stream.DefaultConsumerConfig(of, group)
	c.MaxAge = p.Rules.MaxLookback + p.Rules.CatchUp
	c.TickEvery = rulesTick
	if consumer, err = stream.NewConsumer(topics, c, role, p.metrics, p.log); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return together(ctx, consumer.Run,
			func(ctx context.Context) error { return reached.follow(ctx, consumer) })
	}, nil
}

// rulesTick is how often what is due is looked for, and how far the stream has been read.
const rulesTick = 500 * time.Millisecond

// loadStates reads what is known of the alerts of a partition's clusters.
func loadStates(log *stream.Log) func(context.Context, int32) ([]rules.State, error) {
	return func(ctx context.Context, partition int32) ([]rules.State, error) {
		entries, _, err := log.Last(ctx, []int32{partition})
		if err != nil {
			return nil, err
		}
		var list []rules.State
		for _, e := range entries {
			s, err := rules.UnpackState(e.Value)
			if err != nil {
				return nil, fmt.Errorf("cluster %s: %w", e.Cluster, err)
			}
			list = append(list, s)
		}
		return list, nil
	}
}

func saveState(log *stream.Log) func(context.Context, int32, rules.State) error {
	return func(ctx context.Context, _ int32, s rules.State) error {
		e := stream.Entry{Account: s.Account, Cluster: s.Cluster, Key: "state"}
		if len(s.Groups) > 0 {
			var err error
			if e.Value, err = s.Pack(); err != nil {
				return err
			}
		}
		return log.Publish(ctx, e)
	}
}

// through remembers how far a consumer is.
type through struct {
	mu sync.Mutex
	at map[int32]time.Time
}

func (t *through) of(partition int32) (time.Time, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, known := t.at[partition]
	return at, known
}

func (t *through) follow(ctx context.Context, c *stream.Consumer) error {
	tick := time.NewTicker(rulesTick)
	defer tick.Stop()
	for {
		if reached, err := c.Progress(ctx); err == nil {
			t.mu.Lock()
			t.at = reached.Through
			t.mu.Unlock()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
