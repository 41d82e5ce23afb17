// Package columns keeps closed windows as columns: generation v3. A window lies in a few rows
// (v3_windows), which live for as long as hours need them, and an hour in a row for each metric
// (v3_hours). Both are spans: window/COLUMNS.md has the blobs, package layout the rows. Package
// hours makes an hour of windows; in which partition it lies, buckets.go says.
package columns

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

// The names of v3's tables.
const (
	WindowsTable = "v3_windows"
	HoursTable   = "v3_hours"
	BucketsTable = "v3_buckets"
)

// Tables are v3's, with what writing and reading them takes.
type Tables struct {
	Windows, Hours, Buckets *rows.Table

	series  *dictionaries.Table
	limits  *calendar.Limits
	clock   *calendar.Clock
	cache   *spans.Cache // nil: nothing is kept
	metrics Metrics
}

// Metrics count what is written of windows.
type Metrics struct {
	Bytes   prometheus.Counter // before compression
	Columns prometheus.Counter
}

// New returns v3's tables. A nil cache keeps nothing.
func New(series *dictionaries.Table, limits *calendar.Limits, clock *calendar.Clock,
	cache *spans.Cache, m Metrics) *Tables {
	return &Tables{series: series, limits: limits, clock: clock, cache: cache, metrics: m,
		Windows: windowsLayout(limits.RawTTL), Buckets: bucketsLayout(limits.RawTTL),
		Hours: spans.Layout(HoursTable, "Ringwatch v3: hours by metric; entity_type = part = "+
			"empty is the head row, written last", limits.RawTTL)}
}

func windowsLayout(rawTTL time.Duration) *rows.Table {
	return &rows.Table{
		Name: WindowsTable,
		Comment: "Ringwatch v3: closed windows until their hour is made; part 0 is the head " +
			"row, written last",
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node"),
			rows.TimeColumn("hour")},
		// All heads of an hour are neighbours: they say which of the other rows are to be read.
		Clustering: []rows.Column{{Name: "part", Kind: rows.Int32}, rows.TimeColumn("at")},
		Values:     []rows.Column{{Name: "blob", Kind: rows.Blob}},
		TTL:        min(calendar.WindowTTL, rawTTL), AgeUnit: time.Minute,
		Grace:       10 * time.Minute,
		Compression: rows.Zip(1, 16),
	}
}

func bucketsLayout(rawTTL time.Duration) *rows.Table {
	return &rows.Table{
		Name:       BucketsTable,
		Comment:    "Ringwatch v3: which partitions of v3_hours a node has; length in ms",
		Partition:  []rows.Column{rows.TextColumn("account"), rows.IDColumn("node")},
		Clustering: []rows.Column{rows.TimeColumn("start"), {Name: "length", Kind: rows.Int64}},
		// It must outlive what is written to the bucket's last hour.
		TTL: rawTTL + time.Duration(maxBucket*window.HourMillis)*time.Millisecond +
			bucketSlack,
		AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// Generation is v3 at work.
type Generation struct {
	tables *Tables
	task   spans.Task
}

// At returns the tables at work for a task.
func (t *Tables) At(task spans.Task) Generation { return Generation{t, task} }

// Tables returns the layouts of its tables.
func (g Generation) Tables() []*rows.Table {
	return []*rows.Table{g.tables.Windows, g.tables.Hours, g.tables.Buckets}
}
