package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	happened "github.com/ringwatch/ringwatch/store/events"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// eventKinds are those of the tests.
var eventKinds = []string{"gc_pause", "node_down", "slow_query", "start"}

// anEvent is one that happened at an instant, or a little before.
func anEvent(pick windowtest.Pick, at int64) frame.Event {
	e := frame.Event{At: at, Kind: eventKinds[pick(len(eventKinds))],
		Severity: frame.Severity(pick(3)),
		Text: []string{"", "Ärger with table_3",
			"SELECT * FROM shop.orders WHERE id = ?"}[pick(3)]}
	if pick(2) == 0 {
		e.Labels = []frame.Label{{Name: "keyspace", Value: "shop"},
			{Name: "table", Value: fmt.Sprint("Table_", pick(5))}}
	}
	return e
}

// eventHistory is what some clusters said, as frames and as a list.
type eventHistory struct {
	frames   [][]byte
	all      []events.Event
	clusters []string
	nodes    []uuid.UUID
}

// newEventHistory is one of three clusters over two days, with hours that are empty, hours with
// much, and instants with more than is read at once.
func newEventHistory(pick windowtest.Pick) *eventHistory {
	h := &eventHistory{clusters: []string{"a", "b", "c"}}
	for i := range 5 {
		n := frametest.New(h.clusters[i%3], uint64(i+1), 1)
		h.nodes = append(h.nodes, n.ID)
		at := base - 48*window.HourMillis
		for at < base {
			if pick(20) == 0 { // a storm, or silence
				at += int64(pick(9 * window.HourMillis))
			}
			at += int64(1 + pick(20*60_000))
			if pick(5) == 0 {
				at += 60_000 - at%60_000 // the same instant as other nodes
			}
			if at >= base {
				break
			}
			count := 1 + pick(4)
			if pick(10) == 0 {
				count = 1 + pick(frame.MaxEvents)
			}
			for range count {
				age := int64(pick(2) * pick(5_000))
				if pick(30) == 0 {
					age = int64(pick(int(happened.MaxAge.Milliseconds()))) // it waited in the agent
				}
				n.Events = append(n.Events, anEvent(pick, at-age))
			}
			slices.SortStableFunc(n.Events, func(a, b frame.Event) int {
				return cmp.Compare(a.At, b.At)
			})
			for i, e := range n.Events {
				h.all = append(h.all, events.Event{Event: e, Cluster: n.Cluster, Node: n.ID,
					FrameAt: at, Index: i})
			}
			b := n.Frame(at)
			h.frames = append(h.frames, b)
			if pick(4) == 0 { // twice
				h.frames = append(h.frames, b)
			}
		}
	}
	// late ones, and delta frames before their key frames
	for i := range h.frames {
		j := pick(len(h.frames))
		h.frames[i], h.frames[j] = h.frames[j], h.frames[i]
	}
	return h
}

// answer is what a query finds, all pages of it, by looking at everything.
func (h *eventHistory) answer(q events.Query) (list []events.Event) {
	for i := range h.all {
		e := h.all[i]
		lower := strings.ToLower(q.Text)
		said := strings.Contains(strings.ToLower(e.Text), lower)
		for _, l := range e.Labels {
			said = said || strings.Contains(strings.ToLower(l.Value), lower)
		}
		if slices.Contains(q.Clusters, e.Cluster) && e.At >= q.From && e.At <= q.To &&
			(q.Nodes == nil || slices.Contains(q.Nodes, e.Node)) &&
			(q.Kinds == nil || slices.Contains(q.Kinds, e.Kind)) && e.Severity >= q.Severity &&
			said &&
			(q.Before == nil || e.ID().Compare(*q.Before) > 0) &&
			(q.After == nil || e.ID().Compare(*q.After) < 0) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b events.Event) int { return a.ID().Compare(b.ID()) })
	if q.After != nil {
		slices.Reverse(list)
	}
	return list
}

// query is one at random. Half of those for newer ones begin at an event.
func (h *eventHistory) query(pick windowtest.Pick) events.Query {
	q := events.Query{Clusters: slices.Clone(h.clusters[:1+pick(3)]), To: base,
		Limit: 1 + pick(3)*pick(200)}
	if pick(2) == 0 {
		q.From = base - int64(pick(50*window.HourMillis))
		q.To = q.From + int64(pick(50*window.HourMillis))
	}
	if pick(3) == 0 {
		q.Nodes = h.nodes[:1+pick(len(h.nodes))]
	}
	if pick(3) == 0 {
		q.Kinds = eventKinds[pick(3):]
	}
	if pick(3) == 0 {
		q.Severity = frame.Severity(pick(3))
	}
	if pick(3) == 0 {
		q.Text = []string{"ÄRGER", "table_3", "select", "nobody says that"}[pick(4)]
	}
	id := h.all[pick(len(h.all))].ID()
	switch pick(4) {
	case 0:
		q.Before = &id
	case 1:
		q.After = &id
	case 2:
		id = events.NewerThan(base - int64(pick(50*window.HourMillis)))
		q.After = &id
	}
	return q
}

// allPages asks until there is nothing more.
func allPages(t *testing.T, s *Store, q events.Query) (list []events.Event, pages int) {
	t.Helper()
	for {
		p, err := answers(s).Events(t.Context(), "acme", q)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Events) > q.Limit {
			t.Fatalf("%d events where %d are the limit", len(p.Events), q.Limit)
		}
		list = append(list, p.Events...)
		if pages++; p.Next == nil {
			return list, pages
		}
		if text, err := events.ParseID(p.Next.String()); err != nil || text != *p.Next {
			t.Fatalf("%v, %v is not %v", text, err, p.Next)
		}
		if pages > 10_000 {
			t.Fatal("there is no end")
		}
		if q.After != nil {
			q.After = p.Next
		} else {
			q.Before = p.Next
		}
	}
}

func diffEvents(got, want []events.Event) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) {
			return fmt.Sprintf("%d events, not %d", len(got), len(want))
		}
		if fmt.Sprint(got[i]) != fmt.Sprint(want[i]) {
			return fmt.Sprintf("event %d of %d is %+v, not %+v", i, len(want), got[i], want[i])
		}
	}
	return ""
}

// TestEvents: whatever comes in which order, late, twice, without its key frame, every event is
// found once, by every filter, on whatever pages, from either end.
func TestEvents(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock(base)
		s := open(t, c)
		pick := seeded(t, 11)
		h := newEventHistory(pick)
		w := NewWriter(s)
		var records []stream.Record
		for i, b := range h.frames {
			records = append(records, stream.Record{Account: "acme", Offset: int64(i), Value: b})
		}
		if err := w.Handle(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		if n := number(s.metrics.events.Results.WithLabelValues("excess")); n > 0 {
			t.Fatalf("%v events were left out", n)
		}
		queries := 60
		if s.external != nil {
			queries = 15 // what is behind it knows nothing of queries
		}
		if full {
			queries = 500
		}
		for i := range queries {
			q := h.query(pick)
			s.events.Paging.AtOnce, s.events.Paging.Work = 20+pick(200), 300+pick(10_000)
			s.events.Paging.Bytes = int64(1 + pick(2)*pick(100_000))
			if i%20 == 0 { // hardly any progress
				s.events.Paging.AtOnce, s.events.Paging.Work = 1, 1
				q.From = max(q.From, q.To-window.HourMillis)
			}
			want := h.answer(q)
			if s.external != nil && len(want) > 200 && !full {
				// a page an event would take a minute
				s.events.Paging.Bytes += 10_000
				q.Limit += 50
			}
			got, pages := allPages(t, s, q)
			if d := diffEvents(got, want); d != "" {
				t.Fatalf("query %d, %+v, before %v, after %v, at once %d, work %d: %s", i, q,
					q.Before,
					q.After, s.events.Paging.AtOnce, s.events.Paging.Work, d)
			}
			if i < 5 {
				t.Logf("%d of %d events on %d pages", len(got), len(h.all), pages)
			}
		}
		s.events.Paging = happened.DefaultPaging
		all := events.Query{Clusters: h.clusters, To: base, Limit: 1000}
		if p, err := answers(s).Events(t.Context(), "other", all); err != nil ||
			len(p.Events) > 0 || p.Next != nil {
			t.Fatalf("another account sees %v, %v", p, err)
		}
	})
}

// TestLateEvents: what comes minutes after it happened is found by when it came, too: once, in that
// order, on whatever pages, of the clusters that are asked for, for a day.
func TestLateEvents(t *testing.T) {
	onEach(t, func(t *testing.T, open opener) {
		c := newClock(base)
		s := open(t, c)
		pick := seeded(t, 17)
		const minute = 60_000
		var late []events.Event
		for range 80 {
			c.millis.Add(1 + int64(pick(3*minute)))
			now, number := s.clock.Millis(), pick(3)
			n := frametest.New([]string{"a", "b", "c"}[number], uint64(1+number), 1)
			age := []int64{0, 3 * minute, 10 * minute, 200 * minute}[pick(4)]
			for range 1 + pick(20) {
				n.Events = append(n.Events, anEvent(pick, now-age))
			}
			list := n.Events
			b := n.Frame(now - age)
			for range 1 + pick(2) {
				if err := writing(s).WriteFrame(t.Context(), "acme", b); err != nil {
					t.Fatal(err)
				}
			}
			for i, e := range list {
				if now-e.At >= events.LateAfter.Milliseconds() {
					late = append(late, events.Event{Event: e, Cluster: n.Cluster, Node: n.ID,
						FrameAt: now - age, Index: i, Came: now})
				}
			}
		}
		for range 30 {
			s.events.Paging.AtOnce, s.events.Paging.Work = 20+pick(100), 100+pick(1000)
			after := events.OlderThan(base + int64(pick(120*minute)))
			q := events.Query{Clusters: []string{"a", "b", "c"}[:1+pick(3)], To: math.MaxInt64,
				Limit: 1 + pick(50), After: &after, Late: true, Severity: frame.Severity(pick(3))}
			var want []events.Event
			for i := range late {
				e := &late[i]
				if e.Came >= after.At && e.Severity >= q.Severity &&
					slices.Contains(q.Clusters, e.Cluster) {
					want = append(want, *e)
				}
			}
			slices.SortFunc(want, func(a, b events.Event) int {
				return q.Place(&b).Compare(q.Place(&a))
			})
			got, _ := allPages(t, s, q)
			if d := diffEvents(got, want); d != "" {
				t.Fatalf("%+v after %v: %s", q, after, d)
			}
		}
		s.events.Paging = happened.DefaultPaging
		q := events.Query{Clusters: []string{"a", "b", "c"}, To: math.MaxInt64, Limit: 1000,
			After: &events.ID{}, Late: true}
		if p, err := answers(s).Events(t.Context(), "other", q); err != nil || len(p.Events) > 0 {
			t.Fatalf("another account sees %v, %v", p, err)
		}
		ttl, found, err := s.session.TTL(t.Context(), happened.LateTableName)
		if err != nil || !found ||
			ttl != 24*time.Hour {
			t.Errorf("they are kept for %v: %v, %v", ttl, found, err)
		}
		c.millis.Add((25 * time.Hour).Milliseconds()) // whatever rows have not expired yet
		if got, _ := allPages(t, s, q); len(got) > 0 {
			t.Errorf("after a day there are %d", len(got))
		}
	})
}

// TestManyLateEvents: of what comes late in a minute followers are told of as much as is kept of a
// cluster's minute; the rest is counted, and in lists. A frame that comes again takes no more room.
func TestManyLateEvents(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c, func(c *Config) { c.EventsPerMinute = 100 })
	pick := seeded(t, 5)
	var all []string
	for i := range 5 {
		n := frametest.New(fmt.Sprint(i), uint64(1+i), 1)
		all = append(all, n.Cluster)
		for range 50 {
			n.Events = append(n.Events, anEvent(pick, base-600_000))
		}
		b := n.Frame(base - 600_000)
		for range 2 {
			if err := writing(s).WriteFrame(t.Context(), "acme", b); err != nil {
				t.Fatal(err)
			}
		}
	}
	q := events.Query{Clusters: all, To: math.MaxInt64, Limit: 1000, After: &events.ID{}}
	if got, _ := allPages(t, s, q); len(got) != 250 {
		t.Errorf("%d events are there", len(got))
	}
	q.Late = true
	if got, _ := allPages(t, s, q); len(got) != 100 {
		t.Errorf("%d events are followed", len(got))
	}
	if n := number(s.metrics.events.Untold); n != 300 {
		t.Errorf("%v are counted", n)
	}
}

// TestEventStorm: what is more than may happen on a cluster in a minute is counted, other clusters
// and minutes lose nothing, and a frame that comes again takes no more room, whether its first
// write failed or not.
func TestEventStorm(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c, func(c *Config) { c.EventsPerMinute = 100 })
	n, other := frametest.New("storm", 1, 1), frametest.New("calm", 2, 1)
	pick := seeded(t, 3)
	say := func(n *frametest.Node, at, age int64, count int) []byte {
		t.Helper()
		for range count {
			n.Events = append(n.Events, anEvent(pick, at-age))
		}
		b := n.Frame(at)
		if err := writing(s).WriteFrame(t.Context(), "acme", b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	again := func(ctx context.Context, b []byte) error {
		return writing(s).WriteFrame(ctx, "acme", b)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for range 60 {
		n.Events = append(n.Events, anEvent(pick, base))
	}
	first := n.Frame(base)
	if err := again(ended, first); err == nil {
		t.Fatal("a write went on without its context")
	}
	if err := again(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	say(n, base+5000, 0, 60)
	say(n, base+10_000, 0, 60)
	for _, at := range []int64{base + 5000, base + 60_000} {
		say(other, at, 0, 50)
	}
	last := say(n, base+60_000, 0, 64)
	written, excess := number(s.metrics.events.Results.WithLabelValues("written")),
		number(s.metrics.events.Results.WithLabelValues("excess"))
	if written != 100+2*50+64 || excess != 80 {
		t.Errorf("%v written, %v in excess", written, excess)
	}
	got, _ := allPages(t, s, events.Query{Clusters: []string{"storm", "calm"}, To: base + 120_000,
		Limit: 50})
	if len(got) != 264 {
		t.Errorf("%d events are there", len(got))
	}
	for _, b := range [][]byte{first, last, last} {
		if err := again(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	say(n, base+65_000, 0, 36)
	// who tells of a minute later, and again and again, does not get more into it
	for i := range int64(10) {
		say(n, base+180_000+i*60_000, 60_000+i*60_000, 64)
	}
	got, _ = allPages(t, s, events.Query{Clusters: []string{"storm", "calm"}, To: base + 600_000,
		Limit: 50})
	if len(got) != 264+36+100 {
		t.Errorf("%d events are there", len(got))
	}
}

// TestEventsMemory: a page holds what its events take and no more, whatever was read for it, and
// ends when that is much.
func TestEventsMemory(t *testing.T) {
	s := mustStore(t, newClock(base))
	n := frametest.New("big", 1, 1)
	for i := range int64(4) { // two instants
		for range 60 {
			n.Events = append(n.Events, frame.Event{At: base + i/2, Kind: "error",
				Text: strings.Repeat("x", 1000)})
		}
		if err := writing(s).WriteFrame(t.Context(), "acme", n.Frame(base+i+10)); err != nil {
			t.Fatal(err)
		}
	}
	s.events.Paging.AtOnce, s.events.Paging.Bytes = 20, 50_000
	budget, err := memory.NewBudget("test", 1<<30, nil)
	if err != nil {
		t.Fatal(err)
	}
	q := events.Query{Clusters: []string{"big"}, To: base + 1000, Limit: 1000}
	lease := budget.Open("acme")
	p, err := s.Reader(rows.Work{}, lease).Events(t.Context(), "acme", q)
	if err != nil {
		t.Fatal(err)
	}
	bytes := int64(0)
	for i := range p.Events {
		bytes += p.Events[i].Bytes()
	}
	if lease.Taken() != bytes || bytes < 50_000 || bytes > 52_000 {
		t.Errorf("%d bytes are held for %d of events", lease.Taken(), bytes)
	}
	if got, pages := allPages(t, s, q); len(got) != 240 || pages < 5 {
		t.Errorf("%d events on %d pages", len(got), pages)
	}
}

// TestEventsOfManyClusters: so many that asking each for its hours is much of a page's work still
// get on by more than an hour a page.
func TestEventsOfManyClusters(t *testing.T) {
	s := mustStore(t, newClock(base))
	n := frametest.New("20", 1, 1)
	n.Events = []frame.Event{{At: base - 40*window.HourMillis, Kind: "start"}}
	if err := writing(s).WriteFrame(t.Context(), "acme",
		n.Frame(base-40*window.HourMillis)); err != nil {
		t.Fatal(err)
	}
	q := events.Query{From: base - 48*window.HourMillis, To: base, Limit: 10}
	for i := range 40 {
		q.Clusters = append(q.Clusters, fmt.Sprint(i))
	}
	s.events.Paging.Work = 800
	for _, after := range []*events.ID{nil, {}} {
		q.After = after
		if got, pages := allPages(t, s, q); len(got) != 1 || pages > 5 {
			t.Errorf("%d events on %d pages", len(got), pages)
		}
	}
}

// TestOldEvents: an event lives as long after it happened as the configuration says, however late
// it came with its frame. One much older than its frame is counted.
func TestOldEvents(t *testing.T) {
	c := newClock(base)
	s := mustStore(t, c)
	n := frametest.New("late", 1, 1)
	ttl, age := s.config.EventsTTL.Milliseconds(), happened.MaxAge.Milliseconds()
	for at, list := range map[int64][]frame.Event{
		base - ttl + 1000:                {{At: base - ttl - 1000, Kind: "start"}},
		base - ttl + 2*window.HourMillis: {{At: base - ttl + 2*window.HourMillis, Kind: "stop"}},
		base: {{At: base - age - 1, Kind: "start"}, {At: base - age, Kind: "start"},
			{At: base, Kind: "start"}},
	} {
		n.Events = list
		if err := writing(s).WriteFrame(t.Context(), "acme", n.Frame(at)); err != nil {
			t.Fatal(err)
		}
	}
	for result, want := range map[string]float64{"expired": 1, "old": 1, "written": 3} {
		if got := number(s.metrics.events.Results.WithLabelValues(result)); got != want {
			t.Errorf("%v events are %s", got, result)
		}
	}
	q := events.Query{Clusters: []string{"late"}, To: base + window.HourMillis, Limit: 10}
	if got, _ := allPages(t, s, q); len(got) != 3 {
		t.Errorf("%v", got)
	}
	c.millis.Add((3 * time.Hour).Milliseconds())
	if got, _ := allPages(t, s, q); len(got) != 2 || got[0].At != base {
		t.Errorf("after its time: %v", got)
	}
}
