package querytest

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Account is the account of a Memory's nodes.
const Account = "test"

// Memory is a store in memory: windows that were built of frames, and rollups of these. It
// implements read.Store.
type Memory struct {
	frames  Frames
	nodes   []window.Node
	windows map[uuid.UUID][]*window.Window
	rollups map[uuid.UUID]map[rollup.Level][]*rollup.Rollup
	// RawFrom is the first instant of which samples are kept.
	RawFrom int64
	// RollupFrom is the same of levels of rollups; one that is not in it has all.
	RollupFrom map[rollup.Level]int64
}

// NewMemory builds all windows and all rollups.
func NewMemory(t testing.TB, frames Frames) *Memory {
	t.Helper()
	s := &Memory{frames: frames, windows: map[uuid.UUID][]*window.Window{},
		rollups: map[uuid.UUID]map[rollup.Level][]*rollup.Rollup{}}
	for id, list := range frames {
		if len(list) == 0 {
			continue
		}
		byWindow := map[int64][][]byte{}
		for _, b := range list {
			h, _, err := frame.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			byWindow[h.Window()] = append(byWindow[h.Window()], b)
		}
		for _, of := range byWindow {
			w, _, err := building.Window(window.Node{Account: Account, ID: id}, of)
			if err != nil {
				t.Fatal(err)
			}
			s.windows[id] = append(s.windows[id], w)
		}
		slices.SortFunc(s.windows[id], func(a, b *window.Window) int {
			return cmp.Compare(a.Start, b.Start)
		})
		s.nodes = append(s.nodes, s.windows[id][len(s.windows[id])-1].Node)
		s.roll(id)
	}
	return s
}

// roll computes a node's rollups, each level from the one before.
func (s *Memory) roll(id uuid.UUID) {
	of := map[rollup.Level][]*rollup.Rollup{}
	s.rollups[id] = of
	for _, w := range s.windows[id] {
		of[rollup.FiveMinutes] = append(of[rollup.FiveMinutes], rollup.FromWindow(w))
	}
	for _, level := range rollup.Levels[1:] {
		finer, _ := level.Finer()
		var parts []*rollup.Rollup
		for i, p := range of[finer] {
			parts = append(parts, p)
			if start := level.Start(p.Start); i+1 == len(of[finer]) ||
				level.Start(of[finer][i+1].Start) != start {
				of[level] = append(of[level], rollup.Merge(level, start, parts))
				parts = nil
			}
		}
	}
}

// Index returns an index of all series.
func (s *Memory) Index() *index.Index {
	x := index.New(0)
	for id, list := range s.windows {
		for _, w := range list {
			for _, t := range w.Types {
				h := window.HashOf(blobs.AppendDictionary(nil, t.Dictionary))
				x.Add(Account, id, []window.DictionaryID{{Node: id, Day: w.Start, Key: t.Key,
					Hash: h}}, map[window.Hash]*window.Dictionary{h: t.Dictionary})
			}
		}
	}
	return x
}

// Nodes implements read.Store.
func (s *Memory) Nodes(context.Context, string) ([]window.Node, error) {
	return slices.Clone(s.nodes), nil
}

// LatestFrames implements read.Store.
func (s *Memory) LatestFrames(_ context.Context, _ string, node uuid.UUID) ([][]byte, int64,
	bool, error) {
	list := s.frames[node]
	if len(list) == 0 {
		return nil, 0, false, nil
	}
	newest := list[len(list)-1]
	h, _, err := frame.Parse(newest)
	if err != nil || h.IsKey() {
		return [][]byte{newest}, h.At, false, err
	}
	for _, b := range list {
		if k, _, err := frame.Parse(b); err == nil && k.At == h.KeyAt() {
			return [][]byte{b, newest}, h.At, false, nil
		}
	}
	return nil, 0, false, nil
}

// LastSeen is read.Sources.LastSeen.
func (s *Memory) LastSeen(_ context.Context, _ string, nodes []uuid.UUID) (map[uuid.UUID]int64,
	error) {
	seen := map[uuid.UUID]int64{}
	for _, id := range nodes {
		if list := s.windows[id]; len(list) > 0 {
			times := list[len(list)-1].Times
			seen[id] = times[len(times)-1]
		}
	}
	return seen, nil
}

// Windows implements read.Store.
func (s *Memory) Windows(_ context.Context, _ string, node uuid.UUID, from, to int64,
	_ []blobs.Facet, _ ...*labels.Matcher) (read.Windows, error) {
	from = max(from, s.RawFrom)
	v := read.Windows{From: from}
	for _, w := range s.windows[node] {
		if w.Start > to || w.Start+frame.WindowMillis <= from {
			continue
		}
		v.List = append(v.List, w)
		for _, at := range w.Times {
			if at >= from && at <= to {
				v.Instants = append(v.Instants, at)
			}
		}
	}
	return v, nil
}

// Rollups is read.Sources.Rollups.
func (s *Memory) Rollups(ctx context.Context, _ string, node uuid.UUID, level rollup.Level, from,
	to int64, facets []blobs.Facet, matchers ...*labels.Matcher) ([]rollup.Series,
	[]string, error) {
	if since, is := s.RollupFrom[level]; is {
		from = max(from, since)
	}
	from = level.Start(from)
	var list []*rollup.Rollup
	for _, r := range s.rollups[node][level] {
		// the period before says what the first increase is from
		if r.Start >= from-level.Millis && r.Start <= to {
			list = append(list, r)
		}
	}
	found, err := rollup.SelectContext(ctx, memory.Of(ctx), facets, list, from, to, matchers...)
	return found, nil, err
}
