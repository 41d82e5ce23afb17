package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/watch"
	"github.com/ringwatch/ringwatch/watch/scrape"
	"github.com/ringwatch/ringwatch/watch/send"
)

// The role watch.
//
//	watch/kafka, watch/redis ──Read──► watch.Watcher ──► send.Sender ──POST──► ingest
//	watch/scrape ──────────────Take──►     ▲
//	                                       │ which targets are this process's
//	Kafka, a group without messages ──► watch.Shares

type watchCmd struct{ roleFlags }

// Help implements kong.HelpProvider.
func (*watchCmd) Help() string {
	return "Reads what has no agent: Kafka clusters, Redis servers, and whatever Prometheus can " +
		"scrape, as section watch of the configuration names them. What it reads goes through " +
		"ingest with an API key, as an agent's frames do. Several of these processes share the " +
		"targets if kafka.brokers is set. ringwatch doctor --config reads each target once."
}

func (c *watchCmd) Run(ctx context.Context) error {
	p, err := c.start(ctx, "watch", func(c *config) []engine {
		if len(c.Kafka.Brokers) == 0 {
			return nil
		}
		return []engine{c.kafka()}
	})
	if err != nil {
		return err
	}
	if !p.Watch.targets() {
		return usageError{errors.New("section watch names no target: add some under watch.kafka, " +
			"watch.redis or watch.scrape_configs")}
	}
	parts, err := p.watchParts(ctx)
	if err != nil {
		return err
	}
	ready := func(context.Context) error { return nil }
	ops, err := p.ops(p.Watch.consumerConfig, ready, nil)
	if err != nil {
		return err
	}
	return p.run(ctx, append(parts, ops)...)
}

// watchTopic is a topic without messages: who has a partition of it reads the partition's targets.
const (
	watchTopic      = "ringwatch.watch"
	watchGroup      = "ringwatch-watch"
	watchPartitions = 64
)

// watchParts wires the drawing above. There are none without targets.
func (p *process) watchParts(ctx context.Context) ([]part, error) {
	if !p.Watch.targets() {
		return nil, nil
	}
	client, err := send.NewClient(p.Watch.Config, clock)
	if err != nil {
		return nil, usageError{fmt.Errorf("watch: %w", err)}
	}
	spool := p.Watch.Spool
	if spool.Directory == "" && p.role == "all" && p.keeps() {
		spool.Directory = filepath.Join(p.Data.Dir, "watch")
	}
	sender, err := send.New(client, spool, send.Health{What: "what targets say", Section: "watch",
		Log: p.log}, p.metrics)
	if err != nil {
		return nil, err
	}
	shares := watch.Everything()
	parts := []part{sender.Run}
	var scraper *scrape.Scraper
	if len(p.Kafka.Brokers) > 0 {
		var run part
		shares, run, err = p.watchShares(ctx, func() {
			if scraper != nil {
				scraper.Reshare()
			}
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, run)
	}
	remember := ""
	if spool.Directory != "" {
		remember = filepath.Join(spool.Directory, "targets.json")
	}
	watcher, err := watch.New(p.Watch.sources(p.log), watch.Deps{Put: sender.Put, Shares: shares,
		Metrics: p.metrics, Log: p.log, Clock: clock, Remember: remember})
	if err != nil {
		return nil, usageError{fmt.Errorf("watch: %w", err)}
	}
	parts = append(parts, watcher.Run)
	if len(p.Watch.ScrapeConfigs) == 0 {
		watcher.Found(nil, true)
	} else {
		scraper, err = scrape.New(*p.Watch.scrapes(), scrape.Deps{Take: watcher.Take,
			Taken: watcher.Reads, Found: watcher.Found, Mine: shares.Mine, Log: p.log})
		if err != nil {
			return nil, usageError{err}
		}
		parts = append(parts, scraper.Run)
	}
	return parts, nil
}

// watchShares joins the group of processes that share targets. changed is told of each change.
func (p *process) watchShares(ctx context.Context, changed func()) (*watch.Shares, part, error) {
	topics, err := p.openStream()
	if err != nil {
		return nil, nil, err
	}
	topic := stream.DefaultLogConfig(watchTopic)
	topic.Partitions, topic.Retention = watchPartitions, 24*time.Hour
	partitions := 0
	err = retry(ctx, p.log, "the topic "+watchTopic, stream.Retryable,
		func(ctx context.Context) (err error) {
			if err = stream.EnsureLog(ctx, topics, p.Kafka.framesConfig, topic); err != nil {
				return err
			}
			partitions, _, err = topics.About(ctx, watchTopic)
			return err
		})
	if err != nil {
		return nil, nil, err
	}
	shares := watch.NewShares(max(partitions, 1), changed)
	consumer, err := stream.NewConsumer(topics, stream.DefaultConsumerConfig(watchTopic,
		watchGroup),
		shares, p.metrics, p.log)
	if err != nil {
		return nil, nil, err
	}
	return shares, consumer.Run, nil
}
