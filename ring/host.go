package ring

import (
	"sync"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// host is one node as the reader knows it, for as long as the reader lives.
type host struct {
	id     string
	driver atomic.Pointer[gocql.HostInfo] // nil: the driver does not know it
	flying atomic.Int64                   // keys that it is being asked for
	health
}

// up tells whether the driver has the node in its pool.
func (h *host) up() bool { return h.driver.Load().IsUp() }

// hosts are all nodes that the reader ever saw.
type hosts struct {
	mu   sync.Mutex
	byID map[string]*host
}

func (s *hosts) get(id string) *host {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.byID[id]
	if h == nil {
		h = &host{id: id}
		s.byID[id] = h
	}
	return h
}

// follow takes over what the driver knows, and tells whether it is about other nodes than before.
func (s *hosts) follow(known []*gocql.HostInfo) (changed bool) {
	now := make(map[string]*gocql.HostInfo, len(known))
	for _, info := range known {
		if id := info.HostID(); id != "" {
			now[id] = info
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, info := range now {
		h := s.byID[id]
		if h == nil {
			h = &host{id: id}
			s.byID[id] = h
		}
		changed = h.driver.Swap(info) != info || changed
	}
	for id, h := range s.byID {
		if now[id] == nil && h.driver.Swap(nil) != nil {
			changed = true
		}
	}
	return changed
}

// all lists the nodes that the driver knows.
func (s *hosts) all() []*host {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*host, 0, len(s.byID))
	for _, h := range s.byID {
		if h.driver.Load() != nil {
			list = append(list, h)
		}
	}
	return list
}

// A host that was late lateOften times in a row, and has answered nothing for lateQuiet, is left
// alone for lateFirst: it is asked only if no other has the rows. Each time that it is late again
// right after, that doubles, up to lateMost. A host that is only overloaded loses races too, but
// goes on answering, and is not left alone.
const (
	lateOften = 3
	lateQuiet = 100 * time.Millisecond
	lateFirst = time.Second
	lateMost  = 10 * time.Second
)

// health is what a reader learns of a node by asking it, sooner than the cluster does: a node
// that hangs counts as up for long.
type health struct {
	late     atomic.Int32 // answers in a row that others had to give
	answered atomic.Int64 // when it answered last, in nanoseconds of the reader's clock
	until    atomic.Int64 // until when it is left alone; 0: it is well
	probing  atomic.Bool

	mu      sync.Mutex
	backoff time.Duration
	since   int64 // when it was found well again
}

// well tells whether the host is as good as any other.
func (h *health) well() bool { return h.until.Load() == 0 }

// inTime is told of every answer that came while it was waited for.
func (h *health) inTime(now int64) {
	h.answered.Store(now)
	if h.late.Load() != 0 {
		h.late.Store(0)
	}
}

// wasLate is told when another had to answer, or when nothing came. With weight lateOften a single
// time is enough.
func (h *health) wasLate(now int64, weight int32) {
	if h.late.Add(weight) >= lateOften && now-h.answered.Load() >= int64(lateQuiet) && h.well() {
		h.leave(now)
	}
}

// leave begins a time of being left alone.
func (h *health) leave(now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.backoff == 0 || now-h.since > 2*int64(h.backoff) {
		h.backoff = lateFirst
	} else {
		h.backoff = min(2*h.backoff, lateMost)
	}
	h.until.Store(now + int64(h.backoff))
}

// mayProbe tells one caller that the host may be asked again, to see; probed is called then.
func (h *health) mayProbe(now int64) bool {
	until := h.until.Load()
	return until != 0 && now >= until && h.probing.CompareAndSwap(false, true)
}

func (h *health) probed(now int64, inTime bool) {
	if inTime {
		h.mu.Lock()
		h.since = now
		h.mu.Unlock()
		h.late.Store(0)
		h.until.Store(0)
	} else {
		h.leave(now)
	}
	h.probing.Store(false)
}
