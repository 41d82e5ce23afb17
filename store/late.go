package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
)

// A window is closed a grace after its end at the earliest, and is answered from its columns from
// then on. A frame that is written later may lack there until the window is closed again. So
// whoever writes such a frame first writes a row to the table late, and readers look into fresh,
// too, for the windows that it names. The row comes before the frame: who can read the frame can
// read the row. A node has one partition, which is nearly always empty, so asking costs one small
// read.
//
// A mark outlives the frames, but after an outage nearly all windows have one, and to read all
// frames of an hour for each panel takes seconds. So a mark says when a frame may have come, and
// columns that were made well after that have the frame: see covers.

// lateMarks is how many windows' marks a process remembers having written, some 100 bytes each.
const lateMarks = 50_000

// windowID names a window of a node.
type windowID struct {
	account string
	node    uuid.UUID
	start   int64
}

func (c *Config) lateLayout() *rows.Table {
	return &rows.Table{
		Name: lateTable,
		Comment: "Ringwatch: windows with frames that came after they may have been closed; " +
			"readers look into fresh for them, too",
		Partition:  []rows.Column{rows.TextColumn("account"), rows.IDColumn("node")},
		Clustering: []rows.Column{rows.TimeColumn("window")},
		Values:     []rows.Column{rows.TimeColumn("marked")},
		TTL:        c.limits().MarkTTL(), AgeUnit: time.Minute, Grace: 10 * time.Minute,
		Compression: rows.Fast,
	}
}

// lateRows keeps which windows have late frames.
type lateRows struct {
	engine   rows.Engine
	table    *rows.Table
	limits   *calendar.Limits
	clock    *calendar.Clock
	clusters *lateClusterRows
	// windows that this process has marked as late, and when
	marked *recentCache[windowID, time.Time]
	known  *recentCache[nodeID, nodeMarks]
}

// nodeID names a node of an account.
type nodeID struct {
	account string
	node    uuid.UUID
}

// nodeMarks are a node's marks, as they were read at an instant (ms). They count until a cluster of
// the account is marked.
type nodeMarks struct {
	of   map[int64]int64
	read int64
}

// knownNodes is of how many nodes a process remembers the marks, some 100 bytes each without any.
const knownNodes = 50_000

// mark marks the window of a frame that is about to be written, if the frame is late. It is to be
// called before each attempt: what is not late yet may be so at the next one.
func (s *lateRows) mark(ctx context.Context, w rows.Work, account string, h *frame.Header) error {
	now, start := s.clock.Now(), h.Window()
	if now.UnixMilli() < s.limits.LateFrom(start) {
		return nil
	}
	id := windowID{account, h.Node, start}
	if at, known := s.marked.get(id); known && now.Sub(at) < s.limits.MarkAgain() {
		return nil
	}
	if err := s.clusters.mark(ctx, w, account, h.Cluster, now); err != nil {
		return err
	}
	err := s.engine.Put(ctx, w, s.table, rows.Row{Key: []any{account, h.Node, start},
		Values: []any{now.UnixMilli()}})
	if err != nil {
		return fmt.Errorf("store: mark a window that gets a late frame: %w", err)
	}
	s.marked.put(id, now, 1)
	return nil
}

// marks returns those of a node's windows from … to, by their starts, that may have frames in
// fresh which their columns lack, and when they were marked, in ms. They are lateAge old at most.
func (s *lateRows) marks(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	from, to int64) (map[int64]int64, error) {
	id := nodeID{account, node}
	n, known := s.known.get(id)
	if age := s.clock.Millis() - n.read; known &&
		(age < 0 || age >= s.clusters.age.Milliseconds()) {
		var err error
		all := func(string) bool { return true } // a node's older frames may be of another cluster
		if known, err = s.clusters.unchanged(ctx, w, account, all, n.read); err != nil {
			return nil, err
		}
	}
	if !known {
		var err error
		if n, err = s.read(ctx, w, account, node); err != nil {
			return nil, fmt.Errorf("store: read which windows have late frames: %w", err)
		}
		s.known.put(id, n, 1+len(n.of))
	}
	list := map[int64]int64{}
	for start, marked := range n.of {
		if start >= from && start <= to {
			list[start] = marked
		}
	}
	return list, nil
}

// read reads all marks of a node.
func (s *lateRows) read(ctx context.Context, w rows.Work, account string,
	node uuid.UUID) (nodeMarks, error) {
	n := nodeMarks{of: map[int64]int64{}, read: s.clock.Millis()}
	query := rows.Query{Table: s.table, Key: []any{account, node},
		Columns: []string{"window", "marked"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		var start, marked int64
		if !scan(&start, &marked) {
			return false
		}
		n.of[start] = marked
		return true
	})
	return n, err
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
