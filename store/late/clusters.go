package late

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/store/cache"
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

// ClustersTableName is the table of clusters with late frames.
const ClustersTableName = "late_clusters"

// clusterID names a cluster of an account.
type clusterID struct{ account, cluster string }

// lateAge is how old what a process knows of clusters' marks may be, so that a crowd asks once.
const lateAge = time.Second

// ClustersLayout is the table of clusters' marks, which live for ttl.
func ClustersLayout(ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name: ClustersTableName,
		Comment: "Ringwatch: when a cluster last got frames for windows that may have been " +
			"closed; readers keep answers until then",
		Partition:  []rows.Column{rows.TextColumn("account")},
		Clustering: []rows.Column{rows.TextColumn("cluster")},
		Values:     []rows.Column{rows.TimeColumn("marked")},
		TTL:        ttl, Grace: 3 * time.Hour, Compression: rows.Fast,
	}
}

// Clusters keeps when clusters last got late frames, and what this process knows of it.
type Clusters struct {
	engine rows.Engine
	table  *rows.Table
	limits *calendar.Limits
	clock  *calendar.Clock
	marked *cache.Cache[clusterID, time.Time] // clusters that this process has marked, and when

	mu       sync.Mutex
	accounts map[string]*clusterMarks
	Age      time.Duration // that what is known of marks may have: lateAge, but for tests
}

// NewClusters keeps clusters' marks in an engine.
func NewClusters(engine rows.Engine, limits *calendar.Limits,
	clock *calendar.Clock) *Clusters {
	return &Clusters{engine: engine, table: ClustersLayout(limits.MarkTTL()),
		limits: limits, clock: clock, marked: cache.New[clusterID, time.Time](lateMarks),
		accounts: map[string]*clusterMarks{}, Age: lateAge}
}

// clusterMarks is what is known of an account's clusters.
type clusterMarks struct {
	mu     sync.Mutex // held while they are read: who comes meanwhile shares the answer
	next   time.Time  // when they may be read again, by the machine's clock
	marked map[string]int64
}

// Mark marks a cluster of which a window is about to be marked. Of two processes' marks the later
// one stands, whichever is written last: rows carry the time that they tell as their write time.
func (s *Clusters) Mark(ctx context.Context, w rows.Work, account, cluster string,
	now time.Time) error {
	id := clusterID{account, cluster}
	if at, known := s.marked.Get(id); known && now.Sub(at) < s.limits.MarkAgain() {
		return nil
	}
	row := rows.Row{Key: []any{account, cluster}, Values: []any{now.UnixMilli()},
		Stamp: now.UnixMicro()}
	if err := s.engine.Put(ctx, w, s.table, row); err != nil {
		return fmt.Errorf("store: mark a cluster that gets a late frame: %w", err)
	}
	s.marked.Put(id, now, 1)
	return nil
}

// times returns when an account's clusters were marked, in ms. What it returns is lateAge old at
// most, and nobody changes it.
func (s *Clusters) times(ctx context.Context, w rows.Work,
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
	a.marked, a.next = list, asked.Add(s.Age)
	return list, nil
}

// Unchanged reports whether no mark stands for a frame that a reading which began at an instant
// (ms) may lack, of those of an account's clusters that are wanted. It says no where nobody knows.
func (s *Clusters) Unchanged(ctx context.Context, w rows.Work, account string,
	wanted func(cluster string) bool, began int64) (bool, error) {
	if age := s.clock.Millis() - began; age < 0 ||
		age >= s.limits.FreshTTL.Milliseconds() {
		return false, nil
	}
	marked, err := s.times(ctx, w, account)
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
