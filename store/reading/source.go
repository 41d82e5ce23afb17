// Package reading answers what nodes said: windows from their columns and from frames, and rollups.
// Start with Source.
//
// A window is answered from its hour or its own rows, if they have it, and from its frames, if it
// is not closed or has late ones. A rollup is answered from its run, if that is final, and else
// computed of finer ones, down to windows.
package reading

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/late"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/spans"
)

// Source is what answers are made of.
type Source struct {
	Generations *generations.Set
	Rollups     *rollups.Tables
	Fresh       *fresh.Frames
	Late        *late.Windows
	Sent        dictionaries.Sent // of key frames
	Limits      *calendar.Limits
	Clock       *calendar.Clock
	Cache       *spans.Cache // nil: nothing is kept
	FewRows     int          // see finalRunsReader; FewRows but in tests
	Metrics     Metrics
}

// Metrics count what is read.
type Metrics struct {
	Windows *prometheus.CounterVec // by layer: raw, fresh, kept
	Damaged prometheus.Counter     // blobs that could not be decoded
}

// Reader answers for a task.
type Reader struct {
	source *Source
	task   spans.Task
}

// At returns a Reader that answers for a task.
func (s *Source) At(task spans.Task) Reader { return Reader{s, task} }
