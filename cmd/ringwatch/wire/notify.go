package wire

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/rules"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	people "github.com/ringwatch/ringwatch/notify"
	ours "github.com/ringwatch/ringwatch/rules"
	"github.com/ringwatch/ringwatch/rules/notify"
	"github.com/ringwatch/ringwatch/stream"
)

// openNotifier wires alerts → Alertmanagers and the topic. It has been told what others
// have told before, and the parts let it hear what others tell from now on. persons hear of it,
// too, if they are told by several processes.
func openNotifier(
	ctx context.Context, p *Process, persons *people.Notifier,
) (*notify.Notifier, []Part, error) {
	deps := notify.Deps{Metrics: p.Metrics, Log: p.Log}
	c := p.Config.Notify.Config
	if len(c.ExternalLabels) == 0 {
		c.ExternalLabels = p.Config.Rules.ExternalLabels
	}
	var log *stream.Log
	if c.Topic.Topic != "" {
		c.Topic.Partitions = p.Config.Kafka.Partitions
		var err error
		if log, err = p.Topics.Log(ctx, c.Topic); err != nil {
			return nil, nil, err
		}
		deps.Publish = log.Publish
	}
	n, err := notify.New(c, deps)
	if err != nil {
		return nil, nil, exit.Usage(err)
	}
	if log == nil {
		return n, []Part{n.Run}, nil
	}
	hear := func(e stream.Entry) error {
		if e.Value == nil {
			return nil
		}
		a, err := notify.AlertOf(e)
		if err != nil {
			p.Log.Warn("an alert in the topic cannot be read", "key", e.Key, "error", err)
			return nil
		}
		n.Restore([]notify.Alert{a})
		if persons != nil && p.Config.Notify.Gossip.On() && isNews(&a) {
			a.ValidUntil = a.StartsAt.Add(c.Topic.Retention) // it is not repeated, but ended
			tellPeople(p, persons, []notify.Alert{a})
		}
		return nil
	}
	entries, at, err := log.Last(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		_ = hear(e)
	}
	// A cluster may come to this process later, with alerts that another one has told of.
	return n, []Part{n.Run, func(ctx context.Context) error {
		for ctx.Err() == nil {
			if err := log.Follow(ctx, at, hear); err != nil {
				p.Log.Warn("cannot read which alerts other processes send; trying again",
					"error", err)
				clock.Pause(ctx, time.Second)
			}
		}
		return nil
	}}, nil
}

// isNews leaves out ends that everybody who tells people has known for long.
func isNews(a *notify.Alert) bool {
	return a.State == notify.Firing || time.Since(a.EndsAt) < time.Hour
}

// tell sends alerts that rules tell of, to others and to people, if there are some: what is
// inactive was resolved.
func tell(p *Process, n *notify.Notifier, persons *people.Notifier,
) func(context.Context, []ours.Alert) {
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
		if persons != nil {
			tellPeople(p, persons, alerts)
		}
	}
}
