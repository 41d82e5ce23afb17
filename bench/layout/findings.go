package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
)

// findings are what was found, question by question and home by home.
type findings struct {
	options
	*driver
	cells []*cell
}

// cell is what a home's answers to a question took, or its writing.
type cell struct {
	home, key, title string
	millis           float64 // the median
	own, engine      float64 // ms of CPU, the mean: this process's, Cassandra's
	rows, bytes      float64 // read or written
}

// cluster writes a cluster into every home, and asks all of them.
func (f *findings) cluster(ctx context.Context, c *cluster) error {
	var homes []home
	for _, name := range f.homes {
		h := makers[name](f.driver)
		homes = append(homes, h)
		err := f.session.Query(
			fmt.Sprintf(
				"CREATE TABLE IF NOT EXISTS %s (%s) WITH compression = {'class': "+
					"'ZstdCompressor', 'compression_level': '3', 'chunk_length_in_kb': '%d'}"+
					" AND gc_grace_seconds = 10800 AND read_repair = 'NONE' AND speculative_retry "+
					"= 'NONE'",
				tableOf(h), h.columns(), f.chunk)).ExecContext(ctx)
		if err != nil {
			return err
		}
		if err := f.write(ctx, c, h); err != nil {
			return fmt.Errorf("%s: write: %w", h.name(), err)
		}
	}
	bench.Progress("%s: compacting", c.name)
	if err := f.settle(ctx, true); err != nil {
		return err
	}
	for _, h := range homes {
		n, err := f.disk(h.name())
		if err != nil {
			return err
		}
		bench.Progress("%s: %.1f MB on disk", h.name(), n/1e6)
		f.cells = append(f.cells, &cell{home: h.name(), key: c.name + "_disk",
			title: c.name + ": MB on disk, all clusters so far", bytes: n})
	}
	for _, q := range f.questions(c) {
		if err := f.ask(ctx, c, homes, &q); err != nil {
			return fmt.Errorf("%s: %w", q.title, err)
		}
	}
	return nil
}

// hoursInFlight is how many nodes' hours are written at once. Cassandra gathers writes for 10 ms
// before it answers.
const hoursInFlight = 16

// write writes the hours of a cluster, as they come in life: one after the other, of all nodes.
func (f *findings) write(ctx context.Context, c *cluster, h home) error {
	own, engine, err := f.cpu()
	if err != nil {
		return err
	}
	type nodeHour struct{ node, hour int }
	var list []nodeHour
	for hour := range c.hours {
		for node := range c.nodes {
			list = append(list, nodeHour{node, hour})
		}
	}
	size := c.head
	for _, m := range c.metrics {
		size += m.bytes
	}
	bench.Progress("%s: writing %d hours of nodes, %d rows and %d bytes each", h.name(), len(list),
		len(c.metrics)+1, size)
	start := time.Now()
	// Random bytes are made once and shifted: they are not what is timed.
	noise := blob(rand.New(rand.NewPCG(1, 2)), 1<<20)
	err = parallel(ctx, hoursInFlight, list, func(ctx context.Context, at nodeHour) error {
		offset := (at.node*7919 + at.hour*104729) % (len(noise) / 2)
		part := func(n int) []byte {
			offset = (offset + 4099) % (len(noise) - n)
			return noise[offset : offset+n]
		}
		rows := []row{{metric{}, part(c.head)}}
		for _, m := range c.metrics {
			rows = append(rows, row{m, part(m.bytes)})
		}
		return h.write(ctx, c, at.node, at.hour, rows)
	})
	if err != nil {
		return err
	}
	took := time.Since(start)
	if err := f.settle(ctx, false); err != nil {
		return err
	}
	ownAfter, engineAfter, err := f.cpu()
	if err != nil {
		return err
	}
	n := float64(len(list))
	w := &cell{h.name(), c.name + "_write", fmt.Sprintf("%s: write a node's hour of %d rows",
		c.name, len(c.metrics)+1), millis(took) / n * hoursInFlight,
		millis(ownAfter-own) / n, millis(engineAfter-engine) / n, float64(len(c.metrics) + 1),
		float64(size)}
	f.cells = append(f.cells, w)
	bench.Progress("%s: %.1f s, %.2f + %.2f ms of CPU a node's hour, memtables flushed", h.name(),
		took.Seconds(), w.own, w.engine)
	return nil
}

// question is what is read.
type question struct {
	key, title string
	times      int // how often, compared with -rounds
	all        bool
	metrics    func(round int) []metric
	hours      int // the last
}

func (f *findings) questions(c *cluster) (list []question) {
	one := func(bytes int) func(round int) []metric {
		of := c.of(func(m *metric) bool { return m.bytes == bytes })
		return func(round int) []metric { return of[round%len(of):][:1] }
	}
	fixed := func(list []metric) func(int) []metric { return func(int) []metric { return list } }
	add := func(key, title string, times int, all bool, metrics func(int) []metric, hours int) {
		if hours <= c.hours {
			list = append(list, question{c.name + "_" + key, title, times, all, metrics, hours})
		}
	}
	add("one_small", fmt.Sprintf("a small metric of one of %d nodes over %d h", c.nodes, c.hours),
		20, false, one(f.small), c.hours)
	if c.name == "whole" {
		add("one_middle", fmt.Sprintf("a middle metric of one of %d nodes over %d h", c.nodes,
			c.hours), 20, false, one(f.middle), c.hours)
		add("one_large", fmt.Sprintf("a large metric of one of %d nodes over %d h", c.nodes,
			c.hours), 10, false, one(f.large), c.hours)
	}
	add("all_small", fmt.Sprintf("a small metric of %d nodes over %d h", c.nodes, c.hours), 2, true,
		one(f.small), c.hours)
	add("all_middle", fmt.Sprintf("a middle metric of %d nodes over %d h", c.nodes, c.hours), 2,
		true, one(f.middle), c.hours)
	if c.name == "whole" {
		add("all_large", fmt.Sprintf("a large metric of %d nodes over %d h", c.nodes, c.hours), 1,
			true, one(f.large), c.hours)
		table := c.of(func(m *metric) bool { return m.entity == "table" })
		add("table", fmt.Sprintf("all %d metrics of tables of %d nodes over 1 h", len(table),
			c.nodes), 2, true, fixed(table), 1)
		add("node_hour", fmt.Sprintf("everything of a node over 1 h, %d rows", len(c.metrics)), 5,
			false, fixed(c.metrics), 1)
		add("node_day", fmt.Sprintf("everything of a node over %d h", c.hours), 1, false,
			fixed(c.metrics), c.hours)
	}
	return list
}

// ask times a question. Homes take turns, each round begins with another one, and all are asked for
// the same in a round; the first round is not counted.
func (f *findings) ask(ctx context.Context, c *cluster, homes []home, q *question) error {
	took := make([][]float64, len(homes))
	cells := make([]cell, len(homes))
	for round := range f.rounds + 1 {
		for n := range homes {
			n = (n + round) % len(homes)
			own, engine, err := f.cpu()
			if err != nil {
				return err
			}
			for again := range q.times {
				start := time.Now()
				rows, bytes, err := answer(ctx, c, homes[n], q, round*q.times+again)
				if err != nil {
					return fmt.Errorf("%s: %w", homes[n].name(), err)
				}
				if cells[n].rows, cells[n].bytes = float64(rows), float64(bytes); round > 0 {
					took[n] = append(took[n], millis(time.Since(start)))
				}
			}
			if round == 0 {
				continue
			}
			ownAfter, engineAfter, err := f.cpu()
			if err != nil {
				return err
			}
			cells[n].own += millis(ownAfter - own)
			cells[n].engine += millis(engineAfter - engine)
		}
	}
	for n, h := range homes {
		x := &cells[n]
		x.home, x.key, x.title = h.name(), q.key, q.title
		x.own, x.engine = x.own/float64(len(took[n])), x.engine/float64(len(took[n]))
		x.millis = bench.Median(took[n])
		f.cells = append(f.cells, x)
		bench.Progress("%s: %s: %.1f ms (%.1f to %.1f), CPU %.2f + %.2f ms, %.0f rows, %.0f kB",
			h.name(), q.title, x.millis, bench.Quantile(took[n], 0.25),
			bench.Quantile(took[n], 0.75),
			x.own, x.engine, x.rows, x.bytes/1000)
	}
	return nil
}

// answer reads the heads and then the rows, and counts both.
func answer(ctx context.Context, c *cluster, h home, q *question, round int) (rows,
	bytes int, err error) {
	nodes := []int{round % c.nodes}
	if q.all {
		nodes = nodes[:0]
		for i := range c.nodes {
			nodes = append(nodes, i)
		}
	}
	take := func(b []byte) { rows, bytes = rows+1, bytes+len(b) }
	list := q.metrics(round)
	from, to := c.hour(c.hours-q.hours), c.hour(c.hours-1)
	if err := h.read(ctx, c, nodes, []metric{{}}, from, to, take); err != nil {
		return 0, 0, err
	}
	if err := h.read(ctx, c, nodes, list, from, to, take); err != nil {
		return 0, 0, err
	}
	want, wantBytes := len(nodes)*q.hours*(1+len(list)), c.head
	for _, m := range list {
		wantBytes += m.bytes
	}
	if wantBytes *= len(nodes) * q.hours; rows != want || bytes != wantBytes {
		return 0, 0, fmt.Errorf("got %d rows and %d bytes, want %d and %d", rows, bytes, want,
			wantBytes)
	}
	return rows, bytes, nil
}

// disk sums up a table's SSTables with their indexes.
func (f *findings) disk(table string) (total float64, err error) {
	root, err := node.Keyspace(f.cassandra.Dir, keyspace)
	if err != nil {
		return 0, err
	}
	folders, err := filepath.Glob(filepath.Join(root, table+"-*"))
	for _, folder := range folders {
		err = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil // compacted away meanwhile
			}
			if i, err := e.Info(); err == nil {
				total += float64(i.Size())
			}
			return nil
		})
	}
	return total, err
}

// find returns a cell.
func (f *findings) find(home, key string) *cell {
	for _, c := range f.cells {
		if c.home == home && c.key == key {
			return c
		}
	}
	return &cell{}
}

// table prints what docs/TABLES.md shows.
func (f *findings) table(w io.Writer) {
	homes := f.homes
	fmt.Fprint(w, "\n| ms, CPU ms here + Cassandra's | rows |")
	for _, h := range homes {
		fmt.Fprintf(w, " %s |", titles[h])
	}
	fmt.Fprint(w, "\n|---|---|"+strings.Repeat("---|", len(homes))+"\n")
	done := map[string]bool{}
	for _, c := range f.cells {
		if done[c.key] {
			continue
		}
		done[c.key] = true
		fmt.Fprintf(w, "| %s | %.0f |", c.title, c.rows)
		for _, h := range homes {
			if x := f.find(h, c.key); strings.HasSuffix(c.key, "_disk") {
				fmt.Fprintf(w, " %.1f |", x.bytes/1e6)
			} else {
				fmt.Fprintf(w, " %.1f, %.2f + %.2f |", x.millis, x.own, x.engine)
			}
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
}

func (f *findings) addTo(r *bench.Result) {
	r.Notes = fmt.Sprintf(
		"Synthetic rows of hours on one Cassandra and this process on one machine: %d nodes × %d "+
			"h × %d rows beside the head, and %d nodes × %d h × %d rows; %d, %d and %d bytes "+
			"a row, %d a head; zstd in chunks of %d KiB, flushed and compacted. Homes answer by "+
			"turns, medians of at least %d; cpu_ms is this process's, engine_cpu_ms Cassandra's, "+
			"means. Who reads a metric reads the heads first. "+
			"node is a partition of a node and day, metric_day one of a cluster, metric and day, "+
			"metric_hour one of a cluster, metric and hour.", f.nodes, f.hours, f.options.rows,
		f.many, f.manyHours, f.manyRows,
		f.small, f.middle, f.large, f.headSize, f.chunk, f.rounds)
	questions := map[string]string{}
	for _, c := range f.cells {
		questions[c.key] = c.title
		key := c.home + "_" + c.key
		if strings.HasSuffix(c.key, "_disk") {
			r.Add(key+"_mb", c.bytes/1e6)
			continue
		}
		r.Add(key+"_ms", c.millis)
		r.Add(key+"_cpu_ms", c.own)
		r.Add(key+"_engine_cpu_ms", c.engine)
	}
	r.Detail = map[string]any{"questions": questions}
}
