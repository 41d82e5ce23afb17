// Package events keeps what happened on nodes: a row per event. Start with Log; Put takes the
// events of a frame, Page gives what happened, the newest first.
package events

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/cache"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window/events"
)

// What happened on nodes comes in frames and is written at once, beside them, a row per event: for
// that no key frame is needed, nor the rest of the window. Rows lie by cluster and hour, because
// that is how people ask: what happened here, the newest first. A cluster says some hundred events
// on a busy day, so most of its hours have no partition.
//
// Who follows asks again for what happened in the last minutes. What comes later than that is
// written a second time, by when it came, so that a follower hears of it: few events are, so an
// account's hour is one partition, which costs a follower one read however many clusters there are.

const (
	// MaxAge is how much older than its frame an event may be. The agent sends it with its next
	// frame, and what was cut off sends frames of that time, so only who is wrong or hostile has
	// older ones; they would fill hours that are over.
	MaxAge = time.Hour
	// eventMinutes is of how many minutes of clusters a process remembers how many events it wrote,
	// and of how many frames' minutes; some 100 bytes each.
	eventMinutes = 50_000
	// eventsLateTTL is how long a follower that was away finds what came late.
	eventsLateTTL = 24 * time.Hour
)

// TableName is the table of events.
const TableName = "events"

// LateTableName is the table of events that came late.
const LateTableName = "events_late"

// Layout is the table of events, which live for ttl.
func Layout(ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name:    TableName,
		Comment: "Ringwatch: what happened on nodes",
		Partition: []rows.Column{rows.TextColumn("account"), rows.TextColumn("cluster"),
			rows.TimeColumn("hour")},
		// Newest first, as nearly all reads are.
		Clustering: []rows.Column{{Name: "at", Kind: rows.Time, Descending: true},
			rows.IDColumn("node"), rows.TimeColumn("frame_at"), {Name: "number", Kind: rows.Int32}},
		Values: []rows.Column{rows.TextColumn("kind"), {Name: "severity", Kind: rows.Int32},
			{Name: "labels", Kind: rows.TextMap}, rows.TextColumn("message")},
		TTL: ttl, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Zip(3, 16),
	}
}

// LateLayout is the table of what came late, by when it came.
func LateLayout(ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name:      LateTableName,
		Comment:   "Ringwatch: what happened on nodes and came late, by when it came",
		Partition: []rows.Column{rows.TextColumn("account"), rows.TimeColumn("hour")},
		Clustering: []rows.Column{{Name: "came", Kind: rows.Time, Descending: true},
			rows.IDColumn("node"), rows.TimeColumn("frame_at"), {Name: "number", Kind: rows.Int32}},
		Values: []rows.Column{rows.TextColumn("kind"), {Name: "severity", Kind: rows.Int32},
			{Name: "labels", Kind: rows.TextMap}, rows.TextColumn("message"), rows.TimeColumn("at"),
			rows.TextColumn("cluster")},
		TTL: min(eventsLateTTL, ttl), AgeUnit: time.Hour, Grace: 3 * time.Hour,
		Compression: rows.Zip(3, 16),
	}
}

// Metrics count what became of events.
type Metrics struct {
	// by result: written, excess, expired, old; corrupt counts frames
	Results *prometheus.CounterVec
	Untold  prometheus.Counter // that came late, and that no follower hears of
}

// Log keeps what happened on nodes.
type Log struct {
	engine  rows.Engine
	table   *rows.Table
	late    *rows.Table
	limits  *calendar.Limits
	metrics Metrics
	clock   *calendar.Clock
	// perMinute is how many events of a cluster in a minute are kept.
	perMinute int

	mu sync.Mutex // over a reading of written and its change
	// written is how many events of a cluster's minute this process wrote, admitted how many of a
	// frame's: one that comes again makes the same rows and takes no more room.
	written  *cache.Cache[clusterMinute, int]
	admitted *cache.Cache[frameMinute, int]
	seed     maphash.Seed

	Paging Paging // DefaultPaging, but for tests
}

// New keeps in an engine what happened, of a cluster in a minute so many events.
func New(engine rows.Engine, limits *calendar.Limits, perMinute int, clock *calendar.Clock,
	metrics Metrics) *Log {
	return &Log{engine: engine, table: Layout(limits.EventsTTL),
		late: LateLayout(limits.EventsTTL), limits: limits, perMinute: perMinute,
		metrics: metrics, clock: clock,
		written:  cache.New[clusterMinute, int](eventMinutes),
		admitted: cache.New[frameMinute, int](eventMinutes), seed: maphash.MakeSeed(),
		Paging: DefaultPaging}
}

// clusterMinute is a minute in which something happened on a cluster.
type clusterMinute struct {
	account, cluster string
	minute           int64
}

// frameMinute is what a frame says of a minute. It goes by the frame's bytes: a header that comes
// again may bring other events.
type frameMinute struct {
	clusterMinute
	frame uint64
}

// Put writes the events of a frame. What is left out for good is counted: what expired, what is
// much older than its frame, and what is more than may happen on a cluster in a minute.
func (s *Log) Put(ctx context.Context, w rows.Work, account string, h *frame.Header,
	b []byte) error {
	if !h.HasEvents {
		return nil
	}
	list, err := frame.Events(b)
	if err != nil { // ingest has let no such frame in; its values are not lost
		s.metrics.Results.WithLabelValues("corrupt").Inc()
		return nil
	}
	counted := frameMinute{clusterMinute{account, h.Cluster, -1}, maphash.Bytes(s.seed, b)}
	stamp := s.clock.Millis() * 1000
	var all, late []rows.Row
	var expired, old, excess, room int
	for i := range list {
		e := &list[i]
		if e.At <= stamp/1000-s.limits.EventsTTL.Milliseconds() {
			expired++
			continue
		}
		if h.At-e.At > MaxAge.Milliseconds() {
			old++
			continue
		}
		if minute := e.At / 60_000; minute != counted.minute { // they come in order
			n := slices.IndexFunc(list[i:], func(e frame.Event) bool {
				return e.At/60_000 != minute
			})
			if n < 0 {
				n = len(list) - i
			}
			counted.minute = minute
			room = s.take(counted, n)
		}
		if room == 0 {
			excess++
			continue
		}
		room--
		labels := make(map[string]string, len(e.Labels))
		for _, l := range e.Labels {
			labels[l.Name] = l.Value
		}
		all = append(all, rows.Row{
			Key:    []any{account, h.Cluster, calendar.Hour(e.At), e.At, h.Node, h.At, i},
			Values: []any{e.Kind, int(e.Severity), labels, e.Text},
			TTL:    calendar.TimeLeft(e.At, stamp, s.limits.EventsTTL),
		})
		if came := stamp / 1000; came-e.At >= events.LateAfter.Milliseconds() {
			late = append(late, rows.Row{
				Key:    []any{account, calendar.Hour(came), came, h.Node, h.At, i},
				Values: []any{e.Kind, int(e.Severity), labels, e.Text, e.At, h.Cluster},
			})
		}
	}
	for begin, end := 0, 0; begin < len(all); begin = end { // by hour: a frame may tell of two
		for end < len(all) && all[end].Key[2] == all[begin].Key[2] {
			end++
		}
		if err := s.engine.Put(ctx, w, s.table, all[begin:end]...); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
	untold, err := s.putLate(ctx, w, account, counted.frame, late)
	if err != nil {
		return err
	}
	s.metrics.Untold.Add(float64(untold))
	s.metrics.Results.WithLabelValues("written").Add(float64(len(all)))
	s.metrics.Results.WithLabelValues("expired").Add(float64(expired))
	s.metrics.Results.WithLabelValues("old").Add(float64(old))
	s.metrics.Results.WithLabelValues("excess").Add(float64(excess))
	return nil
}

// putLate writes events of a frame that came late once more, by when they came: as many of an
// account in a minute as of a cluster. It returns how many had no room.
func (s *Log) putLate(ctx context.Context, w rows.Work, account string, frame uint64,
	list []rows.Row) (untold int, err error) {
	if len(list) == 0 {
		return 0, nil
	}
	came := list[0].Key[2].(int64)
	room := s.take(frameMinute{clusterMinute{account, "", came / 60_000}, frame},
		len(list)) // no cluster has an empty name
	if room > 0 {
		if err := s.engine.Put(ctx, w, s.late, list[:room]...); err != nil {
			return 0, fmt.Errorf("write events that came late: %w", err)
		}
	}
	return len(list) - room, nil
}

// take returns how many of a frame's n events of a minute may be written.
func (s *Log) take(m frameMinute, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, again := s.admitted.Get(m); again {
		return min(n, known)
	}
	written, _ := s.written.Get(m.clusterMinute)
	may := min(n, max(0, s.perMinute-written))
	if may > 0 { // what had no room may have some when it comes again
		s.written.Put(m.clusterMinute, written+may, 1)
		s.admitted.Put(m, may, 1)
	}
	return may
}
