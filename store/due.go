package store

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
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
	// lateDuty is how long a change of a span that is long over waits for others.
	lateSpanDelay = time.Minute
	// daySpread is over how many times HourSpread the days of a fleet are made.
	daySpread = 6
	// dutiesEvery is how often Run looks for spans that are to be made, and dutiesAtOnce how many
	// are made at once.
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

// addDueSpan records that a span has changed, in the table due unless that says so already. first
// is −1 for frames that are in no stream.
func (w *Writer) addDueSpan(ctx context.Context, work rows.Work, d dueSpan,
	first, changed int64) error {
	w.mu.Lock()
	now := dueEntry{first: first, since: changed}
	noted := false
	if o := w.dueSpans[d]; o != nil {
		now.first, now.since = min(o.first, first), o.since
		// the rows of what was closed first have expired: it came again
		if changed-o.since > (calendar.WindowTTL - expirySlack).Microseconds() {
			now.since = changed
		}
		noted = o.recorded && now.first == o.first && now.since == o.since
	}
	w.mu.Unlock()
	if !noted {
		err := w.store.session.Put(ctx, work, w.store.byName[dueTable],
			rows.Row{Key: d.key(), Values: []any{now.first, now.since, changed, nil}})
		if err != nil {
			return fmt.Errorf("store: note that a span is to be made: %w", err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.dueSpans[d]
	if o == nil {
		o = &dueEntry{}
		w.dueSpans[d] = o
	}
	o.changed, o.made = max(o.changed, changed), 0
	o.first, o.since, o.again, o.recorded, o.at = now.first, now.since, false, true,
		w.store.dueSpanAt(d)
	o.changes++
	w.store.metrics.Owed.Set(float64(len(w.dueSpans)))
	return nil
}

// HourAt is when the hour of a node that ends at end is made, unless it is late: each node at its
// own moment of HourSpread.
func (c Config) HourAt(node uuid.UUID, end time.Time) time.Time {
	return end.Add(2*c.Grace + time.Duration(share(node)*float64(c.HourSpread)))
}

// dutyAt is when a span is to be made.
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

// Assign says that a partition's windows are this Writer's now: it looks for what is due there.
func (w *Writer) Assign(partition int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unread[partition], w.assigned[partition] = true, true
}

// lookAgain makes readDueSpans look again into all partitions.
func (w *Writer) lookAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.assigned {
		w.unread[p] = true
	}
}

// readDueSpans finds what is due in the partitions that have come.
func (w *Writer) readDueSpans(ctx context.Context) error {
	w.mu.Lock()
	var partitions []int32
	for p := range w.unread {
		partitions = append(partitions, p)
	}
	w.mu.Unlock()
	now := w.store.clock.Millis()
	for _, p := range partitions {
		for length, back := range map[int64]int64{
			window.HourMillis: int64(25 * time.Hour / time.Millisecond),
			rollup.Day.Millis: int64(dueFor / time.Millisecond),
		} {
			for start := calendar.Floor(now-back, length); start <= now; start += length {
				if err := w.readDueSpansOf(ctx, p, length, start); err != nil {
					return fmt.Errorf("store: read what is to be made: %w", err)
				}
			}
		}
		w.mu.Lock()
		delete(w.unread, p)
		w.mu.Unlock()
	}
	return nil
}

func (w *Writer) readDueSpansOf(ctx context.Context, partition int32, length, start int64) error {
	query := rows.Query{Table: w.store.byName[dueTable], Key: []any{partition, length, start},
		Columns: []string{"account", "node", "first", "since", "changed", "made"}}
	return w.store.session.Read(ctx, w.work, query, func(scan func(...any) bool) bool {
		d := dueSpan{partition: partition, length: length, start: start}
		o := &dueEntry{}
		if !scan(&d.account, &d.node, &o.first, &o.since, &o.changed, &o.made) {
			return false
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.dueSpans[d] == nil && o.dirty(w.store.clock.Millis()*1000) && w.unread[partition] {
			o.at, o.recorded = w.store.dueSpanAt(d), true
			w.dueSpans[d] = o
		}
		return true
	})
}

// hourAge is how long the hour that is due longest has waited to be made.
func (w *Writer) hourAge() (age time.Duration) {
	now := w.store.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for d, o := range w.dueSpans {
		if d.length == window.HourMillis {
			age = max(age, now.Sub(o.at))
		}
	}
	return age
}

// dueCount returns how many spans are due.
func (w *Writer) dueCount() (n int) {
	now := w.store.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.dueSpans {
		if !o.at.After(now) {
			n++
		}
	}
	return n + len(w.unread)
}

// readySpan is a dueSpan whose time has come.
type readySpan struct {
	dueSpan
	*dueEntry
}

// readySpans lists the spans that are to be made now: no window of theirs is open, and no hour of a
// day is due. With all, a span waits only if it is not over; a load's does not wait even then,
// because what comes later makes it again.
func (w *Writer) readySpans(now time.Time, all bool) []readySpan {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.dueSpans) == 0 {
		return nil
	}
	type spanOf struct {
		account string
		node    uuid.UUID
		start   int64
	}
	busy := map[spanOf]bool{} // hours and days that something is open in
	for k, o := range w.open {
		if !o.deferred {
			busy[spanOf{k.account, k.node, calendar.Hour(k.start)}] = true
			busy[spanOf{k.account, k.node, -calendar.Day(k.start)}] = true
		}
	}
	for d := range w.dueSpans {
		if d.length == window.HourMillis {
			busy[spanOf{d.account, d.node, -calendar.Day(d.start)}] = true
		}
	}
	var list []readySpan
	for d, o := range w.dueSpans {
		key := spanOf{d.account, d.node, d.start}
		if d.length == rollup.Day.Millis {
			key.start = -d.start
		}
		late := all && (w.loads || now.UnixMilli() >= d.start+d.length)
		waits := busy[key] && now.Sub(o.at) < mostLate
		if o.making || waits || o.after.After(time.Now()) || !late && o.at.After(now) {
			continue
		}
		list = append(list, readySpan{d, o})
	}
	slices.SortFunc(list, func(a, b readySpan) int { return a.at.Compare(b.at) })
	return list
}

// makeDueSpan makes a span and records that.
func (w *Writer) makeDueSpan(ctx context.Context, lease *memory.Lease, d readySpan) error {
	w.mu.Lock()
	if w.dueSpans[d.dueSpan] != d.dueEntry || d.making {
		w.mu.Unlock()
		return nil
	}
	d.making, d.recorded = true, false
	first, changes := d.first, d.changes
	w.mu.Unlock()
	read := w.store.clock.Now().UnixMicro()
	err := w.makeSpan(ctx, lease, d, first, read)
	w.mu.Lock()
	defer w.mu.Unlock()
	d.making = false
	if err != nil {
		return err
	}
	d.failed, d.err, d.needs = 0, nil, 0
	if d.changes == changes && w.dueSpans[d.dueSpan] == d.dueEntry {
		delete(w.dueSpans, d.dueSpan)
		w.store.metrics.Owed.Set(float64(len(w.dueSpans)))
	}
	return nil
}

func (w *Writer) makeSpan(ctx context.Context, lease *memory.Lease, d readySpan,
	first, read int64) error {
	of := w.store.task(w.rolling(), lease)
	if d.length == rollup.Day.Millis {
		if err := of.makeDay(ctx, d.account, d.node, d.start); err != nil {
			return err
		}
	} else {
		if w.expires(d) {
			return ErrExpired
		}
		if err := of.makeHour(ctx, d.account, d.node, d.start); err != nil {
			return err
		}
		day := dueSpan{d.partition, d.account, d.node, rollup.Day.Start(d.start), rollup.Day.Millis}
		if err := w.addDueSpan(ctx, of.work, day, first, read); err != nil {
			return err
		}
	}
	err := w.store.session.Put(ctx, of.work, w.store.byName[dueTable],
		rows.Row{Key: d.key(), Values: []any{nil, nil, nil, read}})
	if err != nil {
		return fmt.Errorf("store: note that a span is made: %w", err)
	}
	return nil
}

// expires reports whether rows of an hour's windows may have expired before it was made, so that
// its frames are to be read from the stream again. That is tried once: the hour is then made of
// whatever has come.
func (w *Writer) expires(d readySpan) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	age := time.Duration(w.store.clock.Now().UnixMicro()-d.since) * time.Microsecond
	if d.first < 0 || !w.assigned[d.partition] || d.made >= d.changed && d.made > 0 ||
		age < calendar.WindowTTL-expirySlack || age > streamKeeps || w.replayed[d.dueSpan] {
		return false
	}
	w.replayed[d.dueSpan] = true
	d.again = true // LowWater holds until the partition is given back
	w.expired.Store(true)
	return true
}

// tryDueSpan tries once to make a span.
func (w *Writer) tryDueSpan(ctx context.Context, lease *memory.Lease, d readySpan) {
	err := w.makeDueSpan(ctx, lease, d)
	if err == nil || ctx.Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	d.err = err
	if memory.Refused(err) {
		if errors.Is(err, memory.ErrTooLarge) && d.needs == 0 {
			w.store.log.Warn("store: an hour or a day needs more memory than its account may "+
				"have; give the role more memory, or monitor fewer tables on that node",
				"account", d.account, "node", d.node, "start", calendar.Text(d.start), "error", err)
		}
		d.needs = 2 * lease.Taken()
		d.after = time.Now().Add(deferredRetry / 10)
		return
	}
	w.store.metrics.Retries.Inc()
	d.failed++
	d.after = time.Now().Add(min(rows.FirstWait<<min(d.failed, 20), rows.LongestWait))
	if d.failed == 1 || d.failed%100 == 0 {
		w.store.log.Warn("store: an hour or a day cannot be made; trying again",
			"attempts", d.failed, "error", err)
	}
}

// estimateOf returns with how much memory making a span begins.
func (w *Writer) estimateOf(d readySpan) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(max(4*minEstimate, d.needs), w.store.config.Memory.Share())
}

// failedSpans returns how many spans could not be made when that was tried last, and why one of
// them could not.
func (w *Writer) failedSpans() (n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.dueSpans {
		if o.err != nil && !memory.Refused(o.err) {
			n, err = n+1, o.err
		}
	}
	return n, err
}

// makeDueSpans makes what is due for Tick and Drain, one after the other, waiting for memory.
func (w *Writer) makeDueSpans(ctx context.Context, now time.Time, all bool) error {
	if err := w.readDueSpans(ctx); err != nil {
		return err
	}
	for { // a day is due when its hours are made
		list := w.readySpans(now, all)
		if len(list) == 0 {
			return nil
		}
		for _, d := range list {
			err := w.store.retry(ctx, "make hour", func() error {
				lease, err := w.store.config.Memory.Acquire(ctx, d.account, w.estimateOf(d), nil)
				if err != nil {
					return err
				}
				defer lease.Release()
				return w.makeDueSpan(ctx, lease, d)
			})
			if err != nil {
				return err
			}
		}
	}
}

// runDueSpans makes hours and days as they are due, beside what closes windows, until ctx ends.
func (w *Writer) runDueSpans(ctx context.Context) {
	var workers errgroup.Group
	workers.SetLimit(dueSpansAtOnce)
	defer workers.Wait()
	ticker := time.NewTicker(dueSpansEvery)
	defer ticker.Stop()
	looked := time.Now()
	for {
		if time.Since(looked) > readEvery {
			looked = time.Now()
			w.lookAgain()
		}
		if err := w.readDueSpans(ctx); err != nil && ctx.Err() == nil {
			w.store.log.Warn("store: what hours are to be made cannot be read; trying again",
				"error", err)
		}
		for _, d := range w.readySpans(w.store.clock.Now(), false) {
			if ctx.Err() != nil {
				return
			}
			lease, err := w.store.config.Memory.Try(d.account, w.estimateOf(d))
			if err != nil { // its account holds what it may
				continue
			}
			workers.Go(func() error {
				defer lease.Release()
				w.tryDueSpan(ctx, lease, d)
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
func (w *Writer) offset(first int64) int64 {
	if w.loads {
		return -1
	}
	return first
}
