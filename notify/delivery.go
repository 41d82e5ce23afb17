package notify

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/dispatch"
	amnotify "github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/common/model"
)

// Delivery is what became of one message to one integration of a receiver.
type Delivery struct {
	Integration string  `json:"integration"`  // such as slack[0]
	To          string  `json:"to,omitempty"` // a mail's address, or a channel
	Delivered   bool    `json:"delivered"`    // its server has taken it
	Seconds     float64 `json:"seconds"`      // that it took
	Why         string  `json:"why,omitempty"`
	// Fault says which template fails: the first line was sent in its place.
	Fault string `json:"fault,omitempty"`
	// Retried says that an alert would be sent again, since this may pass.
	Retried bool `json:"retried,omitempty"`
}

// UnknownReceiverError is returned where a name is no receiver's of the account's configuration.
type UnknownReceiverError struct {
	Name      string
	Receivers []string
}

func (e *UnknownReceiverError) Error() string {
	return fmt.Sprintf("there is no receiver %q", e.Name)
}

// ErrSendsNothing is returned of a receiver without an integration, such as the default's.
var ErrSendsNothing = errors.New("this receiver sends nothing: give it an email_configs, " +
	"slack_configs or the like")

// Test sends one message to a receiver of an account that says that it is a test, and waits for
// what each of its integrations answers. It is tried once. An incident that the receiver makes of
// it is not ended. Errors are UnknownReceiverError, ErrSendsNothing, ErrClosed, or of the account's
// directory.
func (n *Notifier) Test(ctx context.Context, account, receiver string) ([]Delivery, error) {
	a, err := n.account(account)
	if err != nil {
		return nil, err
	}
	return a.test(ctx, receiver)
}

func (a *account) test(ctx context.Context, receiver string) ([]Delivery, error) {
	b := a.running.Load().built
	integrations, known := b.receivers[receiver]
	switch {
	case !known:
		return nil, &UnknownReceiverError{receiver, b.config.Receivers()}
	case len(integrations) == 0:
		return nil, ErrSendsNothing
	}
	now := time.Now()
	one := testAlert(receiver, now)
	ctx, cancel := context.WithTimeout(ctx, a.options.testTime)
	defer cancel()
	ctx = amnotify.WithNow(ctx, now)
	ctx = amnotify.WithReceiverName(ctx, receiver)
	// Each test is a group of its own, so that none is taken for a repeat of another.
	ctx = amnotify.WithGroupKey(ctx, fmt.Sprintf("{}:{test=%q}", now.Format(time.RFC3339Nano)))
	ctx = amnotify.WithGroupLabels(ctx, model.LabelSet{"alertname": one.Labels["alertname"]})
	ctx = amnotify.WithRepeatInterval(ctx, dispatch.DefaultRouteOpts.RepeatInterval)
	ctx = amnotify.WithNotificationReason(ctx, amnotify.ReasonFirstNotification)
	results := make([]chan Delivery, len(integrations))
	for i := range integrations {
		results[i] = make(chan Delivery, 1)
		go func() { results[i] <- a.deliver(ctx, b, receiver, integrations[i], one) }()
	}
	list := make([]Delivery, len(integrations))
	to := b.addresses(receiver)
	for i := range list {
		list[i] = <-results[i]
		list[i].To = to[list[i].Integration]
	}
	return list, nil
}

// testAlert is what a test tells of.
func testAlert(receiver string, now time.Time) *alert.Alert {
	return alert.New(model.Alert{
		Labels: model.LabelSet{"alertname": "RingwatchTest", "severity": "info"},
		Annotations: model.LabelSet{
			"summary": model.LabelValue("This is a test of the receiver " + receiver +
				": nothing is wrong"),
			"description": "Somebody asked Ringwatch to send it, by ringwatch notify test. " +
				"Alerts come the same way.",
			testAnnotation: "true",
		},
		StartsAt: now, EndsAt: now.Add(time.Hour),
	}, now, true)
}

func (a *account) deliver(ctx context.Context, b *built, receiver string,
	in amnotify.Integration, one *alert.Alert) Delivery {
	began := time.Now()
	v, fault := b.speak(ctx, receiver, in, a.log, one)
	d := Delivery{Integration: in.String(), Delivered: v.Err() == nil,
		Seconds: time.Since(began).Seconds(), Retried: v.ShouldRetry()}
	if fault != nil {
		d.Fault = whyNot(fault)
	}
	if err := v.Err(); err != nil {
		d.Why = whyNot(err)
		if d.Retried && ctx.Err() != nil {
			d.Why = fmt.Sprintf("no answer within %s: %s", a.options.testTime, d.Why)
		}
		if wait := v.Delay(); wait > 0 {
			d.Why += fmt.Sprintf("; it asks to wait for %s", wait.Round(time.Second))
		}
		a.log.Warn("a test of a receiver has failed", "integration", d.Integration, "why", d.Why)
	}
	return d
}

// addresses are where a receiver's integrations send, by their names, if that is no secret.
func (b *built) addresses(receiver string) map[string]string {
	to := map[string]string{}
	for _, d := range b.drafts[receiver] {
		to[fmt.Sprintf("%s[%d]", d.kind, d.index)] = oneLine(d.to, 200)
	}
	return to
}

// An address may be a secret: many services know who posts by it alone.
var addressPath = regexp.MustCompile(`(https?://)(?:[^/\s"'@]*@)?([^/\s"'?]+)[/?][^\s"']*`)

// whyNot is an error for people: a line, with the server's own words cut, and without the paths
// of addresses.
func whyNot(err error) string {
	return oneLine(addressPath.ReplaceAllString(err.Error(), "$1$2/…"), 400)
}
