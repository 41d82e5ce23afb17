package wire

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
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

// watchTopic is a topic without messages: who has a partition of it reads the partition's targets.
const (
	watchTopic      = "ringwatch.watch"
	watchGroup      = "ringwatch-watch"
	watchPartitions = 64
)

// Watch wires the drawing above. There are none without targets.
func Watch(ctx context.Context, p *Process) ([]Part, error) {
	if !p.Config.Watch.Targets() {
		return nil, nil
	}
	client, err := send.NewClient(p.Config.Watch.Config, clock.Now)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("watch: %w", err))
	}
	spool := p.Config.Watch.Spool
	if spool.Directory == "" && p.Role == "all" && p.Config.Keeps() {
		spool.Directory = filepath.Join(p.Config.Data.Dir, "watch")
	}
	sender, err := send.New(client, spool, send.Health{What: "what targets say", Section: "watch",
		Log: p.Log}, p.Metrics)
	if err != nil {
		return nil, err
	}
	shares := watch.Everything()
	parts := []Part{sender.Run}
	var scraper *scrape.Scraper
	if len(p.Config.Kafka.Brokers) > 0 {
		var run Part
		shares, run, err = watchShares(ctx, p, func() {
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
	watcher, err := watch.New(p.Config.Watch.Sources(p.Log),
		watch.Deps{Put: sender.Put, Shares: shares,
			Metrics: p.Metrics, Log: p.Log, Clock: clock.Now, Remember: remember})
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("watch: %w", err))
	}
	parts = append(parts, watcher.Run)
	if len(p.Config.Watch.ScrapeConfigs) == 0 {
		watcher.Found(nil, true)
	} else {
		scraper, err = scrape.New(*p.Config.Watch.Scrapes(), scrape.Deps{Take: watcher.Take,
			Taken: watcher.Reads, Found: watcher.Found, Mine: shares.Mine, Log: p.Log})
		if err != nil {
			return nil, exit.Usage(err)
		}
		parts = append(parts, scraper.Run)
	}
	return parts, nil
}

// watchShares joins the group of processes that share targets. changed is told of each change.
func watchShares(ctx context.Context, p *Process, changed func()) (*watch.Shares, Part, error) {
	topics, err := p.Topics.Open()
	if err != nil {
		return nil, nil, err
	}
	topic := stream.DefaultLogConfig(watchTopic)
	topic.Partitions, topic.Retention = watchPartitions, 24*time.Hour
	partitions := 0
	err = engine.Retry(ctx, p.Log, "the topic "+watchTopic, stream.Retryable,
		func(ctx context.Context) (err error) {
			if err = stream.EnsureLog(ctx, topics, p.Config.Kafka.FramesConfig, topic); err != nil {
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
		shares, p.Metrics, p.Log)
	if err != nil {
		return nil, nil, err
	}
	return shares, consumer.Run, nil
}
