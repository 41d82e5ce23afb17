// Package closing turns frames of windows that are over into columns. Start with Maker, which
// closes one window, and Closer, which closes those whose time has come.
package closing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/uniting"
)

// Maker closes windows. Its methods may be called from many goroutines.
type Maker struct {
	Engine      rows.Engine
	Generations *generations.Set
	Fresh       *fresh.Frames
	Sent        dictionaries.Sent // of key frames
	Limits      *calendar.Limits
	Clock       *calendar.Clock
	Log         *slog.Logger
	Memory      *memory.Budget // nil: whatever it needs
	AtOnce      *Limiter       // how many Closers close
	Metrics     Metrics
}

// Metrics count windows.
type Metrics struct {
	OpenWindows prometheus.Gauge
	Deferred    prometheus.Gauge       // that need more memory than their account may have
	Closed      *prometheus.CounterVec // by result
	Seconds     prometheus.Histogram   // to close one
	LostFrames  *prometheus.CounterVec // that could not be read, by reason
	Damaged     prometheus.Counter     // blobs that could not be decoded
	Retries     prometheus.Counter     // of calls
}

// Close turns a window's frames into the rows of its generation. It may be repeated at any time and
// run in two processes at once: the window is then what the later reading of its frames gives.
func (s *Maker) Close(ctx context.Context, task spans.Task, account string, node uuid.UUID,
	start int64) error {
	began := time.Now()
	// Rows carry the time of this reading, so that a process that read earlier, and perhaps less,
	// never overwrites one that read later, however slow it is.
	stamp := s.Clock.Stamp()
	result, err := s.tryWindow(ctx, task, account, node, start, stamp)
	if err == nil {
		s.Metrics.Closed.WithLabelValues(result).Inc()
		s.Metrics.Seconds.Observe(time.Since(began).Seconds())
	}
	return err
}

// tryWindow is Close with the time of its reading. It also says what became of the window.
func (s *Maker) tryWindow(ctx context.Context, task spans.Task, account string, node uuid.UUID,
	start, stamp int64) (string, error) {
	frames, err := s.Fresh.InWindow(ctx, task.Work, task.Lease, account, node, start)
	if err != nil {
		return "", fmt.Errorf("store: read frames of window %d: %w", start, err)
	}
	if len(frames) == 0 {
		return "empty", nil
	}
	w, rep, err := building.Known(task.Lease, window.Node{Account: account, ID: node}, frames,
		s.Sent.Of(account))
	if errors.Is(err, frame.ErrMemory) {
		return "", err
	}
	if err != nil || len(w.Times) == 0 {
		s.lost(rep)
		s.Log.Warn("store: a window has no frame that can be read", "node", node, "window", start,
			"frames", len(frames), "error", err)
		return "empty", nil
	}
	gen, err := s.Generations.At(ctx, task, start)
	if err != nil {
		return "", err
	}
	query := spans.Query{Account: account, Node: node, From: start, To: start, HeadsOnly: true,
		Late: func() (map[int64]int64, error) { return map[int64]int64{start: 0}, nil }}
	before, err := generations.ReadAll(ctx, gen, query)
	if err != nil {
		return "", fmt.Errorf("store: read head of window %d: %w", start, err)
	}
	var own *spans.Span // the window as it is stored, if it is
	var stored []int64
	for i := range before {
		k := &before[i]
		for _, err := range k.Damage {
			s.Metrics.Damaged.Inc()
			// a newer program has closed it, with these frames or more
			if k.Start == start && errors.Is(err, blobs.ErrVersion) {
				s.Log.Warn("store: left a window to the newer program that closed it", "node", node,
					"error", err)
				return "unchanged", nil
			}
		}
		if k.Head == nil {
			continue
		}
		stored = append(stored, k.Head.Times...)
		if k.Length == calendar.WindowMillis {
			own = k
		}
	}
	slices.Sort(stored)
	if calendar.Within(w.Times, stored) {
		// the frames it was made of, or some of them: the others have expired
		return "unchanged", nil
	}
	result := "written"
	if own != nil && !calendar.Within(own.Head.Times, w.Times) {
		query.HeadsOnly = false
		old, err := generations.ReadAll(ctx, gen, query)
		if err != nil {
			return "", fmt.Errorf("store: read window %d: %w", start, err)
		}
		for _, k := range old {
			if k.Length != calendar.WindowMillis || k.Window == nil {
				continue
			}
			s.Metrics.Damaged.Add(float64(len(k.Damage)))
			// the union of both takes no more than both
			if err := task.Lease.Take(task.Lease.Taken()); err != nil {
				return "", err
			}
			w = uniting.Windows(start, calendar.WindowMillis, []*window.Window{w, k.Window})
			result = "merged"
		}
	}
	// its columns, encoded: they are smaller than what they encode
	if err := task.Lease.Take(task.Lease.Taken() / 2); err != nil {
		return "", err
	}
	s.lost(rep)
	if calendar.Expired(w.Start+calendar.WindowMillis, stamp, s.Limits.RawTTL) {
		return "expired", nil
	}
	return result, gen.Write(ctx, w, rep, stamp)
}

// lost counts the frames of a window that could not be read: once per time that the window is
// written.
func (s *Maker) lost(rep window.Report) {
	s.Metrics.LostFrames.WithLabelValues("corrupt").Add(float64(rep.Corrupt))
	s.Metrics.LostFrames.WithLabelValues("missing_key").Add(float64(rep.MissingKey))
	s.Metrics.LostFrames.WithLabelValues("excess").Add(float64(rep.Excess))
}
