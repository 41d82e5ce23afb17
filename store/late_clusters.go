package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Whoever keeps answers from closed windows must learn when a late frame changes them. For that
// each cluster has a mark. A process that is about to mark a node's window as late marks the node's
// cluster first: the order is the cluster's mark, the window's mark, the frame. So whoever can read
// the frame can read that its cluster has changed. An account's marks are one partition, so one
// small read gives those of all clusters, and a process reads them once a second at most, however
// many questions wait.
//
// A mark stands for all late frames until it is written again. What follows for when its frames
// were written is the same as for a window's mark: see calendar.Limits.Covers.

// clusterID names a cluster of an account.
type clusterID struct{ account, cluster string }

// lateAge is how old what a process knows of clusters' marks may be, so that a crowd asks once.
const lateAge = time.Second

func (c *Config) lateClustersLayout() *rows.Table {
	return &rows.Table{
		Name: lateClustersTable,
		Comment: "Ringwatch: when a cluster last got frames for windows that may have been " +
			"closed; readers keep answers until then",
		Partition:  []rows.Column{rows.TextColumn("account")},
		Clustering: []rows.Column{rows.TextColumn("cluster")},
		Values:     []rows.Column{rows.TimeColumn("marked")},
		TTL:        c.limits().MarkTTL(), Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// lateClusterRows keeps when clusters last got late frames, and what this process knows of it.
type lateClusterRows struct {
	engine rows.Engine
	table  *rows.Table
	limits *calendar.Limits
	clock  *calendar.Clock
	marked *recentCache[clusterID, time.Time] // clusters that this process has marked, and when

	mu       sync.Mutex
	accounts map[string]*clusterMarks
	age      time.Duration // lateAge, but for tests
}

// clusterMarks is what is known of an account's clusters.
type clusterMarks struct {
	mu     sync.Mutex // held while they are read: who comes meanwhile shares the answer
	next   time.Time  // when they may be read again, by the machine's clock
	marked map[string]int64
}

// mark marks a cluster of which a window is about to be marked. Of two processes' marks the later
// one stands, whichever is written last: rows carry the time that they tell as their write time.
func (s *lateClusterRows) mark(ctx context.Context, w rows.Work, account, cluster string,
	now time.Time) error {
	id := clusterID{account, cluster}
	if at, known := s.marked.get(id); known && now.Sub(at) < s.limits.MarkAgain() {
		return nil
	}
	row := rows.Row{Key: []any{account, cluster}, Values: []any{now.UnixMilli()},
		Stamp: now.UnixMicro()}
	if err := s.engine.Put(ctx, w, s.table, row); err != nil {
		return fmt.Errorf("store: mark a cluster that gets a late frame: %w", err)
	}
	s.marked.put(id, now, 1)
	return nil
}

// of returns when an account's clusters were marked, in ms. What it returns is lateAge old at most,
// and nobody changes it.
func (s *lateClusterRows) of(ctx context.Context, w rows.Work,
	account string) (map[string]int64, error) {
	s.mu.Lock()
	a := s.accounts[account]
	if a == nil {
		a = &clusterMarks{}
		s.accounts[account] = a // one per account with a valid key
	}
	s.mu.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := time.Now()
	if asked.Before(a.next) {
		return a.marked, nil
	}
	list := map[string]int64{}
	query := rows.Query{Table: s.table, Key: []any{account}, Columns: []string{"cluster", "marked"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		var cluster string
		var marked int64
		if !scan(&cluster, &marked) {
			return false
		}
		list[cluster] = marked
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("store: read which clusters have late frames: %w", err)
	}
	a.marked, a.next = list, asked.Add(s.age)
	return list, nil
}

// Settles returns how long after an instant a reading has every frame of that instant but those
// that Unchanged reports.
func (c *Config) Settles() time.Duration {
	return time.Duration(calendar.WindowMillis)*time.Millisecond + c.Grace
}

// Unchanged reports whether a reading that began at an instant (ms) still says what a new one would
// of everything that was older than Settles then, for those of an account's clusters that are
// wanted. It is up to a second late. It says no where nobody knows: marks do not live for ever, so
// neither does what is kept.
func (s *Store) Unchanged(ctx context.Context, account string, wanted func(cluster string) bool,
	began int64) (bool, error) {
	return s.late.clusters.unchanged(ctx, Dashboard(account), account, wanted, began)
}

func (s *lateClusterRows) unchanged(ctx context.Context, w rows.Work, account string,
	wanted func(cluster string) bool, began int64) (bool, error) {
	if age := s.clock.Millis() - began; age < 0 ||
		age >= s.limits.FreshTTL.Milliseconds() {
		return false, nil
	}
	marked, err := s.of(ctx, w, account)
	if err != nil {
		return false, err
	}
	for cluster, at := range marked {
		if wanted(cluster) && !s.limits.Covers(at, began*1000) {
			return false, nil
		}
	}
	return true, nil
}
