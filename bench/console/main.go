// Command console measures the console in a real browser.
//
//	bench/fleet ─ POST ─ ringwatch all ─ console ─ Chromium, driven by console/bench.mjs
//
// Fleets of several sizes, each in an account of its own, have sent two frames a node through the
// whole line. The browser opens the fleet's page of each until a node can be opened. A cluster's
// page then gets answers that were made beforehand, so that only drawing them is timed; an hour
// of its refreshes is played fast, and the memory before and after compared.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
)

type options struct {
	sizes               []int
	rounds              int
	binary, recordings  string
	browser             string
	console, screenshot string
}

func main() {
	var o options
	bench.Numbers(&o.sizes, "sizes", []int{1000, 10_000}, "how many nodes the fleets have")
	flag.IntVar(&o.rounds, "rounds", 5, "how often each page is opened")
	bench.Binary(&o.binary)
	bench.Recordings(&o.recordings)
	flag.StringVar(&o.browser, "browser", "/usr/bin/chromium-headless-shell", "Chromium")
	flag.StringVar(&o.console, "console", "console", "folder with bench.mjs")
	flag.StringVar(&o.screenshot, "screenshot", "",
		"folder for pictures of the fleets' pages; empty: none")
	bench.Main("bench-console", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	})
}

// figures is what the browser measured.
type figures struct {
	FirstPageKB float64              `json:"first_page_kb"`
	FleetMS     map[string][]float64 `json:"fleet_ms"` // by account
	FleetSteps  map[string][]steps   `json:"fleet_steps"`
	ChartsMS    []float64            `json:"charts_ms"`
	HeapBefore  float64              `json:"heap_before"` // bytes
	HeapAfter   float64              `json:"heap_after"`
	PerMinute   float64              `json:"requests_per_minute"`
}

// steps is where the time of a fleet's page goes: ms since it was asked for until the page and
// its code were there, something was painted, the nodes were asked for, began to come and were
// there, and the first one was drawn with the map.
type steps struct {
	Page      float64 `json:"page"`
	Code      float64 `json:"code"`
	Painted   float64 `json:"painted"`
	Asked     float64 `json:"asked"`
	Answering float64 `json:"answering"`
	Answered  float64 `json:"answered"`
	Drawn     float64 `json:"ms"`
}

func run(ctx context.Context, o options, r *bench.Result) error {
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	var accounts []string
	for _, n := range o.sizes {
		accounts = append(accounts, fmt.Sprint("fleet", n))
	}
	bench.Progress("starting engines and roles")
	l, err := line.Start(ctx, line.Config{Dir: r.Dir, Binary: binary, Accounts: accounts,
		// The rules of 11,000 nodes would take the processors from what is measured.
		More: "rules: {shipped: false}\n"})
	if err != nil {
		return err
	}
	defer l.Stop()
	shape, err := fleet.Read(filepath.Join(o.recordings, "busy.rwf"), "busy", 5, 20_000)
	if err != nil {
		return err
	}
	shape.Interval = interval
	env := append(os.Environ(), "BASE="+l.API, "ROUNDS="+strconv.Itoa(o.rounds),
		"CHROMIUM="+o.browser, "SHOTS="+o.screenshot, "KEY="+l.Key)
	for i, n := range o.sizes {
		bench.Progress("%d nodes of %d series send two frames each", n, shape.Series)
		if err := send(ctx, l, l.Keys[accounts[i]], shape, n); err != nil {
			return err
		}
		env = append(env, fmt.Sprintf("KEY_%s=%s", accounts[i], l.Keys[accounts[i]]))
	}
	bench.Progress("the browser opens pages")
	cmd := exec.CommandContext(ctx, "node", append([]string{"bench.mjs"}, accounts...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = o.console, env, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("console/bench.mjs: %w: run make console first", err)
	}
	var f figures
	if err := json.Unmarshal(out, &f); err != nil {
		return fmt.Errorf("console/bench.mjs printed %q: %w", out, err)
	}
	r.Detail = f
	r.Notes = "first_page_kb is JavaScript and CSS on the wire, gzip. fleet_ms is from opening " +
		"the fleet's page to its first node and its map on the screen, of 1,000 nodes, " +
		"fleet_10000_ms of 10,000. charts_ms is from the answers' arrival to twelve charts of " +
		"360 points drawn. heap_growth_pct compares the page's memory after and before an hour " +
		"of refreshes. Engines, roles and browser share the machine."
	r.Add("first_page_kb", f.FirstPageKB)
	for i, n := range o.sizes {
		key := "fleet_ms"
		if n != 1000 {
			key = fmt.Sprintf("fleet_%d_ms", n)
		}
		r.Add(key, bench.Quantile(f.FleetMS[accounts[i]], 0.5))
	}
	r.Add("charts_ms", bench.Median(f.ChartsMS))
	r.Add("heap_growth_pct", 100*(f.HeapAfter/f.HeapBefore-1))
	r.Add("requests_per_minute", f.PerMinute)
	return nil
}

// interval is how often the nodes say that they send, ms: so long that none is late while others
// send.
const interval = 600_000

// send posts two frames of each node, so that rates have values.
func send(ctx context.Context, l *line.Line, key string, shape *fleet.Shape, n int) error {
	nodes := make([]*fleet.Node, n)
	for i := range nodes {
		nodes[i] = fleet.NewNode(shape, 1, i)
	}
	for round := range 2 {
		began := time.Now()
		err := bench.AtOnce(ctx, n, 16, func(ctx context.Context, i int) error {
			nodes[i].Step()
			b, err := nodes[i].Frame(time.Now().UnixMilli())
			if err != nil {
				return err
			}
			if i%1000 == 999 {
				bench.Progress("round %d: %d of %d nodes, %.0f s", round+1, i+1, n,
					time.Since(began).Seconds())
			}
			return l.Post(ctx, key, b)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
