package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
)

// ofTheMachine are shipped alerts that tell the truth about whatever machine a test runs on.
var ofTheMachine = []string{
	"NodeCPUBusy", "CassandraCommitLogPending", "NodeDiskFull", "NodeGCTime",
	"CassandraReadLatencyHigh", "CassandraWriteLatencyHigh",
}

// quietFor is for how long a start is watched by make test-full. make test watches until each group
// has been evaluated, and while other tests go on; rules/start_test.go replays all 15 minutes.
const quietFor = 15 * time.Minute

// quiet watches the shipped alerts from a start on.
type quiet struct {
	began time.Time
	stop  context.CancelFunc
	done  sync.WaitGroup

	mu    sync.Mutex
	asked int
	seen  map[string]string // by alert and instance or node: what the API said first
}

// watchAlerts asks for alerts all the time until end.
func (w *whole) watchAlerts(t *testing.T) *quiet {
	shipped := map[string]bool{}
	byGroup, _ := shippedExprs(t)
	for _, list := range byGroup {
		for name := range list {
			name, _, _ = strings.Cut(name, " ")
			shipped[name] = !slices.Contains(ofTheMachine, name)
		}
	}
	flags := client.Flags{API: w.API, Key: w.Key}
	api, err := flags.Client()
	if err != nil {
		t.Fatal(err)
	}
	q := &quiet{began: time.Now(), seen: map[string]string{}}
	ctx, stop := context.WithCancel(t.Context())
	q.stop = stop
	q.done.Go(func() {
		ticker := time.NewTicker(500 * time.Millisecond)
		defer ticker.Stop()
		for ctx.Err() == nil {
			if list, err := alerts.AskAlerts(ctx, api); err == nil {
				q.note(list, shipped)
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(stop)
	return q
}

func (q *quiet) note(list []alerts.AlertInfo, shipped map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.asked++
	for _, a := range list {
		name := a.Labels["alertname"]
		key := name + " " + a.Labels["severity"] + " " + a.Labels["instance"] + a.Labels["node"]
		if shipped[name] && q.seen[key] == "" {
			q.seen[key] = fmt.Sprintf("%s since %s, value %s: %s", a.State,
				a.ActiveAt.Format(time.TimeOnly), a.Value, a.Annotations["description"])
		}
	}
}

// end stops watching; what was seen is wrong.
func (q *quiet) end(t *testing.T) {
	t.Helper()
	q.stop()
	q.done.Wait()
	t.Logf("asked %d times within %s", q.asked, time.Since(q.began).Round(time.Second))
	for _, key := range slices.Sorted(maps.Keys(q.seen)) {
		t.Errorf("after a start %s was %s", key, q.seen[key])
	}
	if q.asked == 0 {
		t.Error("the alerts were never seen")
	}
}

// evaluated waits until each group of the shipped rules has been evaluated since an instant.
func (w *whole) evaluated(t *testing.T, since time.Time) {
	t.Helper()
	byGroup, _ := shippedExprs(t)
	eventually(t, "all groups to be evaluated", func(ctx context.Context) error {
		var rules struct {
			Data struct {
				Groups []struct {
					Name           string
					LastEvaluation time.Time
				}
			}
		}
		if err := w.Get(ctx, "/api/v1/rules", &rules); err != nil {
			return err
		}
		at := map[string]time.Time{}
		for _, g := range rules.Data.Groups {
			if g.LastEvaluation.After(at[g.Name]) {
				at[g.Name] = g.LastEvaluation
			}
		}
		for name := range byGroup {
			if !at[name].After(since) {
				return fmt.Errorf("%s was evaluated at %s", name, at[name])
			}
		}
		return nil
	})
	if os.Getenv("RINGWATCH_TEST_FULL") == "" {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Until(since.Add(quietFor)))
	defer cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatal(ctx.Err())
	}
}

// testRestart ends all roles in order and starts them again.
func (w *whole) testRestart(t *testing.T) {
	if err := w.RestartRingwatch(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.evaluated(t, time.Now())
}
