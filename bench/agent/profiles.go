package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// profiles are sides of the agent serving one profile of names other than its own. The last one
// is a rule file of a hundred patterns that match nothing.
var profiles = []string{"jmx_exporter", "grafana_mixin", "dashboard_5408", "criteo_exporter",
	"opentelemetry", "instaclustr_exporter", "mcac", "management_api", "rules100"}

func isProfile(name string) bool { return name == "ringwatch" || slices.Contains(profiles, name) }

// maxRatio is what a scrape of a profile may cost, by sample, of what one of our own names does.
const maxRatio = 2.0

// profileSide is node.Pull with one profile alone.
func profileSide(dir, jar, name string, interval time.Duration) (node.Side, error) {
	side, err := node.Pull(dir, jar, interval)
	if err != nil {
		return side, err
	}
	line := "profiles: [" + name + "]\n"
	if name == "rules100" {
		file := filepath.Join(dir, "rules100.yaml")
		if err := os.WriteFile(file, []byte(hundredRules()), 0o600); err != nil {
			return side, err
		}
		line = fmt.Sprintf("profiles: [ringwatch, {jmx_exporter: %q}]\n", file)
	}
	return side, side.Configure(line)
}

// hundredRules look at each of Cassandra's metrics and name none of them.
func hundredRules() string {
	var rules strings.Builder
	rules.WriteString("excludeJvmMetrics: true\nincludeObjectNames: " +
		"['org.apache.cassandra.metrics:*']\nrules:\n")
	for i := range 100 {
		fmt.Fprintf(&rules,
			"- {pattern: 'metrics<type=(\\S*)(?:, scope=(\\S*))?, name=(\\S*)><>NoSuch%d', name: "+
				"never_$1_$3}\n", i)
	}
	return rules.String()
}

// profile measures a node that nobody scrapes, and then one that is scraped at each interval, when
// all names are there.
func (m *measurement) profile(ctx context.Context, name string) (*figures, error) {
	named, err := m.untilNamed(ctx, name)
	if err != nil {
		return nil, err
	}
	scrape := m.node.Side.Scrape
	m.node.Side.Scrape = ""
	idle, err := m.phase(ctx, m.length, 0)
	m.node.Side.Scrape = scrape
	if err != nil {
		return nil, err
	}
	// the first scrape makes what later ones reuse
	if _, err := m.phase(ctx, 4*m.interval, 2); err != nil {
		return nil, err
	}
	f, err := m.phase(ctx, m.length, 2)
	if err == nil {
		f.idlePct = idle.threadsPct
		f.idleKB = idle.allocatedKB / (idle.gcSpan.Seconds() / m.interval.Seconds())
		f.named = named
		f.heapMB, err = node.Live(ctx, m.node.Pid())
	}
	return f, err
}

// ofBeans are the profiles that name beans, which the agent says when it has done so.
var ofBeans = []string{"jmx_exporter", "grafana_mixin", "dashboard_5408", "criteo_exporter",
	"opentelemetry", "rules100"}

// untilNamed scrapes until the agent has named all beans and the page has had as many samples for
// half a minute, and for as long as the JVM takes to compile what runs often. It returns when the
// last of that came.
func (m *measurement) untilNamed(ctx context.Context, name string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	began := time.Now()
	samples, last, said := 0, began, began
	named := !slices.Contains(ofBeans, name)
	for !named || time.Since(last) < 30*time.Second || time.Since(began) < m.warm {
		f, err := m.phase(ctx, m.interval, 1)
		if err != nil {
			return 0, fmt.Errorf("wait for a page that grows no more, of %d samples: %w",
				samples, err)
		}
		if !named {
			if named, err = m.saysNamed(); err != nil {
				return 0, err
			}
			if named {
				last = time.Now()
			}
		}
		if f.samples != samples {
			samples, last = f.samples, time.Now()
		}
		if time.Since(said) > 30*time.Second {
			said = time.Now()
			fmt.Printf("%s: %d samples after %.0f s\n", name, samples, said.Sub(began).Seconds())
		}
	}
	return last.Sub(began), nil
}

func (m *measurement) saysNamed() (bool, error) {
	log, err := os.ReadFile(m.node.LogFile())
	return bytes.Contains(log, []byte("all beans are named")), err
}

// perSample returns what a scrape costs, for a thousand samples: microseconds of CPU, KB allocated.
// It is what the thread takes that answers scrapes. What all threads take beyond their passes
// without a scrape is mostly how these passes differ.
func (f *figures) perSample() (micros, kb float64) {
	thousands := float64(max(f.samples, 1)) / 1000
	return f.pageMs * 1000 / thousands, f.pageKB / thousands
}

// keepProfiles keeps a result of its own, in which all costs are beside those of our own names.
func keepProfiles(r *bench.Result, o options, found map[string]*figures) error {
	own := found["ringwatch"]
	micros, kb := own.perSample()
	r.Add("tables", o.tables)
	var over []string
	for _, name := range slices.Concat([]string{"ringwatch"}, profiles) {
		f := found[name]
		cpu, allocated := f.perSample()
		r.Add(name+"_idle_core_pct", f.idlePct)
		r.Add(name+"_idle_pass_alloc_kb", f.idleKB)
		r.Add(name+"_scraped_core_pct", f.threadsPct)
		r.Add(name+"_scrape_ms", f.scrapeMs)
		r.Add(name+"_samples", f.samples)
		r.Add(name+"_scrape_cpu_us_per_1000", cpu)
		r.Add(name+"_scrape_alloc_kb_per_1000", allocated)
		r.Add(name+"_named_s", f.named.Seconds())
		r.Add(name+"_heap_mb", f.heapMB)
		fmt.Printf(
			"%-20s idle %6.3f %% of a core, %8.1f KB a pass; scrape %8.1f ms, %7d samples, %8.2f "+
				"µs CPU and %7.3f KB for a thousand; "+
				"all named after %3.0f s; heap %.0f MB\n", name, f.idlePct, f.idleKB, f.scrapeMs,
			f.samples, cpu, allocated, f.named.Seconds(), f.heapMB)
		if cpu > maxRatio*micros || allocated > maxRatio*kb {
			over = append(over, name)
		}
	}
	r.Notes = fmt.Sprintf(
		"One profile each, beside the agent's own names; a page that has not grown for half a "+
			"minute, %s without a scrape and %s with one at each %s. heap_mb is what lives in "+
			"the JVM's heap, Cassandra's included. A scrape's cost is what the agent's thread "+
			"takes that answers scrapes, for a thousand samples. rules100: our own names, and a "+
			"hundred patterns that match nothing. Beyond twice our own names' cost by sample: %v.",
		o.length, o.length, o.interval, over)
	return r.Keep()
}
