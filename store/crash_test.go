package store

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window/events"
)

const (
	crashWriters = 64    // as many frames as the role store has in flight
	crashFrames  = 2_000 // acknowledged in a life before it ends
)

// crashWriter writes one node's frames and remembers those that Cassandra acknowledged.
type crashWriter struct {
	node  *frametest.Node
	at    int64
	acked []int64
}

// write goes on until Cassandra is gone. The frame that failed may be there or not.
func (w *crashWriter) write(ctx context.Context, s *Store, count *atomic.Int64,
	enough chan<- struct{}) {
	for {
		w.at += 5000
		w.node.Step()
		w.node.Events = []frame.Event{{At: w.at, Kind: "start"}}
		if err := writing(s).WriteFrame(ctx, "acme", w.node.Frame(w.at)); err != nil {
			return
		}
		w.acked = append(w.acked, w.at)
		if count.Add(1) == crashFrames {
			close(enough)
		}
	}
}

// TestKilledCassandraLosesNothing kills the only Cassandra, as make up and all tests run it, again
// and again while frames are written to it as fast as it takes them. Every frame that it
// acknowledged is there in its next life, with its event.
func TestKilledCassandraLosesNothing(t *testing.T) {
	node := engines.MustCassandra(t)
	config := testConfig(t, node.Addr(), newClock(base))
	if err := mustOpen(t, config).Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	writers := make([]*crashWriter, crashWriters)
	for i := range writers {
		writers[i] = &crashWriter{node: frametest.New("crash", uint64(i+1), 3), at: base}
	}
	crashes := 1
	if full {
		crashes = 5
	}
	for range crashes {
		s := mustOpen(t, config)
		ctx, cancel := context.WithTimeout(t.Context(), engines.Patience)
		var (
			count  atomic.Int64
			enough = make(chan struct{})
			wg     sync.WaitGroup
		)
		for _, w := range writers {
			wg.Go(func() { w.write(ctx, s, &count, enough) })
		}
		select {
		case <-enough:
		case <-ctx.Done():
			t.Error("Cassandra did not take the frames in time")
		}
		if err := node.Kill(); err != nil {
			t.Fatal(err)
		}
		cancel()
		wg.Wait()
		s.Close()
		if err := node.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		checkAcknowledged(t, mustOpen(t, config), writers, count.Load())
	}
}

// checkAcknowledged fails for frames that were acknowledged, in any life, and are not there.
func checkAcknowledged(t *testing.T, s *Store, writers []*crashWriter, written int64) {
	t.Helper()
	lost, all := 0, 0
	told := map[events.ID]bool{}
	list, _ := allPages(t, s, events.Query{Clusters: []string{"crash"}, To: math.MaxInt64,
		Limit: 1000})
	for i := range list {
		told[list[i].ID()] = true
	}
	for _, w := range writers {
		there := map[int64]bool{}
		for window := frame.WindowOf(base); window <= w.at; window += frame.WindowMillis {
			frames, err := s.fresh.InWindow(t.Context(), rows.Work{}, memory.Unbounded(), "acme",
				w.node.ID, window)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range frames {
				h, _, err := frame.Parse(b)
				if err != nil {
					t.Fatal(err)
				}
				there[h.At] = true
			}
		}
		for _, at := range w.acked {
			all++
			if !there[at] || !told[events.ID{At: at, Node: w.node.ID, FrameAt: at}] {
				lost++
			}
		}
	}
	t.Logf("%d frames acknowledged in this life, %d in all", written, all)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged frames are lost", lost, all)
	}
}
