// Command wholefleet sends a fleet's frames through the whole line and asks for them meanwhile:
// real engines, and each role a process of its own, all on this machine.
//
//	bench/fleet ── POST frames ─► ingest ─► Kafka ─┬─► store ──► Cassandra ─┐
//	 a connection per node                         ├─► recent ─► Redis ─────┼─► api ◄── crowd
//	                                               └─► rules
//
// A smaller fleet of another account sends for five minutes first, so that the engines, which run
// in Java, have compiled what they need. Then all nodes begin in the first interval of a window,
// as after an outage of everything: their first frames are key frames, and those of each later
// window are, too. Nodes are copies of a few that differ (bench/fleet.Copies), for the driver
// shares the cores. A frame's acknowledgement is timed from when the frame was due, so refusals
// and waiting count. Its freshness is the time from sending it until the API answers with its
// value. In the end the API counts each node's instants.
package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/frame"
)

type options struct {
	nodes, tables, originals, closings int
	interval                           time.Duration
	reads                              float64
	cold                               bool
	binary, recordings, dashboards     string
	cassandraHeap, kafkaHeap           string
	picture                            string
}

func main() {
	var o options
	bench.Nodes(&o.nodes, 10000)
	bench.Tables(&o.tables, 9)
	flag.DurationVar(&o.interval, "interval", 20*time.Second,
		"a node's interval; it divides 5 minutes")
	flag.IntVar(&o.closings, "closings", 4,
		"windows of 5 minutes that the fleet lives through, each of them closed")
	flag.IntVar(&o.originals, "originals", 40,
		"nodes that really differ; the others are their copies")
	flag.BoolVar(&o.cold, "cold", false,
		"begin with engines that have just started, whose compilers take most of the first minutes")
	flag.Float64Var(&o.reads, "reads", 20, "questions a second")
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	bench.Dashboards(&o.dashboards)
	flag.StringVar(&o.cassandraHeap, "cassandra-heap", "2G", "heap of the Cassandra that stores")
	flag.StringVar(&o.kafkaHeap, "kafka-heap", "512M", "heap of Kafka")
	bench.Work()
	flag.StringVar(&o.picture, "picture", "docs/pictures/fleet.svg",
		"file for a picture of the run; empty: none")
	bench.Main("bench-fleet", func(ctx context.Context, r *bench.Result) error {
		return measure(ctx, o, r)
	}, o.check)
}

func (o *options) check() error {
	switch {
	case o.nodes < 1 || o.originals < 2 || o.tables < 1 || o.closings < 1:
		return errors.New("-nodes, -tables and -closings must be at least 1, -originals at least 2")
	case o.interval < time.Second || frame.WindowMillis%o.interval.Milliseconds() != 0:
		return errors.New("-interval must be at least 1s and divide 5 minutes")
	case o.reads <= 0:
		return errors.New("-reads must be more than 0")
	}
	return nil
}

func measure(ctx context.Context, o options, result *bench.Result) error {
	dir := result.Dir
	l, err := startLine(ctx, &o, dir)
	defer l.stop()
	if err != nil {
		return err
	}
	if !o.cold {
		if err := warm(ctx, &o, l); err != nil {
			return err
		}
	}
	f, err := newFleet(&o, l, l.key, 1, o.closings+beyond)
	if err != nil {
		return err
	}
	r := &report{options: o, Series: f.series, answers: map[string][]float64{}}
	if err := r.live(ctx, l, f); err != nil {
		return err
	}
	if err := r.countLost(ctx, l, f); err != nil {
		return err
	}
	return r.addTo(result)
}
