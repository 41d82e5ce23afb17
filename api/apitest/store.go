// Package apitest is for tests of the API and of its clients: a store that lives in memory and
// answers as the real one does.
package apitest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// ErrDown is what every call answers while Store.Down.
var ErrDown = errors.New("apitest: the store is down")

// Store keeps frames in memory.
type Store struct {
	// Hold, if set before the server starts, keeps LatestFrames waiting until it is closed.
	Hold chan struct{}
	// Clock, if set, tells when frames are received: one that is dated ahead of that is not newer
	// than what comes after it.
	Clock func() time.Time

	mu     sync.Mutex
	down   bool
	reads  int
	frames map[nodeKey]map[int64][]byte // by time
	seen   map[nodeKey]map[int64]int64  // when the node was heard of by the frame of a time
	built  map[nodeKey][]*window.Window // what windows returned since the last Put
}

type nodeKey struct {
	account string
	node    uuid.UUID
}

// Put takes a frame.
func (s *Store) Put(account string, b []byte) {
	h, _, err := frame.Parse(b)
	if err != nil {
		panic(err) // the test's frames are good
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := nodeKey{account, h.Node}
	if s.frames == nil {
		s.frames, s.seen = map[nodeKey]map[int64][]byte{}, map[nodeKey]map[int64]int64{}
	}
	if s.frames[k] == nil {
		s.frames[k], s.seen[k] = map[int64][]byte{}, map[int64]int64{}
	}
	s.seen[k][h.At] = h.At
	if s.Clock != nil {
		s.seen[k][h.At] = min(h.At, s.Clock().UnixMilli())
	}
	s.frames[k][h.At] = b
	delete(s.built, k)
}

// Sources are the store alone.
func (s *Store) Sources() read.Sources {
	return read.Sources{Store: s, Rollups: s.Rollups, LastSeen: s.LastSeen}
}

// MustReader returns a reader with an API's configuration.
func MustReader(tb testing.TB, c api.Config, s read.Sources) *read.Reader {
	tb.Helper()
	r, err := read.New(c.Reader(), s)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// SetDown lets every call fail, or no longer.
func (s *Store) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Reads returns how often values were asked for.
func (s *Store) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Ready is api.Deps.StoreReady.
func (s *Store) Ready(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return ErrDown
	}
	return nil
}

// windows returns a node's windows, oldest first.
func (s *Store) windows(k nodeKey) ([]*window.Window, error) {
	if s.down {
		return nil, ErrDown
	}
	if s.built[k] != nil {
		return s.built[k], nil
	}
	groups := map[int64][][]byte{}
	for at, b := range s.frames[k] {
		groups[frame.WindowOf(at)] = append(groups[frame.WindowOf(at)], b)
	}
	var all []*window.Window
	for _, g := range groups {
		w, _, err := building.Window(window.Node{Account: k.account, ID: k.node}, g)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b *window.Window) int { return int(a.Start - b.Start) })
	if s.built == nil {
		s.built = map[nodeKey][]*window.Window{}
	}
	s.built[k] = all
	return all, nil
}

// Nodes implements read.Store.
func (s *Store) Nodes(_ context.Context, account string) ([]window.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, ErrDown
	}
	var nodes []window.Node
	for k := range s.frames {
		if k.account != account {
			continue
		}
		windows, err := s.windows(k)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, windows[len(windows)-1].Node)
	}
	return nodes, nil
}

// LatestFrames implements read.Store.
func (s *Store) LatestFrames(_ context.Context, account string,
	node uuid.UUID) ([][]byte, int64, bool, error) {
	if s.Hold != nil {
		<-s.Hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads++; s.down {
		return nil, 0, false, ErrDown
	}
	frames := s.frames[nodeKey{account, node}]
	newest, newestHeard := int64(0), int64(0)
	for at, heard := range s.seen[nodeKey{account, node}] {
		if heard > newestHeard {
			newest, newestHeard = at, heard
		}
	}
	if newest == 0 {
		return nil, 0, false, nil
	}
	h, _, err := frame.Parse(frames[newest])
	if err != nil || h.IsKey() {
		return [][]byte{frames[newest]}, newestHeard, false, err
	}
	return [][]byte{frames[h.KeyAt()], frames[newest]}, newestHeard, false, nil
}

// LastSeen is read.Sources.LastSeen.
func (s *Store) LastSeen(_ context.Context, account string,
	nodes []uuid.UUID) (map[uuid.UUID]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return nil, ErrDown
	}
	newest := map[uuid.UUID]int64{}
	for _, node := range nodes {
		for _, heard := range s.seen[nodeKey{account, node}] {
			newest[node] = max(newest[node], heard)
		}
	}
	return newest, nil
}

// Windows implements read.Store.
func (s *Store) Windows(
	_ context.Context, account string, node uuid.UUID, from, to int64, _ []blobs.Facet,
	_ ...*labels.Matcher,
) (read.Windows, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	list, err := s.windows(nodeKey{account, node})
	if err != nil {
		return read.Windows{}, err
	}
	all := read.Windows{List: list}
	for _, w := range list {
		for _, at := range w.Times {
			if at >= from && at <= to {
				all.Instants = append(all.Instants, at)
			}
		}
	}
	return all, nil
}

// Rollups is read.Sources.Rollups: what the frames give.
func (s *Store) Rollups(
	ctx context.Context, account string, node uuid.UUID, level rollup.Level, from, to int64,
	facets []blobs.Facet, matchers ...*labels.Matcher,
) ([]rollup.Series, []string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	windows, err := s.windows(nodeKey{account, node})
	if err != nil {
		return nil, nil, err
	}
	periods := map[int64][]*rollup.Rollup{}
	for _, w := range windows {
		periods[level.Start(w.Start)] = append(periods[level.Start(w.Start)], rollup.FromWindow(w))
	}
	var list []*rollup.Rollup
	for start, parts := range periods {
		list = append(list, rollup.Merge(level, start, parts))
	}
	selected, err := rollup.SelectContext(ctx, memory.Of(ctx), facets, list, level.Start(from), to,
		matchers...)
	return selected, nil, err
}
