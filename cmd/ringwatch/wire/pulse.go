package wire

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/topic"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/stream"
)

// Rules must tell silent nodes from a pipeline that is away. So each process that takes frames says
// every pulseEvery that it does, and since when it has without a break.
const (
	pulseEvery = 2 * time.Second
	// pulseMissed is after how long without a word the pipeline counts as away.
	pulseMissed = 15 * time.Second
	// pulseAhead is how much longer than its last word it counts as whole.
	pulseAhead = 5 * time.Second
)

// beatEntry is what a process says, by an id that is its own for as long as it has no break. So the
// last word of each id tells from when until when frames were taken.
type beatEntry struct {
	Since int64 `json:"since"` // ms
}

// beatPulse says that this process takes frames, until ctx ends.
func beatPulse(ctx context.Context, p *Process, log *stream.Log) error {
	id := uuid.NewString()
	since := wallClock()
	last, failed := since, false
	for ctx.Err() == nil {
		now := wallClock()
		if now.Sub(last) > pulseMissed {
			id, since = uuid.NewString(), now
		}
		if failed {
			// Kafka may take this word at any moment until it is given up, and has taken no frames
			// before that.
			id, since = uuid.NewString(), now.Add(p.Config.Kafka.PublishTimeout)
		}
		value, err := json.Marshal(beatEntry{Since: since.UnixMilli()})
		if err != nil {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, p.Config.Kafka.PublishTimeout)
		err = log.Publish(bounded, stream.Entry{Account: "ringwatch", Key: id, Value: value})
		cancel()
		failed = err != nil
		if err == nil {
			last = wallClock()
		} else if ctx.Err() == nil {
			p.Log.Debug("cannot write the sign that ingest works", "error", err)
		}
		clock.Pause(ctx, pulseEvery)
	}
	return nil
}

// wallClock is the time without its monotonic part, which stands still while the machine sleeps:
// nobody took frames then.
func wallClock() time.Time { return time.Now().Round(0) }

// pulse is what the processes that take frames say.
type pulse struct {
	mu   sync.Mutex
	of   map[string]heartbeat
	last time.Time
	took []read.Span // when frames were taken, the oldest first, with a break between two
}

type heartbeat struct{ at, since time.Time }

func (h *pulse) take(e stream.Entry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var of beatEntry
	if json.Unmarshal(e.Value, &of) != nil {
		return nil
	}
	if h.of == nil {
		h.of = map[string]heartbeat{}
	}
	h.of[e.Key] = heartbeat{e.At, time.UnixMilli(of.Since)}
	h.tookFrames(of.Since, e.At.UnixMilli())
	if e.At.After(h.last) {
		h.last = e.At
	}
	for id, beat := range h.of {
		if h.last.Sub(beat.at) > pulseMissed {
			delete(h.of, id)
		}
	}
	return nil
}

// unbroken returns since when, without a break, at least one process has taken frames, and until
// when that is known; zero if it is not.
func (h *pulse) unbroken() (since, until time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, beat := range h.of {
		if since.IsZero() || beat.since.Before(since) {
			since = beat.since
		}
	}
	if h.last.IsZero() {
		return since, h.last
	}
	return since, h.last.Add(pulseAhead)
}

// hearPulse keeps what the API knows of the pulse. It waits for nothing: while Kafka is away it is
// not known.
func hearPulse(p *Process, h *pulse) Part {
	return func(ctx context.Context) error {
		return p.Topics.KeepReading(ctx, topic.PulseLog(), nil, h.take)
	}
}

// follow reads what is said until ctx ends.
func (h *pulse) follow(ctx context.Context, log *stream.Log) error {
	for ctx.Err() == nil {
		entries, at, err := log.Last(ctx, nil)
		if err == nil {
			for _, e := range entries {
				_ = h.take(e)
			}
			err = log.Follow(ctx, at, h.take)
		}
		if err != nil {
			clock.Pause(ctx, time.Second)
		}
	}
	return nil
}

// mostBreaks is of how many breaks it is known at most that nobody took frames.
const mostBreaks = 500

// tookFrames notes that a process took frames from one instant until another one, both in ms. What
// touches, or has less than pulseMissed between, is one span.
func (h *pulse) tookFrames(from, until int64) {
	by := read.Span{From: from, To: max(from, until)}
	near := pulseMissed.Milliseconds()
	first, _ := slices.BinarySearchFunc(h.took, by.From-near, func(s read.Span, t int64) int {
		return int(min(1, max(-1, s.To-t)))
	})
	end := first
	for end < len(h.took) && h.took[end].From <= by.To+near {
		by.From = min(by.From, h.took[end].From)
		by.To = max(by.To, h.took[end].To)
		end++
	}
	h.took = slices.Replace(h.took, first, end, by)
	oldest := h.took[len(h.took)-1].To - topic.AwayKnown.Milliseconds()
	drop := max(0, len(h.took)-1-mostBreaks)
	for h.took[drop].To < oldest {
		drop++
	}
	h.took = slices.Delete(h.took, 0, drop)
}

// away returns when nobody took frames, the oldest first. The last has no end if it lasts at now.
// Of the time before the first word that is still there nothing is known.
func (h *pulse) away(now time.Time) []read.Span {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.breaks()
	if n := len(h.took); n > 0 && now.UnixMilli()-h.took[n-1].To > pulseMissed.Milliseconds() {
		list = append(list, read.Span{From: h.took[n-1].To})
	}
	return list
}

// awayNow is away at this moment.
func (h *pulse) awayNow() []read.Span { return h.away(clock.Now()) }

// breaks returns the times between those in which frames were taken.
func (h *pulse) breaks() (list []read.Span) {
	for i := 1; i < len(h.took); i++ {
		list = append(list, read.Span{From: h.took[i-1].To, To: h.took[i].From})
	}
	return list
}

// unheard returns all times in which nobody is known to have taken frames, the oldest first: beside
// breaks those before the first word that is still there, and after the last one.
func (h *pulse) unheard() []read.Span {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.took) == 0 {
		return nil
	}
	list := append([]read.Span{{To: h.took[0].From}}, h.breaks()...)
	return append(list, read.Span{From: h.took[len(h.took)-1].To})
}
