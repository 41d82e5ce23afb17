package wire

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// OpenReader returns the process's one reader of the last 15 minutes, and connection to Redis,
// for those who read or count there. Closing it twice is closing it once; who counts goes on
// without it.
func (p *Process) OpenReader() (*recent.Reader, error) {
	if p.reader == nil {
		var err error
		if p.reader, err = recent.NewReader(p.Config.Redis, p.Metrics); err != nil {
			return nil, err
		}
	}
	return p.reader, nil
}

// newcomerLimit counts what accounts bring that was not there, over all ingest processes that share
// a Redis, or in this one.
func newcomerLimit(p *Process, of string, perHour int64) (func(ctx context.Context, account string,
	n int64) time.Duration, error) {
	reader, err := p.OpenReader()
	if err != nil {
		return nil, err
	}
	c := limit.Config{Of: of, Timeout: p.Config.Limits.Timeout, Backoff: p.Config.Limits.Backoff}
	c.RequestsPerSecond, c.Burst = float64(perHour)/3600, int(perHour)
	c.NodeRequestsPerSecond, c.NodeBurst = c.RequestsPerSecond, c.Burst // not asked
	limiter, err := limit.New(c, reader.Redis(), p.Metrics)
	if err != nil {
		return nil, err
	}
	return limiter.TakeN, nil
}

// frameLimit counts the frames of each account over all ingest processes that share a Redis, or
// in this one.
func frameLimit(p *Process) (func(ctx context.Context, account string) time.Duration, error) {
	reader, err := p.OpenReader()
	if err != nil {
		return nil, err
	}
	c := limit.Config{Of: "frames", Timeout: p.Config.Limits.Timeout,
		Backoff: p.Config.Limits.Backoff}
	c.RequestsPerSecond, c.Burst = p.Config.Ingest.FramesPerSecond, p.Config.Ingest.FramesBurst
	c.NodeRequestsPerSecond, c.NodeBurst = c.RequestsPerSecond, c.Burst // not asked
	limiter, err := limit.New(c, reader.Redis(), p.Metrics)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, account string) time.Duration {
		after, _ := limiter.Take(ctx, account, "")
		return after
	}, nil
}

// Throttled returns the process's one throttle and, the first time, what runs it.
func (p *Process) Throttled() (*throttle.Throttle, []Part, error) {
	if p.Throttle != nil {
		return p.Throttle, nil, nil
	}
	// A connection of its own: what is admitted does not wait behind frames.
	link, err := recent.NewReader(p.Config.Redis, prometheus.NewRegistry())
	if err != nil {
		return nil, nil, err
	}
	t, err := throttle.New(p.Config.Throttle, link.Redis(), p.Metrics)
	if err != nil {
		link.Close()
		return nil, nil, err
	}
	p.Throttle = t
	return t, []Part{func(ctx context.Context) error {
		defer link.Close()
		return t.Run(ctx)
	}}, nil
}
