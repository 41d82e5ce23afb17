package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
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

// apiWork is throttle.Throttle.Usage in the words of api.
func apiWork(t *throttle.Throttle) api.Work {
	return func(ctx context.Context, keep func(client string) bool,
		by []string) ([]api.WorkRate, string, error) {
		report, err := t.Usage(ctx)
		if err != nil {
			return nil, "", err
		}
		kept := slices.DeleteFunc(report.Usage, func(u throttle.Usage) bool {
			return !keep(u.Client)
		})
		groups := throttle.Group(kept, func(w throttle.Work) throttle.Work {
			var of throttle.Work
			for _, part := range by {
				switch part {
				case "class":
					of.Class = w.Class
				case "client":
					of.Client = w.Client
				case "table":
					of.Keyspace, of.Table = w.Keyspace, w.Table
				case "datacenter":
					of.Datacenter = w.Datacenter
				}
			}
			return of
		})
		var list []api.WorkRate
		for _, u := range groups {
			r := api.WorkRate{
				Class: u.Class, Client: u.Client, Keyspace: u.Keyspace, Table: u.Table,
				Datacenter:          u.Datacenter,
				OperationsPerSecond: u.OperationsPerSecond, RequestsPerSecond: u.RequestsPerSecond,
				RefusedPerSecond: u.RefusedPerSecond, Waiting: u.Waiting, Running: u.Running,
				MeanSeconds: u.Mean.Seconds(), P50Seconds: u.P50.Seconds(),
				P99Seconds: u.P99.Seconds(),
			}
			for _, c := range report.Classes {
				if c.Class == u.Class {
					r.LimitPerSecond, r.HealthFactor = c.OperationsPerSecond, c.Factor
				}
			}
			list = append(list, r)
		}
		partial := ""
		if report.Alone {
			partial = "Redis does not answer: only this process is shown"
		}
		return list, partial, nil
	}
}
