// Package watch is the role that reads what has no agent, and sends what it reads as frames through
// ingest, as an agent would. Begin with Watcher. Of our packages it imports frame and stream.
//
//	watch/kafka, watch/redis ──Read──► Watcher ──┐
//	watch/scrape ───────────────Take──► Watcher ─┴─ watch/encoder ──► watch/send ──► ingest
//	                                       ▲
//	                              Shares: which targets are ours
//
// What it promises: each target is read at its interval, and has a bound in time and in series. A
// target that is slow, lies or fails harms no other: it is shown with up 0 and a sentence that says
// why. Of several processes that share targets, one reads each.
//
// A target that is taken out of the configuration or of what discovery names is told to have left.
//
// What bites: a target's node is silent, like any node, while nobody reads it. Its up is what was
// found when it was last read.
package watch

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/encoder"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// Reader reads one target, by one goroutine at a time.
type Reader interface {
	// Read looks at the target once. What it returns with an error is shown, too. The error is a
	// sentence for people, with the remedy.
	Read(ctx context.Context) (*reading.Reading, error)
	Close()
}

// Source is a target that a Watcher reads itself.
type Source struct {
	Target    reading.Target
	Timeout   time.Duration // of one reading
	MaxSeries int           // of one reading; what is above is left out and counted
	// Open makes what reads the target, when it becomes this process's. It waits for nothing.
	Open func() (Reader, error)
}

// Deps is what a Watcher is given to work with.
type Deps struct {
	// Put takes a node's frame, without waiting. lost is called if the frame will not arrive.
	Put     func(node uuid.UUID, frame []byte, lost func())
	Shares  *Shares
	Metrics prometheus.Registerer
	Log     *slog.Logger
	Clock   func() time.Time // nil: time.Now
	// Remember is the file in which the targets outlive the process; empty: it knows only those
	// that it has found itself.
	Remember string
}

// Watcher reads targets and makes frames of what they say.
type Watcher struct {
	sources []Source
	deps    Deps
	ids     map[uuid.UUID]bool // of the sources
	started int64
	metrics *metrics
	roll    *roll

	mu      sync.Mutex
	targets map[uuid.UUID]*target
}

// target is what is remembered of a target between two readings.
type target struct {
	mu      sync.Mutex
	encoder *encoder.Encoder
	facts   []frame.Fact // of its last reading that had any
	said    string       // what the log has of it; empty: nothing
	removed bool         // it was told that it has left
	heard   time.Time
}

// New makes a watcher of sources; none is opened yet.
func New(sources []Source, d Deps) (*Watcher, error) {
	if d.Clock == nil {
		d.Clock = time.Now
	}
	seen := map[uuid.UUID]bool{}
	for i := range sources {
		t := &sources[i].Target
		if seen[t.ID()] {
			return nil,
				fmt.Errorf("two targets are job %q, instance %q of cluster %q: give one of "+
					"them another instance", t.Job, t.Instance, t.Cluster)
		}
		seen[t.ID()] = true
	}
	m, err := newMetrics(d.Metrics)
	return &Watcher{sources: sources, ids: seen, deps: d, started: d.Clock().UnixMilli(),
		metrics: m, roll: newRoll(d), targets: map[uuid.UUID]*target{}}, err
}

// Reads reports whether a target is one of the sources: nobody else may hand over its readings.
func (w *Watcher) Reads(id uuid.UUID) bool { return w.ids[id] }

// Run reads the sources until ctx ends. It never fails. Found is to be called once it is known
// which targets there are beside the sources, if only to say that there are none.
func (w *Watcher) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for i := range w.sources {
		all.Go(func() { w.follow(ctx, &w.sources[i]) })
	}
	all.Go(func() { w.forget(ctx) })
	all.Wait()
	return nil
}

// follow reads one source at its interval, while it is this process's.
func (w *Watcher) follow(ctx context.Context, s *Source) {
	var reader Reader
	closed := func() {
		if reader != nil {
			reader.Close()
			reader = nil
		}
	}
	defer closed()
	id := s.Target.ID()
	for {
		if !sleep(ctx, untilNext(w.deps.Clock(), s.Target.Interval, id)) {
			return
		}
		if !w.deps.Shares.Mine(id) {
			closed()
			continue
		}
		began := w.deps.Clock()
		var r *reading.Reading
		var err error
		if reader == nil {
			if reader, err = s.Open(); err != nil {
				reader = nil // it may be a nil of the reader's own type
			}
		}
		if err == nil {
			r, err = w.read(ctx, s, reader)
		}
		if ctx.Err() != nil {
			return
		}
		took := w.deps.Clock().Sub(began)
		w.metrics.seconds.WithLabelValues(s.Target.Kind).Observe(took.Seconds())
		r, left := reported(r, took, err, s.MaxSeries)
		if w.metrics.left.Add(float64(left)); left > 0 && err == nil {
			err = fmt.Errorf("max_series is %d and %d more were found, which are left out: raise "+
				"max_series, or read less of the target", s.MaxSeries, left)
		}
		w.Take(s.Target, began, r, err)
	}
}

// read reads a source once, within its time. A reader that panics has failed.
func (w *Watcher) read(ctx context.Context, s *Source, reader Reader) (r *reading.Reading,
	err error) {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("reading failed within Ringwatch: %v; please report it", p)
			w.deps.Log.Error("a reader panicked", "job", s.Target.Job,
				"instance", s.Target.Instance, "panic", p)
		}
	}()
	r, err = reader.Read(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it did not answer within %s: look whether it is overloaded, or raise "+
			"timeout", s.Timeout)
	}
	return r, err
}

// untilNext returns how long it is until a target is read: targets are spread over their interval
// by their ids, and keep their place over restarts.
func untilNext(now time.Time, interval time.Duration, id uuid.UUID) time.Duration {
	place := int64(binary.BigEndian.Uint64(id[8:])>>2) % int64(interval)
	since := (now.UnixNano() - place) % int64(interval)
	return interval - time.Duration(since)
}

// sleep waits; false if ctx has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// reported returns a reading with what is said of reading itself in front, under Prometheus's
// names. It is cut to so many series, and left is how many were left out.
func reported(r *reading.Reading, took time.Duration, err error, most int) (
	all *reading.Reading, left int) {
	all = &reading.Reading{}
	series := 0
	if r != nil {
		series = r.Series()
		all.Facts, all.Tables = r.Facts, r.Tables
	}
	up := 1.0
	if err != nil && series == 0 {
		up = 0
	}
	left = all.Limit(most)
	gauge := func(name, unit string, v float64) reading.Column {
		return reading.Column{Name: name, Kind: frame.GaugeDouble, Unit: unit,
			Doubles: []float64{v}}
	}
	all.Tables = append([]reading.Table{{Type: "scrape", Rows: [][]string{{}},
		Columns: []reading.Column{gauge("up", "", up),
			gauge("scrape_duration_seconds", "seconds", took.Seconds()),
			gauge("scrape_samples_scraped", "", float64(series)),
			gauge("scrape_samples_post_metric_relabeling", "", float64(series-left))}}},
		all.Tables...)
	return all, left
}

// maxSentence bounds what is said of an error, in bytes.
const maxSentence = 300

// failure is the table with the sentence that says why a target could not be read, or not whole.
func failure(of *reading.Target, err error) reading.Table {
	text := encoder.Clipped(err.Error())
	if len(text) > maxSentence {
		text = encoder.Clipped(text[:maxSentence])
	}
	names, row := []string{"error"}, []string{text}
	if of.Labelled { // else the encoder adds them
		names, row = append(names, "instance", "job"), append(row, of.Instance, of.Job)
	}
	return reading.Table{Type: "scrape_error", Labels: names, Rows: [][]string{row},
		Columns: []reading.Column{{Name: "ringwatch_target_error_info", Kind: frame.GaugeDouble,
			Doubles: []float64{1}}}}
}

// Take sends what was read of a target, which is never nil, and why it could not be read or not
// whole, if err is not nil. Readings of targets that are another process's are dropped.
func (w *Watcher) Take(of reading.Target, at time.Time, r *reading.Reading, err error) {
	id := of.ID()
	t := w.target(&of, id, at)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.removed {
		return // a reading that was on its way
	}
	t.encoder.Of(of)
	result := "ok"
	if err != nil {
		result = "failed"
		r = &reading.Reading{Facts: r.Facts, Tables: append([]reading.Table{failure(&of, err)},
			r.Tables...)}
	}
	w.metrics.reads.WithLabelValues(of.Kind, result).Inc()
	t.note(w.deps.Log, &of, err)
	if len(r.Facts) > 0 {
		t.facts = r.Facts
	}
	b, left, err := t.encoder.Frame(at.UnixMilli(), 0,
		&reading.Reading{Facts: t.facts, Tables: r.Tables})
	w.metrics.left.Add(float64(left))
	if err != nil {
		w.metrics.unfit.Inc()
		w.deps.Log.Error("what a target says does not fit into a frame: lower its max_series",
			"job", of.Job, "instance", of.Instance, "error", err)
		return
	}
	w.put(id, t, b)
}

// put sends a target's frame, which its encoder has just made. t.mu is held. It reports whether the
// target is this process's.
func (w *Watcher) put(id uuid.UUID, t *target, b []byte) (sent bool) {
	at := t.encoder.Last()
	// Asked last, so that nothing is sent once Revoke has returned.
	w.deps.Shares.whileMine(id, func() {
		sent = true
		w.deps.Put(id, b, func() {
			go func() { // it may be called by Put, while the target is locked
				t.mu.Lock()
				defer t.mu.Unlock()
				t.encoder.Lost(at)
			}()
		})
	})
	return sent
}

// target returns what is remembered of a target.
func (w *Watcher) target(of *reading.Target, id uuid.UUID, at time.Time) *target {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.targets[id]
	if t == nil {
		var labels []frame.Fact
		if !of.Labelled {
			labels = []frame.Fact{{Name: "instance", Value: of.Instance},
				{Name: "job", Value: of.Job}}
		}
		t = &target{encoder: encoder.New(*of, w.started, labels...)}
		w.targets[id] = t
		w.metrics.targets.Set(float64(len(w.targets)))
	}
	t.heard = at
	return t
}

// tidyEvery is how often that is looked at; a variable for tests.
var tidyEvery = time.Minute

// forgetAfter is how long after its last reading a target is forgotten.
const forgetAfter = 10 * time.Minute

// forget forgets targets that are read no more, and says of those that have left what could not be
// said before.
func (w *Watcher) forget(ctx context.Context) {
	for sleep(ctx, tidyEvery) {
		w.roll.mu.Lock()
		w.tidyRoll()
		w.roll.mu.Unlock()
		w.mu.Lock()
		for id, t := range w.targets {
			if w.deps.Clock().Sub(t.heard) > forgetAfter {
				delete(w.targets, id)
			}
		}
		w.metrics.targets.Set(float64(len(w.targets)))
		w.mu.Unlock()
	}
}

// note writes a line when a target cannot be read any more, for another reason, or again.
func (t *target) note(log *slog.Logger, of *reading.Target, err error) {
	said := ""
	if err != nil {
		said = err.Error()
	}
	if said == t.said {
		return
	}
	t.said = said
	log = log.With("kind", of.Kind, "cluster", of.Cluster, "job", of.Job, "instance", of.Instance)
	if err != nil {
		log.Warn("a target cannot be read, or not whole", "error", err)
		return
	}
	log.Info("a target can be read again")
}
