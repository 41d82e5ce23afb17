package recent

import (
	"bytes"
	"container/list"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Memory keeps the last minutes in the process, as long as that lives, for all Writers and Readers
// that have it in their Config. A frame is there once, as it came; all readers get the same bytes.
//
// It holds so many bytes and no more. When it is full, the account that holds most loses the
// windows that were not written for longest, so that accounts which hold little lose nothing.
// What is lost is a miss, and the store's.
type Memory struct {
	most  int64
	clock func() time.Time

	mu       sync.RWMutex
	windows  map[windowID]*list.Element // of *memoryWindow, in their account's order
	accounts map[string]*memoryAccount
	bytes    int64 // of all windows
	keys     memoryKeys

	evicted prometheus.Counter
}

// memoryAccount is what an account holds.
type memoryAccount struct {
	order *list.List // the window that was not written for longest first: it expires first, too
	bytes int64
}

// memoryWindow is one window of one node.
type memoryWindow struct {
	windowID
	frames          map[int64][]byte
	last, key, seen int64 // as in the hash of Redis
	expires, bytes  int64
}

const (
	// windowOverhead and frameOverhead are what a window and a frame take beside their bytes:
	// places in maps and headers.
	windowOverhead = 600
	frameOverhead  = 96
	// keysPart is the part of a Memory that is for all but frames.
	keysPart = 8
)

// NewMemory returns a memory of at most so many bytes, an eighth of them for what is no frame, and
// registers its metrics. clock is Config.Clock; nil: time.Now.
func NewMemory(most int64, clock func() time.Time, reg prometheus.Registerer) *Memory {
	if clock == nil {
		clock = time.Now
	}
	m := &Memory{most: most - most/keysPart, clock: clock, windows: map[windowID]*list.Element{},
		accounts: map[string]*memoryAccount{},
		keys:     memoryKeys{most: most / keysPart, byName: map[string]*memoryKey{}}}
	m.evicted = prometheus.NewCounter(
		prometheus.CounterOpts{Name: "ringwatch_recent_memory_evicted_total",
			Help: "Frames that left the process's memory before their time because it was full."})
	gauge := func(name, help string, f func() int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return float64(f()) })
	}
	reg.MustRegister(m.evicted,
		gauge("ringwatch_recent_memory_bytes",
			"What the last minutes take of the process's memory, where there is no Redis.", m.held),
		gauge("ringwatch_recent_memory_max_bytes",
			"What the last minutes may take of the process's memory.", func() int64 {
				return most
			}))
	return m
}

func (m *Memory) held() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bytes + m.keys.bytes
}

// lock locks for writing, forgets what has expired and returns now, in ms.
func (m *Memory) lock() (now int64) {
	m.mu.Lock()
	now = m.clock().UnixMilli()
	for name, a := range m.accounts {
		for e := a.order.Front(); e != nil &&
			e.Value.(*memoryWindow).expires <= now; e = a.order.Front() {
			m.remove(a, e)
		}
		if a.order.Len() == 0 {
			delete(m.accounts, name)
		}
	}
	m.keys.expire(now)
	return now
}

func (m *Memory) put(_ context.Context, list []entry, ttl time.Duration) []error {
	errs := make([]error, len(list))
	expires := m.lock() + ttl.Milliseconds()
	defer m.mu.Unlock()
	for i := range list {
		errs[i] = m.putOne(&list[i], expires)
	}
	return errs
}

func (m *Memory) putOne(e *entry, expires int64) error {
	a := m.accounts[e.account]
	if a == nil {
		a = &memoryAccount{order: list.New()}
		m.accounts[e.account] = a
	}
	element := m.windows[e.windowID]
	if element == nil {
		element = a.order.PushBack(&memoryWindow{windowID: e.windowID, frames: map[int64][]byte{}})
		m.windows[e.windowID] = element
		m.add(a, element, windowOverhead)
	}
	a.order.MoveToBack(element)
	w := element.Value.(*memoryWindow)
	w.expires = expires
	before, again := w.frames[e.at]
	if again && bytes.Equal(before, e.frame) {
		w.updateNewest(e)
		return nil
	}
	if again {
		m.add(a, element, -frameBytes(before))
		delete(w.frames, e.at)
	}
	kept := bytes.Clone(e.frame) // not the whole batch that it came in
	if err := m.makeRoom(w, frameBytes(kept)); err != nil {
		if len(w.frames) == 0 {
			m.remove(a, element)
		}
		return err
	}
	m.add(a, element, frameBytes(kept))
	w.frames[e.at] = kept
	w.updateNewest(e)
	return nil
}

// updateNewest makes a frame the window's newest if it is.
func (w *memoryWindow) updateNewest(e *entry) {
	if e.seen >= w.seen {
		w.last, w.key, w.seen = e.at, e.keyAt, e.seen
	}
}

// frameBytes is what a frame takes of memory; its capacity is what the allocator gave.
func frameBytes(frame []byte) int64 { return int64(cap(frame)) + frameOverhead }

// makeRoom removes windows, but not w, until there is room for so many bytes more in it.
func (m *Memory) makeRoom(w *memoryWindow, bytes int64) error {
	if w.bytes+bytes > m.most {
		return errFull
	}
	for m.bytes+bytes > m.most {
		var largest *memoryAccount
		for _, a := range m.accounts {
			if largest == nil || a.bytes > largest.bytes {
				largest = a
			}
		}
		oldest := largest.order.Front()
		if oldest.Value.(*memoryWindow) == w {
			return errFull // all that the account has is smaller
		}
		m.evicted.Add(float64(len(oldest.Value.(*memoryWindow).frames)))
		m.remove(largest, oldest)
	}
	return nil
}

func (m *Memory) remove(a *memoryAccount, e *list.Element) {
	w := e.Value.(*memoryWindow)
	m.add(a, e, -w.bytes)
	delete(m.windows, w.windowID)
	a.order.Remove(e)
}

func (m *Memory) add(a *memoryAccount, e *list.Element, bytes int64) {
	e.Value.(*memoryWindow).bytes += bytes
	a.bytes += bytes
	m.bytes += bytes
}

// window returns a window that has frames and has not expired. The caller holds the lock.
func (m *Memory) window(p windowID, now int64) *memoryWindow {
	if e := m.windows[p]; e != nil {
		if w := e.Value.(*memoryWindow); w.expires > now && len(w.frames) > 0 {
			return w
		}
	}
	return nil
}

// newest goes on to older windows while what it has was not heard of since the window's
// beginning: then an older one may have what came later.
func (m *Memory) newest(_ context.Context, windows []windowID) (last,
	key []byte, seen int64, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.clock().UnixMilli()
	seen = -1
	for _, p := range windows {
		if w := m.window(p, now); w != nil && w.seen > seen {
			last, key, seen = w.frames[w.last], w.frames[w.key], w.seen
		}
		if seen >= p.window {
			break
		}
	}
	return last, key, max(0, seen), nil
}

func (m *Memory) seenIn(_ context.Context, windows []windowID) ([]int64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.clock().UnixMilli()
	seen := make([]int64, len(windows))
	for i, p := range windows {
		if w := m.window(p, now); w != nil {
			seen[i] = w.seen
		}
	}
	return seen, nil
}

func (m *Memory) frames(_ context.Context, windows []windowID) (map[int64][]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.clock().UnixMilli()
	frames := map[int64][]byte{}
	for _, p := range windows {
		if w := m.window(p, now); w != nil {
			maps.Copy(frames, w.frames)
		}
	}
	return frames, nil
}

func (m *Memory) times(_ context.Context, windows []windowID) ([][]int64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.clock().UnixMilli()
	times := make([][]int64, len(windows))
	for i, p := range windows {
		if w := m.window(p, now); w != nil {
			times[i] = slices.Collect(maps.Keys(w.frames))
		}
	}
	return times, nil
}

func (m *Memory) frameAt(_ context.Context, list []frameID) ([][]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := m.clock().UnixMilli()
	frames := make([][]byte, len(list))
	for i, of := range list {
		if w := m.window(of.windowID, now); w != nil {
			frames[i] = w.frames[of.at]
		}
	}
	return frames, nil
}

// memoryUsage says nothing of a Redis: there is none.
func (m *Memory) memoryUsage(context.Context) (used, most float64, known bool) {
	return 0, 0, false
}

func (m *Memory) ping(context.Context) error { return nil }

// close leaves everything to who else has the memory.
func (m *Memory) close() {}
