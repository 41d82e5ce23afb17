package spans

import (
	"sync"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// spanAt is a span of a reading's node.
type spanAt struct{ start, length int64 }

// Cached are the kept spans of one reading.
type Cached struct {
	// Began is when the reading began, in ms.
	Began int64
	// HeadsOnly says that only heads are kept of what is read: its columns are kept elsewhere.
	HeadsOnly bool

	cache *Cache
	q     *Query
	name  string // q's
	in    string // the table of runs of rollups; empty: windows and hours

	mu *sync.Mutex
	of map[spanAt]*Entry
}

// Of returns what is kept for a query, of a table of runs or, without one, of windows and hours;
// nil if nothing is kept for it.
func (c *Cache) Of(in string, q *Query) *Cached {
	if c == nil || !q.Keep {
		return nil
	}
	return &Cached{cache: c, in: in, q: q, name: q.Name(), Began: c.clock.Millis(),
		mu: &sync.Mutex{}, of: map[spanAt]*Entry{}}
}

// As returns the same for a query of another name.
func (k *Cached) As(name string) *Cached {
	out := *k
	out.name = name
	return &out
}

func (k *Cached) id(start, length int64) ID {
	return ID{k.q.Account, k.q.Node, start, length, k.in}
}

// Get returns what is kept of a span; nil if nothing is.
func (k *Cached) Get(start, length int64) *Entry {
	if k == nil {
		return nil
	}
	at := spanAt{start, length}
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, asked := k.of[at]; asked {
		return found
	}
	found, _ := k.cache.Get(k.id(start, length)).(*Entry)
	if found != nil {
		age := k.Began - found.looked.Load()
		if age < 0 || age >= k.cache.limits.FreshTTL.Milliseconds() ||
			found.Until > 0 && k.Began >= found.Until {
			found = nil
		}
	}
	k.of[at] = found
	return found
}

// Lacks reports whether a span may lack frames, once it is known which windows have late ones; and
// forgets it then. One that lacks none is good for as long again.
func (k *Cached) Lacks(found *Entry, start, length int64, late map[int64]int64) bool {
	of := Span{Start: start, Length: length}
	if found.Stored != nil {
		of.Stamp, of.Stamps = found.Stored.Stamp, found.Stored.Row.Stamps
	}
	for w, marked := range late {
		if w >= start && w < start+length &&
			(k.in != "" || !k.cache.limits.Covers(marked, of.StampOf(w))) {
			k.set(start, length, nil)
			k.cache.entries.Drop(k.id(start, length))
			return true
		}
	}
	found.looked.Store(max(found.looked.Load(), k.Began))
	return false
}

func (k *Cached) set(start, length int64, span *Entry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[spanAt{start, length}] = span
}

// Put keeps the head of a span that was read after the query began, if it can be read.
func (k *Cached) Put(start, length int64, stored *Head, head *blobs.Head) *Entry {
	if k == nil || head == nil || k.Early(stored) {
		return nil
	}
	return k.keep(start, length,
		&Entry{Stored: stored, Head: head, has: map[Column][]blobs.PartID{}})
}

// PutNone keeps that nothing is stored of a span, until then (ms; 0: until there is a mark).
func (k *Cached) PutNone(start, length, until int64) {
	if k != nil {
		k.keep(start, length, &Entry{Until: until})
	}
}

// PutRun keeps the head of a run of rollups, until then (ms).
func (k *Cached) PutRun(start, length int64, stored *Head, run *rollup.RunHead,
	until int64) {
	k.keep(start, length, &Entry{Stored: stored, Run: run, Until: until,
		has: map[Column][]blobs.PartID{}})
}

func (k *Cached) keep(start, length int64, span *Entry) *Entry {
	span.looked.Store(k.Began)
	k.set(start, length, span)
	k.cache.Put(k.id(start, length), span, span.weight())
	return span
}

// Early reports whether a span was made by a process whose clock is ahead by more than clocks may
// be: its stamps do not tell which marks it has seen.
func (k *Cached) Early(stored *Head) bool {
	latest := stored.Stamp
	for _, stamp := range stored.Row.Stamps {
		latest = max(latest, stamp)
	}
	return latest/1000 > k.Began+k.cache.limits.Timeout.Milliseconds()
}

// maxAsked is how many questions a span knows, and maxAskedBytes how long one of them may be.
const (
	maxAsked      = 32
	maxAskedBytes = 512
)

// Answered reports whether all that the query wants of a span is known to be kept.
func (k *Cached) Answered(span *Entry) bool {
	if span == nil {
		return false
	}
	span.mu.Lock()
	defer span.mu.Unlock()
	return span.asked[k.name]
}

// answers notes that all that the query wants of a span is kept.
func (k *Cached) answers(start, length int64, span *Entry) {
	if len(k.name) > maxAskedBytes || k.Answered(span) {
		return
	}
	span.mu.Lock()
	if span.asked == nil || len(span.asked) == maxAsked {
		span.asked = map[string]bool{}
	}
	span.asked[k.name] = true
	weight := span.weight()
	span.mu.Unlock()
	k.cache.Put(k.id(start, length), span, weight)
}

// add keeps columns that were read without damage, and returns them with those that were kept.
func (k *Cached) add(
	start, length int64, span *Entry, of Columns, read map[Column][]blobs.PartID,
) Columns {
	span.mu.Lock()
	if span.of != nil {
		of = span.of.And(of)
	}
	span.of = of
	for c, ids := range read {
		span.has[c] = ids
	}
	weight := span.weight()
	span.mu.Unlock()
	k.cache.Put(k.id(start, length), span, weight)
	return of
}

// Unknown returns the first and the last of successive spans, from … to, of which nothing is kept;
// and how many there are.
func (k *Cached) Unknown(from, to, length int64) (first, last int64, n int) {
	for at := from; at <= to; at += length {
		if k.Get(at, length) != nil {
			continue
		}
		if n++; n == 1 {
			first = at
		}
		last = at
	}
	return first, last, n
}

// NoHour keeps that an hour is not stored. If the rows of its windows have expired, it will be
// only with a mark. While they live they say all that the hour will say; half an hour before the
// first of them expires the hour is looked for again.
func (k *Cached) NoHour(hour int64) {
	expires := hour + calendar.WindowTTL.Milliseconds()
	if until := expires - window.HourMillis/2; k.Began < until {
		k.PutNone(hour, window.HourMillis, until)
	} else if expires+2*window.HourMillis < k.Began {
		k.PutNone(hour, window.HourMillis, 0)
	}
}

// NoWindow keeps that nothing was said in a window, if it could have been closed when the query
// began: a frame that comes later has a mark.
func (k *Cached) NoWindow(start int64) {
	if k != nil && k.cache.limits.Settled(start, k.Began) {
		k.PutNone(start, calendar.WindowMillis, 0)
	}
}

// Expired keeps for a while that a window is not stored whose frames have expired: it can be closed
// only with frames that come again, which have a mark.
func (k *Cached) Expired(start int64) {
	if start+2*calendar.WindowMillis+k.cache.limits.FreshTTL.Milliseconds() < k.Began {
		k.PutNone(start, calendar.WindowMillis, k.Began+calendar.WindowMillis)
	}
}

// IsLate reports whether any window of a span has late frames.
func IsLate(late map[int64]int64, start, length int64) bool {
	for w := range late {
		if w >= start && w < start+length {
			return true
		}
	}
	return false
}
