package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// throttled returns the process's one throttle and, the first time, what runs it.
func (p *process) throttled() (*throttle.Throttle, []part, error) {
	if p.throttle != nil {
		return p.throttle, nil, nil
	}
	// A connection of its own: what is admitted does not wait behind frames.
	link, err := recent.NewReader(p.Redis, prometheus.NewRegistry())
	if err != nil {
		return nil, nil, err
	}
	t, err := throttle.New(p.Throttle, link.Do, p.metrics)
	if err != nil {
		link.Close()
		return nil, nil, err
	}
	p.throttle = t
	return t, []part{func(ctx context.Context) error {
		defer link.Close()
		return t.Run(ctx)
	}}, nil
}
