package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/uniting"
)

// closeWindow is Writer.CloseWindow.
func (s task) closeWindow(ctx context.Context, account string, node uuid.UUID, start int64) error {
	began := time.Now()
	// Rows carry the time of this reading, so that a process that read earlier, and perhaps less,
	// never overwrites one that read later, however slow it is.
	stamp := s.clock.Stamp()
	result, err := s.tryWindow(ctx, account, node, start, stamp)
	if err == nil {
		s.metrics.Closed.WithLabelValues(result).Inc()
		s.metrics.CloseSeconds.Observe(time.Since(began).Seconds())
	}
	return err
}

// tryWindow is closeWindow with the time of its reading. It also says what became of the window.
func (s task) tryWindow(ctx context.Context, account string, node uuid.UUID,
	start, stamp int64) (string, error) {
	frames, err := s.fresh.InWindow(ctx, s.work, s.lease, account, node, start)
	if err != nil {
		return "", fmt.Errorf("store: read frames of window %d: %w", start, err)
	}
	if len(frames) == 0 {
		return "empty", nil
	}
	w, rep, err := building.Known(s.lease, window.Node{Account: account, ID: node}, frames,
		s.sent.Of(account))
	if errors.Is(err, frame.ErrMemory) {
		return "", err
	}
	if err != nil || len(w.Times) == 0 {
		s.lost(rep)
		s.log.Warn("store: a window has no frame that can be read", "node", node, "window", start,
			"frames", len(frames), "error", err)
		return "empty", nil
	}
	gen, err := s.generations.At(ctx, s.spanTask(), start)
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
			s.metrics.Damaged.Inc()
			// a newer program has closed it, with these frames or more
			if k.Start == start && errors.Is(err, blobs.ErrVersion) {
				s.log.Warn("store: left a window to the newer program that closed it", "node", node,
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
			s.metrics.Damaged.Add(float64(len(k.Damage)))
			// the union of both takes no more than both
			if err := s.lease.Take(s.lease.Taken()); err != nil {
				return "", err
			}
			w = uniting.Windows(start, calendar.WindowMillis, []*window.Window{w, k.Window})
			result = "merged"
		}
	}
	// its columns, encoded: they are smaller than what they encode
	if err := s.lease.Take(s.lease.Taken() / 2); err != nil {
		return "", err
	}
	s.lost(rep)
	if calendar.Expired(w.Start+calendar.WindowMillis, stamp, s.config.RawTTL) {
		return "expired", nil
	}
	return result, gen.Write(ctx, w, rep, stamp)
}

// lost counts the frames of a window that could not be read: once per time that the window is
// written.
func (s *Store) lost(rep window.Report) {
	s.metrics.LostFrames.WithLabelValues("corrupt").Add(float64(rep.Corrupt))
	s.metrics.LostFrames.WithLabelValues("missing_key").Add(float64(rep.MissingKey))
	s.metrics.LostFrames.WithLabelValues("excess").Add(float64(rep.Excess))
}
