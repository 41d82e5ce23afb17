// Command agent measures what monitoring costs a Cassandra: no exporter, the Ringwatch agent
// pushing, the agent being scraped, the JMX exporter with a whitelist and with everything, and
// the agent serving each of its profiles of names, in turn, each on a fresh copy of the same
// prepared node.
//
// EXPORTER_JAR (what follows -javaagent:) and EXPORTER_URL (where it answers) add another exporter.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
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
	verbose  bool
	jvm      string
	record   string
	send     string
}

func main() {
	var o options
	flag.IntVar(&o.tables, "tables", 1000, "tables in the node, ten to a keyspace")
	flag.DurationVar(&o.interval, "interval", 5*time.Second, "between passes and between scrapes")
	flag.DurationVar(&o.warm, "warm", 75*time.Second,
		"how long each side runs before it is measured: a JVM compiles what runs often")
	flag.DurationVar(&o.length, "length", 90*time.Second,
		"how long each side is measured; the agent pushing for a window of five minutes at least")
	bench.List(&o.sides, "sides", "none,push,pull,jmx,jmx_all",
		"what to compare, or profiles for each of them; a result is kept of none, push, pull, jmx "+
			"and jmx_all, and another of ringwatch and all profiles, if all of them are there")
	bench.Agent(&o.jar)
	bench.Heap(&o.heap, "2G")
	flag.BoolVar(&o.verbose, "verbose", false,
		"print each frame's cost, and what moved in the last one")
	flag.StringVar(&o.jvm, "jvm", "", "more JVM arguments, for profiling")
	flag.StringVar(&o.record, "record", "",
		"a file that takes the agent's frames one after another, as bench/record's do")
	flag.StringVar(&o.send, "send", "", "profiles that the agent pushing sends, too")
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
	pageMs     float64 // CPU per scrape of the agent's thread that answers them
	pageKB     float64 // allocated per scrape by that thread
	scrapeMs   float64 // median
	scrapeKB   float64 // as sent
	samples    int
	wireMBh    float64
	gc         node.GC
	gcSpan     time.Duration

	allocatedKB     float64 // by the exporter's threads, in all
	idlePct, idleKB float64 // profiles only: of a core and a pass, while nobody scrapes
	// profiles only: from Cassandra's readiness until all names were there
	named  time.Duration
	heapMB float64 // profiles only: what lives in the JVM's heap

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
	var names []string
	for _, name := range o.sides {
		if name == "profiles" {
			names = append(names, profiles...)
		} else {
			names = append(names, name)
		}
	}
	if os.Getenv("EXPORTER_JAR") != "" {
		names = append(names, "other")
	}
	for _, name := range names {
		fmt.Printf("%s: starting Cassandra with %d tables\n", name, o.tables)
		f, err := measure(ctx, o, r.Dir, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		found[name] = f
		f.print(name)
	}
	if hasAll(found, "none", "push", "pull", "jmx", "jmx_all") {
		if err := keep(r.Named(fmt.Sprintf("agent-%d", o.tables)), o, found); err != nil {
			return err
		}
	}
	if hasAll(found, slices.Concat([]string{"ringwatch"}, profiles)...) {
		return keepProfiles(r.Named(fmt.Sprintf("profiles-%d", o.tables)), o, found)
	}
	return nil
}

func hasAll(found map[string]*figures, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return found[name] == nil })
}

func measure(ctx context.Context, o options, dir, name string) (*figures, error) {
	r, server := listen()
	defer server.Close()
	if r.record = io.Discard; o.record != "" && name == "push" {
		f, err := os.Create(o.record)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r.record = f
	}
	var side node.Side
	var err error
	switch name {
	case "none":
		side = node.None()
	case "push":
		side, err = node.Push(dir, o.jar, server.URL, o.interval)
		if err == nil && o.send != "" {
			err = side.Configure("send_profiles: [" + o.send + "]\n")
		}
	case "pull":
		side, err = node.Pull(dir, o.jar, o.interval)
	case "jmx", "jmx_all":
		side, err = node.JMX(ctx, dir, name == "jmx_all", bench.Say)
	case "other":
		side = node.Other(os.Getenv("EXPORTER_JAR"), os.Getenv("EXPORTER_URL"))
	default:
		if !isProfile(name) {
			return nil, fmt.Errorf("there is no such side")
		}
		side, err = profileSide(dir, o.jar, name, o.interval)
	}
	if err != nil {
		return nil, err
	}
	side.Args = append(side.Args, strings.Fields(o.jvm)...)
	n, err := node.Start(ctx, node.Config{Tables: o.tables, Dir: filepath.Join(dir, "node"),
		Heap: o.heap, Side: side, Progress: bench.Say})
	if err != nil {
		return nil, err
	}
	defer n.Kill()
	m := &measurement{options: o, node: n, receiver: r}
	if isProfile(name) {
		return m.profile(ctx, name)
	}
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

func (f *figures) print(name string) {
	fmt.Printf("%-8s process %6.2f %% of a core, its threads %6.3f %%; a pass or scrape %8.2f ms "+
		"CPU, %9.1f KB allocated", name, f.processPct, f.threadsPct, f.passMs, f.passKB)
	if f.scrapeMs > 0 {
		fmt.Printf("; scrape %.1f ms, %d samples, %.0f KB", f.scrapeMs, f.samples, f.scrapeKB)
	}
	fmt.Printf("; wire %.3f MB/h; %d collections, %.0f ms, %.2f MB/s allocated by the JVM\n",
		f.wireMBh, f.gc.Pauses, f.gc.Pause.Seconds()*1000,
		f.gc.Allocated/(1<<20)/f.gcSpan.Seconds())
	if f.named > 0 {
		fmt.Printf("         idle %.3f %% of a core, %.1f KB a pass; a page %.2f ms CPU, %.1f "+
			"KB; all named after %.0f s; %.0f MB live in the heap\n",
			f.idlePct, f.idleKB, f.pageMs, f.pageKB, f.named.Seconds(), f.heapMB)
	}
	if name == "push" {
		fmt.Printf("         idle pass p50 %.2f ms, max %.2f ms; delta frame %.0f B, key frame "+
			"%.0f B, HTTP around each %.0f B, frames alone %.3f MB/h; busy pass mean %.2f ms, "+
			"p50 %.2f ms, %.1f KB over %d passes\n",
			f.passP50Ms, f.passMaxMs, f.deltaBytes, f.keyBytes, f.postBytes, f.framesMBh, f.busyMs,
			f.busyP50Ms, f.busyKB, f.busyPasses)
	}
}

func keep(r *bench.Result, o options, found map[string]*figures) error {
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
	for _, name := range []string{"none", "push", "pull", "jmx", "jmx_all", "other"} {
		f := found[name]
		if f == nil {
			continue
		}
		r.Add(name+"_process_pct", f.processPct)
		r.Add(name+"_gc_per_min", float64(f.gc.Pauses)/f.gcSpan.Minutes())
		r.Add(name+"_gc_ms_per_min", f.gc.Pause.Seconds()*1000/f.gcSpan.Minutes())
		if name == "other" {
			r.Add("other_scrape_ms", f.scrapeMs)
			r.Add("other_samples", f.samples)
		}
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
	return r.Keep()
}
