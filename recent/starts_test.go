package recent

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

// lose takes the node's frames from from to to out of the memory, as if it had never had them.
func (f *fixture) lose(account string, n *frametest.Node, from, to int64) {
	f.Helper()
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	for w := frame.WindowOf(from); w <= to; w += frame.WindowMillis {
		if e := f.memory.windows[windowID{account, n.ID, w}]; e != nil {
			maps.DeleteFunc(e.Value.(*memoryWindow).frames, func(at int64, _ []byte) bool {
				return at >= from && at <= to
			})
		}
	}
}

// wipe takes out everything.
func (f *fixture) wipe() {
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	clear(f.memory.windows)
	clear(f.memory.accounts)
	f.memory.bytes = 0
	clear(f.memory.keys.byName)
	f.memory.keys.bytes = 0
}

// settle lets the writer do at once what it does every Refresh.
func (f *fixture) settle() {
	f.Helper()
	for range 2 { // what is read again is told by the next
		f.writer.refresh(f.Context())
		if err := f.writer.readBehind(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
	f.writer.refresh(f.Context())
}

// newSettled is a fixture whose writer does what is due by time only in settle. The cluster read
// is read.
func newSettled(t *testing.T) *fixture {
	f := newFixture(t, inMemory, func(c *Config) { c.ActiveFor = time.Hour })
	f.readAgain()
	return f
}

// readAgain says that the cluster read is read.
func (f *fixture) readAgain() {
	f.Helper()
	if err := f.reader.activity.write([]string{"acme/read"}, f.clock.millis.Load()); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) is(n *frametest.Node, whole bool, what string) {
	f.Helper()
	if f.whole("acme", n.ID) != whole {
		f.Errorf("%s: whole is %v", what, !whole)
	}
}

func TestYoungNodeIsWhole(t *testing.T) {
	f := newSettled(t)
	early, headless := frametest.New("read", 1, 2), frametest.New("read", 2, 2)
	headless.Skip() // its first frame is lost, or still on its way
	f.pass(3*time.Minute, "acme", early, headless)
	f.settle()
	f.is(early, true, "the log had it before anybody asked")
	f.is(headless, false, "its first frame is missing")
	late := frametest.New("read", 3, 2)
	f.pass(2*time.Minute, "acme", early, headless, late)
	f.is(late, false, "the writer has not said yet that nothing was before")
	f.settle()
	f.is(late, true, "it came while the cluster was kept")
	f.is(early, true, "it went on")
	f.is(headless, false, "its first frame is missing still")
	began := f.clock.millis.Load() - 2*60_000 + 5000
	if frames, complete, err := f.reader.Frames(t.Context(), "acme", late.ID, began-60_000,
		began-1); err != nil || !complete || len(frames) != 0 {
		t.Error("before the node was there:", len(frames), complete, err)
	}
	f.lose("acme", late, began, began)
	f.is(late, false, "Redis has lost its first frame")
	f.pass(14*time.Minute, "acme", early, headless)
	f.is(headless, true, "what is missing is older than the range")
}

func TestRestartedAgentIsWhole(t *testing.T) {
	f := newSettled(t)
	n := frametest.New("read", 1, 2)
	f.pass(16*time.Minute, "acme", n)
	f.settle()
	f.is(n, true, "before the restart")
	last := f.clock.millis.Load()
	n.Skip() // taken and never sent: nobody has it
	f.clock.millis.Add(30_000)
	n.Restart(f.clock.millis.Load())
	f.pass(2*time.Minute, "acme", n)
	f.is(n, false, "the writer has not said yet what was before the restart")
	f.settle()
	f.is(n, true, "both runs are here")
	f.lose("acme", n, last, last)
	f.is(n, false, "Redis has lost the last frame before the restart")
	f.lose("acme", n, last-20*60_000, last)
	f.is(n, false, "Redis has lost all before the restart, and what is left begins with the "+
		"first frame of a run")
}

func TestWipedRedisProvesNothing(t *testing.T) {
	f := newSettled(t)
	n := frametest.New("read", 1, 2)
	f.pass(3*time.Minute, "acme", n)
	n.Restart(f.clock.millis.Load())
	f.wipe()
	f.readAgain()
	f.pass(time.Minute, "acme", n)
	f.is(n, false, "wiped, and filled with a run from its first frame on")
	f.writer.refresh(t.Context()) // says what the log has, before anything was read again
	f.is(n, false, "wiped, and not read again yet")
	f.settle()
	f.is(n, true, "read again")
}

func TestLateFrameOfAnEarlierRun(t *testing.T) {
	f := newSettled(t)
	n := frametest.New("read", 1, 2)
	f.clock.millis.Add(5000)
	n.Step()
	kept := n.Frame(f.clock.millis.Load()) // on the node's disk
	at := f.clock.millis.Load()
	n.Restart(at + 1)
	f.pass(3*time.Minute, "acme", n)
	f.settle()
	f.is(n, true, "nobody knows of the earlier run yet")
	if err := f.writer.Handle(t.Context(),
		f.log.add(stream.Record{Account: "acme", Cluster: "read", Value: kept})); err != nil {
		t.Fatal(err)
	}
	f.is(n, false, "a frame has come that lies before")
	f.lose("acme", n, at, at)
	f.settle()
	f.is(n, false, "it has come, and Redis has lost it")
}

func TestWhoTakesOverKnowsNoStarts(t *testing.T) {
	f := newSettled(t)
	n := frametest.New("read", 1, 2)
	f.pass(3*time.Minute, "acme", n)
	f.settle()
	f.is(n, true, "before")
	// and another writer finds the cluster's mark, so that it reads nothing again
	f.writer.Revoke(0)
	f.pass(20*time.Second, "acme", n)
	f.settle()
	f.is(n, false, "the new writer has not seen the start")
	young := frametest.New("read", 2, 2)
	f.pass(time.Minute, "acme", n, young)
	f.settle()
	f.is(young, false, "the new writer has not seen what was before it came")
	f.pass(15*time.Minute, "acme", n, young)
	f.is(n, true, "its run is older than the range")
}

// TestCompleteIsComplete lets nodes start, lose frames and send some late, lets Redis lose some
// and writers take over and read again, and holds every range that is called complete to what the
// log had.
func TestCompleteIsComplete(t *testing.T) {
	f := newSettled(t)
	seed := time.Now().UnixNano()
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	t.Log("seed", seed)
	nodes := []*frametest.Node{frametest.New("read", 1, 1), frametest.New("read", 2, 1),
		frametest.New("read", 3, 1)}
	had := make([]map[int64]bool, len(nodes)) // by node: the times of frames in the log
	late := make([][][]byte, len(nodes))
	for i := range nodes {
		had[i] = map[int64]bool{}
	}
	handle := func(i int, b []byte) {
		t.Helper()
		h, _, err := frame.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		had[i][h.At] = true
		if err := f.writer.Handle(t.Context(),
			f.log.add(stream.Record{Account: "acme", Cluster: "read", Value: b})); err != nil {
			t.Fatal(err)
		}
	}
	complete, incomplete, starts := 0, 0, 0
	for range 1500 {
		f.clock.millis.Add(5000)
		now := f.clock.millis.Load()
		f.readAgain()
		for i, n := range nodes {
			switch r.IntN(40) {
			case 0:
				n.Skip()
			case 1, 2:
				n.Restart(now)
			}
			if r.IntN(60) == 0 { // kept on the node
				late[i] = append(late[i], n.Frame(now))
				continue
			}
			handle(i, n.Frame(now))
			if len(late[i]) > 0 && r.IntN(8) == 0 {
				handle(i, late[i][0])
				late[i] = late[i][1:]
			}
		}
		switch r.IntN(60) {
		case 0:
			f.writer.Revoke(0)
		case 1:
			f.wipe()
			f.readAgain()
		case 2:
			f.writer.Revoke(0)
			if err := f.memory.setHashes(t.Context(), []hash{{name: markKey("acme/read")}},
				time.Minute); err != nil {
				t.Fatal(err)
			}
		case 3:
			from := now - r.Int64N(15*60_000)
			f.lose("acme", nodes[r.IntN(len(nodes))], from, from+r.Int64N(300_000))
		}
		if r.IntN(3) > 0 {
			f.settle()
		} else {
			f.writer.refresh(t.Context()) // what is behind stays so
		}
		for i, n := range nodes {
			from := now - r.Int64N(15*60_000)
			to := now
			if r.IntN(2) == 0 {
				to = from + r.Int64N(now-from+1)
			}
			frames, whole, err := f.reader.Frames(t.Context(), "acme", n.ID, from, to)
			if err != nil || !whole {
				incomplete++
				continue
			}
			complete++
			got, began := map[int64]bool{}, false
			for _, b := range frames {
				h, _, _ := frame.Parse(b)
				got[h.At] = true
				began = began || h.At >= from && h.Sequence == 0
			}
			if began {
				starts++
			}
			for at := range had[i] {
				if at > now-2*n.Interval-newestLag && !got[at] {
					continue // the newest may be on its way, in Redis's sight
				}
				if at >= from && at <= to && !got[at] {
					t.Fatalf("a range of %d s that ends %d s ago is called complete and lacks "+
						"the frame of %d s ago", (to-from)/1000, (now-to)/1000, (now-at)/1000)
				}
			}
		}
	}
	t.Logf("%d ranges complete, %d of them with a start, %d not", complete, starts, incomplete)
	if starts < 10 || incomplete < 10 {
		t.Error("too few to mean anything")
	}
}

// TestStartsAreTheLogs cuts random logs into what was read again and what came after, and holds
// every start to the whole of it.
func TestStartsAreTheLogs(t *testing.T) {
	seed := time.Now().UnixNano()
	r := rand.New(rand.NewPCG(uint64(seed), 2))
	t.Log("seed", seed)
	proved := 0
	for range 20_000 {
		var records []frame.Header
		for range 2 + r.IntN(12) {
			// in no order, and some twice
			records = append(records,
				frame.Header{At: 1 + r.Int64N(30), Sequence: uint64(r.IntN(3))})
		}
		since := r.Int64N(10)
		cut := r.IntN(len(records) + 1)
		before, v := newLogView(since), newLogView(1000)
		for i := range records[:cut] {
			before.add(&records[i])
		}
		more := cut + r.IntN(len(records)-cut+1) // what comes while the rest is read again
		for i := range records[cut:more] {
			v.add(&records[cut+i])
		}
		if r.IntN(4) == 0 {
			v.forget(r.Int64N(30))
		}
		v.join(before)
		for i := range records[more:] {
			v.add(&records[more+i])
		}
		if r.IntN(4) == 0 {
			v.forget(r.Int64N(30))
		}
		fields := v.fields()
		for i := 1; i < len(fields); i += 2 {
			for _, s := range parseStarts(fields[i]) {
				proved++
				if s.after < since-1 {
					t.Fatal("a start says more than the log has", s, since)
				}
				for _, h := range records {
					if h.At > s.after && h.At < s.at {
						t.Fatalf("%v, and there is a frame of %d in %v", s, h.At, records)
					}
				}
			}
		}
	}
	if proved < 1000 {
		t.Error("too few to mean anything:", proved)
	}
}

func TestTooManyNodesProveNothing(t *testing.T) {
	c := newClusters()
	v := newLogView(0)
	for i := range maxSeenNodes + 1 {
		h := frame.Header{At: 10, Node: [16]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}}
		c.see(v, &h)
	}
	if v.since != never || len(v.nodes) != 0 || c.seen != 0 || len(v.fields()) != 0 {
		t.Error(v.since, len(v.nodes), c.seen)
	}
	v.forget(100)
	v.join(newLogView(0))
	if h := (frame.Header{At: 200}); v.since != never {
		t.Error("it is believed again")
	} else if v.add(&h); len(v.nodes) != 0 {
		t.Error("it grows again")
	}
}
