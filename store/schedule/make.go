package schedule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// make makes a span and records that.
func (s *Schedule) make(ctx context.Context, lease *memory.Lease, d readySpan) error {
	s.mu.Lock()
	if s.spans[d.Span] != d.entry || d.making {
		s.mu.Unlock()
		return nil
	}
	d.making, d.recorded = true, false
	first, changes := d.first, d.changes
	s.mu.Unlock()
	read := s.config.Clock.Now().UnixMicro()
	err := s.makeSpan(ctx, lease, d, first, read)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.making = false
	if err != nil {
		return err
	}
	d.failed, d.err, d.needs = 0, nil, 0
	if d.changes == changes && s.spans[d.Span] == d.entry {
		delete(s.spans, d.Span)
		s.config.Metrics.Owed.Set(float64(len(s.spans)))
	}
	return nil
}

func (s *Schedule) makeSpan(ctx context.Context, lease *memory.Lease, d readySpan,
	first, read int64) error {
	task := spans.Task{Engine: s.config.Engine, Work: Rolling(s.work), Lease: lease}
	if d.Length == rollup.Day.Millis {
		if err := s.config.Maker.MakeDay(ctx, task, d.Account, d.Node, d.Start); err != nil {
			return err
		}
	} else {
		if s.expires(d) {
			return ErrExpired
		}
		if err := s.config.Maker.MakeHour(ctx, task, d.Account, d.Node, d.Start); err != nil {
			return err
		}
		day := Span{d.Partition, d.Account, d.Node, rollup.Day.Start(d.Start), rollup.Day.Millis}
		if err := s.Add(ctx, task.Work, day, first, read); err != nil {
			return err
		}
	}
	err := s.config.Engine.Put(ctx, task.Work, s.table,
		rows.Row{Key: d.key(), Values: []any{nil, nil, nil, read}})
	if err != nil {
		return fmt.Errorf("store: note that a span is made: %w", err)
	}
	return nil
}

// expires reports whether rows of an hour's windows may have expired before it was made, so that
// its frames are to be read from the stream again. That is tried once: the hour is then made of
// whatever has come.
func (s *Schedule) expires(d readySpan) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Duration(s.config.Clock.Now().UnixMicro()-d.since) * time.Microsecond
	if d.first < 0 || !s.assigned[d.Partition] || d.made >= d.changed && d.made > 0 ||
		age < calendar.WindowTTL-ExpirySlack || age > streamKeeps || s.replayed[d.Span] {
		return false
	}
	s.replayed[d.Span] = true
	d.again = true // LowWater holds until the partition is given back
	s.expired.Store(true)
	return true
}

// try tries once to make a span.
func (s *Schedule) try(ctx context.Context, lease *memory.Lease, d readySpan) {
	err := s.make(ctx, lease, d)
	if err == nil || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.err = err
	if memory.Refused(err) {
		if errors.Is(err, memory.ErrTooLarge) && d.needs == 0 {
			s.config.Log.Warn("store: an hour or a day needs more memory than its account may "+
				"have; give the role more memory, or monitor fewer tables on that node",
				"account", d.Account, "node", d.Node, "start", calendar.Text(d.Start), "error", err)
		}
		d.needs = 2 * lease.Taken()
		d.after = time.Now().Add(largeRetry)
		return
	}
	s.config.Metrics.Retries.Inc()
	d.failed++
	d.after = time.Now().Add(min(rows.FirstWait<<min(d.failed, 20), rows.LongestWait))
	if d.failed == 1 || d.failed%100 == 0 {
		s.config.Log.Warn("store: an hour or a day cannot be made; trying again",
			"attempts", d.failed, "error", err)
	}
}

// estimate returns with how much memory making a span begins.
func (s *Schedule) estimate(d readySpan) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(leastMemory, d.needs), s.config.Memory.Share())
}

// Failed returns how many spans could not be made when that was tried last, and why one of
// them could not.
func (s *Schedule) Failed() (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.spans {
		if o.err != nil && !memory.Refused(o.err) {
			n, err = n+1, o.err
		}
	}
	return n, err
}
