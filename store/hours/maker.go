// Package hours makes hours and days of nodes: the columns of an hour of those of its windows, and
// rollups of five minutes, hours and days. Start with Maker. Package schedule says when.
package hours

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rollups"
)

// Maker makes hours and days. Its methods may be called from many goroutines.
type Maker struct {
	Generations  *generations.Set
	Rollups      *rollups.Tables
	Dictionaries *dictionaries.Table
	Limits       *calendar.Limits
	Clock        *calendar.Clock
	Log          *slog.Logger
	Metrics      Metrics
}

// Metrics count what was made.
type Metrics struct {
	Hours, Days   *prometheus.CounterVec   // that were due, by result
	Seconds       prometheus.Histogram     // time to make an hour
	Bytes         prometheus.Counter       // of hours, before compression
	RollupSeconds *prometheus.HistogramVec // time to compute a rollup, by level
	Damaged       prometheus.Counter       // blobs that could not be decoded
}
