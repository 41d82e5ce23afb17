package notify

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	amnotify "github.com/prometheus/alertmanager/notify"
)

// gate is what notifications pass on their way out. Alertmanager's dispatcher cancels what is on
// its way when it stops, whether a receiver has got it or not, and so the next one tells it again.
// Here a request that has begun is finished, and the log of notifications knows its end.
type gate struct {
	next  amnotify.Stage
	board *board
	tries *tries

	mu     sync.Mutex
	closed bool
	inside int
	empty  chan struct{} // closed when nothing is inside any more, after the gate was closed
	ctx    context.Context
	cancel context.CancelFunc // of requests that take too long
}

func newGate(b *board, t *tries) *gate {
	g := &gate{board: b, tries: t, empty: make(chan struct{})}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Exec implements notify.Stage: a group passes. When the gate is closed it waits until the
// dispatcher is told to stop.
func (g *gate) Exec(
	ctx context.Context, l *slog.Logger, alerts ...*alert.Alert,
) (context.Context, []*alert.Alert, error) {
	if !g.enter() {
		<-ctx.Done()
		return ctx, nil, ctx.Err()
	}
	defer g.leave()
	g.board.settle(ctx)
	g.board.noteTold(alerts)
	defer g.tries.end(ctx)
	return g.next.Exec(ctx, l, alerts...)
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inside--; g.closed && g.inside == 0 {
		close(g.empty)
	}
}

// close lets nothing in any more.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	if g.closed = true; g.inside == 0 {
		close(g.empty)
	}
}

// wait returns when nothing is inside any more: after so long it cuts requests off. Call it after
// the dispatcher was stopped, which ends what only waits for another try.
func (g *gate) wait(d time.Duration) {
	timer := time.AfterFunc(d, g.cancel)
	<-g.empty
	timer.Stop()
	g.cancel()
}

// attempt is the context of one request: it ends with its time, and with the gate's patience, but
// not with the dispatcher.
func (g *gate) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	whole, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if at, ok := ctx.Deadline(); ok {
		var end context.CancelFunc
		whole, end = context.WithDeadline(whole, at)
		both := cancel
		cancel = func() { end(); both() }
	}
	stop := context.AfterFunc(g.ctx, cancel)
	all := cancel
	return whole, func() { stop(); all() }
}

// outlet is a receiver's integration behind the gate.
type outlet struct {
	amnotify.Integration
	account *account
	gate    *gate
	built   *built
	name    string // of the receiver
}

// Notify implements notify.Notifier.
func (o *outlet) Notify(ctx context.Context, alerts ...*alert.Alert) amnotify.NotifyVerdict {
	ctx, cancel := o.gate.attempt(ctx)
	defer cancel()
	bound := o.account.options.Limits.MaxMessageAlerts
	if o.Name() == "webhook" {
		bound = len(alerts) // a webhook is told how many it does not get
	}
	log := o.account.log.With("receiver", o.name, "integration", o.Integration.String())
	v, fault := o.built.speak(ctx, o.name, o.Integration, log,
		o.account.prepared(ctx, alerts, bound)...)
	if fault != nil {
		log.Error("a template of a message fails; it was sent with the first line in its place",
			"error", fault)
	}
	o.gate.tries.note(ctx, o.name, o.Integration, alerts, v.Err(), v.ShouldRetry())
	return v
}

// said lets an integration speak. One that speaks SMTP does not look at its context while a server
// says nothing, so what is left of it ends when the server or the system ends the connection.
func said(
	ctx context.Context, in amnotify.Integration, alerts ...*alert.Alert,
) amnotify.NotifyVerdict {
	if in.Name() != "email" {
		return in.Notify(ctx, alerts...)
	}
	verdict := make(chan amnotify.NotifyVerdict, 1)
	go func() { verdict <- in.Notify(ctx, alerts...) }()
	select {
	case v := <-verdict:
		return v
	case <-ctx.Done():
		return amnotify.Retry(0, fmt.Errorf("the mail server has not answered in time: %w",
			context.Cause(ctx)), amnotify.ContextDeadlineExceededReason)
	}
}

// behind puts a receiver's integrations behind a gate.
func (a *account) behind(g *gate, b *built, receiver string) []amnotify.Integration {
	list := b.receivers[receiver]
	all := make([]amnotify.Integration, 0, len(list))
	for _, in := range list {
		o := &outlet{Integration: in, account: a, gate: g, built: b, name: receiver}
		all = append(all, amnotify.NewIntegration(o, o, in.Name(), in.Index(), receiver))
	}
	return all
}
