package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/rollup"
)

// rollupTable is where a level's rollups are: a row per metric and period, and in the same partition a meta row per period (entity_type = metric = empty) and the
// dictionaries (entity_type empty, metric the hash, start the partition's). Dictionaries are not those of raw, which expire with it.
type rollupTable struct {
	rollup.Level
	name   string
	bucket int64 // ms that a partition holds
	ttl    time.Duration
}

// rollupPeriods is how many periods a partition holds: half a day, six days, 144 days. That makes 1 to 10 MiB before compression of a busy node of 2,000 to
// 10,000 series, and of an idle one of ten times as many: docs/STORE.md has the figures.
const rollupPeriods = 144

func (c *Config) rollupTables() []rollupTable {
	table := func(level rollup.Level, name string, ttl time.Duration) rollupTable {
		return rollupTable{level, name, rollupPeriods * level.Millis, ttl}
	}
	return []rollupTable{
		table(rollup.FiveMinutes, "rollup_5m", c.FiveMinutesTTL), table(rollup.Hour, "rollup_1h", c.HourTTL), table(rollup.Day, "rollup_1d", c.DayTTL),
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

func (t *rollupTable) bucketOf(start int64) int64 { return start - mod(start, t.bucket) }

func (c *Config) rollupLayouts() []tableLayout {
	var list []tableLayout
	for _, t := range c.rollupTables() {
		list = append(list, tableLayout{
			name:      t.name,
			partition: []columnLayout{{name: "account", kind: "text"}, {name: "node", kind: "uuid"}, {name: "bucket", kind: "timestamp"}},
			cluster:   []columnLayout{{name: "entity_type", kind: "text"}, {name: "metric", kind: "text"}, {name: "start", kind: "timestamp"}},
			rest:      []columnLayout{{name: "blob", kind: "blob"}},
			comment:   "Ringwatch: rollups of " + t.Name + "; entity_type = metric = empty is the meta row of its period, entity_type = empty else a dictionary",
			ttl:       t.ttl, unit: time.Hour, gcGrace: 3 * time.Hour, compression: zstd(3, 64),
		})
	}
	return list
}

// validateRollups returns what is wrong with the TTLs. A coarser level is computed anew from the finer one when a late frame comes, so that must still be there.
func (c *Config) validateRollups() error {
	var errs []error
	below, name := c.RawTTL+24*time.Hour, "raw_ttl and a day"
	for _, l := range []struct {
		name string
		ttl  time.Duration
	}{{"five_minutes_ttl", c.FiveMinutesTTL}, {"hour_ttl", c.HourTTL}, {"day_ttl", c.DayTTL}} {
		if l.ttl < below {
			errs = append(errs, fmt.Errorf("%s: %s: use at least %s, %s", l.name, l.ttl, name, below))
		}
		below, name = l.ttl, l.name
		if l.ttl > maxTTL {
			errs = append(errs, fmt.Errorf("%s: %s: use at most %s, which is what Cassandra takes", l.name, l.ttl, maxTTL))
		}
	}
	return errors.Join(errs...)
}

// maxTTL is Cassandra's 20 years, less a year in which dictionaries outlive the rollups of their partition.
const maxTTL = 19 * 365 * 24 * time.Hour
