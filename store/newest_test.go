package store

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// TestFramesFromTheFuture is the attack: frames for a node that lives, dated ahead, in the window
// of now and in later ones. The node's next frame is its newest again, then and when the forged
// time has come, and the node's row says what the live node says.
func TestFramesFromTheFuture(t *testing.T) {
	c := newClock(base + 250_000)
	s := mustStore(t, c)
	n, forger := frametest.New("one", 1, 2), frametest.New("one", 2, 2)
	forger.ID = n.ID
	forger.Identity.Rack = "forged"
	put := func(b []byte) {
		t.Helper()
		if err := writing(s).WriteFrame(t.Context(), "acme", b); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, want []byte, heard int64) {
		t.Helper()
		frames, at, newer, err := answers(s).LatestFrames(t.Context(), "acme", n.ID)
		if err != nil || newer || len(frames) == 0 || !bytes.Equal(frames[len(frames)-1], want) ||
			at != heard {
			t.Errorf(
				"%s: %d frames, heard of at %d where that was %d, %v",
				what, len(frames), at, heard, err)
		}
		if seen, err := answers(s).LastSeen(t.Context(), "acme", []uuid.UUID{n.ID}); err != nil ||
			seen[n.ID] != heard {
			t.Errorf("%s: last seen %v, want %d, %v", what, seen, heard, err)
		}
	}
	for i := range 12 {
		for _, ahead := range []time.Duration{2_001 * time.Millisecond, 20 * time.Second,
			9 * time.Minute} {
			put(forger.Frame(c.millis.Load() + ahead.Milliseconds()))
			c.millis.Add(1000)
		}
		now := c.millis.Load()
		live := n.Frame(now)
		put(live)
		check("a live frame", live, now)
		c.millis.Add(17_000)
		if i%3 == 0 {
			put(live) // once more, as after a restart: it is received later and no newer
		}
		check("17 s later", live, now)
	}
	// Key frames tell who a node is. The live node's next one counts, though forged ones are dated
	// after it.
	c.millis.Store(frame.WindowOf(c.millis.Load()) + frame.WindowMillis)
	put(n.Frame(c.millis.Load()))
	if ids, err := answers(s).NodeIDs(t.Context(), "acme"); err != nil || len(ids) != 1 ||
		ids[0] != n.ID {
		t.Errorf("%v, %v", ids, err)
	}
	nodes, err := answers(s).Nodes(t.Context(), "acme")
	if err != nil || len(nodes) != 1 || nodes[0].Rack != n.Identity.Rack ||
		nodes[0].LastKey > c.millis.Load() {
		t.Errorf("%+v, %v", nodes, err)
	}
}

// TestAheadAlone: a node whose clock is ahead is heard of when its frames arrive, and silent when
// they stop.
func TestAheadAlone(t *testing.T) {
	c := newClock(base + 250_000)
	s := mustStore(t, c)
	for _, ahead := range []int64{3_000, 60_000, 9 * 60_000} {
		n := frametest.New("one", uint64(ahead), 2)
		var last []byte
		came := int64(0)
		for range 15 {
			came = c.millis.Load()
			last = n.Frame(came + ahead)
			if err := writing(s).WriteFrame(t.Context(), "acme", last); err != nil {
				t.Fatal(err)
			}
			c.millis.Add(20_000)
		}
		for _, age := range []int64{20_000, 110_000, 290_000} {
			c.millis.Store(came + age)
			frames, at, newer, err := answers(s).LatestFrames(t.Context(), "acme", n.ID)
			if err != nil || newer || len(frames) == 0 ||
				!bytes.Equal(frames[len(frames)-1], last) ||
				at != came {
				t.Errorf(
					"%d ahead, %d ms later: %d frames, heard of at %d where that was %d, %v",
					ahead, age, len(frames), at, came, err)
			}
			if seen, err := answers(s).LastSeen(t.Context(), "acme",
				[]uuid.UUID{n.ID}); err != nil || seen[n.ID] != came {
				t.Errorf("%d ahead, %d ms later: last seen %v, want %d, %v", ahead, age, seen,
					came, err)
			}
		}
	}
}
