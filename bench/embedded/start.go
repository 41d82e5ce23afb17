package main

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
)

// started is how long starts took.
type started struct {
	Seconds float64   // the median
	All     []float64 // from starting the process until the API answers with the newest value
	GB      float64   // of rows that there were
}

const (
	starts     = 3
	beforeKill = 90 * time.Second
)

// start lets the process run, kills it and starts it again.
func (r *report) start(ctx context.Context, n *nodes, us *ours) error {
	if err := us.Start(ctx); err != nil {
		return err
	}
	r.Start = &started{}
	for range starts {
		n.again(ctx)
		n.send(0)
		if err := bench.Pass(n.ctx, beforeKill); err != nil {
			return err
		}
		us.End()
		if err := n.end(); err != nil {
			return err
		}
		s := n.list[0]
		begun := time.Now()
		if err := us.Begin(); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		err := line.Until(wait, "the newest value", func(ctx context.Context) error {
			at, err := us.newest(ctx, s.ID.String())
			if err == nil && at < s.acknowledged {
				err = fmt.Errorf("the newest value is of %d, and a frame of %d was taken", at,
					s.acknowledged)
			}
			return err
		})
		cancel()
		if err != nil {
			return err
		}
		r.Start.All = append(r.Start.All, time.Since(begun).Seconds())
		bench.Progress("started in %.2f s", r.Start.All[len(r.Start.All)-1])
	}
	gb, err := sizeOf(us.rows())
	r.Start.GB = gb / 1e3
	r.Start.Seconds = bench.Median(r.Start.All)
	return err
}
