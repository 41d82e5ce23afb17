package schedule

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/rows"
)

// MakeReady makes what is due for CloseDue and Drain, one after the other, waiting for memory.
func (s *Schedule) MakeReady(ctx context.Context, now time.Time, all bool) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	for { // a day is due when its hours are made
		list := s.ready(now, all)
		if len(list) == 0 {
			return nil
		}
		for _, d := range list {
			err := rows.Retry(ctx, "make hour", s.config.Metrics.Retries.Inc, func() error {
				lease, err := s.config.Memory.Acquire(ctx, d.Account, s.estimate(d), nil)
				if err != nil {
					return err
				}
				defer lease.Release()
				return s.make(ctx, lease, d)
			})
			if err != nil {
				return err
			}
		}
	}
}

// Run makes hours and days as they are due, beside what closes windows, until ctx ends.
func (s *Schedule) Run(ctx context.Context) {
	var workers errgroup.Group
	workers.SetLimit(madeAtOnce)
	defer workers.Wait()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	looked := time.Now()
	for {
		if time.Since(looked) > readEvery {
			looked = time.Now()
			s.LookAgain()
		}
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.config.Log.Warn("store: what hours are to be made cannot be read; trying again",
				"error", err)
		}
		for _, d := range s.ready(s.config.Clock.Now(), false) {
			if ctx.Err() != nil {
				return
			}
			lease, err := s.config.Memory.Try(d.Account, s.estimate(d))
			if err != nil { // its account holds what it may
				continue
			}
			workers.Go(func() error {
				defer lease.Release()
				s.try(ctx, lease, d)
				return nil
			})
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
