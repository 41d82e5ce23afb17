package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// rollupTable is where a level's rollups are: runs of periods, which are spans (spans.go), and in
// the same partition the dictionaries of these (entity_type empty, part the hash, at the
// partition's start). Dictionaries are not those of raw, which expire with it.
type rollupTable struct {
	rollup.Level
	name   string
	run    int64 // ms that a run has: its periods are written together
	bucket int64 // ms that a partition holds
	ttl    time.Duration
}

// rollupPeriods is how many periods a partition holds: half a day, six days, 144 days. That makes 1
// to 10 MiB before compression of a busy node of 2,000 to 10,000 series, and of an idle one of ten
// times as many: docs/TABLES.md has the figures.
const rollupPeriods = 144

func (c *Config) rollupTables() []rollupTable {
	table := func(level rollup.Level, name string, run int64, ttl time.Duration) rollupTable {
		return rollupTable{level, name, run, rollupPeriods * level.Millis, ttl}
	}
	return []rollupTable{
		table(rollup.FiveMinutes, "rollup_5m", rollup.Hour.Millis, c.FiveMinutesTTL),
		table(rollup.Hour, "rollup_1h", rollup.Day.Millis, c.HourTTL),
		table(rollup.Day, "rollup_1d", rollup.Day.Millis, c.DayTTL),
	}
}

// rollupTable returns where a level is kept.
func (c *Config) rollupTable(level rollup.Level) rollupTable {
	for _, t := range c.rollupTables() {
		if t.Level == level {
			return t
		}
	}
	panic("store: no table for level " + level.Name) // levels are rollup.Levels
}

func (t *rollupTable) bucketOf(start int64) int64 { return calendar.Floor(start, t.bucket) }

func (t *rollupTable) runOf(start int64) int64 { return calendar.Floor(start, t.run) }

func (c *Config) rollupLayouts() []*rows.Table {
	var list []*rows.Table
	for _, t := range c.rollupTables() {
		list = append(list, spans.Layout(t.name,
			"Ringwatch: rollups of "+t.Name+
				"; entity_type = part = empty is the head row of its run, entity_type = empty "+
				"else a dictionary", t.ttl))
	}
	return list
}

// validateRollups returns what is wrong with the TTLs. A coarser level is computed anew from the
// finer one when a late frame comes, so that must still be there.
func (c *Config) validateRollups() error {
	var errs []error
	below, name := c.RawTTL+24*time.Hour, "raw_ttl and a day"
	for _, l := range []struct {
		name string
		ttl  time.Duration
	}{{"five_minutes_ttl", c.FiveMinutesTTL}, {"hour_ttl", c.HourTTL}, {"day_ttl", c.DayTTL}} {
		if l.ttl < below {
			errs = append(errs, fmt.Errorf("%s: %s: use at least %s, %s", l.name, l.ttl,
				name, below))
		}
		below, name = l.ttl, l.name
		if l.ttl > maxTTL {
			errs = append(errs, fmt.Errorf("%s: %s: use at most %s, which is what Cassandra takes",
				l.name, l.ttl, maxTTL))
		}
	}
	return errors.Join(errs...)
}

// maxTTL is Cassandra's 20 years, less a year in which dictionaries outlive the rollups of their
// partition.
const maxTTL = 19 * 365 * 24 * time.Hour

// runHead is the head row of a run.
type runHead struct {
	*spans.Head
	run *rollup.RunHead // nil: it cannot be read
}

// runHeads returns the heads of runs that begin at from ≤ start ≤ to.
func (s task) runHeads(ctx context.Context, account string, node uuid.UUID, level rollup.Level,
	from, to int64) (map[int64]*runHead, error) {
	t := s.config.rollupTable(level)
	var places []spans.Partition
	for bucket := t.bucketOf(from); bucket <= to; bucket += t.bucket {
		places = append(places, spans.NewPartition(s.byName[t.name], account, node, bucket))
	}
	rows, err := s.spanTask().Heads(ctx, places, from, to)
	found := make(map[int64]*runHead, len(rows))
	for start, row := range rows {
		h := &runHead{Head: row}
		if row.Damage == nil {
			h.run, row.Damage = rollup.DecodeRunHead(level, start, row.Row.Blob)
		}
		if row.Damage != nil {
			row.Damage = fmt.Errorf("head of %s from %s: %w", level.Name, calendar.Text(start),
				row.Damage)
		}
		found[start] = h
	}
	return found, err
}

// runs returns what is stored of a level's periods that begin at q.From ≤ start ≤ q.To, with the
// metrics that can match. What is not there or cannot be decoded is in damage. late are the windows
// that have late frames, for who lets what is kept answer; known are the periods that it answered.
func (s task) runs(ctx context.Context, level rollup.Level, q *spans.Query,
	late map[int64]int64) (found map[int64]*rollup.Rollup, known int, damage []error, err error) {
	t := s.config.rollupTable(level)
	k := s.cache.Of(t.name, q)
	heads, err := s.keptRunHeads(ctx, k, &t, q, t.runOf(q.From), t.runOf(q.To), late)
	if err != nil {
		return nil, 0, nil, err
	}
	found = map[int64]*rollup.Rollup{}
	byBucket := map[int64][]*runHead{}
	for _, h := range heads {
		if h.run == nil {
			damage = append(damage, h.Damage)
			continue
		}
		byBucket[h.Place.Bucket] = append(byBucket[h.Place.Bucket], h)
	}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(spans.ReadsInFlight)
	for _, list := range byBucket {
		g.Go(func() error {
			return s.readRuns(gctx, k, &t, list, q.Matchers,
				func(run *rollup.Run, isKept bool, bad []error) {
					mu.Lock()
					defer mu.Unlock()
					for _, r := range run.Rollups() {
						if r.Start >= q.From && r.Start <= q.To {
							found[r.Start] = r
							if isKept {
								known++
							}
						}
					}
					damage = append(damage, bad...)
				})
		})
	}
	err = g.Wait()
	return found, known, damage, err
}

// readRuns reads runs of one partition, and calls take with each of them, with whether all that is
// wanted of it was kept, and with what cannot be read.
func (s task) readRuns(ctx context.Context, k *spans.Cached, t *rollupTable, heads []*runHead,
	matchers []*labels.Matcher, take func(run *rollup.Run, isKept bool, damage []error)) error {
	f := s.finderOfRollups(ctx, &heads[0].Place)
	m := spans.NewMatches(ctx, matchers)
	list := make([]spans.Planned, len(heads))
	for i, h := range heads {
		list[i] = spans.Planned{Head: h.Head, Types: spans.RunTypes(h.run), Finder: f,
			Plan: spans.NewPlan(k.Get(h.Start, t.run))}
	}
	if err := s.spanTask().ReadPlanned(ctx, k, list, m, nil, 1); err != nil {
		return err
	}
	for i, h := range heads {
		c := list[i].Plan
		of, bad, isKept, err := c.Columns(k, h.Start, t.run, func() (spans.Columns, []error, error) {
			run, bad, err := rollup.OpenRun(memory.Until(ctx, s.lease), h.run, c.Types,
				f.Find, c.Parts)
			return runColumns{run}, bad, cmp.Or(err, f.Err)
		})
		if err != nil {
			return err
		}
		if of == nil { // nothing matches
			of = runColumns{rollup.EmptyRun(h.run)}
		}
		run := of.(runColumns).Run.Restrict(m.Any) // kept are others, too
		if err := ctx.Err(); err != nil {
			return err
		}
		take(run, isKept, bad)
	}
	return nil
}

// finderOfRollups finds the dictionaries of a partition of rollups.
func (s task) finderOfRollups(ctx context.Context, p *spans.Partition) *dictionaries.Finder {
	return s.series.RollupFinder(ctx, s.work, p.Table, p.Account, p.Node, p.Bucket)
}

// runWriter writes a run as it is encoded.
type runWriter struct {
	spans.Writer
	task    task
	encoder *rollup.RunEncoder
	level   rollupTable
	written prometheus.Counter
}

func (s task) runWriter(level rollup.Level, account string, node uuid.UUID,
	start, stamp int64) *runWriter {
	t := s.config.rollupTable(level)
	return &runWriter{level: t, encoder: rollup.NewRunEncoder(level, start, t.run),
		written: s.metrics.RollupBytes.WithLabelValues(level.Name),
		task:    s,
		Writer: spans.Writer{Task: s.spanTask(), Place: spans.NewPartition(s.byName[t.name],
			account, node, t.bucketOf(start)), Start: start, Edition: spans.DrawEdition(t.run), Stamp: stamp,
			TTL: calendar.TimeLeft(start+t.run, stamp, t.ttl)}}
}

// finishRun writes the dictionaries, what is left of the rows, and the head.
func (w *runWriter) finishRun(ctx context.Context) error {
	enc := w.encoder.Finish()
	ttl := w.level.ttl + time.Duration(w.level.bucket)*time.Millisecond
	if err := w.task.series.WriteMissing(ctx, w.task.work,
		dictionaries.InRollups(w.Place.Table, w.Place.Account, w.Place.Node, w.Place.Bucket, ttl),
		enc.Dictionaries, nil); err != nil {
		return err
	}
	if err := w.Finish(ctx, layout.Head{Blob: enc.Head}); err != nil {
		return fmt.Errorf("write rollups of %s: %w", w.level.Name, err)
	}
	w.written.Add(float64(w.Bytes))
	return nil
}

// writeRun writes the periods of a run, in any order.
func (s task) writeRun(ctx context.Context, level rollup.Level, account string, node uuid.UUID,
	start int64, list []*rollup.Rollup, stamp int64) error {
	w := s.runWriter(level, account, node, start, stamp)
	if err := w.Add(ctx, w.encoder.Add(list)); err != nil {
		return err
	}
	return w.finishRun(ctx)
}
