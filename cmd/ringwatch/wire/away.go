package wire

import (
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/query"
)

// For so long it is known when nobody took frames, and of so many breaks at most.
const (
	awayKnown  = 14 * 24 * time.Hour
	mostBreaks = 500
)

// tookFrames notes that a process took frames from one instant until another one, both in ms. What
// touches, or has less than pulseMissed between, is one span.
func (h *pulse) tookFrames(from, until int64) {
	by := query.Span{From: from, To: max(from, until)}
	near := pulseMissed.Milliseconds()
	first, _ := slices.BinarySearchFunc(h.took, by.From-near, func(s query.Span, t int64) int {
		return int(min(1, max(-1, s.To-t)))
	})
	end := first
	for end < len(h.took) && h.took[end].From <= by.To+near {
		by.From = min(by.From, h.took[end].From)
		by.To = max(by.To, h.took[end].To)
		end++
	}
	h.took = slices.Replace(h.took, first, end, by)
	oldest := h.took[len(h.took)-1].To - awayKnown.Milliseconds()
	drop := max(0, len(h.took)-1-mostBreaks)
	for h.took[drop].To < oldest {
		drop++
	}
	h.took = slices.Delete(h.took, 0, drop)
}

// away returns when nobody took frames, the oldest first. The last has no end if it lasts at now.
// Of the time before the first word that is still there nothing is known.
func (h *pulse) away(now time.Time) []query.Span {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.breaks()
	if n := len(h.took); n > 0 && now.UnixMilli()-h.took[n-1].To > pulseMissed.Milliseconds() {
		list = append(list, query.Span{From: h.took[n-1].To})
	}
	return list
}

// awayNow is away at this moment.
func (h *pulse) awayNow() []query.Span { return h.away(clock.Now()) }

// breaks returns the times between those in which frames were taken.
func (h *pulse) breaks() (list []query.Span) {
	for i := 1; i < len(h.took); i++ {
		list = append(list, query.Span{From: h.took[i-1].To, To: h.took[i].From})
	}
	return list
}

// unheard returns all times in which nobody is known to have taken frames, the oldest first: beside
// breaks those before the first word that is still there, and after the last one.
func (h *pulse) unheard() []query.Span {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.took) == 0 {
		return nil
	}
	list := append([]query.Span{{To: h.took[0].From}}, h.breaks()...)
	return append(list, query.Span{From: h.took[len(h.took)-1].To})
}
