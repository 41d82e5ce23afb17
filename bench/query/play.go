package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// player makes the frames of a set's nodes, each node's an interval apart and at its own time.
type player struct {
	account string
	nodes   []*fleet.Node
	next    []int64 // when each node's next frame is due, ms
	every   int64
	at      int64 // of the next window
	busiest [2]string
	newest  []*window.Window // of each node, for which series it had last
}

// clustersOf is in how many clusters a fleet that is compared is: in each is an idle node and a
// busy one.
func clustersOf(nodes int) int { return max(1, min(4, nodes/2)) }

// newPlayer makes every second node idle, the others busy; they play from start on. The nodes of a
// set are always the same, and begin anew.
func newPlayer(s *set, idle, busy *fleet.Shape, start int64) *player {
	p := &player{account: s.Account, every: busy.Interval, at: start,
		newest: make([]*window.Window, s.Nodes)}
	for i := range s.Nodes {
		n := fleet.NewNode(fleet.OfNode(i, idle, busy), s.Seed, i)
		n.Cluster = fmt.Sprintf("%s%d", s.Account, i*clustersOf(s.Nodes)/s.Nodes)
		p.nodes = append(p.nodes, n)
		p.next = append(p.next, start+int64(n.Random.IntN(int(p.every)-1000)))
	}
	return p
}

// batch is some windows of all nodes.
type batch struct {
	start, end int64
	nodes      []nodeWindows
}

// nodeWindows are one node's, and the series of all of them.
type nodeWindows struct {
	node    *fleet.Node
	windows []*window.Window
	frames  [][][]byte // by window
	series  []window.Series
	times   []int64
	gone    gone
}

// gone are the series that a node had in the last instant of a window and has not in the next
// one, the first of another window.
type gone struct {
	series []window.Series
	at     []int64 // both instants
}

// goes finds out what is gone with a node's newest window, whose series at its first instant are
// among list.
func (p *player) goes(i int, w *window.Window, list []window.Series) (g gone) {
	if before := p.newest[i]; before != nil {
		there := map[uint64]bool{}
		for j := range list {
			if list[j].At[0] == w.Times[0] {
				there[list[j].Labels.Hash()] = true
			}
		}
		g.at = []int64{before.Times[len(before.Times)-1], w.Times[0]}
		g.series = slices.DeleteFunc(selecting.Latest(before), func(s window.Series) bool {
			return there[s.Labels.Hash()]
		})
	}
	p.newest[i] = w
	return g
}

// batch plays the next windows up to end.
func (p *player) batch(end int64) (*batch, error) {
	b := &batch{start: p.at, end: end, nodes: make([]nodeWindows, len(p.nodes))}
	p.at = end
	var g errgroup.Group
	g.SetLimit(2)
	for i := range p.nodes {
		g.Go(func() error { return p.some(b, i) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if p.busiest[1] == "" {
		p.busiest = busiest(b)
	}
	return b, nil
}

// some plays one node's part of a batch.
func (p *player) some(b *batch, i int) error {
	n := nodeWindows{node: p.nodes[i]}
	var parts [][]window.Series
	for start := b.start; start < b.end; start += frame.WindowMillis {
		var frames [][]byte
		for p.next[i] < start+frame.WindowMillis {
			f, err := p.frame(i)
			if err != nil {
				return err
			}
			frames = append(frames, f)
		}
		built, report, err := building.Window(
			window.Node{Account: p.account, ID: n.node.ID}, frames)
		if err != nil || report.Corrupt+report.MissingKey+report.Duplicates+report.Excess > 0 {
			return fmt.Errorf("the generator's frames do not read back: %+v, %w", report, err)
		}
		n.windows, n.frames, n.times = append(n.windows, built), append(n.frames,
			frames), append(n.times, built.Times...)
		parts = append(parts, selecting.Select(built, 0, 1<<60))
	}
	n.series = selecting.Join(parts...)
	n.gone = p.goes(i, n.windows[0], parts[0])
	p.newest[i] = n.windows[len(n.windows)-1]
	b.nodes[i] = n
	return nil
}

// frame makes a node's next frame.
func (p *player) frame(i int) ([]byte, error) {
	n := p.nodes[i]
	f, err := n.Frame(p.next[i])
	n.Step()
	p.next[i] += p.every
	return f, err
}

// busiest returns the keyspace and table of a batch of nodes that are written most, of those that
// all nodes have.
func busiest(b *batch) [2]string {
	counts, having := map[[2]string]int64{}, map[[2]string]int{}
	for i := range b.nodes {
		for _, s := range b.nodes[i].series {
			if s.Metric.Name == writes && len(s.Histograms) > 0 {
				k := [2]string{s.Labels.Get("keyspace"), s.Labels.Get("table")}
				counts[k] += s.Histograms[len(s.Histograms)-1].Count()
				having[k]++
			}
		}
	}
	best := [2]string{}
	for k := range counts {
		if c := cmp.Or(cmp.Compare(having[k], having[best]), cmp.Compare(counts[k], counts[best]),
			strings.Compare(best[0]+"."+best[1], k[0]+"."+k[1])); c > 0 {
			best = k
		}
	}
	return best
}
