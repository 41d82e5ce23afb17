package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// span is what a stretch of time took, or what had been taken when it began.
type span struct {
	cassandra, own time.Duration      // CPU
	frames         int                // written, filled in by who sends them
	rows           map[string]float64 // written, by table
}

// meter reads both processes.
type meter struct {
	cassandra *engines.Cassandra
	keyspace  string
	metrics   *prometheus.Registry
	// CPU of settling when there is nothing to settle: each span has it, and it is taken off
	idle span
}

// now is what has been taken so far.
func (m *meter) now() (s span, err error) {
	if s.cassandra, err = node.CPU(m.cassandra.Pid()); err == nil {
		s.own, err = node.CPU(os.Getpid())
	}
	s.rows = node.Values(m.metrics, "ringwatch_store_rows_written_total")
	return s, err
}

// since is what has been taken since, when Cassandra has settled: memtables flushed, compactions
// ended.
func (m *meter) since(ctx context.Context, s span) (span, error) {
	if err := m.settle(ctx); err != nil {
		return span{}, err
	}
	n, err := m.now()
	n.cassandra -= s.cassandra + m.idle.cassandra
	n.own -= s.own + m.idle.own
	for table := range n.rows {
		n.rows[table] -= s.rows[table]
	}
	return n, err
}

// calibrate finds what settling itself costs, when all is settled: nodetool's connection, and
// waiting.
func (m *meter) calibrate(ctx context.Context) error {
	if err := m.settle(ctx); err != nil {
		return err
	}
	before, err := m.now()
	if err != nil {
		return err
	}
	m.idle, err = m.since(ctx, before)
	return err
}

func (m *meter) settle(ctx context.Context) error {
	if err := node.Tool(ctx, m.cassandra, "flush", m.keyspace); err != nil {
		return err
	}
	return node.Settled(ctx, m.cassandra, m.keyspace)
}

// closed is how many windows the store has closed.
func (m *meter) closed() float64 {
	return node.Sum(m.metrics, "ringwatch_store_windows_closed_total")
}

// rowsPer is how many rows of each table were written for each of n, less what as many frames wrote
// when they came alone; nil: there were none.
func (s *span) rowsPer(n float64, alone *span) map[string]float64 {
	per := map[string]float64{}
	for table, rows := range s.rows {
		if alone != nil {
			rows -= alone.rows[table] / float64(alone.frames) * float64(s.frames)
		}
		if rows != 0 {
			per[table] = rows / n
		}
	}
	return per
}

// perWindow is the CPU of a window in ms: all that was taken, less what as many frames took when
// they came alone.
func (f *findings) perWindow(all, alone time.Duration) float64 {
	frames := float64(f.closing.frames) / float64(f.alone.frames)
	return (bench.Millis(all) - frames*bench.Millis(alone)) / f.closed
}

func sum(values map[string]float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// said lists values by name.
func said(values map[string]float64) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, fmt.Sprintf("%s %.1f", name, values[name]))
	}
	return strings.Join(list, ", ")
}
