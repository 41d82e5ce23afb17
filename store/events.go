package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/rows"
)

// What happened on nodes comes in frames and is written at once, beside them, a row per event: for
// that no key frame is needed, nor the rest of the window. Rows lie by cluster and hour, because
// that is how people ask: what happened here, the newest first. A cluster says some hundred events
// on a busy day, so most of its hours have no partition.

// eventMinutes is of how many minutes of clusters a process remembers how many events it wrote;
// some 100 bytes each.
const eventMinutes = 50_000

func (c *Config) eventsLayout() *rows.Table {
	return &rows.Table{
		Name:      eventsTable,
		Comment:   "Ringwatch: what happened on nodes",
		Partition: []rows.Column{textColumn("account"), textColumn("cluster"), timeColumn("hour")},
		// Newest first, as nearly all reads are.
		Clustering: []rows.Column{{Name: "at", Kind: rows.Time, Descending: true},
			idColumn("node"), timeColumn("frame_at"), {Name: "number", Kind: rows.Int32}},
		Values: []rows.Column{textColumn("kind"), {Name: "severity", Kind: rows.Int32},
			{Name: "labels", Kind: rows.TextMap}, textColumn("message")},
		TTL: c.EventsTTL, AgeUnit: time.Hour, Grace: 3 * time.Hour, Compression: rows.Zip(3, 16),
	}
}

// eventRows keeps what happened on nodes.
type eventRows struct {
	engine  rows.Engine
	table   *rows.Table
	config  *Config
	metrics *Metrics
	now     func() int64

	mu sync.Mutex // over a reading of written and its change
	// written is how many events of a cluster's minute this process wrote. Repeated frames count
	// again, so a minute that is read from the stream twice may be full the second time: then what
	// is left out is there already.
	written *recentCache[clusterMinute, int]

	atOnce, pageWork int // eventsAtOnce and eventsWork, but for tests
}

// clusterMinute is a minute in which a cluster's frames were made.
type clusterMinute struct {
	clusterID
	minute int64
}

// put writes the events of a frame. What is left out for good is counted: what expired, and what
// is more than a cluster may say in a minute.
func (s *eventRows) put(ctx context.Context, w rows.Work, account string, h *frame.Header,
	b []byte) error {
	if !h.HasEvents {
		return nil
	}
	list, err := frame.Events(b)
	if err != nil { // ingest has let no such frame in; its values are not lost
		s.metrics.Events.WithLabelValues("corrupt").Inc()
		return nil
	}
	minute := clusterMinute{clusterID{account, h.Cluster}, h.At / 60_000}
	may := s.take(minute, len(list))
	stamp := s.now() * 1000
	expired, wrote := 0, 0
	// By hour, since a frame may tell of two.
	for i := 0; i < may; {
		hour := hourOf(list[i].At)
		var some []rows.Row
		for ; i < may && hourOf(list[i].At) == hour; i++ {
			e := &list[i]
			if e.At <= stamp/1000-s.config.EventsTTL.Milliseconds() {
				expired++
				continue
			}
			labels := make(map[string]string, len(e.Labels))
			for _, l := range e.Labels {
				labels[l.Name] = l.Value
			}
			some = append(some, rows.Row{
				Key:    []any{account, h.Cluster, hour, e.At, h.Node, h.At, i},
				Values: []any{e.Kind, int(e.Severity), labels, e.Text},
				TTL:    timeLeft(e.At, stamp, s.config.EventsTTL),
			})
		}
		if len(some) == 0 {
			continue
		}
		if err := s.engine.Put(ctx, w, s.table, some...); err != nil {
			s.give(minute, may) // the frame comes again
			return fmt.Errorf("write events: %w", err)
		}
		wrote += len(some)
	}
	s.metrics.Events.WithLabelValues("written").Add(float64(wrote))
	s.metrics.Events.WithLabelValues("expired").Add(float64(expired))
	s.metrics.Events.WithLabelValues("excess").Add(float64(len(list) - may))
	return nil
}

// take returns how many of n events of a cluster's minute may be written.
func (s *eventRows) take(m clusterMinute, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	written, _ := s.written.get(m)
	may := min(n, max(0, s.config.EventsPerMinute-written))
	s.written.put(m, written+may, 1)
	return may
}

// give takes back what take returned.
func (s *eventRows) give(m clusterMinute, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if written, known := s.written.get(m); known {
		s.written.put(m, max(0, written-n), 1)
	}
}
