package notify

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dev/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

const patience = 2 * time.Minute

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// testConfig has no outlet and retries at once.
func testConfig() Config {
	c := DefaultConfig()
	c.RetryMin, c.RetryMax = 20*time.Millisecond, 200*time.Millisecond
	c.StopTimeout = time.Minute
	return c
}

// mustNotifier runs until the test ends or stop is called, and then checks the ledger.
func mustNotifier(
	t *testing.T, c Config, d Deps,
) (n *Notifier, reg *prometheus.Registry, stop func()) {
	t.Helper()
	reg = prometheus.NewRegistry()
	d.Metrics, d.Log = reg, quiet
	n, err := New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("Run did not end")
		}
		checkLedger(t, reg)
		if n.Pending() != 0 {
			t.Errorf("%d are pending after the end", n.Pending())
		}
	}
	t.Cleanup(stop)
	return n, reg, stop
}

// sums adds up each metric by its outlet, and dropped by its reason, too.
func sums(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]float64{}
	for _, f := range families {
		for _, s := range f.Metric {
			v := s.GetCounter().GetValue() + s.GetGauge().GetValue()
			for _, l := range s.Label {
				m[f.GetName()+" "+l.GetValue()] += v
			}
		}
	}
	return m
}

// checkLedger: accepted = sent + dropped + pending, of each outlet.
func checkLedger(t *testing.T, reg *prometheus.Registry) {
	t.Helper()
	m := sums(t, reg)
	outlets := 0
	for _, o := range []string{"alertmanagers-0", "alertmanagers-1", "topic"} {
		accepted, ok := m["ringwatch_notify_accepted_total "+o]
		if !ok {
			continue
		}
		outlets++
		rest := m["ringwatch_notify_sent_total "+o] + m["ringwatch_notify_dropped_total "+o] +
			m["ringwatch_notify_pending "+o]
		if accepted != rest {
			t.Errorf("%s: %v accepted, and %v sent, dropped and pending: %v", o, accepted, rest, m)
		}
	}
	if outlets == 0 {
		t.Error("no outlet has a ledger")
	}
}

// epoch is when the tests' alerts begin.
var epoch = time.Now().Add(-time.Hour).Truncate(time.Millisecond)

func at(minutes float64) time.Time {
	return epoch.Add(time.Duration(minutes * float64(time.Minute)))
}

// firing is an alert that fires since so many minutes after epoch.
func firing(name string, since float64) Alert {
	return Alert{
		Account: "acme", Cluster: "prod", Group: "g", File: "f.yaml", State: Firing,
		Labels:      labels.FromStrings("alertname", name, "cluster", "prod", "severity", "page"),
		Annotations: labels.FromStrings("summary", name+" is bad"),
		ActiveAt:    at(since - 1), StartsAt: at(since), ValidUntil: at(since + 4), Value: 7,
		Expression: "up == 0", GeneratorURL: "http://127.0.0.1:9470/graph",
	}
}

func resolved(name string, since, until float64) Alert {
	a := firing(name, since)
	a.State, a.EndsAt, a.ValidUntil = Resolved, at(until), time.Time{}
	return a
}

func word(a *Alert) string { return fmt.Sprintf("%s %s", a.Labels.Get("alertname"), a.State) }
