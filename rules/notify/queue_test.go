package notify

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func testBook(t *testing.T, rules queueConfig) (*queue, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	m, err := newMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	return newQueue(rules, m.of("topic")), reg
}

// drain takes and lands everything that is due.
func drain(b *queue, now time.Time) string {
	var words []string
	for {
		batch, _ := b.take(now, 100, false)
		if len(batch) == 0 {
			return strings.Join(words, ", ")
		}
		for _, f := range batch {
			words = append(words, word(f.alert))
		}
		b.finish(batch, "", now)
	}
}

// TestBookOnce: each change once, in order, whatever is repeated.
func TestBookOnce(t *testing.T) {
	b, reg := testBook(t, queueConfig{maxBytes: 1 << 20})
	put := func(alerts ...Alert) {
		for _, a := range alerts {
			b.put(&a, at(0))
		}
	}
	restored := firing("old", 0)
	b.restore(&restored, at(0))
	put(firing("old", 0), firing("a", 0), firing("a", 0), firing("b", 0), resolved("a", 0, 1),
		resolved("a", 0, 1), firing("a", 5))
	if got := drain(b, at(10)); got != "a firing, b firing, a resolved, a firing" {
		t.Errorf("told %q", got)
	}
	put(firing("a", 5), resolved("b", 0, 2), resolved("old", 0, 3), resolved("a", 0, 1),
		firing("b", 0))
	if got := drain(b, at(11)); got != "b resolved, old resolved" {
		t.Errorf("then told %q", got)
	}
	if m := sums(t, reg); m["ringwatch_notify_dropped_total repeated"] != 4 || b.pending() != 0 {
		t.Errorf("%v", m)
	}
	checkLedger(t, reg)
}

// TestBookSpacing: an Alertmanager that is back after ten minutes hears of a beginning and of the
// end at a distance, with the newest of each, and of repeats at once.
func TestBookSpacing(t *testing.T) {
	b, reg := testBook(t, queueConfig{maxBytes: 1 << 20, repeats: true, spacing: 5 * time.Minute})
	newest := firing("short", 0)
	newest.Value = 9
	for _, a := range []Alert{
		firing("short", 0), newest, resolved("short", 0, 1), firing("long", 0),
		resolved("long", 0, 9),
	} {
		b.put(&a, at(9))
	}
	batch, _ := b.take(at(10), 100, false)
	if len(batch) != 2 || batch[0].alert.Value != 9 || !batch[0].more {
		t.Fatalf("%+v", batch)
	}
	b.retry(batch) // still away
	if got := drain(b, at(10)); got != "short firing, long firing" {
		t.Errorf("told %q", got)
	}
	if _, wait := b.take(at(10), 100, false); wait != time.Minute {
		t.Errorf("the next in %s, and short fired for a minute", wait)
	}
	if got := drain(b, at(11)); got != "short resolved" {
		t.Errorf("after a minute told %q", got)
	}
	if got := drain(b, at(14.9)); got != "" {
		t.Errorf("told %q before the spacing", got)
	}
	if got := drain(b, at(15)); got != "long resolved" {
		t.Errorf("after the spacing told %q", got)
	}
	again := resolved("long", 0, 9)
	b.put(&again, at(15))
	if got := drain(b, at(15)); got != "long resolved" {
		t.Errorf("a repeat: told %q", got)
	}
	checkLedger(t, reg)
}

// TestBookBound: it never holds more than its bytes, says what it drops, and takes it when
// repeated.
func TestBookBound(t *testing.T) {
	b, reg := testBook(t, queueConfig{maxBytes: 20_000, repeats: true})
	for i := range 1000 {
		a := firing(fmt.Sprint("x", i), 0)
		b.put(&a, at(0))
	}
	held := b.pending()
	if b.bytes > 20_000 || held < 10 || held > 60 {
		t.Errorf("%d bytes, %d pending", b.bytes, held)
	}
	if m := sums(t, reg); m["ringwatch_notify_dropped_total full"] != float64(1000-held) {
		t.Errorf("%v", m)
	}
	checkLedger(t, reg)
	drain(b, at(0))
	for i := range held { // what has ended is forgotten in time, for others
		a := resolved(fmt.Sprint("x", i), 0, 1)
		b.put(&a, at(1))
		drain(b, at(1))
	}
	late := firing("x999", 0)
	b.put(&late, at(120))
	for i := range 30 {
		a := firing(fmt.Sprint("y", i), 60)
		b.put(&a, at(120))
		drain(b, at(120))
	}
	if b.alerts[late.series()] == nil || b.bytes > 20_000 {
		t.Errorf("a repeat is not taken: %d bytes, %d alerts", b.bytes, len(b.alerts))
	}
	checkLedger(t, reg)
}

// TestBookRandom: whatever comes and fails, each receiver hears each alert's changes in their
// order and none twice, and the bytes come back to nothing.
func TestBookRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	b, reg := testBook(t, queueConfig{maxBytes: 1 << 20})
	type state struct {
		fires bool
		since float64
	}
	now := map[string]state{}
	want, got := map[string]string{}, map[string]string{}
	hear := func() {
		batch, _ := b.take(at(0), 1+r.IntN(3), false)
		if r.IntN(3) == 0 {
			b.retry(batch)
			return
		}
		for _, f := range batch {
			got[f.alert.Labels.Get("alertname")] += string(f.alert.State) + " "
		}
		b.finish(batch, "", at(0))
	}
	for i := range 3000 {
		name := fmt.Sprint(r.IntN(5))
		s := now[name]
		switch {
		case r.IntN(3) == 0: // a repeat
		case s.fires:
			s.fires = false
			want[name] += "resolved "
		default:
			s = state{true, float64(i)}
			want[name] += "firing "
		}
		now[name] = s
		a := firing(name, s.since)
		if !s.fires {
			a = resolved(name, s.since, s.since+0.5)
		}
		if s.since > 0 {
			b.put(&a, at(0))
		} else {
			want[name] = ""
			now[name] = state{}
		}
		hear()
	}
	for b.pending() > 0 {
		hear()
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: told %.80q, want %.80q", name, got[name], want[name])
		}
	}
	if b.bytes != len(b.alerts)*alertQueueBytes {
		t.Errorf("%d bytes are left of %d alerts", b.bytes, len(b.alerts))
	}
	checkLedger(t, reg)
}
