// Command cql measures the agent's system_metrics on Cassandra 5.0 beside Cassandra 6's own:
// lookups by name and scans of a whole group, with a thousand keyspaces of one table in each.
// Both nodes run at once and are asked in turn.
//
//	make bench-cql [TABLES=1000]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
)

const (
	rounds      = 5
	connections = 2
	inFlight    = 32
	lookupTime  = 3 * time.Second
	onePage     = 1 << 20
	pageSize    = 5000 // what drivers ask for by default
	table       = "system_metrics.table_group"
)

func main() {
	tables := flag.Int("tables", 1000, "keyspaces of one table")
	bench.Main("bench-cql", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, r, *tables)
	})
}

// side is one of the two nodes and what was measured of it, a value a round.
type side struct {
	name, version string
	node          *engines.Cassandra
	names         []string
	lookups       []float64 // a second
	typed         []float64 // the same of type_timer
	scans         []float64 // rows a second
	paged         float64   // rows a second, in pages
	rows          int
	allocated     float64 // bytes a row of a scan
}

func run(ctx context.Context, r *bench.Result, tables int) error {
	dir, err := os.MkdirTemp("", "bench-cql-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours := &side{name: "ours on " + engines.Cassandra50, version: engines.Cassandra50}
	theirs := &side{name: "Cassandra " + engines.Cassandra60, version: engines.Cassandra60}
	sides := []*side{ours, theirs}
	for _, s := range sides {
		if err := s.start(ctx, dir, tables); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		defer s.node.Kill() //nolint:errcheck // the measurement is over
	}
	for round := range rounds + 1 { // the first is for the compilers
		for _, s := range sides {
			if err := s.measure(ctx, round > 0); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	for _, s := range sides {
		if err := s.allocation(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		// once: it takes Cassandra 6 twenty seconds
		rows, took, err := scan(ctx, s.node.Addr(), "SELECT name, value FROM "+table, pageSize)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		s.paged = float64(rows) / took.Seconds()
	}
	itself := func(v float64) float64 { return v }
	ratio := func(of func(*side) []float64) float64 {
		return bench.RatioOf(of(ours), of(theirs), itself)
	}
	r.Add("tables", tables)
	r.Add("lookup_ratio", ratio(func(s *side) []float64 { return s.lookups }))
	r.Add("timer_lookup_ratio", ratio(func(s *side) []float64 { return s.typed }))
	r.Add("scan_ratio", ratio(func(s *side) []float64 { return s.scans }))
	r.Add("paged_scan_ratio", ours.paged/theirs.paged)
	for i, s := range sides {
		who := []string{"ours", "cassandra6"}[i]
		r.Add(who+"_lookups_per_s", bench.Median(s.lookups))
		r.Add(who+"_timer_lookups_per_s", bench.Median(s.typed))
		r.Add(who+"_scan_rows", s.rows)
		r.Add(who+"_scan_rows_per_s", bench.Median(s.scans))
		r.Add(who+"_paged_scan_rows_per_s", s.paged)
		r.Add(who+"_scan_alloc_bytes_per_row", s.allocated)
	}
	r.Notes = fmt.Sprintf(
		"Cassandra %s with the agent beside %s, both up, in turn, medians of %d rounds and of "+
			"their ratios; name, value of table_group by name "+
			"and all columns of type_timer by name, %d connections with %d in flight "+
			"each; a scan is "+
			"name, value of table_group as one page by one client; a paged scan, once, in "+
			"pages of %d.",
		ours.version, theirs.version, rounds, connections, inFlight, pageSize)
	return nil
}

func (s *side) start(ctx context.Context, dir string, tables int) error {
	from, err := prepared(ctx, s.version, tables)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, s.version)
	if err := os.CopyFS(data, os.DirFS(from)); err != nil {
		return err
	}
	jar, err := filepath.Abs("agent/target/ringwatch-agent.jar")
	if err != nil {
		return err
	}
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return err
	}
	config := filepath.Join(data, "agent.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "listen: 127.0.0.1:%d\ninterval: 5m\n", port),
		0o600); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(data, portFile))
	if err != nil {
		return err
	}
	storagePort, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	bench.Say("starting " + s.name)
	s.node, err = engines.StartCassandra(ctx, engines.CassandraConfig{
		TimerSlack: engines.KernelSlack, Dir: data, Version: s.version, StoragePort: storagePort,
		Heap: heap, Progress: bench.Say,
		JVMArgs: []string{"-javaagent:" + jar + "=" + config}})
	if err != nil {
		return err
	}
	session, err := connect(s.node)
	if err != nil {
		return err
	}
	defer session.Close()
	for deadline := time.Now().Add(3 * time.Minute); ; {
		s.names = s.names[:0]
		iter := session.Query("SELECT name FROM " + table).IterContext(ctx)
		for name := ""; iter.Scan(&name); {
			s.names = append(s.names, name)
		}
		if err = iter.Close(); err == nil && len(s.names) > 50*tables {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has %d rows: %w", table, len(s.names), err)
		}
	}
}

func (s *side) measure(ctx context.Context, counts bool) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var timers []string
	for _, name := range s.names {
		if strings.Contains(name, ".ReadLatency.") {
			timers = append(timers, name)
		}
	}
	byName, err := lookups(ctx, s.node.Addr(), "SELECT name, value FROM "+table+" WHERE name = ?",
		s.names, connections, inFlight, lookupTime)
	if err != nil {
		return err
	}
	typed, err := lookups(ctx, s.node.Addr(),
		"SELECT name, count, mean, max, p75th, p99th, one_minute_rate FROM "+
			"system_metrics.type_timer WHERE name = ?", timers, connections, inFlight, lookupTime)
	if err != nil {
		return err
	}
	rows, took, err := scan(ctx, s.node.Addr(), "SELECT name, value FROM "+table, onePage)
	if err != nil {
		return err
	}
	if rows != len(s.names) {
		return fmt.Errorf("a scan gave %d rows and not %d", rows, len(s.names))
	}
	perSecond := float64(rows) / took.Seconds()
	bench.Say(fmt.Sprintf("%s: %.0f lookups/s, %.0f of type_timer/s, %d rows in %v", s.name, byName,
		typed, rows, took.Round(time.Millisecond)))
	if s.rows = rows; counts {
		s.lookups, s.typed, s.scans = append(s.lookups, byName), append(s.typed,
			typed), append(s.scans, perSecond)
	}
	return nil
}

// allocation is what all of the server's threads allocate while a scan is served, per row.
func (s *side) allocation(ctx context.Context) error {
	before, err := allocated(ctx, s.node.Pid())
	if err != nil {
		return err
	}
	const scans = 3
	for range scans {
		if _, _, err := scan(ctx, s.node.Addr(), "SELECT name, value FROM "+table,
			onePage); err != nil {
			return err
		}
	}
	after, err := allocated(ctx, s.node.Pid())
	if err != nil {
		return err
	}
	for thread, bytes := range after {
		s.allocated += (bytes - before[thread]) / float64(scans*s.rows)
	}
	return nil
}

var allocatedBy = regexp.MustCompile(`(?m)^"([^"]+)" #(\d+).* allocated=([\d.]+)([BKMG])`)

// allocated asks the JVM what each thread that serves requests has allocated since it began, with
// three digits.
func allocated(ctx context.Context, pid int) (map[string]float64, error) {
	out, err := exec.CommandContext(ctx, "jcmd", strconv.Itoa(pid), "Thread.print", "-e").Output()
	if err != nil {
		return nil, fmt.Errorf("jcmd: %w; it is part of the JDK", err)
	}
	threads := map[string]float64{}
	for _, found := range allocatedBy.FindAllStringSubmatch(string(out), -1) {
		if n, err := strconv.ParseFloat(found[3], 64); err == nil {
			threads[found[1]+found[2]] = n * map[string]float64{"B": 1, "K": 1 << 10, "M": 1 << 20,
				"G": 1 << 30}[found[4]]
		}
	}
	return threads, nil
}
