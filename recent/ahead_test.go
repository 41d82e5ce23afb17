package recent

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

// TestFramesFromTheFuture is the attack: somebody with a key of the account sends frames for a node
// that lives, dated as far ahead as ingest takes them. The node's next frame is its newest again,
// then and when the forged time has come.
func TestFramesFromTheFuture(t *testing.T) {
	f := newFixture(t, inMemory)
	n, forger := frametest.New("one", 1, 3), frametest.New("one", 2, 3)
	forger.ID = n.ID
	handle := func(b []byte) {
		t.Helper()
		now := f.clock.now()
		if err := f.writer.Handle(t.Context(),
			[]stream.Record{{Account: t.Name(), Received: now, Value: b}}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, want []byte, heard int64) {
		t.Helper()
		got, at, err := f.reader.Latest(t.Context(), t.Name(), n.ID)
		if err != nil || !equal(got[len(got)-1:], [][]byte{want}) || at != heard {
			t.Errorf(
				"%s: %d frames, heard of at %d where that was %d, %v",
				what, len(got), at, heard, err)
		}
		if seen, err := f.reader.LastSeen(t.Context(), t.Name(), []uuid.UUID{n.ID}); err != nil ||
			seen[n.ID] != heard {
			t.Errorf("%s: last seen %v, want %d, %v", what, seen, heard, err)
		}
	}
	ahead := []time.Duration{2_001 * time.Millisecond, 30 * time.Second, 5 * time.Minute,
		9 * time.Minute}
	for i := range 40 { // ten minutes, over several windows' ends
		now := f.clock.millis.Load()
		live := n.Frame(now)
		handle(live)
		check("a live frame", live, now)
		f.clock.millis.Add(1000)
		came := f.clock.millis.Load()
		forged := forger.Frame(came + ahead[i%len(ahead)].Milliseconds())
		handle(forged)
		check("until the next frame", forged, came)
		f.clock.millis.Add(n.Interval)
		now = f.clock.millis.Load()
		live = n.Frame(now)
		handle(live)
		handle(live) // a consumer that restarts writes it again
		check("the next frame", live, now)
		f.clock.millis.Add(9_000)
		check("and nothing after it", live, now)
	}
}

// TestAheadAlone: a node whose clock is ahead is heard of when its frames arrive, and silent when
// they stop.
func TestAheadAlone(t *testing.T) {
	f := newFixture(t, inMemory)
	n := frametest.New("one", 3, 3)
	var last []byte
	came := int64(0)
	for range 100 {
		came = f.clock.millis.Load()
		last = n.Frame(came + 8*60_000)
		if err := f.writer.Handle(t.Context(),
			[]stream.Record{{Account: t.Name(), Value: last}}); err != nil {
			t.Fatal(err)
		}
		f.clock.millis.Add(n.Interval)
	}
	for range 10 {
		got, at, err := f.reader.Latest(t.Context(), t.Name(), n.ID)
		if err != nil || at != came || !equal(got[len(got)-1:], [][]byte{last}) {
			t.Fatalf("%d frames, heard of at %d where that was %d, %v", len(got), at, came, err)
		}
		f.clock.millis.Add(60_000)
	}
}

// TestBacklogIsOld: a frame that waited counts from its own time, whenever it arrives.
func TestBacklogIsOld(t *testing.T) {
	f := newFixture(t, inMemory)
	n := frametest.New("one", 4, 3)
	now := f.clock.millis.Load()
	waited, fresh := n.Frame(now-20_000), n.Frame(now)
	for _, b := range [][]byte{fresh, waited} {
		if err := f.writer.Handle(t.Context(),
			[]stream.Record{{Account: t.Name(), Value: b}}); err != nil {
			t.Fatal(err)
		}
		f.clock.millis.Add(1000)
	}
	if got, at, err := f.reader.Latest(t.Context(), t.Name(), n.ID); err != nil || at != now ||
		!equal(got[len(got)-1:], [][]byte{fresh}) {
		t.Errorf("%d frames, heard of at %d where that was %d, %v", len(got), at, now, err)
	}
}
