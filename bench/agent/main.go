// Command agent measures what monitoring costs a Cassandra: no exporter, the Ringwatch agent
// pushing, the agent being scraped, and the JMX exporter with a whitelist and with everything, in
// turn, each on a fresh copy of the same prepared node.
package main

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/frame"
)

type options struct {
	tables   int
	interval time.Duration
	warm     time.Duration
	length   time.Duration
	sides    []string
	jar      string
	heap     string
}

func main() {
	var o options
	flag.IntVar(&o.tables, "tables", 1000, "tables in the node, ten to a keyspace")
	flag.DurationVar(&o.interval, "interval", 5*time.Second, "between passes and between scrapes")
	flag.DurationVar(&o.warm, "warm", 75*time.Second,
		"how long each side runs before it is measured: a JVM compiles what runs often")
	flag.DurationVar(&o.length, "length", 90*time.Second,
		"how long each side is measured; the agent pushing for a window of five minutes at least")
	bench.List(&o.sides, "sides", strings.Join(allSides, ","),
		"what to compare; a result is kept if all of these are there")
	bench.Agent(&o.jar)
	bench.Heap(&o.heap, "2G")
	bench.Main("bench-agent", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	})
}

// figures is what was found of one side. Zero is what does not apply.
type figures struct {
	processPct float64 // of one core
	threadsPct float64 // of one core, the exporter's own threads
	passMs     float64 // CPU per pass or scrape, mean over all of them
	passKB     float64 // allocated per pass or scrape
	scrapeMs   float64 // median
	scrapeKB   float64 // as sent
	samples    int
	wireMBh    float64
	gc         node.GC
	gcSpan     time.Duration

	passP50Ms, passMaxMs float64 // push only
	deltaBytes, keyBytes float64 // mean of the frames alone
	postBytes            float64 // HTTP around each
	framesMBh            float64
	busyMs, busyKB       float64
	busyP50Ms            float64
	busyPasses           int
}

func run(ctx context.Context, o options, r *bench.Result) error {
	found := map[string]*figures{}
	for _, name := range o.sides {
		bench.Progress("%s: starting Cassandra with %d tables", name, o.tables)
		f, err := measure(ctx, o, r.Dir, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		found[name] = f
		bench.Progress("%s: %.2f ms of CPU and %.1f KB a pass or scrape; its threads take %.3f %% "+
			"of a core", name, f.passMs, f.passKB, f.threadsPct)
	}
	if slices.ContainsFunc(allSides, func(name string) bool { return found[name] == nil }) {
		return nil
	}
	r.Name = fmt.Sprintf("agent-%d", o.tables)
	addTo(r, o, found)
	return nil
}

var allSides = []string{"none", "push", "pull", "jmx", "jmx_all"}

func measure(ctx context.Context, o options, dir, name string) (*figures, error) {
	r, server := listen()
	defer server.Close()
	var side node.Side
	var err error
	switch name {
	case "none":
		side = node.None()
	case "push":
		side, err = node.Push(dir, o.jar, server.URL, o.interval)
	case "pull":
		side, err = node.Pull(dir, o.jar, o.interval)
	case "jmx", "jmx_all":
		side, err = node.JMX(ctx, dir, name == "jmx_all", bench.Say)
	default:
		err = fmt.Errorf("there is no such side")
	}
	if err != nil {
		return nil, err
	}
	n, err := node.Start(ctx, node.Config{Tables: o.tables, Dir: filepath.Join(dir, "node"),
		Heap: o.heap, Side: side, Progress: bench.Say})
	if err != nil {
		return nil, err
	}
	defer n.Kill()
	m := &measurement{options: o, node: n, receiver: r}
	if _, err := m.phase(ctx, o.warm, 1); err != nil {
		return nil, err
	}
	length := o.length
	if name == "push" {
		if err := m.settle(ctx); err != nil {
			return nil, err
		}
		length = max(length, frame.WindowMillis*time.Millisecond)
	}
	f, err := m.phase(ctx, length, 2)
	if err == nil && name == "push" {
		err = m.busy(ctx, f)
	}
	return f, err
}

func addTo(r *bench.Result, o options, found map[string]*figures) {
	push, pull, jmx, all := found["push"], found["pull"], found["jmx"], found["jmx_all"]
	r.Add("tables", o.tables)
	r.Add("idle_pass_cpu_ms", push.passMs)
	r.Add("idle_pass_alloc_kb", push.passKB)
	r.Add("idle_core_pct", push.threadsPct)
	r.Add("wire_mb_h", push.wireMBh)
	r.Add("busy_pass_cpu_ms", push.busyMs)
	r.Add("scrape_ms", pull.scrapeMs)
	r.Add("jmx_scrape_ms", jmx.scrapeMs)
	r.Add("scrape_ratio", jmx.scrapeMs/pull.scrapeMs)
	r.Add("idle_pass_p50_ms", push.passP50Ms)
	r.Add("idle_pass_max_ms", push.passMaxMs)
	r.Add("busy_pass_p50_ms", push.busyP50Ms)
	r.Add("busy_pass_alloc_kb", push.busyKB)
	r.Add("frames_mb_h", push.framesMBh)
	r.Add("http_bytes_per_frame", push.postBytes)
	r.Add("delta_frame_bytes", push.deltaBytes)
	r.Add("key_frame_bytes", push.keyBytes)
	r.Add("pull_core_pct", pull.threadsPct)
	r.Add("jmx_core_pct", jmx.threadsPct)
	r.Add("jmx_all_core_pct", all.threadsPct)
	r.Add("jmx_all_scrape_ms", all.scrapeMs)
	r.Add("jmx_scrape_cpu_ms", jmx.passMs)
	r.Add("jmx_scrape_alloc_kb", jmx.passKB)
	r.Add("pull_samples", pull.samples)
	r.Add("jmx_samples", jmx.samples)
	r.Add("jmx_all_samples", all.samples)
	for _, name := range allSides {
		f := found[name]
		r.Add(name+"_process_pct", f.processPct)
		r.Add(name+"_gc_per_min", float64(f.gc.Pauses)/f.gcSpan.Minutes())
		r.Add(name+"_gc_ms_per_min", f.gc.Pause.Seconds()*1000/f.gcSpan.Minutes())
	}
	r.Notes = fmt.Sprintf(
		"Cassandra 5.0.9, %s heap, each table with one SSTable of a few rows. Five sides in turn, "+
			"one Cassandra each on a copy of the same data, %s warm-up and %s measured at %s. "+
			"idle_* and wire_*: agent pushing; CPU of a pass is the mean over all passes, sending "+
			"and key frames included; wire is HTTP both ways with its headers, a key frame every "+
			"five minutes. busy: one row to every table between passes. JMX exporter %s. Other "+
			"work ran on the same two cores: process_pct and scrape times carry its noise, thread "+
			"CPU little of it.", o.heap, o.warm, o.length, o.interval,
		node.JMXVersion)
}
