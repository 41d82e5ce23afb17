package notify

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/config/receiver"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/eventrecorder"
	"github.com/prometheus/alertmanager/inhibit"
	amnotify "github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/alertmanager/timeinterval"
)

// built is what a configuration says, made into what does it. Nothing of it runs yet.
type built struct {
	config    *Config
	routes    *dispatch.Route
	receivers map[string][]amnotify.Integration // all of them, used or not
	completed []config.Receiver                 // what these were made of
	drafts    map[string][]draft                // by receiver
	template  *template.Template
	intervals *timeinterval.Intervener
}

// build makes everything that can fail. console is where a person sees alerts; nil: nowhere.
func (c *Config) build(limits Limits, console *url.URL, log *slog.Logger) (*built, error) {
	t, err := newTemplate(c.parsed.Templates, newMessenger(console, time.Now))
	if err != nil {
		return nil, fmt.Errorf("templates: %w", err)
	}
	if t.ExternalURL = console; console == nil {
		t.ExternalURL = &url.URL{}
	}
	b := &built{config: c, template: t, routes: dispatch.NewRoute(c.parsed.Route, nil),
		receivers: map[string][]amnotify.Integration{}, drafts: map[string][]draft{}}
	for i := range c.parsed.Receivers {
		r := completed(c.parsed.Receivers[i], limits)
		b.completed = append(b.completed, r)
		if b.receivers[r.Name], err = receiver.BuildReceiverIntegrations(r, t, log); err != nil {
			return nil, fmt.Errorf("receiver %q: %w", r.Name, err)
		}
		b.drafts[r.Name] = drafts(&r)
	}
	times := map[string][]timeinterval.TimeInterval{}
	for _, one := range c.parsed.MuteTimeIntervals {
		times[one.Name] = one.TimeIntervals
	}
	for _, one := range c.parsed.TimeIntervals {
		times[one.Name] = one.TimeIntervals
	}
	b.intervals = timeinterval.NewIntervener(times)
	return b, nil
}

// running is what a reload replaces: routes, receivers, inhibitions and the groups of alerts.
type running struct {
	built      *built
	dispatcher *dispatch.Dispatcher
	inhibitor  *inhibit.Inhibitor
	gate       *gate
}

// minTimeout is how long a group may take to tell its receivers, however short its interval is.
const minTimeout = amnotify.MinTimeout

// maintain is how often groups that have nothing more to tell are removed.
const maintain = 30 * time.Second

// newRunning starts nothing.
func (a *account) newRunning(b *built) *running {
	r := &running{built: b, gate: newGate(a.board, newTries(a.history, a.log))}
	r.inhibitor = inhibit.NewInhibitor(a.board, b.config.parsed.InhibitRules, a.log,
		eventrecorder.Recorder{})
	receivers := map[string][]amnotify.Integration{}
	b.routes.Walk(func(route *dispatch.Route) {
		name := route.RouteOpts.Receiver
		receivers[name] = a.behind(r.gate, b, name)
	})
	r.gate.next = a.pipelines.New(receivers, a.members.turn, r.inhibitor, a.silencer, b.intervals,
		a.told, a.members.settled())
	r.dispatcher = dispatch.NewDispatcher(a.board, b.routes, r.gate, b.intervals,
		func(d time.Duration) time.Duration { return max(d, minTimeout) + a.members.turn() },
		maintain,
		a.options.Limits, a.log, eventrecorder.Recorder{}, a.dispatcherMetrics, b.template)
	return r
}

// start returns when all alerts that are known are in groups. Inhibitions come first, or what they
// should keep quiet would be told.
func (r *running) start() {
	go r.inhibitor.Run()
	r.inhibitor.WaitForLoading()
	go r.dispatcher.Run(time.Now())
	r.dispatcher.WaitForLoading()
}

// stop ends it: no group tells anything any more, and what is on its way has patience to arrive.
// It returns what ended and was still to be told.
func (r *running) stop(patience time.Duration) (untold []*alert.Alert) {
	r.gate.close()
	all, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	groups, _, err := r.dispatcher.Groups(all,
		func(*dispatch.Route) bool { return true },
		func(a *alert.Alert, now time.Time) (alert.AlertStatus, bool) {
			return alert.AlertStatus{}, a.ResolvedAt(now)
		})
	if err == nil {
		for _, g := range groups {
			untold = append(untold, g.Alerts...)
		}
	}
	r.dispatcher.Stop()
	r.gate.wait(patience)
	r.inhibitor.Stop()
	return untold
}
