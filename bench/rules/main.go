// Command rules measures the role rules: what the shipped rules cost over a fleet, what ten
// thousand alert rules of one shape cost, how long a start takes, and how late an alert is at an
// Alertmanager. bench/embedded has a Prometheus beside that evaluates the same rules.
//
//	bench/fleet ─ frames ─── a process that is only rules.Rules (Handle, Tick): CPU, memory
//	  a node's frames ────── ringwatch all ─ Kafka ─ its role rules ─ Alertmanager: delay
//
// The fleet's time is simulated and goes as fast as the role does. CPU is that of whole processes,
// so what the machine does beside hardly counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
)

type options struct {
	nodes, tables, alertRules, firings, minutes int
	memory                                      int64
	seed                                        uint64
	parts                                       []string
	binary, recordings                          string
}

func main() {
	var o options
	var child string
	bench.ChildTask(&child)
	bench.Nodes(&o.nodes, 1000)
	bench.Tables(&o.tables, 9)
	flag.IntVar(&o.minutes, "minutes", 15, "minutes of the fleet's data, a frame every 20 s")
	flag.Int64Var(&o.memory, "memory", 0, "memory.limit_bytes of the role; 0: as it finds it")
	flag.IntVar(&o.alertRules, "alert-rules", 10_000, "alert rules of one shape; 0: leave that out")
	flag.IntVar(&o.firings, "firings", 10, "alerts whose delay is measured, of each interval")
	bench.Seed(&o.seed)
	bench.List(&o.parts, "parts", strings.Join(allParts, ","),
		"what to measure; told and start need shipped")
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	bench.Work()
	bench.Main("bench-rules", func(ctx context.Context, r *bench.Result) error {
		if child != "" {
			return runTask(ctx, child)
		}
		return measure(ctx, o, r)
	})
}

var allParts = []string{"shipped", "told", "start", "many", "delay"}

// report is what a run found; it is kept as the result's detail.
type report struct {
	Nodes, Tables, Series, Minutes int
	Shipped, Told, Start, Many     *outcome   `json:",omitempty"`
	ManyRules                      int        `json:",omitempty"`
	Delays                         []delays   `json:",omitempty"`
	FrameBytes                     [2]float64 // mean of delta frames and of key frames
}

func measure(ctx context.Context, o options, result *bench.Result) error {
	dir := result.Dir
	has := func(part string) bool { return slices.Contains(o.parts, part) }
	r := &report{Nodes: o.nodes, Tables: o.tables, Minutes: o.minutes}
	if has("shipped") || has("many") {
		if err := r.fleet(ctx, o, dir, has); err != nil {
			return err
		}
	}
	if has("delay") {
		if err := r.delay(ctx, o, dir); err != nil {
			return fmt.Errorf("the delay of alerts: %w", err)
		}
	}
	r.addTo(result)
	r.table(os.Stdout)
	return nil
}

// fleetStart is when the simulated fleet's data begins: any window's start.
var fleetStart = frame.WindowOf(1_790_000_000_000)

// fleet measures the role over the whole fleet.
func (r *report) fleet(ctx context.Context, o options, dir string, has func(string) bool) error {
	idle, busy, err := fleet.ReadBoth(o.recordings, o.tables, tickMillis)
	if err != nil {
		return err
	}
	r.Series = (idle.Series + busy.Series) / 2
	file := filepath.Join(dir, "fleet.frames")
	if r.FrameBytes, err = makeFrames(ctx, file, o, idle, busy); err != nil {
		return err
	}
	t := task{Frames: file, Log: filepath.Join(dir, "recorded"), Start: fleetStart,
		End: fleetStart + int64(o.minutes)*60_000, Procs: 1, Memory: o.memory}
	if has("shipped") {
		t.Name = "shipped rules"
		if r.Shipped, err = t.run(ctx); err != nil {
			return err
		}
		if has("told") {
			again := t
			again.Name, again.Log = "shipped rules, people are told", filepath.Join(dir, "told")
			again.People = filepath.Join(dir, "people")
			if r.Told, err = again.run(ctx); err != nil {
				return err
			}
		}
		if has("start") {
			again := t
			again.Name, again.Walk, again.Procs = "start", true, 0
			if r.Start, err = again.run(ctx); err != nil {
				return err
			}
		}
	}
	if has("many") && o.alertRules > 0 {
		t.Name, t.Log, r.ManyRules = "many rules", filepath.Join(dir, "recorded-many"), o.alertRules
		t.Rules = filepath.Join(dir, "many.yaml")
		if err := os.WriteFile(t.Rules, manyRules(busy, o.alertRules), 0o600); err != nil {
			return err
		}
		if r.Many, err = t.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// addTo adds the figures that the goals are about.
func (r *report) addTo(res *bench.Result) {
	res.Detail = r
	res.Notes = fmt.Sprintf("%d nodes of %d series, a frame every 20 s. cycle_s is the CPU of the "+
		"whole process for 20 s of frames and evaluation, with GOMAXPROCS=1, the mean of all "+
		"cycles but the first window's; rss_mb is at the end of the data; start_s is the wall "+
		"time from nothing until the data has been walked and an evaluation is over. "+
		"alert_delay_s is the median from a sample's sending until Alertmanager has its alert, "+
		"less the evaluation interval, the worst of the intervals.",
		r.Nodes, r.Series)
	if r.Shipped != nil {
		res.Add("cycle_s", r.Shipped.cycle())
		res.Add("rss_mb", float64(r.Shipped.Resident)/1e6)
	}
	if r.Told != nil {
		res.Add("told_cycle_ratio", r.Told.cycle()/r.Shipped.cycle())
		res.Add("told_more_rss_mb", float64(r.Told.Resident-r.Shipped.Resident)/1e6)
	}
	if len(r.Delays) > 0 {
		median, most := r.Delays[0].less(0.5), r.Delays[0].less(1)
		for _, d := range r.Delays[1:] {
			median, most = max(median, d.less(0.5)), max(most, d.less(1))
		}
		res.Add("alert_delay_s", median)
		res.Add("alert_delay_max_s", most)
	}
	if r.Start != nil {
		res.Add("start_s", r.Start.WalkS)
		res.Add("start_cpu_s", r.Start.WalkCPU)
	}
	if r.Many != nil {
		res.Add("many_cycle_s", r.Many.cycle())
		res.Add("many_rss_mb", float64(r.Many.Resident)/1e6)
	}
}
