package main

import (
	"context"

	"github.com/prometheus/prometheus/rules"

	"github.com/ringwatch/ringwatch/notify"
	ours "github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/stream"
)

// openNotifier wires alerts → Alertmanagers, webhooks and the topic. It has been told what others
// have told before.
func (p *process) openNotifier(ctx context.Context) (*notify.Notifier, error) {
	deps := notify.Deps{Metrics: p.metrics, Log: p.log}
	c := p.Notify
	if len(c.ExternalLabels) == 0 {
		c.ExternalLabels = p.Rules.ExternalLabels
	}
	var log *stream.Log
	if c.Topic.Topic != "" {
		c.Topic.Partitions = p.Kafka.Partitions
		var err error
		if log, err = p.sharedLog(ctx, c.Topic); err != nil {
			return nil, err
		}
		deps.Publish = log.Publish
	}
	n, err := notify.New(c, deps)
	if err != nil {
		return nil, usageError{err}
	}
	if log == nil {
		return n, nil
	}
	entries, _, err := log.Last(ctx, nil)
	if err != nil {
		return nil, err
	}
	var told []notify.Alert
	for _, e := range entries {
		a, err := notify.AlertOf(e)
		if err != nil {
			p.log.Warn("an alert in the topic cannot be read", "key", e.Key, "error", err)
			continue
		}
		told = append(told, a)
	}
	n.Restore(told)
	return n, nil
}

// tell is notify.Notifier.Send in the words of rules.
func tell(n *notify.Notifier) func(context.Context, []ours.Alert) {
	return func(ctx context.Context, list []ours.Alert) {
		alerts := make([]notify.Alert, 0, len(list))
		for i := range list {
			a := &list[i]
			one := notify.Alert{
				Account: a.Account, Cluster: a.Cluster, Group: a.Group, File: a.File,
				Labels: a.Labels, Annotations: a.Annotations, State: notify.Firing,
				ActiveAt: a.ActiveAt, StartsAt: a.FiredAt, ValidUntil: a.ValidUntil,
				Value: notify.Value(a.Value), Expression: a.Expr, GeneratorURL: a.GeneratorURL,
			}
			if a.State == rules.StateInactive {
				one.State, one.EndsAt = notify.Resolved, a.ResolvedAt
			}
			alerts = append(alerts, one)
		}
		n.Send(ctx, alerts)
	}
}
