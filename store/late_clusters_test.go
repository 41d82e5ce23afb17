package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/late"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestNoReaderKeepsWhatALateFrameChanged lets several processes write late frames, their clocks
// up to a Timeout apart and some of them killed at any write, and several read and keep how many
// frames a window has. Whoever is told that nothing has changed has what a new reading gives.
func TestNoReaderKeepsWhatALateFrameChanged(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 4))
	start := frame.WindowOf(time.Now().UnixMilli() - 3*calendar.WindowMillis)
	c := newClock(start + 2*calendar.WindowMillis)
	k := &killer{}
	first := k.of(t, mustStore(t, c, func(c *Config) { c.FreshTTL = 24 * time.Hour }))
	process := func() *Store {
		behind := &clock{}
		config := first.config
		off := int64(r.IntN(int(config.Timeout.Milliseconds())))
		config.Now = func() time.Time {
			behind.millis.Store(c.millis.Load() - off)
			return behind.now()
		}
		return another(first, config)
	}
	writers, readers := []*Store{process(), process(), process()}, []*Store{process(), process()}
	type kept struct {
		began  int64
		frames int
	}
	keeps := make([]map[uuid.UUID]kept, len(readers))
	nodes := []*windowtest.Node{windowtest.NewNode(seeded(t, 1)), windowtest.NewNode(seeded(t, 2))}
	for i := range readers {
		keeps[i] = map[uuid.UUID]kept{}
	}
	all := func(string) bool { return true }
	var used, dropped, killed int
	for range 600 {
		n := nodes[r.IntN(len(nodes))]
		switch r.IntN(9) {
		case 0, 1:
			c.millis.Add(int64(r.IntN(180_000)))
		case 2:
			s, ctx := writers[r.IntN(len(writers))], t.Context()
			sent := n.Step(start+int64(r.IntN(int(calendar.WindowMillis))), true)
			if r.IntN(4) == 0 { // killed between or after its writes
				ended, cancel := context.WithCancel(ctx)
				k.arm(1+r.IntN(3), cancel)
				if err := NewWriter(s).WriteFrame(ended, "acme", sent.Bytes); errors.Is(err,
					context.Canceled) {
					killed++
				}
				k.arm(0, nil)
				cancel()
				continue
			}
			if err := NewWriter(s).WriteFrame(ctx, "acme", sent.Bytes); err != nil {
				t.Fatal(err)
			}
		default:
			i := r.IntN(len(readers))
			began := readers[i].clock.Millis()
			frames, err := readers[i].fresh.InWindow(t.Context(), Dashboard("acme"),
				memory.Unbounded(), "acme", n.ID, start)
			if err != nil {
				t.Fatal(err)
			}
			if had, is := keeps[i][n.ID]; is {
				same, err := readers[i].Unchanged(t.Context(), "acme", all, had.began)
				if err != nil {
					t.Fatal(err)
				}
				if same && had.frames != len(frames) {
					t.Fatalf("a reader keeps %d frames, and there are %d", had.frames, len(frames))
				}
				if same {
					used++
					continue
				}
				dropped++
			}
			keeps[i][n.ID] = kept{began, len(frames)}
		}
	}
	t.Logf("%d times what was kept counted, %d times not, %d writers were killed", used,
		dropped, killed)
	if used < 5 || dropped < 5 || killed == 0 {
		t.Error("these are too few")
	}
}

// TestUnchangedByCluster: a mark is of its account's cluster alone, the later one of two stands, a
// process asks again only after a while, and nothing is kept for longer than marks are there.
func TestUnchangedByCluster(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c)
	ask := func(account, cluster string, began int64) bool {
		t.Helper()
		same, err := s.Unchanged(t.Context(), account, func(name string) bool {
			return name == cluster
		}, began)
		if err != nil {
			t.Fatal(err)
		}
		return same
	}
	s.late.Clusters.Age = 0
	w := Dashboard("acme")
	mark := func(at time.Time) {
		t.Helper()
		// as another process
		other := late.NewClusters(s.session, s.limits, s.clock)
		if err := other.Mark(t.Context(), w, "acme", "a", at); err != nil {
			t.Fatal(err)
		}
	}
	now := s.clock.Now()
	mark(now)
	mark(now.Add(-s.config.Timeout)) // written later, by a clock that is behind
	slack := (s.limits.MarkAgain() + 2*s.config.Timeout).Milliseconds()
	c.millis.Add(2 * slack)
	at := now.UnixMilli()
	for _, of := range []struct {
		account, cluster string
		began            int64
		same             bool
	}{
		{"acme", "a", at - 1000, false}, {"acme", "a", at + slack, false},
		{"acme", "a", at + slack + 1, true},
		{"acme", "b", at - 1000, true}, {"other", "a", at - 1000, true},
	} {
		if ask(of.account, of.cluster, of.began) != of.same {
			t.Errorf("%+v is told otherwise", of)
		}
	}
	s.late.Clusters.Age = time.Hour
	ask("acme", "a", at+slack+1)
	c.millis.Add(1000)
	mark(s.clock.Now())
	if !ask("acme", "a", at+slack+1) {
		t.Error("the marks were read again at once")
	}
	c.millis.Store(at + slack + 1 + s.config.FreshTTL.Milliseconds())
	if ask("acme", "b", at+slack+1) {
		t.Error("what is older than frames live counts")
	}
	if ask("acme", "b", s.clock.Millis()+1000) {
		t.Error("what was read in the future counts")
	}
}
