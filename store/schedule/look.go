package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Assign says that a partition's windows are ours now: what is due there is looked for.
func (s *Schedule) Assign(partition int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread[partition], s.assigned[partition] = true, true
}

// LookAgain makes look read all partitions again.
func (s *Schedule) LookAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.assigned {
		s.unread[p] = true
	}
}

// look finds what is due in the partitions that have come.
func (s *Schedule) look(ctx context.Context) error {
	s.mu.Lock()
	var partitions []int32
	for p := range s.unread {
		partitions = append(partitions, p)
	}
	s.mu.Unlock()
	now := s.config.Clock.Millis()
	for _, p := range partitions {
		for length, back := range map[int64]int64{
			window.HourMillis: int64(25 * time.Hour / time.Millisecond),
			rollup.Day.Millis: int64(dueFor / time.Millisecond),
		} {
			for start := calendar.Floor(now-back, length); start <= now; start += length {
				if err := s.readSpan(ctx, p, length, start); err != nil {
					return fmt.Errorf("store: read what is to be made: %w", err)
				}
			}
		}
		s.mu.Lock()
		delete(s.unread, p)
		s.mu.Unlock()
	}
	return nil
}

func (s *Schedule) readSpan(ctx context.Context, partition int32, length, start int64) error {
	query := rows.Query{Table: s.table, Key: []any{partition, length, start},
		Columns: []string{"account", "node", "first", "since", "changed", "made"}}
	return s.config.Engine.Read(ctx, s.work, query, func(scan func(...any) bool) bool {
		d := Span{Partition: partition, Length: length, Start: start}
		o := &entry{}
		if !scan(&d.Account, &d.Node, &o.first, &o.since, &o.changed, &o.made) {
			return false
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.spans[d] == nil && o.dirty(s.config.Clock.Millis()*1000) && s.unread[partition] {
			o.at, o.recorded = s.at(d), true
			s.spans[d] = o
		}
		return true
	})
}
