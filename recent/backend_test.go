package recent

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// side is one side of the waist. tick lets a little time pass for it.
type side struct {
	backend
	tick func()
	own  string // no other test has it
}

// sides returns a Redis and a memory, with names of the test's own in front of what it keeps.
func sides(t *testing.T) map[string]side {
	t.Helper()
	config := DefaultConfig()
	config.Addresses = []string{engines.SharedRedis(t).Addr()}
	config.DialTimeout, config.ReadTimeout, config.WriteTimeout = time.Minute, time.Minute,
		time.Minute
	redis := newRedisBackend(&config)
	t.Cleanup(redis.close)
	c := &clock{}
	c.millis.Store(start)
	own := fmt.Sprint(t.Name(), "-", uuid.New())
	return map[string]side{
		"redis": {redis, func() {}, own},
		"memory": {NewMemory(1<<30, c.now, prometheus.NewRegistry()), func() { c.millis.Add(100) },
			own},
	}
}

// onBothSides runs a test against each side.
func onBothSides(t *testing.T, test func(t *testing.T, s side)) {
	for name, s := range sides(t) {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// gone waits until something has expired.
func (s side) gone(t *testing.T, what string, there func() bool) {
	t.Helper()
	eventually.True(t, what+" expires", func() bool {
		s.tick()
		return !there()
	})
}

func mustPut(t *testing.T, k backend, ttl time.Duration, list ...entry) {
	t.Helper()
	for _, err := range k.put(t.Context(), list, ttl) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeeperFrames(t *testing.T) {
	onBothSides(t, func(t *testing.T, s side) {
		node, other := windowID{s.own, uuid.New(), 300_000}, windowID{s.own, uuid.New(), 300_000}
		later := node
		later.window = 600_000
		windows := []windowID{later, node}
		if last, _, _, err := s.newest(t.Context(), windows); last != nil || err != nil {
			t.Fatal("there is something already", err)
		}
		key := entry{node, 300_100, 300_100, 300_100, []byte("a key frame\x00\xff")}
		delta := entry{node, 305_100, 300_100, 305_100, []byte("a delta frame")}
		early := entry{node, 300_050, 300_050, 300_050, []byte("comes late")}
		ahead := entry{later, 700_000, 700_000, 304_000, []byte("dated ahead of its arrival")}
		mustPut(t, s, time.Hour, key, delta, early, ahead, key) // and one again
		last, from, seen, err := s.newest(t.Context(), windows)
		if err != nil || !bytes.Equal(last, delta.frame) || !bytes.Equal(from, key.frame) ||
			seen != delta.seen {
			t.Errorf("the newest is %q, a delta to %q, heard of at %d, %v", last, from, seen, err)
		}
		heard, err := s.seenIn(t.Context(), []windowID{later, other, node})
		if err != nil || !slices.Equal(heard, []int64{304_000, 0, 305_100}) {
			t.Error(heard, err)
		}
		frames, err := s.frames(t.Context(), []windowID{node, other, later})
		want := map[int64][]byte{300_050: early.frame, 300_100: key.frame, 305_100: delta.frame,
			700_000: ahead.frame}
		if err != nil || !reflect.DeepEqual(frames, want) {
			t.Errorf("%v, %v", frames, err)
		}
		times, err := s.times(t.Context(), []windowID{later, other, node})
		slices.Sort(times[2])
		if err != nil ||
			!reflect.DeepEqual(times, [][]int64{{700_000}, nil, {300_050, 300_100, 305_100}}) {
			t.Error(times, err)
		}
		picked, err := s.frameAt(t.Context(), []frameID{{node, 305_100}, {node, 305_101},
			{other, 305_100}, {later, 700_000}})
		if err != nil || !reflect.DeepEqual(picked, [][]byte{delta.frame, nil, nil, ahead.frame}) {
			t.Errorf("%q, %v", picked, err)
		}
		delta.frame = []byte("another frame of the same time")
		mustPut(t, s, time.Hour, delta)
		if last, _, _, err := s.newest(t.Context(), windows); err != nil ||
			!bytes.Equal(last, delta.frame) {
			t.Errorf("%q, %v", last, err)
		}
	})
}

func TestKeeperForgetsWindows(t *testing.T) {
	onBothSides(t, func(t *testing.T, s side) {
		short, long := windowID{s.own, uuid.New(), 300_000}, windowID{s.own, uuid.New(), 300_000}
		mustPut(t, s, time.Hour, entry{long, 300_100, 300_100, 300_100, []byte("long")})
		mustPut(t, s, time.Second, entry{short, 300_100, 300_100, 300_100, []byte("short")})
		s.gone(t, "a window", func() bool {
			frames, err := s.frames(t.Context(), []windowID{short})
			last, _, _, err2 := s.newest(t.Context(), []windowID{short})
			heard, err3 := s.seenIn(t.Context(), []windowID{short})
			if err != nil || err2 != nil || err3 != nil {
				t.Fatal(err, err2, err3)
			}
			if there := len(frames) > 0; !there {
				return last != nil || heard[0] != 0
			}
			return true
		})
		if frames, err := s.frames(t.Context(), []windowID{long}); err != nil || len(frames) != 1 {
			t.Error("the other window went with it", err)
		}
	})
}

// A window that was lost and is written again, as often as before, is another one.
func TestKeeperFramesOfAWindowThatBeganAgain(t *testing.T) {
	onBothSides(t, func(t *testing.T, s side) {
		ctx := t.Context()
		w := windowID{s.own, uuid.New(), start - start%300_000}
		read := func() map[int64][]byte {
			t.Helper()
			found, err := s.frames(ctx, []windowID{w})
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		put := func(at int64, text string, ttl time.Duration) {
			t.Helper()
			mustPut(t, s.backend, ttl, entry{windowID: w, at: at, keyAt: at, seen: at,
				frame: []byte(text)})
		}
		put(start, "first", time.Second)
		put(start+1, "second", time.Second)
		if found := read(); len(found) != 2 {
			t.Fatalf("frames: %v", found)
		}
		s.gone(t, "the window", func() bool { return len(read()) > 0 })
		put(start, "another", time.Minute)
		put(start, "its successor", time.Minute) // two writes, as before, and one frame
		for range 2 {
			if found := read(); len(found) != 1 || string(found[start]) != "its successor" {
				t.Fatalf("frames: %v", found)
			}
		}
	})
}

func TestKeeperNotes(t *testing.T) {
	onBothSides(t, func(t *testing.T, s side) {
		set := s.own
		check := func(since int64, want ...string) {
			t.Helper()
			got, err := s.setMembers(t.Context(), set, since)
			slices.Sort(got)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("since %d: %q, %v", since, got, err)
			}
		}
		note := func(now int64, keep time.Duration, members ...string) {
			t.Helper()
			if err := s.addToSet(t.Context(), set, members, now, keep); err != nil {
				t.Fatal(err)
			}
		}
		check(0)
		note(10_000, time.Hour, "a", "b")
		note(20_000, time.Hour, "b", "c")
		note(15_000, time.Hour, "c") // a slower clock's
		check(0, "a", "b", "c")
		check(10_001, "b", "c")
		check(20_000, "b", "c")
		check(20_001)
		note(31_000, 20*time.Second, "d")
		check(0, "b", "c", "d")
		note(31_000, time.Second, "d")
		s.gone(t, "a set", func() bool {
			got, err := s.setMembers(t.Context(), set, 0)
			return err != nil || len(got) > 0
		})
	})
}

func TestKeeperTells(t *testing.T) {
	onBothSides(t, func(t *testing.T, s side) {
		a, b, c := s.own+"/a", s.own+"/b", s.own+"/c"
		tell := func(ttl time.Duration, list ...hash) {
			t.Helper()
			if err := s.setHashes(t.Context(), list, ttl); err != nil {
				t.Fatal(err)
			}
		}
		told := func(name, field string) string {
			t.Helper()
			text, err := s.hashField(t.Context(), name, field)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
		many := hash{name: b}
		for i := range 3000 { // more than a script may unpack
			many.fields = append(many.fields, fmt.Sprint(i), fmt.Sprint(-i))
		}
		tell(time.Hour, hash{a, []string{"x", "1", "y", "2"}}, many)
		if told(a, "x") != "1" || told(a, "y") != "2" || told(b, "2999") != "-2999" ||
			told(a, "z") != "" || told(c, "x") != "" {
			t.Error("other things are told than were said")
		}
		tell(time.Hour, hash{a, []string{"y", "3"}}, hash{name: b}, hash{name: c})
		if told(a, "x") != "" || told(a, "y") != "3" || told(b, "1") != "" {
			t.Error("what was said before is told still")
		}
		there, err := s.renew(t.Context(), []string{a, b, c}, time.Second)
		if err != nil || !slices.Equal(there, []bool{true, false, false}) {
			t.Error(there, err)
		}
		s.gone(t, "a saying", func() bool { return told(a, "y") != "" })
		if there, err = s.renew(t.Context(), []string{a}, time.Hour); err != nil || there[0] ||
			told(a, "y") != "" {
			t.Error("what has expired is renewed", err)
		}
	})
}

func TestKeeperTurns(t *testing.T) {
	onBothSides(t, func(t *testing.T, s side) {
		turn := func(sender string, now int64) bool {
			t.Helper()
			several, err := s.addSender(t.Context(), s.own, sender, now)
			if err != nil {
				t.Fatal(err)
			}
			return several
		}
		for i, c := range []struct {
			sender string
			want   bool
		}{{"a", false}, {"a", false}, {"b", false}, {"b", false}, {"a", true}, {"a", false},
			{"b", true}, {"c", false}} {
			if got := turn(c.sender, int64(1000+i)); got != c.want {
				t.Errorf("turn %d, of %s: %v", i, c.sender, got)
			}
		}
		for i := range maxSenders { // who changes always makes room for itself, and a is forgotten
			turn(fmt.Sprint("x", i), int64(2000+i))
		}
		if turn("a", 3000) {
			t.Error("more senders are known than may be")
		}
	})
}

// TestSidesAgree does the same at random on both sides, and asks both the same.
func TestSidesAgree(t *testing.T) {
	both := sides(t)
	redis, memory := both["redis"], both["memory"]
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	t.Log("seed", seed)
	nodes := []uuid.UUID{uuid.New(), uuid.New()}
	windows := func(node uuid.UUID) []windowID {
		return windowIDs(redis.own, node, []int64{900_000, 600_000, 300_000})
	}
	agree := func(what string, a, b any, errs ...error) {
		t.Helper()
		if !reflect.DeepEqual(a, b) ||
			slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			t.Fatalf("%s: Redis says %v, memory %v, %v", what, a, b, errs)
		}
	}
	for range 1500 {
		node := nodes[r.IntN(len(nodes))]
		now := r.Int64N(1000)
		words := []string{fmt.Sprint(r.IntN(5)), fmt.Sprint(r.IntN(5))}
		name := fmt.Sprint(redis.own, "/", r.IntN(3))
		switch r.IntN(5) {
		case 0, 1:
			e := entry{windowID: windows(node)[r.IntN(3)], frame: []byte(fmt.Sprint(r.IntN(3)))}
			e.at, e.keyAt = e.window+r.Int64N(20), e.window+r.Int64N(5)
			e.seen = 300_000 + 100_000*r.Int64N(9) // some equal
			mustPut(t, redis, time.Hour, e)
			mustPut(t, memory, time.Hour, e)
		case 2:
			// nothing expires by the clock in the test's time
			keep := time.Duration(1000+r.IntN(1000)) * time.Millisecond
			agree("note", nil, nil, redis.addToSet(t.Context(), name+"n", words, now*3600_000,
				3600*keep), memory.addToSet(t.Context(), name+"n", words, now*3600_000, 3600*keep))
		case 3:
			agree("tell", nil, nil, redis.setHashes(t.Context(), []hash{{name + "t", words}},
				time.Hour), memory.setHashes(t.Context(), []hash{{name + "t", words}}, time.Hour))
		case 4:
			a, err := redis.addSender(t.Context(), name+"s", words[0], now)
			b, err2 := memory.addSender(t.Context(), name+"s", words[0], now)
			agree("turn", a, b, err, err2)
		}
		last, key, seen, err := redis.newest(t.Context(), windows(node))
		last2, key2, seen2, err2 := memory.newest(t.Context(), windows(node))
		if key == nil || key2 == nil {
			last, key, last2, key2 = nil, nil, nil, nil // a miss, however much of it is there
			seen, seen2 = 0, 0
		}
		agree("newest", []any{string(last), string(key), seen},
			[]any{string(last2), string(key2), seen2}, err, err2)
		heard, err := redis.seenIn(t.Context(), windows(node))
		heard2, err2 := memory.seenIn(t.Context(), windows(node))
		agree("heard", heard, heard2, err, err2)
		frames, err := redis.frames(t.Context(), windows(node))
		frames2, err2 := memory.frames(t.Context(), windows(node))
		agree("frames", frames, frames2, err, err2)
		times, err := redis.times(t.Context(), windows(node))
		times2, err2 := memory.times(t.Context(), windows(node))
		for i := range times {
			slices.Sort(times[i])
			slices.Sort(times2[i])
		}
		agree("times", times, times2, err, err2)
		noted, err := redis.setMembers(t.Context(), name+"n", now*3600_000)
		noted2, err2 := memory.setMembers(t.Context(), name+"n", now*3600_000)
		slices.Sort(noted)
		slices.Sort(noted2)
		agree("noted", fmt.Sprint(noted), fmt.Sprint(noted2), err, err2)
		told, err := redis.hashField(t.Context(), name+"t", words[0])
		told2, err2 := memory.hashField(t.Context(), name+"t", words[0])
		agree("told", told, told2, err, err2)
		there, err := redis.renew(t.Context(), []string{name + "t"}, time.Hour)
		there2, err2 := memory.renew(t.Context(), []string{name + "t"}, time.Hour)
		agree("renew", there, there2, err, err2)
	}
}

// TestMemoryIsOneForAll: many write and read at once, and each reader finds whole frames.
func TestMemoryIsOneForAll(t *testing.T) {
	m := NewMemory(1<<20, nil, prometheus.NewRegistry())
	frame := bytes.Repeat([]byte{7}, 5000)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			node := uuid.New()
			windows := windowIDs(fmt.Sprint(i), node, []int64{600_000, 300_000})
			for n := range int64(400) {
				mustPut(t, m, time.Hour, entry{windows[n%2], windows[n%2].window + n,
					windows[n%2].window + n, n, frame})
				if last, key, _, err := m.newest(t.Context(), windows); err != nil ||
					last != nil && (!bytes.Equal(last, frame) || !bytes.Equal(key, frame)) {
					t.Error(len(last), len(key), err)
				}
				found, err := m.frames(t.Context(), windows)
				if err != nil {
					t.Error(err)
				}
				for b := range maps.Values(found) {
					if !bytes.Equal(b, frame) {
						t.Error("a torn frame")
					}
				}
				if err := m.addToSet(t.Context(), "set", []string{node.String()}, n,
					time.Hour); err != nil {
					t.Error(err)
				}
				if _, err := m.setMembers(t.Context(), "set", 0); err != nil {
					t.Error(err)
				}
				m.held()
			}
		})
	}
	wg.Wait()
}
