package share

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTurns: no more of the queries' computations run at once than there are turns. Who is of no
// query waits for none of them, and who waits ends with its context.
func TestTurns(t *testing.T) {
	of := make(CPU, 2)
	ctx := of.Within(t.Context())
	var running, most atomic.Int32
	entered, release := make(chan struct{}, 8), make(chan struct{})
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			err := OnCPU(ctx, func() error {
				most.Store(max(most.Load(), running.Add(1)))
				entered <- struct{}{}
				<-release
				running.Add(-1)
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-entered
	<-entered // all turns are taken
	failed := errors.New("failed")
	if err := OnCPU(t.Context(), func() error { return failed }); !errors.Is(err, failed) {
		t.Errorf("without a query: %v, want what the function said", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := OnCPU(gone, func() error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	close(release)
	work.Wait()
	if n := most.Load(); n != 2 {
		t.Errorf("%d computed at once, want 2", n)
	}
}
