package ingest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/dev/eventually"
)

// TestClockHeader: every answer to a frame tells ingest's clock, refusals included.
func TestClockHeader(t *testing.T) {
	took := func(context.Context, string, string, []byte) error { return nil }
	s := mustServe(t, took)
	at := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	s.now = func() time.Time { return at }
	for _, c := range []struct {
		body   []byte
		change func(*http.Request)
		status int
	}{
		{node{}.mustKey(t), sentAt(at), http.StatusNoContent},
		{node{}.mustKey(t), sentAt(at.Add(-time.Hour)), http.StatusBadRequest},
		{node{}.mustKey(t), withKey("rw_nobodys"), http.StatusUnauthorized},
		{[]byte("no frame"), sentAt(at), http.StatusBadRequest},
	} {
		answer := post(t, s.url, bytes.NewReader(c.body), c.change)
		got, err := strconv.ParseInt(answer.Header.Get(ClockHeader), 10, 64)
		if answer.StatusCode != c.status || err != nil || got != at.UnixMilli() {
			t.Errorf("%d with the clock %d (%v), want %d with %d", answer.StatusCode, got, err,
				c.status, at.UnixMilli())
		}
	}
}

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
