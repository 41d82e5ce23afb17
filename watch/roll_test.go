package watch

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// TestTakenOut: a target that is taken out says so in its last frame, also by a process that begins
// after that. One that discovery has not been asked for yet is not taken out.
func TestTakenOut(t *testing.T) {
	l := newLine()
	file := filepath.Join(t.TempDir(), "targets.json")
	begin := func(shares *Shares) *Watcher {
		w, err := New(nil, Deps{Put: l.put(t), Shares: shares, Remember: file,
			Metrics: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(&l.log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	of := func(instance string) reading.Target {
		return reading.Target{Kind: reading.Other, Cluster: "c", Job: "app", Instance: instance,
			Interval: time.Second}
	}
	a, b, c := of("a"), of("b"), of("c")
	take := func(w *Watcher, of reading.Target) { w.Take(of, time.Now(), values(1), nil) }
	has := func(when string, of reading.Target, left string) {
		t.Helper()
		l.mu.Lock()
		facts := l.facts[of.ID()]
		l.mu.Unlock()
		_, there := l.find(`"keys"`, `instance="`+of.Instance+`"`)
		if facts.Fact(frame.FactLeft) != left || there != (left == "") ||
			facts.Fact("version") != "7.0.15" {
			t.Errorf("%s %s has the facts %v, and series: %v", when, of.Instance, facts.Facts,
				there)
		}
	}
	w := begin(Everything())
	all := []reading.Target{a, b, c}
	w.Found(all, true)
	for _, one := range all {
		take(w, one)
		has("at first", one, "")
	}
	w.Found(all[:1], true)
	w.Found(all[:1], true) // it is said once
	take(w, b)             // was on its way
	has("of two that were taken out", b, frame.LeftRemoved)
	has("of two that were taken out", c, frame.LeftRemoved)
	has("beside two that were taken out", a, "")
	w.Found(all, true)
	take(w, b)
	take(w, c)
	has("that was put back", b, "")

	w.roll.mu.Lock()
	w.tidyRoll() // as it does each minute
	w.roll.mu.Unlock()
	w = begin(Everything())
	w.Found([]reading.Target{b}, false)
	has("that is not found yet", a, "")
	w.Found([]reading.Target{b, c}, true)
	has("after a start", a, frame.LeftRemoved)
	has("after a start", b, "")

	shares := NewShares(1, nil)
	w = begin(shares)
	w.Found(nil, true)
	has("of another process", b, "")
	shares.Assign(0)
	w.roll.mu.Lock()
	w.tidyRoll()
	w.roll.mu.Unlock()
	has("that became ours", b, frame.LeftRemoved)
	w = begin(Everything())
	if len(w.roll.known) != 0 {
		t.Errorf("the file has %v", w.roll.known)
	}
}
