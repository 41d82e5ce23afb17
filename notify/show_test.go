package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

const shown = `
global: {smtp_smarthost: "m:25", smtp_from: r@example.org, smtp_auth_password: sesame}
route:
  receiver: me
  group_by: [cluster]
  group_wait: 1h
  routes:
    - matchers: ['severity="critical"']
      receiver: night
      repeat_interval: 1h
      continue: true
      routes: [{matchers: ['cluster="c"', 'alertname!~"X|Y"']}]
    - matchers: ['alertname="Muted"']
      mute_time_intervals: [always]
    - matchers: ['cluster="c"']
receivers:
  - {name: me, email_configs: [{to: me@example.org}]}
  - name: night
    slack_configs: [{api_url: "http://s/sesame", channel: "#night"}]
    pagerduty_configs: [{routing_key: sesame}]
inhibit_rules:
  - {source_matchers: ['alertname="Down"'], target_matchers: ['alertname="Hot"'], equal: [node]}
time_intervals:
  - {name: always, time_intervals: [{times: [{start_time: "00:00", end_time: "24:00"}]}]}
`

// TestShow: to whom, by which route, when, in which words, and what keeps it quiet; no secrets.
func TestShow(t *testing.T) {
	n := mustOpen(t, options(t.TempDir(), mustParse(t, shown)))
	id := mustSilence(t, n, "alertname", "Known", time.Hour)
	down := firing("Down", "node", "7", "severity", "critical")
	down.Annotations = labels.FromStrings("summary", "Node db-7 of cluster c is silent",
		"description", "Nothing comes.")
	mustPut(t, n, down, firing("Hot", "node", "7", "severity", "warning"), firing("Known"),
		firing("Muted"))
	var list []Notice
	eventually(t, func() bool {
		var err error
		if list, _, err = n.Show(t.Context(), "shop", ""); err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, one := range list {
			count += len(one.Alerts)
		}
		return count == 5 // Down twice
	}, func() string { return fmt.Sprintf("%+v", list) })
	by := map[string]Notice{}
	for _, one := range list {
		by[one.Receiver+" "+strings.Join(one.Route, " / ")] = one
	}
	night := by[`night severity="critical" / alertname!~"X|Y",cluster="c"`]
	if night.Repeat != 3600 || night.Wait != 3600 || night.Interval != 300 ||
		night.Group["cluster"] != "c" || len(night.Alerts) != 1 || len(night.Messages) != 2 {
		t.Fatalf("%+v", list)
	}
	slack := night.Messages[0]
	if slack.To != "#night" && night.Messages[1].To != "#night" {
		t.Errorf("%+v", night.Messages)
	}
	for _, m := range night.Messages {
		if m.Fails != "" || m.Told != nil || !strings.Contains(fmt.Sprint(m.Parts),
			"Critical: Node db-7 of cluster c is silent, since ") ||
			!strings.Contains(fmt.Sprint(m.Parts), "Nothing comes.") {
			t.Errorf("%+v", m)
		}
	}
	muted := by[`me alertname="Muted"`]
	if fmt.Sprint(muted.MutedBy) != "[always]" || len(muted.Messages) != 1 ||
		len(muted.Messages[0].Parts) != 0 {
		t.Errorf("%+v", muted)
	}
	for _, a := range by[`me cluster="c"`].Alerts {
		switch a.Alert {
		case "Known":
			if len(a.SilencedBy) != 1 || a.SilencedBy[0].ID != id || a.SilencedBy[0].By != "me" {
				t.Errorf("%+v", a)
			}
		case "Hot":
			if len(a.InhibitedBy) != 1 || !strings.Contains(a.InhibitedBy[0], "Node db-7") {
				t.Errorf("%+v", a)
			}
		}
	}
	if text := fmt.Sprint(by[`me cluster="c"`].Messages); !strings.Contains(text,
		"Node db-7 of cluster c is silent") || strings.Contains(text, "Hot") {
		t.Error(text)
	}
	text, err := json.Marshal(list)
	if err != nil || strings.Contains(string(text), "sesame") {
		t.Errorf("%s %v", text, err)
	}
	if one, _, err := n.Show(t.Context(), "shop", "Muted"); err != nil || len(one) != 1 {
		t.Errorf("%+v %v", one, err)
	}
	_, _, err = n.Show(t.Context(), "shop", "Mutet")
	if unknown, is := errors.AsType[*UnknownAlertError](err); !is ||
		fmt.Sprint(unknown.Alerts) != "[Down Hot Known Muted]" {
		t.Error(err)
	}
}

// TestShowSays: when an integration was told last.
func TestShowSays(t *testing.T) {
	h := mustHook(t, nil)
	n := opened(t, h, "1h")
	mustPut(t, n, firing("A"))
	h.wait(t, "A firing")
	eventually(t, func() bool {
		list, _, err := n.Show(t.Context(), "shop", "A")
		if err != nil || len(list) != 1 || len(list[0].Messages) != 1 {
			t.Fatalf("%+v %v", list, err)
		}
		return list[0].Messages[0].Told != nil
	}, func() string { return "it was told, and nothing says so" })
}
