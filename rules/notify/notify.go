// Package notify sends alerts to others: Alertmanagers and a topic of Kafka.
//
// Start with Notifier. Each receiver has a queue, and a worker that empties it:
//
//	Notifier.Send ─▶ outlet ─▶ queue.put: an alert's changes, in order
//	                 worker:   queue.take what is due ─▶ send ─▶ queue.finish, or retry
//
// What it promises:
//   - Send never blocks and never drops silently: each outlet keeps the ledger accepted = sent +
//     dropped{reason} + pending.
//   - A receiver that is away is told later of every change, an alert's changes in their order.
//     Alertmanager hears of a firing and of its end even when both were while it was away.
//   - The topic gets each change once, unless an answer was lost on its way.
//   - What waits for a receiver is bounded by Config.MaxBytes; beyond it the newest is dropped, and
//     the rules' next repeat makes up for it.
//   - An alert of an account goes to the account's outlets and to those of all accounts.
//
// What bites:
//   - What waits is in memory: kill -9 loses it. Repeats make up for it at Alertmanagers, and
//     Restore keeps the topic from being told twice.
//   - An outlet of all accounts needs to tell them apart: its alerts have the label account.
//
// It may import stream.
package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/ringwatch/ringwatch/stream"
)

// Deps is what a Notifier needs of others.
type Deps struct {
	// Publish is stream.Log.Publish of the topic of alerts; nil: no topic.
	Publish func(context.Context, ...stream.Entry) error
	Metrics prometheus.Registerer
	Log     *slog.Logger
	Now     func() time.Time // nil: time.Now
}

// Notifier hands alerts to all outlets. It is safe for concurrent use.
type Notifier struct {
	config  Config
	deps    Deps
	metrics *metrics
	outlets []outlet
}

// outlet is a place that alerts go to.
type outlet interface {
	takes(account string) bool
	put(*Alert, time.Time)
	restore(*Alert, time.Time)
	pending() int
	// run works until ctx ends, or until stopping is closed and nothing waits any more. What still
	// waits then is dropped.
	run(ctx context.Context, stopping <-chan struct{}) error
}

// New checks the configuration and starts nothing.
func New(c Config, d Deps) (*Notifier, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	m, err := newMetrics(d.Metrics)
	if err != nil {
		return nil, err
	}
	n := &Notifier{config: c, deps: d, metrics: m}
	if len(c.Alertmanagers) > 0 {
		found, err := newDiscovery(c.Alertmanagers, d.Metrics, d.Log)
		if err != nil {
			return nil, err
		}
		for i := range c.Alertmanagers {
			a, err := n.newAlertmanagers(i, found)
			if err != nil {
				return nil, fmt.Errorf("alertmanagers[%d]: %w", i, err)
			}
			n.outlets = append(n.outlets, a)
		}
	}
	if d.Publish != nil {
		n.outlets = append(n.outlets, n.newTopic())
	}
	return n, nil
}

// Send takes alerts for all outlets of their accounts and returns at once. Repeats of a firing
// alert, and of its end, are welcome. The alerts must not be changed afterwards.
func (n *Notifier) Send(_ context.Context, alerts []Alert) {
	now := n.deps.Now()
	for i := range alerts {
		a, taken := alerts[i], false
		for _, o := range n.outlets {
			if o.takes(a.Account) {
				o.put(&a, now)
				taken = true
			}
		}
		if !taken {
			n.metrics.unrouted.Inc()
		}
	}
}

// Restore says which alerts an earlier life of this process, or another, has published on the
// topic: it is not told of their states again. Call it before Send.
func (n *Notifier) Restore(alerts []Alert) {
	now := n.deps.Now()
	for i := range alerts {
		for _, o := range n.outlets {
			if o.takes(alerts[i].Account) {
				o.restore(&alerts[i], now)
			}
		}
	}
}

// Pending is how many alerts wait for receivers; one counts once for each of them.
func (n *Notifier) Pending() (sum int) {
	for _, o := range n.outlets {
		sum += o.pending()
	}
	return sum
}

// Run sends until ctx ends, and then for at most Config.StopTimeout what still waits.
func (n *Notifier) Run(ctx context.Context) error {
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var all sync.WaitGroup
	errs := make([]error, len(n.outlets))
	failed := make(chan struct{}, len(n.outlets))
	stopping := make(chan struct{})
	for i, o := range n.outlets {
		all.Go(func() {
			if errs[i] = o.run(working, stopping); errs[i] != nil {
				failed <- struct{}{}
			}
		})
	}
	select {
	case <-ctx.Done():
	case <-failed:
	}
	close(stopping)
	timer := time.AfterFunc(n.config.StopTimeout, cancel)
	defer timer.Stop()
	all.Wait()
	return errors.Join(errs...)
}

// worker is what the workers of all outlets have in common.
func (n *Notifier) worker(name string, b *queue, maxBatch int) *worker {
	return &worker{
		name: name, queue: b, maxBatch: maxBatch, now: n.deps.Now, log: n.deps.Log,
		retryMin: n.config.RetryMin, retryMax: n.config.RetryMax,
	}
}

// labelled returns the alert as receivers outside see it, and nil if relabelling drops it.
func (n *Notifier) labelled(a *Alert, everybodys bool, rules ...[]*relabel.Config) *Alert {
	lb := labels.NewBuilder(a.Labels)
	for name, value := range n.config.ExternalLabels {
		if a.Labels.Get(name) == "" {
			lb.Set(name, value)
		}
	}
	if everybodys && a.Labels.Get("account") == "" {
		lb.Set("account", a.Account)
	}
	for _, r := range rules {
		if !relabel.ProcessBuilder(lb, r...) {
			return nil
		}
	}
	b := *a
	b.Labels = lb.Labels()
	return &b
}

// topic is the outlet that publishes each change once.
type topic struct {
	queue  *queue
	worker *worker
	ledger *ledger
	log    *slog.Logger
}

func (n *Notifier) newTopic() *topic {
	l := n.metrics.of("topic")
	t := &topic{ledger: l, log: n.deps.Log,
		queue: newQueue(queueConfig{maxBytes: n.config.MaxBytes}, l)}
	t.worker = n.worker("topic "+n.config.Topic.Topic, t.queue, 256)
	t.worker.send = func(ctx context.Context, batch []delivery) error {
		entries := make([]stream.Entry, 0, len(batch))
		for _, f := range batch {
			e, err := EntryOf(f.alert)
			if err != nil {
				return fmt.Errorf("%w: %w", errRefused, err)
			}
			entries = append(entries, e)
		}
		err := n.deps.Publish(ctx, entries...)
		if err != nil && !stream.Retryable(err) {
			return fmt.Errorf("%w: %w", errRefused, err)
		}
		return err
	}
	return t
}

func (t *topic) takes(string) bool { return true }

func (t *topic) put(a *Alert, now time.Time) { t.queue.put(a, now) }

func (t *topic) restore(a *Alert, now time.Time) { t.queue.restore(a, now) }

func (t *topic) pending() int { return t.queue.pending() }

func (t *topic) run(ctx context.Context, stopping <-chan struct{}) error {
	t.ledger.receivers.Set(1)
	t.worker.run(ctx, stopping)
	if lost := t.queue.dropAll("stopped"); lost > 0 {
		t.log.Warn("stopped before the topic took all alerts", "topic", t.worker.name, "lost", lost)
	}
	return nil
}

// sorted returns the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
