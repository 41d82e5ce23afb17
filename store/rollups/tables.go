// Package rollups keeps what is kept for years: rollups of five minutes, hours and days, in runs of
// periods. Start with Tables. Package window/rollup computes them.
package rollups

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Tables are those of all levels, with what reading and writing them takes.
type Tables struct {
	levels  []*Table
	series  *dictionaries.Table
	limits  *calendar.Limits
	cache   *spans.Cache           // nil: nothing is kept
	written *prometheus.CounterVec // bytes, before compression, by level
}

// Table is where a level's rollups are: runs of periods, which are spans, and in the same partition
// the dictionaries of these (entity_type empty, part the hash, at the partition's start).
// Dictionaries are not those of raw, which expire with it.
type Table struct {
	rollup.Level
	Rows *rows.Table
	Run  int64 // ms that a run has: its periods are written together
	TTL  time.Duration

	bucket int64 // ms that a partition holds
}

// periods is how many periods a partition holds: half a day, six days, 144 days. That makes 1 to 10
// MiB before compression of a busy node of 2,000 to 10,000 series, and of an idle one of ten times
// as many: docs/TABLES.md has the figures.
const periods = 144

// New returns the tables of all levels. A nil cache keeps nothing.
func New(series *dictionaries.Table, limits *calendar.Limits, cache *spans.Cache,
	written *prometheus.CounterVec) *Tables {
	return &Tables{series: series, limits: limits, cache: cache, written: written, levels: []*Table{
		newTable(rollup.FiveMinutes, "rollup_5m", rollup.Hour.Millis, limits.FiveMinutesTTL),
		newTable(rollup.Hour, "rollup_1h", rollup.Day.Millis, limits.HourTTL),
		newTable(rollup.Day, "rollup_1d", rollup.Day.Millis, limits.DayTTL),
	}}
}

func newTable(level rollup.Level, name string, run int64, ttl time.Duration) *Table {
	return &Table{Level: level, Run: run, TTL: ttl, bucket: periods * level.Millis,
		Rows: spans.Layout(name, "Ringwatch: rollups of "+level.Name+
			"; entity_type = part = empty is the head row of its run, entity_type = empty "+
			"else a dictionary", ttl)}
}

// Of returns where a level is kept.
func (t *Tables) Of(level rollup.Level) *Table {
	for _, of := range t.levels {
		if of.Level == level {
			return of
		}
	}
	panic("store: no table for level " + level.Name) // levels are rollup.Levels
}

// Layouts returns the tables.
func (t *Tables) Layouts() (list []*rows.Table) {
	for _, of := range t.levels {
		list = append(list, of.Rows)
	}
	return list
}

// BucketOf returns where the partition begins that a period is in.
func (t *Table) BucketOf(start int64) int64 { return calendar.Floor(start, t.bucket) }

// RunOf returns where the run begins that a period is in.
func (t *Table) RunOf(start int64) int64 { return calendar.Floor(start, t.Run) }

// Runs are the tables at work.
type Runs struct {
	tables *Tables
	task   spans.Task
}

// At returns the tables at work for a task.
func (t *Tables) At(task spans.Task) Runs { return Runs{t, task} }
