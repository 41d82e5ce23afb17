package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
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
func openRulesTopics(ctx context.Context, p *Process) (t rulesTopics, err error) {
	if t.engine, err = p.Topics.Ensure(ctx, p.Config.Kafka.FramesConfig); err != nil {
		return t, err
	}
	recorded := p.Config.Kafka.FramesConfig
	recorded.Topic = topic.Recorded
	if _, err = p.Topics.Ensure(ctx, recorded); err != nil {
		return t, err
	}
	for _, l := range []struct {
		into **stream.Log
		c    stream.LogConfig
	}{{&t.states, topic.StatesLog(p.Config.Kafka.Partitions)}, {&t.files, topic.FilesLog()},
		{&t.pulses, topic.PulseLog()}, {&t.left, topic.RosterLog()}} {
		if *l.into, err = p.Topics.Log(ctx, l.c); err != nil {
			return t, err
		}
	}
	t.frames, err = stream.NewProducer(t.engine, p.Config.Kafka.FramesConfig,
		labelled(p.Metrics, "rules"))
	if err != nil {
		return t, err
	}
	t.recorded, err = stream.NewProducer(t.engine, recorded, labelled(p.Metrics, "recorded"))
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

// setRules adds what the configuration says.
func setRules(p *Process, d *rules.Deps) (err error) {
	p.Config.Rules.Config.Clock = clock.Now
	if d.Budget, err = rulesBudget(p); err != nil {
		return err
	}
	if d.Relabel, err = ruleLabels(p); err != nil {
		return exit.Usage(err)
	}
	d.More, err = deviationRules(p)
	return err
}

// rulesConsumer wires the rules of single clusters, or those over all clusters of an account.
func rulesConsumer(p *Process, topics stream.Engine, deps rules.Deps, every bool) (Part, error) {
	of, group := p.Config.Kafka.Topic, topic.RulesGroup
	if every {
		of, group = topic.Recorded, topic.AccountsGroup
	}
	reached := &through{}
	var consumer *stream.Consumer
	deps.Every, deps.Through = every, reached.of
	role, err := rules.New(p.Config.Rules.Config, deps)
	if err != nil {
		return nil, exit.Usage(err)
	}
	c := stream.DefaultConsumerConfig(of, group)
	c.MaxAge = p.Config.Rules.MaxLookback + p.Config.Rules.CatchUp
	c.TickEvery = rulesTick
	if consumer, err = stream.NewConsumer(topics, c, role, p.Metrics, p.Log); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return Together(ctx, consumer.Run,
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

// labelled tells the producers of a process apart.
func labelled(reg prometheus.Registerer, of string) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"producer": of}, reg)
}
