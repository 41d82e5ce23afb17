package recent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
)

// newMemory is a memory with a clock of the test's own.
func newMemory(most int64) (*Memory, *clock) {
	c := &clock{}
	c.millis.Store(start)
	return NewMemory(most, c.now, prometheus.NewRegistry()), c
}

// random is a frame of so many bytes.
func random(r *rand.Rand, account string, node uuid.UUID, at int64, size int) entry {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	window := at / 300_000 * 300_000
	return entry{windowID{account, node, window}, at, window, at, b}
}

func heap() int64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// TestMemoryIsBounded puts four times as much as fits, of frames of all sizes, and looks at what
// the process really has.
func TestMemoryIsBounded(t *testing.T) {
	const most = 16 << 20
	for _, size := range []int{1, 300, 3_000, 60_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(size)))
			before := heap()
			m, c := newMemory(most)
			nodes := make([]uuid.UUID, 100)
			for i := range nodes {
				nodes[i] = uuid.New()
			}
			put := int64(0)
			var last []windowID
			for i := 0; put < 4*most; i++ {
				c.millis.Add(1000)
				e := random(r, "acme", nodes[i%len(nodes)], c.millis.Load(), 1+r.IntN(size))
				put += frameBytes(e.frame)
				mustPut(t, m, 240*time.Hour, e)
				last = []windowID{e.windowID}
				if held := m.held(); held > most {
					t.Fatalf("%d bytes are held of %d", held, most)
				}
			}
			if grown := heap() - before; grown > most {
				t.Errorf("the process has grown by %d bytes where %d may be held; %d are counted",
					grown, most, m.held())
			} else {
				t.Logf("%d counted, %d grown", m.held(), grown)
			}
			if m.held() < most/2 {
				t.Error("more was thrown away than must be:", m.held())
			}
			if newest, _, _, err := m.newest(t.Context(), last); newest == nil || err != nil {
				t.Error("the newest frame is not there", err)
			}
			if value(m.evicted) == 0 {
				t.Error("nothing is counted as evicted")
			}
			c.millis.Add((241 * time.Hour).Milliseconds())
			if _, err := m.renew(t.Context(), nil, time.Second); err != nil || m.held() != 0 ||
				len(m.accounts) != 0 {
				t.Error("what has expired is held", m.held(), err)
			}
		})
	}
}

// TestMemoryHoldsAFrameOnce: readers get the bytes that are held, and these are not those of the
// batch that a frame came in.
func TestMemoryHoldsAFrameOnce(t *testing.T) {
	m, _ := newMemory(1 << 20)
	e := random(rand.New(rand.NewPCG(1, 4)), "acme", uuid.New(), start, 1000)
	e.keyAt = e.at
	mustPut(t, m, time.Hour, e, e)
	frames, err := m.frames(t.Context(), []windowID{e.windowID})
	last, key, _, err2 := m.newest(t.Context(), []windowID{e.windowID})
	picked, err3 := m.frameAt(t.Context(), []frameID{{e.windowID, e.at}})
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	held := &frames[e.at][0]
	if held == &e.frame[0] || held != &last[0] || held != &key[0] || held != &picked[0][0] {
		t.Error("there are several copies, or none of its own")
	}
}

// TestMemoryKeepsAccountsApart: who fills the memory makes no room of another's.
func TestMemoryKeepsAccountsApart(t *testing.T) {
	m, c := newMemory(4 << 20)
	r := rand.New(rand.NewPCG(1, 2))
	small := uuid.New()
	var windows []windowID
	for i := range int64(20) {
		e := random(r, "zeta", small, start+i*60_000, 50_000)
		mustPut(t, m, time.Hour, e)
		windows = append(windows, e.windowID)
	}
	for i := range int64(2000) {
		c.millis.Add(1)
		mustPut(t, m, time.Hour, random(r, "acme", uuid.New(), start+i, 20_000))
	}
	if frames, err := m.frames(t.Context(), windows); err != nil || len(frames) != 20 {
		t.Errorf("of the small account are left %d frames of 20, %v", len(frames), err)
	}
}

// TestMemoryRefuses what is larger than all of it, and keeps the rest.
func TestMemoryRefuses(t *testing.T) {
	m, c := newMemory(1 << 20)
	r := rand.New(rand.NewPCG(1, 3))
	good := random(r, "acme", uuid.New(), start, 1000)
	mustPut(t, m, time.Hour, good)
	held := m.held()
	if errs := m.put(t.Context(), []entry{random(r, "acme", uuid.New(), start, 2<<20)},
		time.Hour); !errors.Is(errs[0], errFull) {
		t.Error(errs)
	}
	if last, _, _, err := m.newest(t.Context(), []windowID{good.windowID}); last == nil ||
		err != nil ||
		m.held() != held {
		t.Error("what was there is gone, or what was refused is held", m.held(), held, err)
	}
	var err error
	names := 0
	for ; err == nil && names < 1_000_000; names++ {
		_, err = m.addSender(t.Context(), fmt.Sprint("name ", names), "sender", 1)
	}
	if !errors.Is(err, errFull) || m.held() > 1<<20 {
		t.Errorf("%d names: %v, %d bytes are held", names, err, m.held())
	}
	c.millis.Add(2 * senderTTL.Milliseconds())
	if _, err := m.addSender(t.Context(), "another", "sender", 1); err != nil {
		t.Error("what has expired is in the way:", err)
	}
}
