package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Add records that a span has changed, in the table due unless that says so already. first
// is −1 for frames that are in no stream.
func (s *Schedule) Add(ctx context.Context, work rows.Work, d Span,
	first, changed int64) error {
	s.mu.Lock()
	now := entry{first: first, since: changed}
	noted := false
	if o := s.spans[d]; o != nil {
		now.first, now.since = min(o.first, first), o.since
		// the rows of what was closed first have expired: it came again
		if changed-o.since > (calendar.WindowTTL - ExpirySlack).Microseconds() {
			now.since = changed
		}
		noted = o.recorded && now.first == o.first && now.since == o.since
	}
	s.mu.Unlock()
	if !noted {
		err := s.config.Engine.Put(ctx, work, s.table,
			rows.Row{Key: d.key(), Values: []any{now.first, now.since, changed, nil}})
		if err != nil {
			return fmt.Errorf("store: note that a span is to be made: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.spans[d]
	if o == nil {
		o = &entry{}
		s.spans[d] = o
	}
	o.changed, o.made = max(o.changed, changed), 0
	o.first, o.since, o.again, o.recorded, o.at = now.first, now.since, false, true,
		s.at(d)
	o.changes++
	s.config.Metrics.Owed.Set(float64(len(s.spans)))
	return nil
}

// at is when a span is to be made: each node's at its own moment of HourSpread, unless it is late.
func (s *Schedule) at(d Span) time.Time {
	end, spread := time.UnixMilli(d.Start+d.Length), s.config.HourSpread
	if d.Length == rollup.Day.Millis {
		end, spread = end.Add(spread), spread*daySpread
	}
	at := end.Add(2*s.config.Grace + time.Duration(share(d.Node)*float64(spread)))
	if soon := s.config.Clock.Now().Add(min(lateSpanDelay, s.config.HourSpread)); at.Before(soon) {
		return soon
	}
	return at
}

// Offset is what an entry says of where a span's frames begin.
func (s *Schedule) Offset(first int64) int64 {
	if s.loads {
		return -1
	}
	return first
}

// LowWater returns the offset where the oldest frames begin that are wanted again; false: none are.
func (s *Schedule) LowWater(partition int32) (offset int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, o := range s.spans {
		if d.Partition == partition && o.again && (!ok || o.first < offset) {
			offset, ok = o.first, true
		}
	}
	return offset, ok
}

// Revoke forgets what is due in a partition.
func (s *Schedule) Revoke(partition int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.spans {
		if d.Partition == partition {
			delete(s.spans, d)
		}
	}
	delete(s.unread, partition)
	delete(s.assigned, partition)
	s.config.Metrics.Owed.Set(float64(len(s.spans)))
}
