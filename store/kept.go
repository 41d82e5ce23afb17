package store

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// This is a cache. A stored span stays the same until a late frame comes, and dashboards ask for
// the same hours again and again. So the columns that were read of a span are kept, decoded and
// bounded in bytes, by account, node and span; whoever asks for them next takes what is there and
// reads the rest.
//
// Each reading asks which windows have late frames, and reads a span again if it was made before
// its mark. A mark is there before its frame, and before the window is closed again. Marks live
// twice as long as frames, so an entry that was checked within the life of a frame has missed no
// mark.
//
// Runs of rollups are kept the same way (kept_runs.go), and as columns once they are final
// (final_runs.go).

// spanID names a span of a node.
type spanID struct {
	account       string
	node          uuid.UUID
	start, length int64
	// the table of a run of rollups, or see Build and finalRunsReader; empty: of a window or an
	// hour
	in string
}

// keptSpan is the head of a span, with those of its columns that were asked for. A span of which
// nothing is stored has no head: nothing will be without a mark, or until then.
type keptSpan struct {
	stored *storedHead
	head   *blobs.Head     // of a window or an hour
	run    *rollup.RunHead // of a run of rollups
	built  *built          // of frames; the others are nil then
	final  *finalRuns      // columns of final runs; the others are nil then
	looked atomic.Int64    // when it was last known to be what is stored, ms
	until  int64           // ms; 0: for as long as there is no mark

	mu    sync.Mutex
	of    keptColumns // nil: no column was read
	has   map[keptColumn][]blobs.PartID
	asked map[string]bool // questions of which all columns are kept
}

// keptColumns are columns of one span.
type keptColumns interface {
	Bytes() int64
	// and returns them with others of the span, which count where both have a column.
	and(keptColumns) keptColumns
}

// windowColumns are those of a window or an hour.
type windowColumns struct{ *window.Window }

func (c windowColumns) and(more keptColumns) keptColumns {
	return windowColumns{c.JoinColumns(more.(windowColumns).Window)}
}

// keptColumn names a column of a span: the number of its type in the head, and the metric's.
type keptColumn struct{ kind, metric int }

// keptCost is what an entry takes beside its head and its columns, in bytes.
const keptCost = 500

// spanAt is a span of a reading's node.
type spanAt struct{ start, length int64 }

// keptSpans are the kept spans of one reading.
type keptSpans struct {
	task
	q     *Query
	name  string // q's
	in    string // the table of runs of rollups; empty: windows and hours
	began int64  // ms
	only  bool   // only heads are kept of what is read: its columns are kept elsewhere

	mu *sync.Mutex
	of map[spanAt]*keptSpan
}

// as returns the same for a query of another name.
func (k *keptSpans) as(name string) *keptSpans {
	out := *k
	out.name = name
	return &out
}

// keptOf returns the kept spans for a query, of a table of runs or, without one, of windows and
// hours; nil if none are kept for it.
func (s task) keptOf(in string, q *Query) *keptSpans {
	if s.kept == nil || !q.Keep {
		return nil
	}
	return &keptSpans{task: s, in: in, q: q, name: q.name(), began: s.clock.Millis(),
		mu: &sync.Mutex{}, of: map[spanAt]*keptSpan{}}
}

func (k *keptSpans) id(start, length int64) spanID {
	return spanID{k.q.Account, k.q.Node, start, length, k.in}
}

// get returns what is kept of a span; nil if nothing is.
func (k *keptSpans) get(start, length int64) *keptSpan {
	if k == nil {
		return nil
	}
	at := spanAt{start, length}
	k.mu.Lock()
	defer k.mu.Unlock()
	if found, asked := k.of[at]; asked {
		return found
	}
	found, _ := k.kept.Get(k.id(start, length))
	if found != nil {
		age := k.began - found.looked.Load()
		if age < 0 || age >= k.limits.FreshTTL.Milliseconds() ||
			found.until > 0 && k.began >= found.until {
			found = nil
		}
	}
	k.of[at] = found
	return found
}

// lacks reports whether a span may lack frames, once it is known which windows have late ones; and
// forgets it then. One that lacks none is good for as long again.
func (k *keptSpans) lacks(found *keptSpan, start, length int64, late map[int64]int64) bool {
	of := StoredSpan{Start: start, Length: length}
	if found.stored != nil {
		of.Stamp, of.Stamps = found.stored.stamp, found.stored.row.Stamps
	}
	for w, marked := range late {
		if w >= start && w < start+length &&
			(k.in != "" || !k.limits.Covers(marked, of.stampOf(w))) {
			k.set(start, length, nil)
			k.kept.Drop(k.id(start, length))
			return true
		}
	}
	found.looked.Store(max(found.looked.Load(), k.began))
	return false
}

func (k *keptSpans) set(start, length int64, span *keptSpan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of[spanAt{start, length}] = span
}

// put keeps the head of a span that was read after the query began, if it can be read.
func (k *keptSpans) put(start, length int64, stored *storedHead, head *blobs.Head) *keptSpan {
	if k == nil || head == nil || k.early(stored) {
		return nil
	}
	return k.keep(start, length,
		&keptSpan{stored: stored, head: head, has: map[keptColumn][]blobs.PartID{}})
}

// putNone keeps that nothing is stored of a span, until then (ms; 0: until there is a mark).
func (k *keptSpans) putNone(start, length, until int64) {
	if k != nil {
		k.keep(start, length, &keptSpan{until: until})
	}
}

func (k *keptSpans) keep(start, length int64, span *keptSpan) *keptSpan {
	span.looked.Store(k.began)
	k.set(start, length, span)
	k.kept.Put(k.id(start, length), span, span.weight())
	return span
}

// early reports whether a span was made by a process whose clock is ahead by more than clocks may
// be: its stamps do not tell which marks it has seen.
func (k *keptSpans) early(stored *storedHead) bool {
	latest := stored.stamp
	for _, stamp := range stored.row.Stamps {
		latest = max(latest, stamp)
	}
	return latest/1000 > k.began+k.limits.Timeout.Milliseconds()
}

func (s *keptSpan) weight() int {
	n := int64(keptCost)
	if s.stored != nil {
		n += 2 * int64(len(s.stored.row.Blob))
	}
	if s.head != nil {
		n += int64(8*cap(s.head.Times) + 80*len(s.head.Types))
	}
	if s.of != nil {
		n += s.of.Bytes()
	}
	if s.built != nil {
		n += s.built.bytes()
	}
	if s.final != nil {
		n += s.final.size()
	}
	for _, ids := range s.has {
		n += 64 + 32*int64(len(ids))
	}
	for text := range s.asked {
		n += 48 + int64(len(text))
	}
	return int(n)
}

// holds reports whether all of these parts of a column are kept.
func (s *keptSpan) holds(c keptColumn, ids []blobs.PartID) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	have, is := s.has[c]
	return is && len(have) >= len(ids) && !slices.ContainsFunc(ids, func(id blobs.PartID) bool {
		return !slices.Contains(have, id)
	})
}

// maxAsked is how many questions a span knows, and maxAskedBytes how long one of them may be.
const (
	maxAsked      = 32
	maxAskedBytes = 512
)

// answered reports whether all that the query wants of a span is known to be kept.
func (k *keptSpans) answered(span *keptSpan) bool {
	if span == nil {
		return false
	}
	span.mu.Lock()
	defer span.mu.Unlock()
	return span.asked[k.name]
}

// answers notes that all that the query wants of a span is kept.
func (k *keptSpans) answers(start, length int64, span *keptSpan) {
	if len(k.name) > maxAskedBytes || k.answered(span) {
		return
	}
	span.mu.Lock()
	if span.asked == nil || len(span.asked) == maxAsked {
		span.asked = map[string]bool{}
	}
	span.asked[k.name] = true
	weight := span.weight()
	span.mu.Unlock()
	k.kept.Put(k.id(start, length), span, weight)
}

// columns returns the columns that are kept; nil if there are none.
func (s *keptSpan) columns() keptColumns {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of
}

// add keeps columns that were read without damage, and returns them with those that were kept.
func (k *keptSpans) add(
	start, length int64, span *keptSpan, of keptColumns, read map[keptColumn][]blobs.PartID,
) keptColumns {
	span.mu.Lock()
	if span.of != nil {
		of = span.of.and(of)
	}
	span.of = of
	for c, ids := range read {
		span.has[c] = ids
	}
	weight := span.weight()
	span.mu.Unlock()
	k.kept.Put(k.id(start, length), span, weight)
	return of
}

// unknown returns the first and the last of successive spans, from … to, of which nothing is kept;
// and how many there are.
func (k *keptSpans) unknown(from, to, length int64) (first, last int64, n int) {
	for at := from; at <= to; at += length {
		if k.get(at, length) != nil {
			continue
		}
		if n++; n == 1 {
			first = at
		}
		last = at
	}
	return first, last, n
}

// noHour keeps that an hour is not stored. If the rows of its windows have expired, it will be
// only with a mark. While they live they say all that the hour will say; half an hour before the
// first of them expires the hour is looked for again.
func (k *keptSpans) noHour(hour int64) {
	expires := hour + calendar.WindowTTL.Milliseconds()
	if until := expires - window.HourMillis/2; k.began < until {
		k.putNone(hour, window.HourMillis, until)
	} else if expires+2*window.HourMillis < k.began {
		k.putNone(hour, window.HourMillis, 0)
	}
}

// noWindow keeps that nothing was said in a window, if it could have been closed when the query
// began: a frame that comes later has a mark.
func (k *keptSpans) noWindow(start int64) {
	if k != nil && k.limits.Settled(start, k.began) {
		k.putNone(start, calendar.WindowMillis, 0)
	}
}

// keptHours returns the heads of a node's hours from … to, those that are kept and those that are
// stored, and which windows have late frames.
func (g v3) keptHours(ctx context.Context, k *keptSpans,
	q *Query) (hours map[int64]*hourHead, late map[int64]int64, err error) {
	from, to := calendar.Hour(q.From), calendar.Hour(q.To)
	if k == nil {
		if hours, err = g.hourHeads(ctx, q.Account, q.Node, from, to); err == nil {
			late, err = q.late()
		}
		return hours, late, err
	}
	hours = map[int64]*hourHead{}
	read := func(first, last int64) error {
		found, err := g.hourHeads(ctx, q.Account, q.Node, first, last)
		for at := first; at <= last && err == nil; at += window.HourMillis {
			if k.get(at, window.HourMillis) != nil {
				continue
			}
			if h := found[at]; h != nil {
				hours[at] = h
				k.put(at, window.HourMillis, h.storedHead, h.hour)
			} else {
				k.noHour(at)
			}
		}
		return err
	}
	first, last, n := k.unknown(from, to, window.HourMillis)
	known := int64(n) <= (to-from)/window.HourMillis
	if !known { // nothing is kept: marks are read meanwhile
		if err := read(first, last); err != nil {
			return nil, nil, err
		}
	}
	if late, err = q.late(); err != nil {
		return nil, nil, err
	}
	if known {
		for at := from; at <= to; at += window.HourMillis {
			if span := k.get(at, window.HourMillis); span != nil &&
				!k.lacks(span, at, window.HourMillis, late) && span.stored != nil {
				hours[at] = &hourHead{storedHead: span.stored, hour: span.head}
			}
		}
		if first, last, n := k.unknown(from, to, window.HourMillis); n > 0 {
			if err := read(first, last); err != nil {
				return nil, nil, err
			}
		}
	}
	return hours, late, nil
}

// keptWindows returns the heads of windows of one hour from … to, those that are kept and those
// that are stored.
func (g v3) keptWindows(ctx context.Context, k *keptSpans, q *Query, hour, from, to int64,
	late map[int64]int64) (map[int64]*windowHead, error) {
	if k == nil {
		return g.windowHeads(ctx, q.Account, q.Node, hour, from, to)
	}
	heads := map[int64]*windowHead{}
	for at := from; at <= to; at += calendar.WindowMillis {
		if span := k.get(at, calendar.WindowMillis); span != nil &&
			!k.lacks(span, at, calendar.WindowMillis, late) && span.stored != nil {
			heads[at] = &windowHead{storedHead: *span.stored, window: span.head}
		}
	}
	first, last, n := k.unknown(from, to, calendar.WindowMillis)
	if n == 0 {
		return heads, nil
	}
	found, err := g.windowHeads(ctx, q.Account, q.Node, hour, first, last)
	for at, h := range found {
		if heads[at] == nil {
			heads[at] = h
			k.put(at, calendar.WindowMillis, &h.storedHead, h.window)
		}
	}
	for at := first; at <= last && err == nil; at += calendar.WindowMillis {
		if found[at] == nil && heads[at] == nil {
			k.expired(at)
		}
	}
	return heads, err
}

// expired keeps for a while that a window is not stored whose frames have expired: it can be closed
// only with frames that come again, which have a mark.
func (k *keptSpans) expired(start int64) {
	if start+2*calendar.WindowMillis+k.limits.FreshTTL.Milliseconds() < k.began {
		k.putNone(start, calendar.WindowMillis, k.began+calendar.WindowMillis)
	}
}

// isLate reports whether any window of a span has late frames.
func isLate(late map[int64]int64, start, length int64) bool {
	for w := range late {
		if w >= start && w < start+length {
			return true
		}
	}
	return false
}
