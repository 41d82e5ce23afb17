// Package late keeps marks of windows and clusters that got a frame after they may have been
// closed, so that readers look for it. Start with Windows; Clusters is for whoever keeps answers.
package late

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/cache"
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

// TableName is the table of windows with late frames.
const TableName = "late"

// lateMarks is how many windows' marks a process remembers having written, some 100 bytes each.
const lateMarks = 50_000

// windowID names a window of a node.
type windowID struct {
	account string
	node    uuid.UUID
	start   int64
}

// Layout is the table of marks, which live for ttl.
func Layout(ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name: TableName,
		Comment: "Ringwatch: windows with frames that came after they may have been closed; " +
			"readers look into fresh for them, too",
		Partition:  []rows.Column{rows.TextColumn("account"), rows.IDColumn("node")},
		Clustering: []rows.Column{rows.TimeColumn("window")},
		Values:     []rows.Column{rows.TimeColumn("marked")},
		TTL:        ttl, AgeUnit: time.Minute, Grace: 10 * time.Minute,
		Compression: rows.Fast,
	}
}

// Windows keeps which windows have late frames.
type Windows struct {
	engine   rows.Engine
	table    *rows.Table
	limits   *calendar.Limits
	clock    *calendar.Clock
	Clusters *Clusters
	// windows that this process has marked as late, and when
	marked *cache.Cache[windowID, time.Time]
	known  *cache.Cache[nodeID, nodeMarks]
}

// New keeps marks in an engine.
func New(engine rows.Engine, limits *calendar.Limits, clock *calendar.Clock) *Windows {
	return &Windows{engine: engine, table: Layout(limits.MarkTTL()), limits: limits,
		clock: clock, Clusters: NewClusters(engine, limits, clock),
		marked: cache.New[windowID, time.Time](lateMarks),
		known:  cache.New[nodeID, nodeMarks](knownNodes)}
}

// nodeID names a node of an account.
type nodeID struct {
	account string
	node    uuid.UUID
}

// nodeMarks are a node's marks, as they were read at an instant (ms). They count until a cluster of
// the account is marked.
type nodeMarks struct {
	marked map[int64]int64
	read   int64
}

// knownNodes is of how many nodes a process remembers the marks, some 100 bytes each without any.
const knownNodes = 50_000

// Mark marks the window of a frame that is about to be written, if the frame is late. It is to be
// called before each attempt: what is not late yet may be so at the next one.
func (s *Windows) Mark(ctx context.Context, w rows.Work, account string, h *frame.Header) error {
	now, start := s.clock.Now(), h.Window()
	if now.UnixMilli() < s.limits.LateFrom(start) {
		return nil
	}
	id := windowID{account, h.Node, start}
	if at, known := s.marked.Get(id); known && now.Sub(at) < s.limits.MarkAgain() {
		return nil
	}
	if err := s.Clusters.Mark(ctx, w, account, h.Cluster, now); err != nil {
		return err
	}
	err := s.engine.Put(ctx, w, s.table, rows.Row{Key: []any{account, h.Node, start},
		Values: []any{now.UnixMilli()}})
	if err != nil {
		return fmt.Errorf("store: mark a window that gets a late frame: %w", err)
	}
	s.marked.Put(id, now, 1)
	return nil
}

// Marks returns those of a node's windows from … to, by their starts, that may have frames in
// fresh which their columns lack, and when they were marked, in ms. They are lateAge old at most.
func (s *Windows) Marks(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	from, to int64) (map[int64]int64, error) {
	id := nodeID{account, node}
	n, known := s.known.Get(id)
	if age := s.clock.Millis() - n.read; known &&
		(age < 0 || age >= s.Clusters.Age.Milliseconds()) {
		var err error
		all := func(string) bool { return true } // a node's older frames may be of another cluster
		if known, err = s.Clusters.Unchanged(ctx, w, account, all, n.read); err != nil {
			return nil, err
		}
	}
	if !known {
		var err error
		if n, err = s.read(ctx, w, account, node); err != nil {
			return nil, fmt.Errorf("store: read which windows have late frames: %w", err)
		}
		s.remember(account, node, n)
	}
	list := map[int64]int64{}
	for start, marked := range n.marked {
		if start >= from && start <= to {
			list[start] = marked
		}
	}
	return list, nil
}

// remember remembers a node's marks.
func (s *Windows) remember(account string, node uuid.UUID, n nodeMarks) {
	s.known.Put(nodeID{account, node}, n, 1+len(n.marked))
}

// Assume lets a node have no marks that were read at an instant (ms), as if they had been.
func (s *Windows) Assume(account string, node uuid.UUID, read int64) {
	s.remember(account, node, nodeMarks{read: read})
}

// read reads all marks of a node.
func (s *Windows) read(ctx context.Context, w rows.Work, account string,
	node uuid.UUID) (nodeMarks, error) {
	n := nodeMarks{marked: map[int64]int64{}, read: s.clock.Millis()}
	query := rows.Query{Table: s.table, Key: []any{account, node},
		Columns: []string{"window", "marked"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		var start, marked int64
		if !scan(&start, &marked) {
			return false
		}
		n.marked[start] = marked
		return true
	})
	return n, err
}
