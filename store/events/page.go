package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
)

// Events are read slice by slice of time, of all clusters at once. What happened at one instant is
// always read whole, so rows of it may lie in whatever order an engine has for UUIDs: they are
// sorted here, and a page may end between them.

const (
	// leastAtOnce is how many rows of one partition are read at once of very many.
	leastAtOnce = 10
	// eventsInFlight is how many partitions are read at once.
	eventsInFlight = 8
	// eventHoursAsked is of how many hours is asked at once whether they have events, fewer of so
	// many clusters that it were half a page's work, and eventHoursRead how many are read at once
	// at most, while those are few partitions.
	eventHoursAsked = 48
	eventHoursRead  = 24
	eventPartsRead  = 80
)

// Paging says how much one page is.
type Paging struct {
	// AtOnce is how many rows of one partition are read at once, fewer of very many.
	AtOnce int
	// Work is how much work a page may be, about: rows read, and hours of a cluster of which is
	// asked whether they have any.
	Work int
	// Bytes is what a page's events take in memory before it ends, about.
	Bytes int64
}

var DefaultPaging = Paging{AtOnce: 250, Work: 20_000, Bytes: 4 << 20}

// Page returns what happened, by the query.
func (s *Log) Page(ctx context.Context, w rows.Work, lease *memory.Lease, account string,
	q events.Query) (events.Page, error) {
	now := s.clock.Millis()
	e := reader{rows: s, work: w, lease: lease, account: account, query: &q,
		match: q.Matcher(), table: s.table,
		from: max(q.From, now-s.limits.EventsTTL.Milliseconds()),
		to:   min(q.To, now+window.HourMillis), // no node's clock is so far ahead
		// hoursRead grows where there is little
		hours: map[string]map[int64]bool{}, hoursRead: 1}
	q.Clusters = slices.Compact(slices.Sorted(slices.Values(q.Clusters)))
	e.clusters = q.Clusters
	if q.Late {
		e.table, e.clusters = s.late, allClusters
		e.from = max(e.from, now-e.table.TTL.Milliseconds())
	}
	e.hoursAsked = int64(min(eventHoursAsked,
		max(1, s.Paging.Work/2/max(1, len(e.clusters)))))
	var err error
	if q.After != nil {
		e.from = max(e.from, q.After.At)
		err = e.oldestFirst(ctx)
	} else {
		if q.Before != nil {
			e.to = min(e.to, q.Before.At)
		}
		err = e.newestFirst(ctx)
	}
	if err != nil {
		return events.Page{}, fmt.Errorf("store: read events: %w", err)
	}
	return e.page, nil
}

// allClusters stands for the one partition that an account's hour is of what came late.
var allClusters = []string{""}

// reader reads one page.
type reader struct {
	rows     *Log
	work     rows.Work
	lease    *memory.Lease
	account  string
	query    *events.Query
	table    *rows.Table
	clusters []string // that have partitions in the table
	match    func(*events.Event) bool
	from, to int64 // ms: what is left to be looked at, both inclusive
	page     events.Page
	done     int   // of paging.work
	bytes    int64 // that the page's events take

	hours map[string]map[int64]bool // by cluster, of those that were asked: whether they have any
	// hoursAsked is of how many is asked at once, and hoursRead, never more, how many are read.
	hoursAsked, hoursRead int64
}

func (r *reader) newestFirst(ctx context.Context) error {
	for r.from <= r.to {
		last := calendar.Hour(r.to)
		err := r.ask(ctx, last-(r.hoursRead-1)*window.HourMillis, last,
			last-(r.hoursAsked-1)*window.HourMillis, last)
		if err != nil {
			return err
		}
		s := slice{from: r.to + 1, to: r.to}
		for s.from > r.from && last-calendar.Hour(s.from-1) < r.hoursRead*window.HourMillis {
			hour := calendar.Hour(s.from - 1)
			if n := len(s.parts); n > 0 && n+len(r.clusters) > eventPartsRead {
				break
			}
			s.from = max(r.from, hour)
			s.parts = append(s.parts, r.parts(hour)...)
		}
		if err := r.read(ctx, &s, r.atOnce(&s)); err != nil {
			return err
		}
		whole, cut := s.from, false // all from there on is in what was read
		for _, p := range s.parts {
			if p.more {
				whole, cut = max(whole, r.query.Place(&p.list[len(p.list)-1]).At+1), true
			}
		}
		if whole > s.to { // at one instant happened more than is read at once
			r.forget(&s)
			s = slice{from: r.to, to: r.to, parts: r.parts(last)}
			if err := r.read(ctx, &s, 0); err != nil {
				return err
			}
			whole = r.to
		}
		r.pace(!cut)
		full := r.add(&s, whole, events.ID.Compare)
		if r.to = whole - 1; full {
			return nil
		}
		if r.done >= r.rows.Paging.Work && r.from <= r.to {
			next := events.NewerThan(whole - 1) // whole is done: it must not be begun again
			r.page.Next = &next
			return nil
		}
	}
	return nil
}

func (r *reader) oldestFirst(ctx context.Context) error {
	span := int64(window.HourMillis)
	for r.from <= r.to {
		first := calendar.Hour(r.from)
		s := slice{from: r.from, to: min(r.to, first+r.hoursRead*window.HourMillis-1)}
		if span < window.HourMillis {
			s.to = min(s.to, r.from+span-1)
		}
		err := r.ask(ctx, first, calendar.Hour(s.to), first,
			first+(r.hoursAsked-1)*window.HourMillis)
		if err != nil {
			return err
		}
		for hour := first; hour <= s.to; hour += window.HourMillis {
			if n := len(s.parts); n > 0 && n+len(r.clusters) > eventPartsRead {
				s.to = hour - 1
				break
			}
			s.parts = append(s.parts, r.parts(hour)...)
		}
		limit := r.atOnce(&s)
		if s.from == s.to {
			limit = 0
		}
		if err := r.read(ctx, &s, limit); err != nil {
			return err
		}
		cut := slices.ContainsFunc(s.parts, func(p partition) bool { return p.more })
		r.pace(!cut)
		switch {
		case cut: // the oldest are not among them
			r.forget(&s)
			span = min(span, s.to-s.from+1) / 2
			continue
		case span < window.HourMillis:
			span *= 2
		}
		full := r.add(&s, s.from, func(a, b events.ID) int { return b.Compare(a) })
		if r.from = s.to + 1; full {
			return nil
		}
		if r.done >= r.rows.Paging.Work && r.from <= r.to {
			next := events.OlderThan(s.to + 1)
			r.page.Next = &next
			return nil
		}
	}
	return nil
}

// pace lets more hours be read at once where they have little.
func (r *reader) pace(little bool) {
	if little {
		r.hoursRead = min(2*r.hoursRead, eventHoursRead, r.hoursAsked)
	} else {
		r.hoursRead = 1
	}
}

// ask makes known which hours from first to last have events of which clusters. If that is not
// known, it asks of those from begin to end, too.
func (r *reader) ask(ctx context.Context, first, last, begin, end int64) error {
	least, most := calendar.Hour(r.from), calendar.Hour(r.to)
	first, last = max(first, least), min(last, most)
	begin, end = max(begin, least), min(end, most)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(eventsInFlight)
	for _, cluster := range r.clusters {
		known := r.hours[cluster]
		if known == nil {
			known = map[int64]bool{}
			r.hours[cluster] = known
		}
		_, begins := known[first]
		if _, ends := known[last]; begins && ends {
			continue
		}
		var hours []int64
		for hour := begin; hour <= end; hour += window.HourMillis {
			if _, is := known[hour]; !is {
				hours = append(hours, hour)
				known[hour] = false
			}
		}
		r.done += len(hours)
		g.Go(func() error {
			return r.rows.engine.Partitions(ctx, r.work, r.table, r.key(cluster),
				hours, func(scan func(...any) bool) bool {
					var hour int64
					is := scan(&hour)
					if is {
						known[hour] = true
					}
					return is
				})
		})
	}
	return g.Wait()
}

// key returns that of partitions of a cluster, but for their hours.
func (r *reader) key(cluster string) []any {
	if r.query.Late {
		return []any{r.account}
	}
	return []any{r.account, cluster}
}

// slice is a part of the time, with the partitions that have events of it.
type slice struct {
	from, to int64 // ms, both inclusive
	parts    []partition
}

type partition struct {
	cluster string
	hour    int64
	list    []events.Event // newest first
	more    bool           // there are older ones in the slice
	bytes   int64          // that the list takes
}

// parts returns the partitions of an hour that was asked for.
func (r *reader) parts(hour int64) (list []partition) {
	for _, cluster := range r.clusters {
		if r.hours[cluster][hour] {
			list = append(list, partition{cluster: cluster, hour: hour})
		}
	}
	return list
}

// AtOnce returns how many rows of each partition are read at once.
func (r *reader) atOnce(s *slice) int {
	return max(min(leastAtOnce, r.rows.Paging.AtOnce),
		min(r.rows.Paging.AtOnce, r.rows.Paging.Work/max(1, len(s.parts))))
}

// read reads the events of a slice, of each partition so many at most; 0: all.
func (r *reader) read(ctx context.Context, s *slice, limit int) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(eventsInFlight)
	for i := range s.parts {
		g.Go(func() error { return r.readPart(ctx, s, &s.parts[i], limit) })
	}
	err := g.Wait()
	for i := range s.parts {
		r.done += len(s.parts[i].list)
	}
	return err
}

func (r *reader) readPart(ctx context.Context, s *slice, p *partition, limit int) error {
	q := rows.Query{Table: r.table, Key: append(r.key(p.cluster), p.hour), From: s.from, To: s.to,
		Columns: []string{"node", "frame_at", "number", "kind", "severity", "labels", "message",
			"at"}}
	if r.query.Late {
		q.Columns = append(q.Columns, "came", "cluster")
	}
	if limit > 0 {
		q.Limit = limit + 1
	}
	var full error
	err := r.rows.engine.Read(ctx, r.work, q, func(scan func(...any) bool) bool {
		e := events.Event{Cluster: p.cluster}
		var severity int
		var labels map[string]string
		into := []any{&e.Node, &e.FrameAt, &e.Index, &e.Kind, &severity, &labels, &e.Text, &e.At,
			&e.Came, &e.Cluster}
		if !scan(into[:len(q.Columns)]...) {
			return false
		}
		if limit > 0 && len(p.list) == limit {
			p.more = true
			return false
		}
		e.Severity = frame.Severity(severity)
		for name, value := range labels {
			e.Labels = append(e.Labels, frame.Label{Name: name, Value: value})
		}
		slices.SortFunc(e.Labels, func(a, b frame.Label) int { return cmp.Compare(a.Name, b.Name) })
		p.list = append(p.list, e)
		bytes := e.Bytes()
		if full = r.lease.Take(bytes); full == nil {
			p.bytes += bytes
		}
		return full == nil
	})
	return cmp.Or(err, full)
}

// forget gives back what a slice's events take.
func (r *reader) forget(s *slice) {
	for i := range s.parts {
		r.lease.Give(s.parts[i].bytes)
	}
}

// wants reports whether a cluster is asked for. The partitions of what came late have them all.
func (r *reader) wants(cluster string) bool {
	_, is := slices.BinarySearch(r.query.Clusters, cluster)
	return is
}

// add adds those events of a slice to the page that did not happen before an instant and are asked
// for. It reports whether the page is full.
func (r *reader) add(s *slice, from int64, order func(a, b events.ID) int) (full bool) {
	var list []events.Event
	for _, p := range s.parts {
		for i := range p.list {
			e := &p.list[i]
			id := r.query.Place(e)
			if id.At >= from && (!r.query.Late || r.wants(e.Cluster)) && r.match(e) &&
				(r.query.Before == nil || id.Compare(*r.query.Before) > 0) &&
				(r.query.After == nil || id.Compare(*r.query.After) < 0) {
				list = append(list, *e)
			}
		}
	}
	slices.SortFunc(list, func(a, b events.Event) int {
		return cmp.Or(order(r.query.Place(&a), r.query.Place(&b)),
			cmp.Compare(a.Cluster, b.Cluster))
	})
	r.forget(s)
	for i := range list {
		e := &list[i]
		bytes := e.Bytes()
		_ = r.lease.Take(bytes) // less than was just given back
		r.bytes += bytes
		r.page.Events = append(r.page.Events, *e)
		if len(r.page.Events) == r.query.Limit || r.bytes >= r.rows.Paging.Bytes {
			next := r.query.Place(e)
			r.page.Next = &next
			return true
		}
	}
	return false
}
