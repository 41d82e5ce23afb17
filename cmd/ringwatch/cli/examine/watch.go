package examine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/doctor"
	"github.com/ringwatch/ringwatch/watch"
	"github.com/ringwatch/ringwatch/watch/reading"
	"github.com/ringwatch/ringwatch/watch/scrape"
)

// examineWatch reads each target of the role watch once.
func examineWatch(ctx context.Context, c *settings.Config) []doctor.Result {
	var results []doctor.Result
	var mu sync.Mutex
	say := func(r doctor.Result) {
		mu.Lock()
		defer mu.Unlock()
		results = append(results, r)
	}
	quiet := slog.New(slog.DiscardHandler)
	var all errgroup.Group
	all.SetLimit(16)
	for _, s := range c.Watch.Sources(quiet) {
		all.Go(func() error {
			say(examineSource(ctx, &s))
			return nil
		})
	}
	if len(c.Watch.ScrapeConfigs) > 0 {
		all.Go(func() error {
			for _, r := range examineScrapes(ctx, &c.Watch, quiet) {
				say(r)
			}
			return nil
		})
	}
	_ = all.Wait() // they say what is wrong themselves
	slices.SortFunc(results, func(a, b doctor.Result) int {
		return strings.Compare(a.Message, b.Message)
	})
	return results
}

// examineSource reads a Kafka or a Redis once.
func examineSource(ctx context.Context, s *watch.Source) doctor.Result {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	began := time.Now()
	reader, err := s.Open()
	var r *reading.Reading
	if err == nil {
		defer reader.Close()
		r, err = reader.Read(ctx)
	}
	return targetResult(&s.Target, r, time.Since(began), err)
}

func targetResult(t *reading.Target, r *reading.Reading, took time.Duration,
	err error) doctor.Result {
	one := doctor.Result{Name: "watch", Status: doctor.OK}
	where := fmt.Sprintf("%s %s of cluster %s", t.Job, t.Instance, t.Cluster)
	series := 0
	if r != nil {
		series = r.Series()
	}
	switch {
	case err == nil:
		one.Message = fmt.Sprintf("%s: %d series in %s", where, series,
			took.Round(time.Millisecond))
	case series == 0:
		one.Status, one.Message = doctor.Fail, fmt.Sprintf("%s: %v", where, err)
		one.Remedy = "correct the target's entry in section watch, or start what it names"
	default:
		one.Status = doctor.Warn
		one.Message = fmt.Sprintf("%s: %d series, and not all: %v", where, series, err)
		one.Remedy = "the sentence says what to do; the target's page in docs/ has the " +
			"rights it needs"
	}
	return one
}

// discoveryTakes is after how long all jobs' discoveries have mostly answered.
const discoveryTakes = 10 * time.Second

// examineScrapes scrapes each target once, which takes as long as the longest interval.
func examineScrapes(ctx context.Context, c *settings.WatchConfig,
	log *slog.Logger) []doctor.Result {
	longest := c.Interval
	for _, job := range c.ScrapeConfigs {
		longest = max(longest, time.Duration(job.Prometheus.ScrapeInterval))
	}
	// Discovery waits for some seconds before it says what it found first.
	ctx, cancel := context.WithTimeout(ctx, longest+c.Timeout+10*time.Second)
	defer cancel()
	scraper, err := scrape.New(*c.Scrapes(), scrape.Deps{Log: log,
		Mine: func(uuid.UUID) bool { return true },
		Take: func(reading.Target, time.Time, *reading.Reading, error) {}})
	if err != nil {
		return []doctor.Result{{Name: "watch", Status: doctor.Fail, Message: err.Error()}}
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- scraper.Run(running) }()
	var targets []scrape.Target
	waiting, known, began := 0, false, time.Now()
	// What discovery says first may not be all.
	for ctx.Err() == nil && (!known || waiting > 0 || time.Since(began) < discoveryTakes) {
		clock.Pause(ctx, 200*time.Millisecond) // between two looks
		targets = scraper.Targets()
		waiting, known = scraper.Waiting()
	}
	var none []string
	for _, job := range c.ScrapeConfigs {
		if scraper.Found(job.Prometheus.JobName) == 0 {
			none = append(none, job.Prometheus.JobName)
		}
	}
	stop()
	err = <-ended
	var results []doctor.Result
	if err != nil {
		results = append(results, doctor.Result{Name: "watch", Status: doctor.Fail,
			Message: err.Error()})
	}
	for _, job := range none {
		results = append(results, doctor.Result{Name: "watch", Status: doctor.Warn,
			Message: fmt.Sprintf("job %s finds no target", job),
			Remedy:  "look at the files, addresses and names that it finds targets by"})
	}
	if waiting > 0 {
		results = append(results, doctor.Result{Name: "watch", Status: doctor.Warn,
			Message: fmt.Sprintf("%d targets were not scraped in time", waiting),
			Remedy:  "run it again when they are less busy"})
	}
	for i := range targets {
		t := &targets[i]
		if t.Last.IsZero() && t.Error == "" {
			continue // it is among those that wait
		}
		one := doctor.Result{Name: "watch", Status: doctor.OK}
		where := fmt.Sprintf("%s %s of cluster %s", t.Job, t.Instance, t.Cluster)
		switch {
		case !t.Up:
			one.Status, one.Message = doctor.Fail, where+": "+t.Error
			one.Remedy = "correct the job in watch.scrape_configs, or start the target"
		case t.Error != "":
			one.Status, one.Message = doctor.Warn, where+": "+t.Error
			one.Remedy = "raise the limit, or drop series by metric_relabel_configs"
		default:
			one.Message = fmt.Sprintf("%s: %d series in %s", where, t.Samples,
				t.Took.Round(time.Millisecond))
		}
		results = append(results, one)
	}
	return results
}
