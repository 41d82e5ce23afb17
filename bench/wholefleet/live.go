package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
)

// lookEvery is how often a sample is taken, and closedEvery how often the number of closed windows
// is asked for.
const (
	lookEvery   = 10 * time.Second
	closedEvery = time.Second
)

// sample is what is seen in ten seconds.
type sample struct {
	At             float64 // seconds since the fleet began
	Frames         int     // taken
	AckP50, AckP99 float64 // ms
	FreshP99       float64 // ms
	Waiting        int64   // frames that are due and not taken
	Refused        int64   // answers that said to send again, since the last sample
	Reads, Failed  int     // of the crowd
	ReadP99        float64 // ms
	Lag            float64 // records that the role furthest behind is behind
	Open, Closed   float64 // windows
	ClosingAge     float64 // seconds, of the window that is due longest
	DiskMB         float64 // of Cassandra and Kafka
	Cores, MB      map[string]float64
}

// live lets the fleet live and watches.
func (r *report) live(ctx context.Context, l *system, f *fleetOf) error {
	list, err := r.questions(f)
	if err != nil {
		return err
	}
	bench.Progress("%d nodes of %d and %d series begin at %s", r.nodes, f.series[0], f.series[1],
		f.begin.Format(time.TimeOnly))
	if err := bench.Pass(ctx, time.Until(f.begin)); err != nil {
		return err
	}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan error, 1)
	go func() {
		err := f.send(sending)
		if err != nil {
			stop() // nobody needs to wait for the end
		}
		sent <- err
	}()
	reader, fresh := &crowd.Reader{}, &crowd.Reader{}
	reader.Begin()
	fresh.Begin()
	var work sync.WaitGroup
	work.Go(func() { fresh.Probe(sending, f.taken, l.newest) })
	work.Go(func() {
		every := time.Duration(float64(time.Second) / r.reads)
		// Browsers, Grafana and Prometheus all take gzip.
		api := crowd.Side{URL: l.url("api"), Key: l.key,
			Headers: []string{"Accept-Encoding", "gzip"}}
		reader.Read(sending, every, list, api.Ask)
	})
	err = r.watch(sending, l, f, reader, fresh)
	if err == nil {
		r.StorePercent, err = l.storeReads(sending)
	}
	stop()
	work.Wait()
	if failed := <-sent; err == nil || failed != nil && ctx.Err() == nil {
		err = failed
	}
	return err
}

// questions are the crowd's: of ten, five panels of a cluster's pages, a list, newest values, what
// a scrape asks, a cluster's nodes, and the fleet's clusters. Each hundredth is a panel of the
// fleet.
func (r *report) questions(f *fleetOf) (list []crowd.Question, err error) {
	const clusters = 8
	var panels, fleets []crowd.Question
	_, table := fleet.UserTable(f.shape)
	for i := range clusters {
		cluster := f.cluster(i)
		some, err := crowd.Panels(r.dashboards, cluster, table, f.shape.IsHistogram)
		if err != nil {
			return nil, err
		}
		for _, q := range some {
			switch {
			case q.Kind == "panel":
				panels = append(panels, q)
			case i == 0:
				fleets = append(fleets, q)
			}
		}
	}
	get := func(kind, path string) crowd.Question {
		return crowd.Question{Kind: kind, Title: path, Path: path}
	}
	for i := 0; i < len(panels); i += 5 {
		n := i / 5
		cluster := f.cluster(n % clusters)
		list = append(list, panels[i:min(i+5, len(panels))]...)
		list = append(list, crowd.Lists(cluster)[1+n%2], crowd.Latest(f.id(17*n%r.nodes)),
			get("scrape", "/v1/clusters/"+cluster+"/prometheus"),
			get("nodes", "/api/v1/label/node/values?match[]="+upOf(cluster)),
			get("clusters", "/v1/clusters"))
		if n%10 == 0 && len(fleets) > 0 {
			list = append(list, fleets[n/10%len(fleets)])
		}
	}
	return list, nil
}

func upOf(cluster string) string { return `up%7Bcluster%3D%22` + cluster + `%22%7D` }

// watch takes samples until all windows are closed.
func (r *report) watch(
	ctx context.Context, l *system, f *fleetOf, reader, fresh *crowd.Reader,
) error {
	before, err := l.figures(ctx, "store")
	if err != nil {
		return err
	}
	closed0 := before["ringwatch_store_windows_closed_total"]
	if _, err := r.take(l, f); err != nil {
		return err
	}
	refused := int64(0)
	for next := f.begin.Add(lookEvery); len(r.Closings) < r.closings && f.frames > f.tick(); {
		if err := bench.Pass(ctx, closedEvery); err != nil {
			return err
		}
		now, err := l.figures(ctx, "store")
		if err != nil {
			return err
		}
		closed := now["ringwatch_store_windows_closed_total"] - closed0
		w := len(r.Closings)
		// Recorders of rules have windows, too, so the number alone does not tell.
		if closed > 0.9*float64((w+1)*r.nodes) && now["ringwatch_store_closing_age_seconds"] == 0 {
			r.Closings = append(r.Closings, f.since(w))
			bench.Progress("window %d is closed, %.0f s after its end", w+1, f.since(w))
		}
		if time.Now().Before(next) {
			continue
		}
		next = next.Add(lookEvery)
		s, err := r.take(l, f)
		if err != nil {
			return err
		}
		s.Closed, s.Open, s.ClosingAge = closed, now["ringwatch_store_windows_open"],
			now["ringwatch_store_closing_age_seconds"]
		for _, role := range []string{"store", "recent", "rules"} {
			figures := now
			if role != "store" {
				if figures, err = l.figures(ctx, role); err != nil {
					return err
				}
			}
			s.Lag = max(s.Lag, figures["ringwatch_stream_lag_records"])
		}
		r.fill(&s, f, reader, fresh)
		s.Refused = f.refused.Load() - refused
		refused += s.Refused
		r.Samples = append(r.Samples, s)
		s.tell()
	}
	r.Refused = refused
	if w := len(r.Closings); w < r.closings {
		r.Closings, r.Unclosed = append(r.Closings, f.since(w)), r.closings-w
		bench.Progress("window %d is not closed %.0f s after its end, and nodes have no "+
			"more frames", w+1,
			f.since(w))
	}
	return nil
}

// fill adds what senders and readers have found since the last sample.
func (r *report) fill(s *sample, f *fleetOf, reader, fresh *crowd.Reader) {
	acks := f.look()
	r.acks = append(r.acks, acks...)
	s.Frames, s.Waiting = len(acks), f.waiting.Load()
	s.AckP50, s.AckP99 = bench.Median(acks), bench.Quantile(acks, 0.99)
	ages := fresh.Times()
	r.fresh = append(r.fresh, ages...)
	s.FreshP99 = bench.Quantile(ages, 0.99)
	late, _ := fresh.Failed()
	r.Late += late
	fresh.Begin()
	reads := reader.Times()
	for kind, list := range reader.ByKind() {
		r.answers[kind] = append(r.answers[kind], list...)
	}
	s.Reads, s.ReadP99 = len(reads), bench.Quantile(reads, 0.99)
	var why string
	if s.Failed, why = reader.Failed(); s.Failed > 0 {
		r.Failed, r.Failure = r.Failed+s.Failed, why
	}
	reader.Begin()
}

func (s *sample) tell() {
	var names, parts []string
	for name := range s.Cores {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s %.2f", name, s.Cores[name]))
	}
	bench.Progress(
		"%4.0f s: %d frames in %.0f ms (p99 %.0f), fresh after %.0f ms, %d wait, lag %.0f, "+
			"%d answers (p99 %.0f ms, %d failed), %.0f windows open; cores: %s", s.At, s.Frames,
		s.AckP50,
		s.AckP99, s.FreshP99, s.Waiting, s.Lag, s.Reads, s.ReadP99, s.Failed, s.Open,
		strings.Join(parts, ", "))
}

// take returns what processes took since the last time.
func (r *report) take(l *system, f *fleetOf) (s sample, err error) {
	s.At = time.Since(f.begin).Seconds()
	pids := map[string]int{}
	for _, p := range l.processes {
		pids[p.name] = p.pid
		if p.dir != "" {
			size, err := bench.Bytes(p.dir)
			if err != nil {
				return s, err
			}
			s.DiskMB += float64(size) / 1e6
		}
	}
	s.Cores, s.MB, err = r.meter.Look(pids)
	return s, err
}

// figures are a role's metrics: of each name the sum.
func (l *system) figures(ctx context.Context, role string) (map[string]float64, error) {
	b, err := l.get(ctx, role, "/metrics", nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	return line.Figures(b), nil
}

// storeReads is the share of the API's reads of values that Cassandra answered, in whole or in
// part, in percent.
func (l *system) storeReads(ctx context.Context) (percent float64, err error) {
	b, err := l.get(ctx, "api", "/metrics", nil)
	all, stored := 0.0, 0.0
	for name, n := range line.Series(b) {
		if labels, is := strings.CutPrefix(name, "ringwatch_api_reads_total{"); is {
			if all += n; !strings.Contains(labels, "recent") {
				stored += n
			}
		}
	}
	return 100 * stored / max(1, all), err
}
