package store

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Hours and days are made by the process that has the node's partition of the stream. When it has
// closed a window, it first writes to the table due that the window's hour is due, and then forgets
// the window. So offsets need not wait until the hour is made, and the process that has the
// partition next finds what is due. When it has made an hour, it writes that the day is due, and
// then that the hour is made. An entry says when its span was changed last and when it was made
// last. A span that was made from a reading after its last change is done.
//
// Rows of windows live three hours. If an hour could not be made for so long, its frames are read
// from the stream again: the entry has the offset where they begin.

const dueTable = "due"

// dueSpans are the hours and days of a Writer's partitions that are to be made.
type dueSpans struct {
	store   *Store
	work    rows.Work    // what its calls are for
	windows *openWindows // that are closed first
	loads   bool         // what comes is in no stream
	expired *atomic.Bool // rows may be gone before they were made into an hour, see Writer.Again

	mu       sync.Mutex
	spans    map[dueSpan]*dueEntry
	assigned map[int32]bool   // partitions of the Writer
	unread   map[int32]bool   // of those, where it has yet to look for what is due
	replayed map[dueSpan]bool // hours whose frames were read from the stream a second time
}

func newDueSpans(store *Store, work rows.Work, windows *openWindows, loads bool,
	expired *atomic.Bool) *dueSpans {
	return &dueSpans{store: store, work: work, windows: windows, loads: loads, expired: expired,
		spans: map[dueSpan]*dueEntry{}, assigned: map[int32]bool{}, unread: map[int32]bool{},
		replayed: map[dueSpan]bool{}}
}

func (s *dueSpans) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spans) == 0
}

// dueSpan is a span of a node that is to be made. length is an hour or a day.
type dueSpan struct {
	partition int32
	account   string
	node      uuid.UUID
	start     int64
	length    int64
}

// dueEntry is what is known of a dueSpan: its row, and how making it fares.
type dueEntry struct {
	first    int64 // offset of the earliest record of its frames; −1: they are in no stream
	since    int64 // when a window of it was closed first that is not in what was made, µs
	changed  int64 // when one was closed last that an entry tells of, µs
	made     int64 // when it was read to be made, as the entry says, µs; 0: never
	changes  int   // how often it has changed, so that a change while it is made is noticed
	recorded bool  // the entry says that it is to be made, whatever is being made now

	at     time.Time // when it is to be made
	making bool
	again  bool // its frames are wanted again

	failed int       // attempts in a row
	err    error     // the last one's
	after  time.Time // the next one is not before
	needs  int64     // more memory than this was needed
}

const (
	// dueFor is how long an entry lives: the stream keeps a day.
	dueFor = 3 * 24 * time.Hour
	// lateSpanDelay is how long a change of a span that is long over waits for others.
	lateSpanDelay = time.Minute
	// daySpread is over how many times HourSpread the days of a fleet are made.
	daySpread = 6
	// dueSpansEvery is how often run looks for spans that are to be made, and dueSpansAtOnce how
	// many are made at once.
	dueSpansEvery  = 5 * time.Second
	dueSpansAtOnce = 2
	// mostLate is how long a span waits for a window in it that cannot be closed.
	mostLate = time.Hour
	// readEvery is how often a process looks again for what is due in its partitions. Another
	// process may have written it: one that died, or that lost the partition and did not know it.
	readEvery = 15 * time.Minute
	// streamKeeps is for how long the stream has frames.
	streamKeeps = 24 * time.Hour
)

func dueLayout() *rows.Table {
	number := func(name string) rows.Column { return rows.Column{Name: name, Kind: rows.Int64} }
	return &rows.Table{
		Name: dueTable,
		Comment: "Ringwatch: hours and days that are to be made of what was closed in them, " +
			"by partition of the stream",
		Partition: []rows.Column{{Name: "stream_partition", Kind: rows.Int32}, number("length"),
			rows.TimeColumn("start")},
		Clustering: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node")},
		Values: []rows.Column{number("first"), number("since"), number("changed"),
			number("made")},
		TTL: dueFor, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// key is the span's row.
func (d *dueSpan) key() []any { return []any{d.partition, d.length, d.start, d.account, d.node} }

// share returns a number from 0 to 1 that is a node's own, so that a fleet's work is spread evenly.
func share(node uuid.UUID) float64 {
	h := fnv.New32a()
	h.Write(node[:])
	return float64(h.Sum32()) / (1 << 32)
}

// dirty reports whether an entry says, at a time in µs, that its span is to be made. If the clocks
// of two processes may have put its times in the wrong order, the span is made again while there
// are rows of windows to make it of: without need that costs only a look at its heads.
func (o *dueEntry) dirty(now int64) bool {
	return o.changed > o.made || o.changed+calendar.ClocksDiffer.Microseconds() > o.made &&
		now-o.changed < calendar.WindowTTL.Microseconds()
}

// add records that a span has changed, in the table due unless that says so already. first
// is −1 for frames that are in no stream.
func (s *dueSpans) add(ctx context.Context, work rows.Work, d dueSpan,
	first, changed int64) error {
	s.mu.Lock()
	now := dueEntry{first: first, since: changed}
	noted := false
	if o := s.spans[d]; o != nil {
		now.first, now.since = min(o.first, first), o.since
		// the rows of what was closed first have expired: it came again
		if changed-o.since > (calendar.WindowTTL - expirySlack).Microseconds() {
			now.since = changed
		}
		noted = o.recorded && now.first == o.first && now.since == o.since
	}
	s.mu.Unlock()
	if !noted {
		err := s.store.session.Put(ctx, work, s.store.byName[dueTable],
			rows.Row{Key: d.key(), Values: []any{now.first, now.since, changed, nil}})
		if err != nil {
			return fmt.Errorf("store: note that a span is to be made: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.spans[d]
	if o == nil {
		o = &dueEntry{}
		s.spans[d] = o
	}
	o.changed, o.made = max(o.changed, changed), 0
	o.first, o.since, o.again, o.recorded, o.at = now.first, now.since, false, true,
		s.store.dueSpanAt(d)
	o.changes++
	s.store.metrics.Owed.Set(float64(len(s.spans)))
	return nil
}

// HourAt is when the hour of a node that ends at end is made, unless it is late: each node at its
// own moment of HourSpread.
func (c Config) HourAt(node uuid.UUID, end time.Time) time.Time {
	return end.Add(2*c.Grace + time.Duration(share(node)*float64(c.HourSpread)))
}

// dueSpanAt is when a span is to be made.
func (s *Store) dueSpanAt(d dueSpan) time.Time {
	c := s.config
	end := time.UnixMilli(d.start + d.length)
	if d.length == rollup.Day.Millis {
		end = end.Add(c.HourSpread)
		c.HourSpread *= daySpread
	}
	at := c.HourAt(d.node, end)
	if soon := s.clock.Now().Add(min(lateSpanDelay, s.config.HourSpread)); at.Before(soon) {
		return soon
	}
	return at
}

// assign says that a partition's windows are ours now: what is due there is looked for.
func (s *dueSpans) assign(partition int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unread[partition], s.assigned[partition] = true, true
}

// lookAgain makes look read all partitions again.
func (s *dueSpans) lookAgain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.assigned {
		s.unread[p] = true
	}
}

// look finds what is due in the partitions that have come.
func (s *dueSpans) look(ctx context.Context) error {
	s.mu.Lock()
	var partitions []int32
	for p := range s.unread {
		partitions = append(partitions, p)
	}
	s.mu.Unlock()
	now := s.store.clock.Millis()
	for _, p := range partitions {
		for length, back := range map[int64]int64{
			window.HourMillis: int64(25 * time.Hour / time.Millisecond),
			rollup.Day.Millis: int64(dueFor / time.Millisecond),
		} {
			for start := calendar.Floor(now-back, length); start <= now; start += length {
				if err := s.readSpan(ctx, p, length, start); err != nil {
					return fmt.Errorf("store: read what is to be made: %w", err)
				}
			}
		}
		s.mu.Lock()
		delete(s.unread, p)
		s.mu.Unlock()
	}
	return nil
}

func (s *dueSpans) readSpan(ctx context.Context, partition int32, length, start int64) error {
	query := rows.Query{Table: s.store.byName[dueTable], Key: []any{partition, length, start},
		Columns: []string{"account", "node", "first", "since", "changed", "made"}}
	return s.store.session.Read(ctx, s.work, query, func(scan func(...any) bool) bool {
		d := dueSpan{partition: partition, length: length, start: start}
		o := &dueEntry{}
		if !scan(&d.account, &d.node, &o.first, &o.since, &o.changed, &o.made) {
			return false
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.spans[d] == nil && o.dirty(s.store.clock.Millis()*1000) && s.unread[partition] {
			o.at, o.recorded = s.store.dueSpanAt(d), true
			s.spans[d] = o
		}
		return true
	})
}

// age is how long the hour that is due longest has waited to be made.
func (s *dueSpans) age() (age time.Duration) {
	now := s.store.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, o := range s.spans {
		if d.length == window.HourMillis {
			age = max(age, now.Sub(o.at))
		}
	}
	return age
}

// count returns how many spans are due.
func (s *dueSpans) count() (n int) {
	now := s.store.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.spans {
		if !o.at.After(now) {
			n++
		}
	}
	return n + len(s.unread)
}

// readySpan is a dueSpan whose time has come.
type readySpan struct {
	dueSpan
	*dueEntry
}

// ready lists the spans that are to be made now: no window of theirs is open, and no hour of a
// day is due. With all, a span waits only if it is not over; a load's does not wait even then,
// because what comes later makes it again.
func (s *dueSpans) ready(now time.Time, all bool) []readySpan {
	if s.empty() {
		return nil
	}
	type spanOf struct {
		account string
		node    uuid.UUID
		start   int64
	}
	busy := map[spanOf]bool{} // hours and days that something is open in
	for _, k := range s.windows.notDeferred() {
		busy[spanOf{k.account, k.node, calendar.Hour(k.start)}] = true
		busy[spanOf{k.account, k.node, -calendar.Day(k.start)}] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.spans {
		if d.length == window.HourMillis {
			busy[spanOf{d.account, d.node, -calendar.Day(d.start)}] = true
		}
	}
	var list []readySpan
	for d, o := range s.spans {
		key := spanOf{d.account, d.node, d.start}
		if d.length == rollup.Day.Millis {
			key.start = -d.start
		}
		late := all && (s.loads || now.UnixMilli() >= d.start+d.length)
		waits := busy[key] && now.Sub(o.at) < mostLate
		if o.making || waits || o.after.After(time.Now()) || !late && o.at.After(now) {
			continue
		}
		list = append(list, readySpan{d, o})
	}
	slices.SortFunc(list, func(a, b readySpan) int { return a.at.Compare(b.at) })
	return list
}

// make makes a span and records that.
func (s *dueSpans) make(ctx context.Context, lease *memory.Lease, d readySpan) error {
	s.mu.Lock()
	if s.spans[d.dueSpan] != d.dueEntry || d.making {
		s.mu.Unlock()
		return nil
	}
	d.making, d.recorded = true, false
	first, changes := d.first, d.changes
	s.mu.Unlock()
	read := s.store.clock.Now().UnixMicro()
	err := s.makeSpan(ctx, lease, d, first, read)
	s.mu.Lock()
	defer s.mu.Unlock()
	d.making = false
	if err != nil {
		return err
	}
	d.failed, d.err, d.needs = 0, nil, 0
	if d.changes == changes && s.spans[d.dueSpan] == d.dueEntry {
		delete(s.spans, d.dueSpan)
		s.store.metrics.Owed.Set(float64(len(s.spans)))
	}
	return nil
}

func (s *dueSpans) makeSpan(ctx context.Context, lease *memory.Lease, d readySpan,
	first, read int64) error {
	task := s.store.task(rolling(s.work), lease).spanTask()
	if d.length == rollup.Day.Millis {
		if err := s.store.hours.MakeDay(ctx, task, d.account, d.node, d.start); err != nil {
			return err
		}
	} else {
		if s.expires(d) {
			return ErrExpired
		}
		if err := s.store.hours.MakeHour(ctx, task, d.account, d.node, d.start); err != nil {
			return err
		}
		day := dueSpan{d.partition, d.account, d.node, rollup.Day.Start(d.start), rollup.Day.Millis}
		if err := s.add(ctx, task.Work, day, first, read); err != nil {
			return err
		}
	}
	err := s.store.session.Put(ctx, task.Work, s.store.byName[dueTable],
		rows.Row{Key: d.key(), Values: []any{nil, nil, nil, read}})
	if err != nil {
		return fmt.Errorf("store: note that a span is made: %w", err)
	}
	return nil
}

// expires reports whether rows of an hour's windows may have expired before it was made, so that
// its frames are to be read from the stream again. That is tried once: the hour is then made of
// whatever has come.
func (s *dueSpans) expires(d readySpan) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Duration(s.store.clock.Now().UnixMicro()-d.since) * time.Microsecond
	if d.first < 0 || !s.assigned[d.partition] || d.made >= d.changed && d.made > 0 ||
		age < calendar.WindowTTL-expirySlack || age > streamKeeps || s.replayed[d.dueSpan] {
		return false
	}
	s.replayed[d.dueSpan] = true
	d.again = true // LowWater holds until the partition is given back
	s.expired.Store(true)
	return true
}

// try tries once to make a span.
func (s *dueSpans) try(ctx context.Context, lease *memory.Lease, d readySpan) {
	err := s.make(ctx, lease, d)
	if err == nil || ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.err = err
	if memory.Refused(err) {
		if errors.Is(err, memory.ErrTooLarge) && d.needs == 0 {
			s.store.log.Warn("store: an hour or a day needs more memory than its account may "+
				"have; give the role more memory, or monitor fewer tables on that node",
				"account", d.account, "node", d.node, "start", calendar.Text(d.start), "error", err)
		}
		d.needs = 2 * lease.Taken()
		d.after = time.Now().Add(deferredRetry / 10)
		return
	}
	s.store.metrics.Retries.Inc()
	d.failed++
	d.after = time.Now().Add(min(rows.FirstWait<<min(d.failed, 20), rows.LongestWait))
	if d.failed == 1 || d.failed%100 == 0 {
		s.store.log.Warn("store: an hour or a day cannot be made; trying again",
			"attempts", d.failed, "error", err)
	}
}

// estimate returns with how much memory making a span begins.
func (s *dueSpans) estimate(d readySpan) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(4*minEstimate, d.needs), s.store.config.Memory.Share())
}

// failed returns how many spans could not be made when that was tried last, and why one of
// them could not.
func (s *dueSpans) failed() (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.spans {
		if o.err != nil && !memory.Refused(o.err) {
			n, err = n+1, o.err
		}
	}
	return n, err
}

// makeReady makes what is due for CloseDue and Drain, one after the other, waiting for memory.
func (s *dueSpans) makeReady(ctx context.Context, now time.Time, all bool) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	for { // a day is due when its hours are made
		list := s.ready(now, all)
		if len(list) == 0 {
			return nil
		}
		for _, d := range list {
			err := s.store.retry(ctx, "make hour", func() error {
				lease, err := s.store.config.Memory.Acquire(ctx, d.account, s.estimate(d), nil)
				if err != nil {
					return err
				}
				defer lease.Release()
				return s.make(ctx, lease, d)
			})
			if err != nil {
				return err
			}
		}
	}
}

// run makes hours and days as they are due, beside what closes windows, until ctx ends.
func (s *dueSpans) run(ctx context.Context) {
	var workers errgroup.Group
	workers.SetLimit(dueSpansAtOnce)
	defer workers.Wait()
	ticker := time.NewTicker(dueSpansEvery)
	defer ticker.Stop()
	looked := time.Now()
	for {
		if time.Since(looked) > readEvery {
			looked = time.Now()
			s.lookAgain()
		}
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.store.log.Warn("store: what hours are to be made cannot be read; trying again",
				"error", err)
		}
		for _, d := range s.ready(s.store.clock.Now(), false) {
			if ctx.Err() != nil {
				return
			}
			lease, err := s.store.config.Memory.Try(d.account, s.estimate(d))
			if err != nil { // its account holds what it may
				continue
			}
			workers.Go(func() error {
				defer lease.Release()
				s.try(ctx, lease, d)
				return nil
			})
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// offset is what an entry says of where a span's frames begin.
func (s *dueSpans) offset(first int64) int64 {
	if s.loads {
		return -1
	}
	return first
}

// lowWater returns the offset where the oldest frames begin that are wanted again; false: none are.
func (s *dueSpans) lowWater(partition int32) (offset int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d, o := range s.spans {
		if d.partition == partition && o.again && (!ok || o.first < offset) {
			offset, ok = o.first, true
		}
	}
	return offset, ok
}

// revoke forgets what is due in a partition.
func (s *dueSpans) revoke(partition int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range s.spans {
		if d.partition == partition {
			delete(s.spans, d)
		}
	}
	delete(s.unread, partition)
	delete(s.assigned, partition)
	s.store.metrics.Owed.Set(float64(len(s.spans)))
}
