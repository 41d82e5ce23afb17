package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/ring/throttle"
)

// validateThrottle checks the classes, and that each can do what ring asks for at once.
func (c *config) validateThrottle() error {
	wrong := []error{c.Throttle.Validate()}
	largest := c.Throttle.Largest()
	for _, name := range slices.Sorted(maps.Keys(largest)) {
		if n := largest[name]; n < c.Ring.GroupKeys {
			wrong = append(wrong,
				fmt.Errorf("classes.%s: %d operations at once, the least of burst and "+
					"concurrency, are fewer than ring.group_keys (%d), so a group of keys could "+
					"never be read: raise them, or lower that", name, n, c.Ring.GroupKeys))
		}
	}
	return errors.Join(wrong...)
}

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
	t, err := throttle.New(p.Throttle, link.Redis(), p.metrics)
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
