package columns

import (
	"cmp"
	"context"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Cost is what a byte of a part comes to when it is decoded: 6 to 12 in recorded windows.
const Cost = 16

// Read reads the heads of hours, those of windows that are in no hour or have late frames, finds in
// the dictionaries which parts can match, and reads those.
func (g Generation) Read(ctx context.Context, q spans.Query, take func(spans.Span)) error {
	k := g.tables.cache.Of("", &q)
	hours, late, err := g.keptHours(ctx, k, &q)
	if err != nil {
		return err
	}
	soonest := g.tables.clock.Millis() - calendar.WindowTTL.Milliseconds() - calendar.WindowMillis
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
	byBucket := map[int64][]*HourHead{}
	for start, h := range hours {
		if h.Hour == nil || q.HeadsOnly {
			take(spans.Span{Start: start, Length: window.HourMillis, Stamp: h.Stamp,
				Stamps: h.Row.Stamps, Head: h.Hour, Damage: damageOf(h.Damage)})
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
func (g Generation) readHours(ctx context.Context, k *spans.Cached, q spans.Query,
	heads []*HourHead, take func(spans.Span)) error {
	finders := g.finders(ctx, q.Account, q.Node)
	m := spans.NewMatches(ctx, q.Matchers)
	list := make([]spans.Planned, len(heads))
	for i, h := range heads {
		list[i] = spans.Planned{Head: h.Head, Types: spans.HeadTypes(h.Hour),
			Finder: finders.of(calendar.Day(h.Start)),
			Plan:   spans.NewPlan(k.Get(h.Start, window.HourMillis))}
	}
	if err := g.task.ReadPlanned(ctx, k, list, m, q.Facets, Cost); err != nil {
		return err
	}
	for i, h := range heads {
		c, f := list[i].Plan, list[i].Finder
		w, damage, known, err := c.Window(ctx, k, &q, h.Start, window.HourMillis, h.Hour, f.Find)
		if err := cmp.Or(f.Err, err); err != nil {
			return err
		}
		take(spans.Span{Start: h.Start, Length: window.HourMillis, Stamp: h.Stamp,
			Stamps: h.Row.Stamps, Head: h.Hour, Window: w, Damage: damage, Kept: known})
	}
	return nil
}

// readWindows reads the rows of windows of one hour.
func (g Generation) readWindows(ctx context.Context, k *spans.Cached, q spans.Query,
	hour, from, to int64, late map[int64]int64, take func(spans.Span)) error {
	heads, err := g.keptWindows(ctx, k, &q, hour, from, to, late)
	if err != nil {
		return err
	}
	f := g.tables.series.Finder(ctx, g.task.Work, q.Account, q.Node, calendar.Day(hour))
	m := spans.NewMatches(ctx, q.Matchers)
	want := map[int64]map[blobs.PartID]bool{}
	plans := map[int64]*spans.Plan{}
	for start, h := range heads {
		if h.Window == nil || q.HeadsOnly {
			take(spans.Span{Start: start, Length: calendar.WindowMillis, Stamp: h.Stamp,
				Head:   h.Window,
				Damage: damageOf(h.Damage)})
			continue
		}
		c := spans.NewPlan(k.Get(start, calendar.WindowMillis))
		plans[start] = c
		if k.Answered(c.Span) {
			continue
		}
		c.NeedTypes(spans.Choose(spans.HeadTypes(h.Window), f.Find, m, q.Facets,
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
			heads[start].Window,
			f.Find)
		if err := cmp.Or(f.Err, err); err != nil {
			return err
		}
		take(spans.Span{Start: start, Length: calendar.WindowMillis, Stamp: heads[start].Stamp,
			Head: heads[start].Window, Window: w, Damage: damage, Kept: known})
	}
	return nil
}

// finders are a node's finders by day, for one goroutine.
type finders struct {
	make  func(day int64) *dictionaries.Finder
	found map[int64]*dictionaries.Finder
}

func (g Generation) finders(ctx context.Context, account string, node uuid.UUID) *finders {
	found := map[int64]*dictionaries.Finder{}
	return &finders{found: found, make: func(day int64) *dictionaries.Finder {
		return g.tables.series.Finder(ctx, g.task.Work, account, node, day)
	}}
}

func (f *finders) of(day int64) *dictionaries.Finder {
	if f.found[day] == nil {
		f.found[day] = f.make(day)
	}
	return f.found[day]
}
