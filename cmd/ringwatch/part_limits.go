package main

import (
	"context"
	"time"

	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/recent"
)

// openReader returns the process's one reader of the last 15 minutes, and connection to Redis,
// for those who read or count there. Closing it twice is closing it once; who counts goes on
// without it.
func (p *process) openReader() (*recent.Reader, error) {
	if p.reader == nil {
		var err error
		if p.reader, err = recent.NewReader(p.Redis, p.metrics); err != nil {
			return nil, err
		}
	}
	return p.reader, nil
}

// newLimit counts what accounts bring that was not there, over all ingest processes that share a
// Redis, or in this one.
func (p *process) newLimit(of string, perHour int64) (func(ctx context.Context, account string,
	n int64) time.Duration, error) {
	reader, err := p.openReader()
	if err != nil {
		return nil, err
	}
	c := limit.Config{Of: of, Timeout: p.Limits.Timeout, Backoff: p.Limits.Backoff}
	c.RequestsPerSecond, c.Burst = float64(perHour)/3600, int(perHour)
	c.NodeRequestsPerSecond, c.NodeBurst = c.RequestsPerSecond, c.Burst // not asked
	limiter, err := limit.New(c, reader.Redis(), p.metrics)
	if err != nil {
		return nil, err
	}
	return limiter.TakeN, nil
}

// frameLimit counts the frames of each account over all ingest processes that share a Redis, or
// in this one.
func (p *process) frameLimit() (func(ctx context.Context, account string) time.Duration, error) {
	reader, err := p.openReader()
	if err != nil {
		return nil, err
	}
	c := limit.Config{Of: "frames", Timeout: p.Limits.Timeout, Backoff: p.Limits.Backoff}
	c.RequestsPerSecond, c.Burst = p.Ingest.FramesPerSecond, p.Ingest.FramesBurst
	c.NodeRequestsPerSecond, c.NodeBurst = c.RequestsPerSecond, c.Burst // not asked
	limiter, err := limit.New(c, reader.Redis(), p.metrics)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, account string) time.Duration {
		after, _ := limiter.Take(ctx, account, "")
		return after
	}, nil
}
