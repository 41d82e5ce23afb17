// Command query measures dashboards' queries as people ask them: of Ringwatch, of a Prometheus
// and of a VictoriaMetrics that hold the same fleet.
//
//	bench/fleet ─┬─ store: frames, windows, hours ── Cassandra ─┐
//	             ├─ recent: the last 15 minutes ──── Redis ─────┴─ bin/ringwatch api ─┐
//	             ├─ remote write ─ Prometheus ────────────────────────────────────────┼─ HTTP ─ clients
//	             └─ remote write ─ VictoriaMetrics ───────────────────────────────────┘
//
// A fleet is made from the recordings and written into all sides: whole hours that are over. Ranges
// and instants end where they do.
//
// Each question is asked of all sides at one instant and the answers are compared. Then it is
// timed in three columns, sides by turns: cold, of processes that have just started; warm, in
// words that nobody used before, of data that was asked for; refresh, moved by a step, eight
// panels side by side. Long trends are a set of their own. Last, Ringwatch alone is asked about a
// fleet whose newest frames are in Redis.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/peers"
)

type options struct {
	nodes, tables, trendNodes, fleet, rounds, coldRounds int
	hours, trendDays                                     float64
	interval                                             time.Duration
	few                                                  bool
	seed                                                 uint64
	sides                                                []string
	only                                                 *regexp.Regexp
	binary, recordings, dashboards                       string
}

func main() {
	o := options{only: new(regexp.Regexp)}
	flag.IntVar(&o.nodes, "nodes", 30, "nodes, in four clusters, every second one idle")
	flag.Float64Var(&o.hours, "hours", 6, "whole hours of their data")
	flag.DurationVar(&o.interval, "interval", 20*time.Second,
		"between a node's frames, in steps of 5s; 1m for 1,000 nodes")
	flag.BoolVar(&o.few, "few", false,
		"only the metrics that the questions ask for; no pages then. For 200 nodes and more")
	bench.Tables(&o.tables, 10)
	flag.IntVar(&o.trendNodes, "trend-nodes", 2, "nodes of the long trends")
	flag.Float64Var(&o.trendDays, "trend-days", 7,
		"days of their data, a frame a minute; 0: no trends")
	flag.IntVar(&o.fleet, "fleet", 10_000,
		"nodes whose newest frames Ringwatch alone is asked for; 0: none")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each question is asked warm and refreshed")
	flag.IntVar(&o.coldRounds, "cold-rounds", 2,
		"how often it is asked cold; each time the processes start anew")
	bench.Seed(&o.seed)
	bench.List(&o.sides, "sides", "ringwatch,prometheus,victoriametrics",
		"who is asked; ringwatch is the first")
	flag.TextVar(o.only, "only", regexp.MustCompile(""),
		"a regular expression: the questions whose titles it matches; empty: all")
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	flag.StringVar(&o.dashboards, "dashboards", "api/dashboards",
		"folder of dashboards whose pages are asked; empty: none")
	bench.Main("bench-query", func(ctx context.Context, r *bench.Result) error {
		return measure(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	switch {
	case o.nodes < 2 || o.tables < 1 || o.hours < 1:
		return errors.New("-nodes must be at least 2, -tables and -hours at least 1")
	case o.trendDays > 0 && (o.trendDays < 1 || o.trendNodes < 2):
		return errors.New("-trend-days must be 0 or at least 1, -trend-nodes at least 2")
	case o.rounds < 1 || o.coldRounds < 1:
		return errors.New("-rounds and -cold-rounds must be at least 1")
	case o.interval < 5*time.Second || o.interval > time.Minute || o.interval%(5*time.Second) != 0:
		return errors.New("-interval must be 5s to 1m, in steps of 5s: those of the recordings")
	case o.sides[0] != "ringwatch":
		return errors.New("-sides must begin with ringwatch: the others are held against it")
	}
	for _, name := range o.sides[1:] {
		if peers.Modules[name] == "" {
			return fmt.Errorf("-sides: %q is neither prometheus nor victoriametrics", name)
		}
	}
	return nil
}

// measure writes what is to be asked for, and asks; only the engines of Ringwatch go on through
// all.
func measure(ctx context.Context, o options, result *bench.Result) error {
	dir, sets := result.Dir, o.wanted()
	r := newOurs(o.binary, dir)
	defer r.stop()
	if err := r.start(ctx); err != nil {
		return err
	}
	for _, s := range sets {
		if err := s.prepare(ctx, &o, r, peersDir(dir, s)); err != nil {
			return fmt.Errorf("writing %s: %w", s, err)
		}
	}
	bench.Progress("flushing")
	if err := r.settle(ctx); err != nil {
		return err
	}
	found := &report{options: o}
	for _, s := range sets {
		if s.Account == trendAccount && !o.means(within(trendQuestions, s.span(), o.rounds)) {
			continue
		}
		found.Sets = append(found.Sets, s)
		if err := found.ask(ctx, s, r, peersDir(dir, s)); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	if o.fleet > 0 && o.means(fleetQuestions) {
		if err := found.fleetNow(ctx, r); err != nil {
			return fmt.Errorf("the fleet: %w", err)
		}
	}
	found.addTo(result)
	found.table(os.Stdout)
	return nil
}

// means reports whether -only takes any of some questions.
func (o *options) means(list []question) bool {
	return slices.ContainsFunc(list, func(q question) bool { return o.only.MatchString(q.title) })
}

// peersDir is where the peers have a set.
func peersDir(dir string, s *set) string { return filepath.Join(dir, "peers-"+s.Account) }
