// Package scrape reads whatever speaks Prometheus: it runs Prometheus's own scrape and discovery
// managers on a section scrape_configs, and makes one reading of each scrape. Begin with Scraper.
// Of our packages it imports frame and watch/reading.
//
//	discovery ──► what is ours (sift) ──► Prometheus's scrape loops ──► batch ──► Reading ──► Take
//
// What it promises:
//   - What a target says costs at most its sample_limit and body_size_limit. It harms no other.
//   - No two targets have one id, so no node is told two stories.
//   - Take is never called for a target that is not ours, nor after Run has returned.
package scrape

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	promscrape "github.com/prometheus/prometheus/scrape"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// Deps are what a Scraper is given.
type Deps struct {
	// Take gets each reading. It is called for one target at a time, and may be called for several
	// targets at once. While it runs, Reshare waits.
	// err is a sentence that says why the target could not be read, or not whole.
	Take func(target reading.Target, at time.Time, r *reading.Reading, err error)
	// Taken, which may be nil, says whether somebody else hands over readings of that target.
	Taken func(uuid.UUID) bool
	// Found, which may be nil, gets all targets that are in the configuration, whichever process
	// reads them, and whether these are all: at a start discovery may not have asked everybody yet.
	Found func(list []reading.Target, all bool)
	// Mine says whether this process reads the target of an id. Who changes its mind calls Reshare.
	Mine func(uuid.UUID) bool
	Log  *slog.Logger
}

// Scraper reads the targets of a configuration.
type Scraper struct {
	config Config
	deps   Deps
	all    *config.Config

	manager   *promscrape.Manager
	discovery *discovery.SDMetrics
	registry  *prometheus.Registry
	slots     slots
	series    atomic.Int64 // of all targets together

	ended context.Context // Run's; before Run the background
	end   context.CancelFunc

	// gate is held for reading while a reading is handed over.
	gate sync.RWMutex

	mu      sync.Mutex
	found   map[string][]*targetgroup.Group
	states  map[*promscrape.Target]*state
	last    map[uuid.UUID]time.Time // of each target's readings
	ours    map[uuid.UUID]string    // the job's name in the configuration
	refused []Target

	changed chan struct{} // has room for one: sift again
}

// reload is how long Prometheus's managers wait before they begin with new targets; a variable for
// tests.
var reload = time.Second

// New returns a Scraper that Run starts.
func New(c Config, deps Deps) (*Scraper, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("watch/scrape: %w", err)
	}
	all, err := c.jobs()
	if err != nil {
		return nil, fmt.Errorf("watch/scrape: %w", err)
	}
	s := &Scraper{
		config: c, deps: deps, all: all,
		// Both managers register names that package notify's discovery has in the process's own.
		registry: prometheus.NewRegistry(),
		slots:    newSlots(c.MaxScrapes),
		states:   map[*promscrape.Target]*state{},
		last:     map[uuid.UUID]time.Time{},
		changed:  make(chan struct{}, 1),
	}
	s.ended, s.end = context.WithCancel(context.Background())
	if s.discovery, err = discovery.CreateAndRegisterSDMetrics(s.registry); err != nil {
		return nil, fmt.Errorf("watch/scrape: cannot register discovery's metrics: %w", err)
	}
	s.manager, err = promscrape.NewManager(&promscrape.Options{
		AppendMetadata:          true,
		PassMetadataInContext:   true, // it brings the target, too
		DiscoveryReloadInterval: model.Duration(reload),
		HTTPClientOptions:       []commonconfig.HTTPClientOption{commonconfig.WithDialContextFunc(s.dial)},
	}, deps.Log, nil, nil, s, s.registry)
	if err != nil {
		return nil, fmt.Errorf("watch/scrape: %w", err)
	}
	if err := s.manager.ApplyConfig(all); err != nil {
		return nil, fmt.Errorf("watch/scrape: %w", err)
	}
	return s, nil
}

// Run reads until ctx ends. It can be called once.
func (s *Scraper) Run(ctx context.Context) error {
	defer s.end()
	defer context.AfterFunc(ctx, s.end)()
	finder := discovery.NewManager(ctx, s.deps.Log, s.registry, s.discovery,
		discovery.Name("watch"), discovery.Updatert(reload))
	if finder == nil {
		return errors.New("watch/scrape: discovery cannot start: its metrics are there already")
	}
	of := map[string]discovery.Configs{}
	for _, job := range s.all.ScrapeConfigs {
		of[job.JobName] = job.ServiceDiscoveryConfigs
	}
	if err := finder.ApplyConfig(of); err != nil {
		return fmt.Errorf("watch/scrape: discovery cannot start: %w", err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = finder.Run() }) // it ends with ctx and says only that
	sets := make(chan map[string][]*targetgroup.Group)
	running.Go(func() { _ = s.manager.Run(sets) })
	tidy := time.NewTicker(30 * time.Second)
	defer tidy.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tidy.C:
			s.tidy()
		case found := <-finder.SyncCh():
			s.mu.Lock()
			s.found = found
			s.mu.Unlock()
			sets <- s.sift()
		case <-s.changed:
			sets <- s.sift()
		}
	}
	s.manager.Stop()
	s.gate.Lock() // a batch that was on its way ends
	defer s.gate.Unlock()
	running.Wait()
	return nil
}

// Reshare asks Mine of all targets again. When it returns, Take will not be called for those that
// are not ours. Those that became ours are read within their interval and some seconds.
func (s *Scraper) Reshare() {
	s.gate.Lock() // no reading is being handed over; each asks Mine before
	defer s.gate.Unlock()
	s.mu.Lock()
	for target, st := range s.states {
		if !s.deps.Mine(st.id) {
			s.forget(target)
		}
	}
	s.mu.Unlock()
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// sift returns the targets that are ours, of those that discovery found.
func (s *Scraper) sift() map[string][]*targetgroup.Group {
	s.mu.Lock()
	defer s.mu.Unlock()
	sets := map[string][]*targetgroup.Group{}
	s.ours = map[uuid.UUID]string{}
	s.refused = nil
	all, named := true, map[uuid.UUID]reading.Target{}
	type place struct {
		job string
		of  labels.Labels
	}
	seen := map[uuid.UUID]place{}
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, job := range s.all.ScrapeConfigs {
		groups := slices.Clone(s.found[job.JobName])
		slices.SortFunc(groups, func(a, b *targetgroup.Group) int {
			return cmp.Compare(a.Source, b.Source)
		})
		sets[job.JobName] = nil
		all = all && len(groups) > 0
		for _, g := range groups {
			if g == nil {
				continue
			}
			kept := &targetgroup.Group{Labels: g.Labels, Source: g.Source}
			for _, t := range g.Targets {
				of, err := promscrape.PopulateLabels(b, job, t, g.Labels)
				if err == nil && of.IsEmpty() {
					continue // relabelling dropped it
				}
				address := string(t[model.AddressLabel])
				var w who
				if err == nil {
					w, err = s.who(of)
					named[w.id] = w.Target
				}
				if err == nil && s.deps.Taken != nil && s.deps.Taken(w.id) {
					err = errors.New("watch.kafka or watch.redis has the same cluster, job and " +
						"instance: name it once")
				}
				if other, there := seen[w.id]; err == nil && there {
					if other.job == job.JobName && labels.Equal(other.of, of) {
						continue // Prometheus reads it once, too
					}
					err = errors.New("another target has the same cluster, job and instance: " +
						"tell them apart by the label instance")
				}
				if err != nil {
					s.refused = append(s.refused, Target{Job: job.JobName, Instance: address,
						Error: "The target is not read: " + err.Error() + "."})
					continue
				}
				seen[w.id] = place{job.JobName, of}
				if s.deps.Mine(w.id) {
					s.ours[w.id] = job.JobName
					kept.Targets = append(kept.Targets, t)
				}
			}
			sets[job.JobName] = append(sets[job.JobName], kept)
		}
	}
	for target, st := range s.states {
		if s.ours[st.id] == "" {
			s.forget(target)
		}
	}
	maps.DeleteFunc(s.last, func(id uuid.UUID, _ time.Time) bool { return s.ours[id] == "" })
	if s.deps.Found != nil && s.found != nil {
		s.deps.Found(slices.Collect(maps.Values(named)), all)
	}
	return sets
}

// tidy forgets targets that Prometheus's manager has replaced, as after a change of their labels.
func (s *Scraper) tidy() {
	s.mu.Lock() // first, or a target that comes meanwhile would be taken for one that went
	defer s.mu.Unlock()
	active := map[*promscrape.Target]bool{}
	for _, list := range s.manager.TargetsActive() {
		for _, target := range list {
			active[target] = true
		}
	}
	for target := range s.states {
		if !active[target] {
			s.forget(target)
		}
	}
}

// forget drops what is known of a target. s.mu is held.
func (s *Scraper) forget(target *promscrape.Target) {
	if st := s.states[target]; st != nil {
		delete(s.states, target)
		st.end()
	}
}

// who says who a target is.
type who struct {
	reading.Target
	id    uuid.UUID
	strip map[string]string // labels that its series have, and that all nodes have
}

// who reads a target's labels as they are after relabelling.
func (s *Scraper) who(of labels.Labels) (who, error) {
	w := who{Target: reading.Target{
		Kind: reading.Other, Cluster: cmp.Or(of.Get("cluster"), s.config.Cluster),
		Datacenter: of.Get("datacenter"), Rack: of.Get("rack"),
		Job: of.Get(model.JobLabel), Instance: of.Get(model.InstanceLabel), Labelled: true,
	}, strip: map[string]string{}}
	for _, name := range []string{"cluster", "datacenter", "rack"} {
		w.strip[name] = of.Get(name)
	}
	switch kind := of.Get("kind"); kind {
	case reading.Cassandra, reading.Kafka, reading.Redis, reading.Other:
		w.Kind, w.strip["kind"] = kind, kind
	}
	interval, err := model.ParseDuration(of.Get(model.ScrapeIntervalLabel))
	w.Interval = time.Duration(interval)
	w.id = w.ID()
	if why := badCluster(w.Cluster); why != "" {
		return w, fmt.Errorf("its label cluster is %.50q: %s", w.Cluster, why)
	}
	if err != nil || w.Interval < minInterval || w.Interval > maxInterval {
		return w, fmt.Errorf("its label %s is %q: use %s to %s", model.ScrapeIntervalLabel,
			of.Get(model.ScrapeIntervalLabel), model.Duration(minInterval),
			model.Duration(maxInterval))
	}
	of.Range(func(l labels.Label) {
		if len(l.Value) > frame.MaxLabelBytes && l.Name[:min(2, len(l.Name))] != "__" {
			err = fmt.Errorf("its label %s has %d bytes, and may have %d", l.Name, len(l.Value),
				frame.MaxLabelBytes)
		}
	})
	return w, err
}

// dial connects as Prometheus does, and lets go of all connections when Run ends: a target that
// hangs does not keep the process.
func (s *Scraper) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{c, context.AfterFunc(s.ended, func() { _ = c.Close() })}, nil
}

type conn struct {
	net.Conn
	forget func() bool
}

func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}
