package schedule

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

func (s *Schedule) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spans) == 0
}

// Age is how long the hour that is due longest has waited to be made.
func (s *Schedule) Age() (age time.Duration) {
	now := s.config.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, o := range s.spans {
		if d.Length == window.HourMillis {
			age = max(age, now.Sub(o.at))
		}
	}
	return age
}

// Owed returns how many spans of a length are to be made, when their time comes or now, and how
// many partitions have yet to be looked at.
func (s *Schedule) Owed(length int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.unread)
	for d := range s.spans {
		if d.Length == length {
			n++
		}
	}
	return n
}

// Due returns how many spans are to be made by now, and how many partitions have yet to be looked
// at.
func (s *Schedule) Due() (n int) {
	now := s.config.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.spans {
		if !o.at.After(now) {
			n++
		}
	}
	return n + len(s.unread)
}

// readySpan is a Span whose time has come.
type readySpan struct {
	Span
	*entry
}

// ready lists the spans that are to be made now: no window of theirs is open, and no hour of a
// day is due. With all, a span waits only if it is not over; a load's does not wait even then,
// because what comes later makes it again.
func (s *Schedule) ready(now time.Time, all bool) []readySpan {
	if s.empty() {
		return nil
	}
	type spanOf struct {
		account string
		node    uuid.UUID
		start   int64
	}
	busy := map[spanOf]bool{} // hours and days that something is open in
	for _, k := range s.open() {
		busy[spanOf{k.Account, k.Node, calendar.Hour(k.Start)}] = true
		busy[spanOf{k.Account, k.Node, -calendar.Day(k.Start)}] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.spans {
		if d.Length == window.HourMillis {
			busy[spanOf{d.Account, d.Node, -calendar.Day(d.Start)}] = true
		}
	}
	var list []readySpan
	for d, o := range s.spans {
		key := spanOf{d.Account, d.Node, d.Start}
		if d.Length == rollup.Day.Millis {
			key.start = -d.Start
		}
		late := all && (s.loads || now.UnixMilli() >= d.Start+d.Length)
		waits := busy[key] && now.Sub(o.at) < mostLate
		if o.making || waits || o.after.After(time.Now()) || !late && o.at.After(now) {
			continue
		}
		list = append(list, readySpan{d, o})
	}
	slices.SortFunc(list, func(a, b readySpan) int { return a.at.Compare(b.at) })
	return list
}
