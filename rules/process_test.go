package rules

import (
	"maps"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/series"
)

// TestProcesses: the shipped rules about ourselves see what our processes send. One that falls
// silent is missed, one that says that it ends is not, and neither is a node with a series up.
func TestProcesses(t *testing.T) {
	text, err := Shipped.ReadFile("ringwatch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := newTown(t, 0, string(text))
	w.begin()
	type process struct {
		frametest.Recorder
		instance string
		ended    int64
	}
	var all []*process
	for _, instance := range []string{"stays", "crashes", "ends"} {
		all = append(all, &process{instance: instance, Recorder: frametest.Recorder{
			Cluster: "ringwatch-self", Interval: townInterval,
			Node: frame.ProcessID("ringwatch-self", instance, "api")}})
	}
	// go on for so long, with a frame of each process that runs.
	pass := func(d time.Duration, silent ...string) {
		t.Helper()
		for end := w.at + d.Milliseconds(); w.at < end; {
			w.at += townInterval
			var list []sent
			for _, p := range all {
				var said []frametest.Recorded
				of := map[string]string{"cluster": "ringwatch-self", "instance": p.instance,
					"job": "ringwatch", "role": "api"}
				add := func(name string, v float64) {
					said = append(said, frametest.Recorded{Name: name, Labels: maps.Clone(of),
						Value: v})
				}
				switch {
				case len(silent) == 0 || p.instance == silent[0]:
					add("ringwatch_process_up", 1)
					add("ringwatch_account_keys_age_seconds", 100)
				case p.instance == "ends" && p.ended == 0:
					add("ringwatch_process_up", 0)
					p.ended = w.at
				default:
					continue
				}
				b, err := p.Frame(w.at-1000, said)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, sent{w.at - 1000, "ringwatch-self", b, ""})
			}
			w.deliver(w.role, w.at, list...)
		}
	}
	pass(15 * time.Minute)
	unread := []string{"RingwatchKeysUnread firing", "RingwatchKeysUnread firing",
		"RingwatchKeysUnread firing"}
	w.wantTold(0, unread...)
	from := len(w.alerts)
	pass(10*time.Minute, "stays")
	gone := []string{"RingwatchProcessDown firing", "RingwatchKeysUnread inactive",
		"RingwatchKeysUnread inactive"}
	w.wantTold(from, gone...)
	for i := range w.alerts {
		if a := &w.alerts[i]; a.Rule == "RingwatchProcessDown" &&
			a.Labels.Get("instance") != "crashes" {
			t.Errorf("missed: %s", said(a))
		}
	}
	v, err := w.cluster("", "ringwatch-self").evaluation.query(t.Context(), series.MetricUp,
		time.UnixMilli(w.at))
	if err != nil || len(v) != 0 {
		t.Errorf("processes have a series up: %v, %v", v, err)
	}
	w.begin() // another process of the role knows it, too
	pass(10*time.Minute, "stays")
	w.wantTold(from, gone...)
	pass(10 * time.Minute)
	w.wantTold(from, append(gone, "RingwatchProcessDown inactive", "RingwatchKeysUnread firing",
		"RingwatchKeysUnread firing")...)
}
