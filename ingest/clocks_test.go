package ingest

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/eventually"
)

// TestWrongClock: the log names a node whose clock is wrong, once, and the metric as long as its
// frames come; of many nodes it names some.
func TestWrongClock(t *testing.T) {
	var log lockedBuffer
	s := mustServe(t, nil, func(_ *Config, d *Deps) {
		d.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	const metric = "wrong_clock_seconds"
	if got := s.counts(t, metric); len(got) != 0 {
		t.Error(got)
	}
	now := time.Now()
	n := node{id: uuid.New(), at: now.Add(time.Hour)}
	send := func(n node) {
		answer := post(t, s.url, bytes.NewReader(n.mustKey(t)),
			sentAt(time.Now().Add(time.Hour)))
		wantRefusal(t, answer, http.StatusBadRequest, "clock_skew")
	}
	send(n)
	send(n)
	eventually.True(t, "the log names it", func() bool {
		return strings.Contains(log.String(), "node="+n.id.String())
	})
	if got := strings.Count(log.String(), "clock is wrong"); got != 1 ||
		!strings.Contains(log.String(), "cluster=prod-1 ") ||
		!strings.Contains(log.String(), "ahead=") {
		t.Errorf("%d lines: %s", got, log.String())
	}
	if got := s.counts(t, metric); len(got) != 1 {
		t.Error(got)
	}
	for range 30 {
		send(node{id: uuid.New(), at: now.Add(time.Hour)})
	}
	families, err := s.deps.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasSuffix(f.GetName(), metric) {
			for _, m := range f.GetMetric() {
				if v := m.GetGauge().GetValue(); v < 3500 || v > 3700 {
					t.Errorf("%g", v)
				}
			}
			if len(f.GetMetric()) != clocksNamed {
				t.Errorf("%d are named", len(f.GetMetric()))
			}
		}
	}

	// It is set right, and comes no more.
	later := time.Now().Add(clockKept + time.Minute)
	s.clocks.now = func() time.Time { return later }
	if got := s.counts(t, metric); len(got) != 0 {
		t.Error(got)
	}
}
