package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/sigv4"
)

// alertmanagers is the outlet of one entry of Config.Alertmanagers. Each Alertmanager that is
// discovered has a queue and a worker of its own, and is told everything. What one forgets is not
// made up for: after SIGKILL it has lost its alerts and, between two of its snapshots, whom it
// notified. So people hear again of what still fires.
type alertmanagers struct {
	notifier *Notifier
	name     string
	account  string
	config   *config.AlertmanagerConfig
	client   *http.Client
	found    *discovered
	ledger   *ledger
	log      *slog.Logger

	mu        sync.Mutex
	receivers map[string]*receiver // by the address that alerts are posted to
	// waiting takes alerts while no Alertmanager is discovered; the first ones inherit it.
	waiting *queue
}

type receiver struct {
	queue *queue
	stop  context.CancelFunc
	done  chan struct{}
}

func (n *Notifier) newAlertmanagers(i int, found *discovery) (*alertmanagers, error) {
	c := &n.config.Alertmanagers[i]
	client, err := commonconfig.NewClientFromConfig(c.Prometheus.HTTPClientConfig, "alertmanager")
	if err != nil {
		return nil, err
	}
	if c.Prometheus.SigV4Config != nil {
		client.Transport, err = sigv4.NewSigV4RoundTripper(c.Prometheus.SigV4Config,
			client.Transport)
		if err != nil {
			return nil, err
		}
	}
	name := fmt.Sprintf("alertmanagers-%d", i)
	a := &alertmanagers{
		notifier: n, name: name, account: c.Account, config: &c.Prometheus, client: client,
		found: found.of(name), ledger: n.metrics.of(name), log: n.deps.Log,
		receivers: map[string]*receiver{},
	}
	a.waiting = a.newQueue()
	return a, nil
}

func (a *alertmanagers) newQueue() *queue {
	c := &a.notifier.config
	return newQueue(queueConfig{maxBytes: c.MaxBytes, repeats: true, spacing: c.LateSpacing},
		a.ledger)
}

func (a *alertmanagers) takes(account string) bool {
	return a.account == "" || a.account == account
}

func (a *alertmanagers) put(alert *Alert, now time.Time) {
	sent := a.notifier.labelled(alert, a.account == "", a.notifier.config.AlertRelabelConfigs,
		a.config.AlertRelabelConfigs)
	a.mu.Lock()
	defer a.mu.Unlock()
	if sent == nil {
		n := max(1, len(a.receivers))
		a.ledger.accepted.Add(float64(n))
		a.ledger.drop("relabel", n)
		return
	}
	for _, r := range a.receivers {
		r.queue.put(sent, now)
	}
	if len(a.receivers) == 0 {
		a.waiting.put(sent, now)
	}
}

// restore does nothing: Alertmanager wants repeats, and takes one for what it knows.
func (*alertmanagers) restore(*Alert, time.Time) {}

func (a *alertmanagers) pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.waiting.pending()
	for _, r := range a.receivers {
		n += r.queue.pending()
	}
	return n
}

func (a *alertmanagers) run(ctx context.Context, stopping <-chan struct{}) error {
	finding, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := a.found.run(finding)
	for stop := false; !stop; {
		select {
		case groups := <-a.found.groups:
			a.sync(ctx, stopping, groups)
		case <-stopping:
			stop = true
		case <-ctx.Done():
			stop = true
		}
	}
	cancel()
	<-ended
	lost := 0
	for _, url := range sorted(a.receivers) {
		r := a.receivers[url]
		<-r.done
		lost += r.queue.dropAll("stopped")
	}
	if lost += a.waiting.dropAll("stopped"); lost > 0 {
		a.log.Warn("stopped before all Alertmanagers took all alerts", "outlet", a.name,
			"lost", lost)
	}
	return nil
}

// sync starts a worker for each Alertmanager that is new and ends those of the ones that are gone.
func (a *alertmanagers) sync(
	ctx context.Context, stopping <-chan struct{}, groups []*targetgroup.Group,
) {
	urls := map[string]bool{}
	for _, g := range groups {
		found, err := addresses(g, a.config)
		if err != nil {
			a.log.Error("discovery found a target that is not an Alertmanager", "outlet", a.name,
				"error", err)
			continue
		}
		for _, u := range found {
			urls[u] = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.notifier.deps.Now()
	had := len(a.receivers)
	for u, r := range a.receivers {
		if !urls[u] {
			delete(a.receivers, u)
			r.stop()
			<-r.done
			// all are gone: what waits is for who comes
			if len(a.receivers) == 0 && len(urls) == 0 {
				a.waiting = r.queue
			} else if lost := r.queue.dropAll("removed"); lost > 0 {
				a.log.Warn("an Alertmanager is no longer discovered; the alerts that waited for "+
					"it are dropped",
					"outlet", a.name, "alertmanager", u, "lost", lost)
			}
		}
	}
	for _, u := range sorted(urls) {
		if a.receivers[u] != nil {
			continue
		}
		b := a.newQueue()
		if had == 0 {
			b = a.waiting.copy(now)
		}
		life, stop := context.WithCancel(ctx)
		r := &receiver{queue: b, stop: stop, done: make(chan struct{})}
		w := a.notifier.worker(a.name+" "+u, b, 256)
		w.send = func(ctx context.Context, batch []delivery) error { return a.post(ctx, u, batch) }
		a.receivers[u] = r
		go func() {
			defer close(r.done)
			w.run(life, stopping)
		}()
		a.log.Info("sending alerts to an Alertmanager", "outlet", a.name, "alertmanager", u)
	}
	if had == 0 && len(a.receivers) > 0 {
		a.waiting.dropAll("handed_on") // each receiver has its own
	}
	a.ledger.receivers.Set(float64(len(a.receivers)))
}

// postable is an alert in the form of Alertmanager's API v2.
type postable struct {
	Labels       labels.Labels `json:"labels"`
	Annotations  labels.Labels `json:"annotations"`
	StartsAt     time.Time     `json:"startsAt"`
	EndsAt       time.Time     `json:"endsAt"`
	GeneratorURL string        `json:"generatorURL,omitempty"`
}

func (a *alertmanagers) post(ctx context.Context, to string, batch []delivery) error {
	now := a.notifier.deps.Now()
	alerts := make([]postable, 0, len(batch))
	for _, f := range batch {
		alerts = append(alerts, a.postable(f, now))
	}
	return post(ctx, a.client, to, time.Duration(a.config.Timeout), alerts)
}

// refusesAlert says of which answers an Alertmanager means the alert. All others are the operator's
// to mend, and then the alert is welcome.
func refusesAlert(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge ||
		status == http.StatusUnprocessableEntity
}

// post sends JSON. An error names no more of the address than its host, for it may have a token.
func post(
	ctx context.Context, client *http.Client, to string, timeout time.Duration, body any,
) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%w: it cannot be written as JSON: %w", errRefused, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
	answer, err := client.Do(request)
	if err != nil {
		if u, ok := err.(*url.Error); ok {
			err = u.Err
		}
		return err
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 512)) // it only explains
	switch {
	case answer.StatusCode/100 == 2:
		return nil
	case refusesAlert(answer.StatusCode):
		return fmt.Errorf("%w: it answered %s: %q", errRefused, answer.Status, said)
	}
	return fmt.Errorf("it answered %s: %q", answer.Status, said)
}

// postable gives a late alert times that say what is meant now: an end that has passed would
// resolve one that fires, and one to come would not resolve one that ended.
func (a *alertmanagers) postable(f delivery, now time.Time) postable {
	p := postable{
		Labels: f.alert.Labels, Annotations: f.alert.Annotations,
		GeneratorURL: f.alert.GeneratorURL, StartsAt: f.alert.StartsAt,
	}
	if p.StartsAt.After(now) {
		p.StartsAt = now
	}
	c := &a.notifier.config
	switch {
	case f.alert.State == Firing:
		p.EndsAt = now.Add(c.FiringLasts)
		if f.more { // its end is told later
			p.EndsAt = p.EndsAt.Add(c.LateSpacing)
		}
		if f.alert.ValidUntil.After(p.EndsAt) {
			p.EndsAt = f.alert.ValidUntil
		}
	case f.alert.EndsAt.After(now):
		p.EndsAt = now
	default:
		p.EndsAt = f.alert.EndsAt
	}
	if p.EndsAt.Before(p.StartsAt) {
		p.EndsAt = p.StartsAt
	}
	return p
}
