package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// v3 keeps a closed window in a few rows (v3_windows), which live for as long as hours need them,
// and an hour in a row for each metric (v3_hours). Both are spans: window/COLUMNS.md has the blobs,
// package layout the rows, bucket.go which partition an hour is in, make_hour.go how it is made.
type v3 struct{ task }

const (
	windowsTable = "v3_windows"
	hoursTable   = "v3_hours"
	bucketTable  = "v3_buckets"
)

// Tables returns v3's tables.
func (v3) Tables(c *Config) []*rows.Table {
	return []*rows.Table{{
		Name: windowsTable,
		Comment: "Ringwatch v3: closed windows until their hour is made; part 0 is the head " +
			"row, written last",
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node"),
			rows.TimeColumn("hour")},
		// All heads of an hour are neighbours: they say which of the other rows are to be read.
		Clustering: []rows.Column{{Name: "part", Kind: rows.Int32}, rows.TimeColumn("at")},
		Values:     []rows.Column{{Name: "blob", Kind: rows.Blob}},
		TTL:        min(calendar.WindowTTL, c.RawTTL), AgeUnit: time.Minute,
		Grace:       10 * time.Minute,
		Compression: rows.Zip(1, 16),
	}, spans.Layout(hoursTable, "Ringwatch v3: hours by metric; entity_type = part = empty is the "+
		"head row, written last", c.RawTTL), {
		Name:       bucketTable,
		Comment:    "Ringwatch v3: which partitions of v3_hours a node has; length in ms",
		Partition:  []rows.Column{rows.TextColumn("account"), rows.IDColumn("node")},
		Clustering: []rows.Column{rows.TimeColumn("start"), {Name: "length", Kind: rows.Int64}},
		// It must outlive what is written to the bucket's last hour.
		TTL: c.RawTTL + time.Duration(maxBucket*window.HourMillis)*time.Millisecond +
			bucketSlack,
		AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Fast,
	}}
}

// Write writes dictionaries, then the rows of the parts, then the head row: who sees that finds the
// rest. A window of usual size is one mutation.
func (g v3) Write(ctx context.Context, w *window.Window, rep window.Report, stamp int64) error {
	enc := blobs.Encode(w, rep)
	if err := g.series.Write(ctx, g.work, w.Node, w.Start, enc.Dictionaries); err != nil {
		return err
	}
	parts, first := layout.WindowRows(enc.Parts)
	head := layout.Head{Edition: spans.DrawEdition(calendar.WindowMillis), First: first, Blob: enc.Head,
		Bytes: int64(len(enc.Head))}
	ttl := calendar.TimeLeft(w.Start+calendar.WindowMillis, stamp, g.config.RawTTL)
	if ttl > 0 {
		ttl = min(ttl, calendar.WindowTTL)
	}
	row := func(part int, at int64, b []byte) rows.Row {
		return rows.Row{Key: []any{w.Node.Account, w.Node.ID, calendar.Hour(w.Start), part, at},
			Values: []any{b}, Stamp: stamp, TTL: ttl}
	}
	list := make([]rows.Row, 0, len(parts)+1)
	for i, b := range parts {
		head.Bytes += int64(len(b))
		list = append(list, row(i+1, w.Start+head.Edition, b))
	}
	list = append(list, row(0, w.Start, head.Append(nil)))
	err := g.session.Put(ctx, g.work, g.byName[windowsTable], list...)
	if err != nil {
		return fmt.Errorf("store: write window %d: %w", w.Start, err)
	}
	g.metrics.ColumnBytes.Add(float64(head.Bytes))
	g.metrics.Columns.Add(float64(len(enc.Parts)))
	return nil
}

// windowHead is the head row of a window.
type windowHead struct {
	spans.Head
	window *blobs.Head // nil: it cannot be read
}

// windowHeads returns the head rows of windows of one hour from … to.
func (g v3) windowHeads(ctx context.Context, account string, node uuid.UUID,
	hour, from, to int64) (map[int64]*windowHead, error) {
	found := map[int64]*windowHead{}
	query := rows.Query{Table: g.byName[windowsTable], Key: []any{account, node, hour},
		Equal: []any{0}, From: from, To: to, Columns: []string{"at", "blob"}, Written: "blob"}
	err := g.session.Read(ctx, g.work, query, func(scan func(...any) bool) bool {
		h := &windowHead{}
		h.Place = spans.NewPartition(g.byName[windowsTable], account, node, hour)
		var b []byte
		if !scan(&h.Start, &b, &h.Stamp) {
			return false
		}
		if h.Row, h.Damage = layout.ReadHead(b); h.Damage == nil {
			h.window, h.Damage = blobs.DecodeHead(h.Start, h.Row.Blob)
		}
		if h.Damage != nil {
			h.Damage = fmt.Errorf("head of window %d: %w", h.Start, h.Damage)
		}
		found[h.Start] = h
		return true
	})
	return found, err
}

// windowParts reads parts of windows of one hour and calls take with each window's start. want has
// what is asked for, by window.
func (g v3) windowParts(ctx context.Context, account string, node uuid.UUID, hour int64,
	heads map[int64]*windowHead, want map[int64]map[blobs.PartID]bool,
	take func(start int64, part blobs.StoredPart), bad func(start int64, err error)) error {
	byAt := map[int64]*windowHead{}
	var numbers []int
	left := map[[2]int64]bool{} // rows by window and number
	for start, ids := range want {
		h := heads[start]
		byAt[h.At()] = h
		for id := range ids {
			row := h.Row.RowOf(id)
			if row < 0 {
				bad(start, fmt.Errorf("%w: no row of window %d has a part that its head names",
					layout.ErrMalformed, start))
				continue
			}
			if !slices.Contains(numbers, row+1) {
				numbers = append(numbers, row+1)
			}
			left[[2]int64{start, int64(row + 1)}] = true
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	slices.Sort(numbers)
	var full error
	query := rows.Query{Table: g.byName[windowsTable], Key: []any{account, node, hour}, In: numbers,
		From: hour, To: hour + window.HourMillis - 1, Columns: []string{"part", "at", "blob"}}
	err := g.session.Read(ctx, g.work, query, func(scan func(...any) bool) bool {
		var number int
		var at int64
		var b []byte
		if !scan(&number, &at, &b) {
			return false
		}
		h := byAt[at]
		row := [2]int64{0, int64(number)}
		if h != nil {
			row[0] = h.Start
		}
		if h == nil || !left[row] {
			return true
		}
		delete(left, row)
		ids := want[h.Start]
		err := layout.ReadParts(b, func(id blobs.PartID) bool { return ids[id] },
			func(part blobs.StoredPart) {
				if full == nil {
					full = g.lease.Take(columnCost * int64(len(part.Blob)))
				}
				if full == nil {
					take(h.Start, part)
				}
			})
		if err != nil {
			bad(h.Start, fmt.Errorf("row %d of window %d: %w", number, h.Start, err))
		}
		return full == nil
	})
	if err == nil {
		err = full
	}
	for row := range left {
		bad(row[0], fmt.Errorf("row %d of window %d is not there", row[1], row[0]))
	}
	return err
}

// hourHead is the head row of an hour.
type hourHead struct {
	*spans.Head
	hour *blobs.Head // nil: it cannot be read
}

// hourHeads returns the heads of a node's hours from … to.
func (g v3) hourHeads(ctx context.Context, account string, node uuid.UUID,
	from, to int64) (map[int64]*hourHead, error) {
	buckets, err := g.buckets(ctx, account, node, from, to)
	if err != nil || len(buckets) == 0 {
		return nil, err
	}
	var places []spans.Partition
	for _, start := range partitionsOf(buckets) {
		places = append(places, spans.NewPartition(g.byName[hoursTable], account, node, start))
	}
	stored, err := g.spanTask().Heads(ctx, places, from, to)
	found := make(map[int64]*hourHead, len(stored))
	for start, row := range stored {
		h := &hourHead{Head: row}
		if row.Damage == nil {
			h.hour, row.Damage = blobs.DecodeHead(start, row.Row.Blob)
		}
		if row.Damage != nil {
			row.Damage = fmt.Errorf("head of hour %s: %w", calendar.Text(start), row.Damage)
		}
		found[start] = h
	}
	return found, err
}

// has reports whether the hour has something of a window.
func (h *hourHead) has(start int64) bool {
	if h == nil || h.hour == nil {
		return false
	}
	i, _ := slices.BinarySearch(h.hour.Times, start)
	return i < len(h.hour.Times) && h.hour.Times[i] < start+calendar.WindowMillis
}

// columnCost is what a byte of a part comes to when it is decoded: 6 to 12 in recorded windows.
const columnCost = 16

// Read reads the heads of hours, those of windows that are in no hour or have late frames, finds in
// the dictionaries which parts can match, and reads those.
func (g v3) Read(ctx context.Context, q spans.Query, take func(spans.Span)) error {
	k := g.cache.Of("", &q)
	hours, late, err := g.keptHours(ctx, k, &q)
	if err != nil {
		return err
	}
	soonest := g.clock.Millis() - calendar.WindowTTL.Milliseconds() - calendar.WindowMillis
	// by hour: first and last of the windows whose own rows are to be read
	alone := map[int64][2]int64{}
	for w := q.From; w <= q.To; w += calendar.WindowMillis {
		hour := calendar.Hour(w)
		if _, marked := late[w]; !marked && (w < soonest || hours[hour].has(w)) {
			continue
		}
		if span, some := alone[hour]; some {
			alone[hour] = [2]int64{span[0], w}
		} else {
			alone[hour] = [2]int64{w, w}
		}
	}
	byBucket := map[int64][]*hourHead{}
	for start, h := range hours {
		if h.hour == nil || q.HeadsOnly {
			take(spans.Span{Start: start, Length: window.HourMillis, Stamp: h.Stamp,
				Stamps: h.Row.Stamps, Head: h.hour, Damage: damageOf(h.Damage)})
			continue
		}
		byBucket[h.Place.Bucket] = append(byBucket[h.Place.Bucket], h)
	}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(spans.ReadsInFlight)
	for _, heads := range byBucket {
		eg.Go(func() error { return g.readHours(gctx, k, q, heads, take) })
	}
	for hour, span := range alone {
		eg.Go(func() error { return g.readWindows(gctx, k, q, hour, span[0], span[1], late, take) })
	}
	return eg.Wait()
}

func damageOf(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}

// readHours reads hours of one partition.
func (g v3) readHours(ctx context.Context, k *spans.Cached, q spans.Query, heads []*hourHead,
	take func(spans.Span)) error {
	finders := g.finders(ctx, q.Account, q.Node)
	m := spans.NewMatches(ctx, q.Matchers)
	list := make([]spans.Planned, len(heads))
	for i, h := range heads {
		list[i] = spans.Planned{Head: h.Head, Types: spans.HeadTypes(h.hour),
			Finder: finders.of(calendar.Day(h.Start)), Plan: spans.NewPlan(k.Get(h.Start, window.HourMillis))}
	}
	if err := g.spanTask().ReadPlanned(ctx, k, list, m, q.Facets, columnCost); err != nil {
		return err
	}
	for i, h := range heads {
		c, f := list[i].Plan, list[i].Finder
		w, damage, known, err := c.Window(ctx, k, &q, h.Start, window.HourMillis, h.hour, f.Find)
		if err := cmp.Or(f.Err, err); err != nil {
			return err
		}
		take(spans.Span{Start: h.Start, Length: window.HourMillis, Stamp: h.Stamp,
			Stamps: h.Row.Stamps, Head: h.hour, Window: w, Damage: damage, Kept: known})
	}
	return nil
}

// readWindows reads the rows of windows of one hour.
func (g v3) readWindows(ctx context.Context, k *spans.Cached, q spans.Query, hour, from, to int64,
	late map[int64]int64, take func(spans.Span)) error {
	heads, err := g.keptWindows(ctx, k, &q, hour, from, to, late)
	if err != nil {
		return err
	}
	f := g.series.Finder(ctx, g.work, q.Account, q.Node, calendar.Day(hour))
	m := spans.NewMatches(ctx, q.Matchers)
	want := map[int64]map[blobs.PartID]bool{}
	plans := map[int64]*spans.Plan{}
	for start, h := range heads {
		if h.window == nil || q.HeadsOnly {
			take(spans.Span{Start: start, Length: calendar.WindowMillis, Stamp: h.Stamp,
				Head:   h.window,
				Damage: damageOf(h.Damage)})
			continue
		}
		c := spans.NewPlan(k.Get(start, calendar.WindowMillis))
		plans[start] = c
		if k.Answered(c.Span) {
			continue
		}
		c.NeedTypes(spans.Choose(spans.HeadTypes(h.window), f.Find, m, q.Facets,
			func(_, _ string, _ bool, ids []blobs.PartID) {
				if !c.NeedParts(ids) {
					return
				}
				if want[start] == nil {
					want[start] = map[blobs.PartID]bool{}
				}
				for _, id := range ids {
					want[start][id] = true
				}
			}))
		if f.Err != nil {
			return f.Err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // not all were matched
	}
	err = g.windowParts(ctx, q.Account, q.Node, hour, heads, want,
		func(start int64, part blobs.StoredPart) {
			plans[start].Parts = append(plans[start].Parts, part)
		}, func(start int64, err error) { plans[start].Damage = append(plans[start].Damage, err) })
	if err != nil {
		return err
	}
	for start, c := range plans {
		w, damage, known, err := c.Window(ctx, k, &q, start, calendar.WindowMillis,
			heads[start].window,
			f.Find)
		if err := cmp.Or(f.Err, err); err != nil {
			return err
		}
		take(spans.Span{Start: start, Length: calendar.WindowMillis, Stamp: heads[start].Stamp,
			Head: heads[start].window, Window: w, Damage: damage, Kept: known})
	}
	return nil
}

// finders are a node's finders by day, for one goroutine.
type finders struct {
	make  func(day int64) *dictionaries.Finder
	found map[int64]*dictionaries.Finder
}

func (s task) finders(ctx context.Context, account string, node uuid.UUID) *finders {
	found := map[int64]*dictionaries.Finder{}
	return &finders{found: found, make: func(day int64) *dictionaries.Finder {
		return s.series.Finder(ctx, s.work, account, node, day)
	}}
}

func (f *finders) of(day int64) *dictionaries.Finder {
	if f.found[day] == nil {
		f.found[day] = f.make(day)
	}
	return f.found[day]
}
