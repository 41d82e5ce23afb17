package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"
	"github.com/prometheus/prometheus/model/labels"
)

// webhookMessage is the body that Alertmanager posts, version 4. Each change is a group of its own:
// its labels are the group's, so what receivers call the group's key names the alert.
type webhookMessage struct {
	Version           string         `json:"version"`
	GroupKey          string         `json:"groupKey"`
	TruncatedAlerts   uint64         `json:"truncatedAlerts"`
	Status            State          `json:"status"`
	Receiver          string         `json:"receiver"`
	GroupLabels       labels.Labels  `json:"groupLabels"`
	CommonLabels      labels.Labels  `json:"commonLabels"`
	CommonAnnotations labels.Labels  `json:"commonAnnotations"`
	ExternalURL       string         `json:"externalURL"`
	Alerts            []webhookAlert `json:"alerts"`
}

type webhookAlert struct {
	Status       State         `json:"status"`
	Labels       labels.Labels `json:"labels"`
	Annotations  labels.Labels `json:"annotations"`
	StartsAt     time.Time     `json:"startsAt"`
	EndsAt       time.Time     `json:"endsAt"`
	GeneratorURL string        `json:"generatorURL"`
	Fingerprint  string        `json:"fingerprint"`
}

func (n *Notifier) newWebhook(i int) (*singleReceiver, error) {
	c := n.config.Webhooks[i]
	client, err := commonconfig.NewClientFromConfig(c.HTTPConfig, "webhook")
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("webhook-%d", i)
	l := n.metrics.of(name)
	s := &singleReceiver{
		account: c.Account, ledger: l, log: n.deps.Log,
		queue:   newQueue(queueConfig{maxBytes: n.config.MaxBytes}, l),
		convert: func(a *Alert) *Alert { return n.labelled(a, c.Account == "") },
	}
	if !c.SendResolved {
		s.skip = func(a *Alert) bool { return a.State == Resolved }
	}
	host := ""
	if u, err := url.Parse(string(c.URL)); err == nil {
		host = u.Host
	}
	s.worker = n.worker(name+" "+host, s.queue, 1)
	s.worker.send = func(ctx context.Context, batch []delivery) error {
		return post(ctx, client, string(c.URL), time.Duration(c.Timeout),
			webhookOf(name, batch[0].alert), webhookRefuses)
	}
	return s, nil
}

func webhookOf(receiver string, a *Alert) webhookMessage {
	return webhookMessage{
		Version: "4", GroupKey: "{}:" + a.Labels.String(), Status: a.State, Receiver: receiver,
		GroupLabels: a.Labels, CommonLabels: a.Labels, CommonAnnotations: a.Annotations,
		Alerts: []webhookAlert{{
			Status: a.State, Labels: a.Labels, Annotations: a.Annotations,
			StartsAt: a.StartsAt.UTC(),
			EndsAt:   a.EndsAt.UTC(), GeneratorURL: a.GeneratorURL, Fingerprint: a.Fingerprint(),
		}},
	}
}

// webhookRefuses says of which answers a webhook means the alert and not the moment.
func webhookRefuses(status int) bool {
	return status/100 == 4 && status != http.StatusRequestTimeout &&
		status != http.StatusTooManyRequests
}

// post sends JSON. An error names no more of the address than its host, for it may have a token.
func post(
	ctx context.Context, client *http.Client, to string, timeout time.Duration, body any,
	refuses func(status int) bool,
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
	case refuses(answer.StatusCode):
		return fmt.Errorf("%w: it answered %s: %q", errRefused, answer.Status, said)
	}
	return fmt.Errorf("it answered %s: %q", answer.Status, said)
}
