package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/api/apitest"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
)

// mustBudget returns a fixture whose answers take their memory from a budget.
func mustBudget(t *testing.T, bytes int64, near func() bool) (*fixture, *memory.Budget) {
	t.Helper()
	budget, err := memory.NewBudget("answers", bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{T: t, store: &apitest.Store{}, metrics: prometheus.NewRegistry()}
	f.now.Store(time.Now().UnixMilli())
	sources := f.store.Sources()
	sources.Memory = budget
	f.start(inMemory, sources, api.Deps{Near: near, StoreReady: f.store.Ready})
	f.fill(2, 5, time.Minute, func(b []byte) { f.store.Put(f.account("acme"), b) })
	return f, budget
}

// TestLargeAnswersHarmTheirAccountOnly: what an account's frames unpack to is refused to it when it
// asks, and the other one is answered all the while.
func TestLargeAnswersHarmTheirAccountOnly(t *testing.T) {
	f, budget := mustBudget(t, 32<<20, nil)
	// 2 kB of frame; each series would have 1,024 buckets of 8 bytes, or some 500 bytes as it is.
	hostile := uuid.New()
	f.store.Put(f.account("other"), frametest.HistogramFrame(hostile, "evil", f.now.Load(), 60_000,
		1, 1024, true))
	from := time.UnixMilli(f.now.Load()).Add(-time.Minute).UTC().Format(time.RFC3339)
	paths := []string{"prometheus", "metrics", "metrics?format=prometheus",
		"metrics?metrics=m0000&from=" + from, "metrics?metrics=m0000&step=10s&from=" + from}
	done := make(chan struct{})
	var asked, most atomic.Int64
	var acme, evil sync.WaitGroup
	acme.Go(func() {
		for {
			for i := range f.nodes {
				if got := f.ask(acmeKey, f.metricsPath(i), nil); got.status != http.StatusOK {
					t.Errorf("%d %s", got.status, got.body)
				}
				most.Store(max(most.Load(), budget.Used()))
				asked.Add(1)
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	for round := range 3 {
		for _, path := range paths {
			evil.Go(func() {
				got := f.ask(otherKey, fmt.Sprintf("/v1/nodes/%s/%s", hostile, path), nil)
				switch body := string(got.body); {
				case got.status == http.StatusBadRequest && strings.Contains(body, "too_large") &&
					strings.Contains(body, "ask for"):
				case got.status == http.StatusServiceUnavailable &&
					strings.Contains(body, `"busy"`) && got.header.Get("Retry-After") != "":
				default:
					t.Errorf("round %d, %s: %d, %d bytes: %.200s", round, path, got.status,
						len(body), body)
				}
			})
		}
	}
	evil.Wait()
	close(done)
	acme.Wait()
	if most.Load() > 32<<20 || asked.Load() == 0 {
		t.Errorf("%d bytes were leased at once, %d answers", most.Load(), asked.Load())
	}
	// An answer has arrived a moment before its lease ends.
	for deadline := time.Now().Add(time.Minute); budget.Used() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are leased when all is answered", budget.Used())
		}
	}
}

// TestNearTheLimit: a process that is near its memory limit answers no one until it is not.
func TestNearTheLimit(t *testing.T) {
	var near atomic.Bool
	f, _ := mustBudget(t, 64<<20, near.Load)
	near.Store(true)
	got := f.ask(acmeKey, f.metricsPath(0), nil)
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" ||
		!strings.Contains(string(got.body), "low_memory") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := f.ask("", "/-/healthy", nil); got.status != http.StatusOK {
		t.Errorf("health: %d", got.status)
	}
	near.Store(false)
	if got := f.ask(acmeKey, f.metricsPath(0), nil); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}
