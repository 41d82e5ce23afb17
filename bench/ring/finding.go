package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

// finding is what was found on one cluster.
type finding struct {
	hosts int
	rate  float64 // of the rounds at one rate
	sides []*found
}

// found is what was found of one side.
type found struct {
	*side
	searches []*search
	searched []*round
	healthy  []*round // at the one rate, all being well
	paused   []*round // at that rate, with a replica paused
}

func (f *finding) String() string {
	return fmt.Sprintf("%d nodes", f.hosts)
}

func (f *finding) side(name string) *found {
	for _, s := range f.sides {
		if s.name == name {
			return s
		}
	}
	return nil
}

// plain is the better of the ways without ring, by capacity.
func (f *finding) plain(limit time.Duration) *found {
	var best *found
	for _, name := range []string{"plain", "in"} {
		if s := f.side(name); s != nil &&
			(best == nil || capacity(s.searched, limit) > capacity(best.searched, limit)) {
			best = s
		}
	}
	return best
}

func (f *finding) fill(ctx context.Context, c *cluster, o options) error {
	if err := c.fill(ctx, o); err != nil {
		return err
	}
	list, err := c.newSides(ctx, o)
	if err != nil {
		return err
	}
	for _, s := range list {
		defer s.close()
		f.sides = append(f.sides, &found{side: s})
	}
	u := newRunner(c, o)
	if err := f.warm(ctx, u, o); err != nil {
		return err
	}
	if err := f.search(ctx, u, o); err != nil {
		return err
	}
	base := f.plain(o.limit)
	if base == nil {
		base = f.sides[0]
	}
	f.rate = capacity(base.searched, o.limit) * o.share
	for n := range o.rounds {
		for _, s := range f.sides {
			if err := f.compare(ctx, u, o, s, n); err != nil {
				return err
			}
		}
		for _, s := range f.sides {
			if r := s.paused[n]; r.failed > 0 {
				text, _, _ := strings.Cut(r.error.Error(), "\n") // plain has one for each key
				bench.Progress("%s, a paused replica: %s failed %d times of %d, the last time: %s",
					f, s.name,
					r.failed, len(r.millis), text)
			}
		}
		bench.Progress("%s: round %d of %d at %.0f lookups/s, all well and with a paused replica",
			f, n+1,
			o.rounds, f.rate)
	}
	return nil
}

const warmClients = 8

// warm runs each side for a while: compilers, caches and connections of both ends. It says where
// to search, too.
func (f *finding) warm(ctx context.Context, u *runner, o options) error {
	var text []string
	for i := range 2 {
		for _, s := range f.sides {
			rate, err := u.closed(ctx, s.side, warmClients, o.warm/2)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if i == 1 {
				for _, limit := range []time.Duration{o.limit, o.limit / 2} {
					s.searches = append(s.searches, &search{limit: limit, rate: rate * 0.8,
						step: firstStep})
				}
				text = append(text, fmt.Sprintf("%s %.0f", s.name, rate))
			}
		}
	}
	bench.Progress("%s: %d clients, each asking when it has its answer, do %s lookups/s", f,
		warmClients,
		strings.Join(text, ", "))
	return nil
}

// search takes the limits in turn, all sides one after the other.
func (f *finding) search(ctx context.Context, u *runner, o options) error {
	for n := range o.searches {
		for _, s := range f.sides {
			search := s.searches[n%len(s.searches)]
			r, err := u.open(ctx, s.side, search.rate, o.round, true)
			if err != nil {
				return err
			}
			s.searched = append(s.searched, r)
			search.learn(r.within(search.limit))
		}
	}
	var text []string
	for _, s := range f.sides {
		text = append(text, fmt.Sprintf("%s %.0f", s.name, capacity(s.searched, o.limit)))
	}
	bench.Progress("%s: p95 is within %v up to %s lookups/s", f, o.limit, strings.Join(text, ", "))
	return nil
}

// compare looks at one side at the one rate: when all are well, then while a node is paused, from
// the first moment of the pause on. Then it waits until the node is used again.
func (f *finding) compare(ctx context.Context, u *runner, o options, s *found, n int) error {
	r, err := u.open(ctx, s.side, f.rate, o.round, false)
	if err != nil {
		return err
	}
	s.healthy = append(s.healthy, r)
	victim := u.nodes[n%len(u.nodes)]
	if err := victim.Pause(); err != nil {
		return err
	}
	r, err = u.open(ctx, s.side, f.rate, o.round, false)
	if err := victim.Resume(); err != nil {
		return err
	}
	if err != nil {
		return err
	}
	s.paused = append(s.paused, r)
	for began := time.Now(); time.Since(began) < o.settle; {
		r, err := u.open(ctx, s.side, f.rate, 500*time.Millisecond, false)
		if err != nil {
			return err
		}
		if r.failed == 0 && r.within(o.limit) {
			break
		}
	}
	return nil
}

// together are rounds as one.
func together(list []*round) *round {
	all := &round{}
	for _, r := range list {
		all.millis = append(all.millis, r.millis...)
		all.failed += r.failed
		all.gaveUp = all.gaveUp || r.gaveUp
		all.client += r.client
		all.servers += r.servers
		all.kept += r.kept
		all.keys += r.keys
		all.requests += r.requests
		all.error = r.error
	}
	slices.Sort(all.millis)
	return all
}

func p99(r *round) float64 { return r.at(0.99) }

func client(r *round) time.Duration { return r.client }

func servers(r *round) time.Duration { return r.servers }

// capacity by limit: 0 the limit, 1 half of it.
func (s *found) capacity(i int) float64 { return capacity(s.searched, s.searches[i].limit) }

// cpu is what a lookup costs, in microseconds, at the one rate.
func (s *found) cpu(of func(*round) time.Duration) float64 {
	all := together(s.healthy)
	return float64(of(all).Microseconds()) / float64(max(len(all.millis), 1))
}

func (s *found) hitRate() float64 {
	all := together(append(s.searched[:len(s.searched):len(s.searched)], s.healthy...))
	return all.kept / max(all.keys, 1)
}

// perLookup is how many requests to nodes a lookup made at the one rate, all being well.
func (s *found) perLookup() float64 {
	all := together(s.healthy)
	return all.requests / float64(max(len(all.millis), 1))
}

// addTo adds to the result. The keys of the first cluster are bare, those of others end in _ and
// its number of nodes.
func addTo(r *bench.Result, o options, list []*finding, took time.Duration) {
	detail := map[string]any{}
	for i, f := range list {
		suffix := ""
		if i > 0 {
			suffix = fmt.Sprint("_", f.hosts)
		}
		f.headline(o, suffix, r.Add)
		for _, s := range f.sides {
			one := map[string]any{
				"capacity_per_s": s.capacity(0), "capacity_half_limit_per_s": s.capacity(1),
				"mean_ms":       bench.MedianOf(s.healthy, (*round).mean),
				"p99_ms":        bench.MedianOf(s.healthy, p99),
				"client_cpu_us": s.cpu(client), "nodes_cpu_us": s.cpu(servers),
				"rate_per_s":     f.rate,
				"paused_mean_ms": bench.MedianOf(s.paused, (*round).mean),
				"paused_p99_ms":  bench.MedianOf(s.paused, p99),
				"paused_failed":  together(s.paused).failed,
				"paused_lookups": len(together(s.paused).millis),
			}
			if s.hits != nil {
				one["hit_rate"] = s.hitRate()
			}
			if s.requests != nil {
				one["requests_per_lookup"] = s.perLookup()
			}
			detail[fmt.Sprintf("nodes_%d replication_3 %s", f.hosts, s.name)] = one
		}
	}
	r.Detail = detail
	r.Add("seconds", took.Seconds())
	r.Notes = fmt.Sprintf(
		"Lookups of %d of %d items of about %d bytes, popularity 1/n^%g, row cache for %g of the "+
			"data. Capacity: lookups a second offered at random moments (open loop, latency from "+
			"the moment each was due) up to which p95 of a %v round is within %v, or half of "+
			"that; grouped + row cache over the better of plain and IN, by cluster. Latencies, "+
			"CPU of client and nodes a lookup: medians and sums of %d rounds at %g of that plain "+
			"capacity. paused: one node stopped from the first to the last moment of a round; "+
			"everything + speculation beside itself when all are well. Client and nodes share the "+
			"machine's cores: the capacities compare CPU altogether.",
		o.keys, o.items, o.itemBytes+60, o.skew, o.cacheShare, o.round, o.limit, o.rounds, o.share)
}

// headline adds the figures that stand for a cluster, if the sides that they need were measured.
func (f *finding) headline(o options, suffix string, add func(key string, value any)) {
	base, cached, all := f.plain(o.limit), f.side("grouped_cached"), f.side("all")
	if base == nil || cached == nil || all == nil {
		return
	}
	mean := (*round).mean
	add("capacity_ratio"+suffix, cached.capacity(0)/base.capacity(0))
	add("mean_latency_ratio"+suffix,
		bench.MedianOf(cached.healthy, mean)/bench.MedianOf(base.healthy, mean))
	add("paused_p99_ratio"+suffix, bench.MedianOf(all.paused, p99)/bench.MedianOf(all.healthy, p99))
	if p95 := f.side("all_p95"); p95 != nil {
		add("paused_p99_ratio_p95"+suffix,
			bench.MedianOf(p95.paused, p99)/bench.MedianOf(p95.healthy, p99))
	}
	add("better_plain"+suffix, base.name)
	add("plain_capacity_per_s"+suffix, base.capacity(0))
	add("cached_capacity_per_s"+suffix, cached.capacity(0))
	add("half_limit_ratio"+suffix, cached.capacity(1)/base.capacity(1))
	add("all_ratio"+suffix, all.capacity(0)/base.capacity(0))
	add("hit_rate"+suffix, cached.hitRate())
	if grouped := f.side("grouped"); grouped != nil {
		add("grouped_ratio"+suffix, grouped.capacity(0)/base.capacity(0))
	}
}
