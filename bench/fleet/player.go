package fleet

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Player makes the frames of a fleet's nodes, each node's an interval apart and at its own time.
// The same arguments give the same frames.
type Player struct {
	Nodes []*Node
	At    int64 // of the next window, ms

	account string
	next    []int64 // when each node's next frame is due, ms
	every   int64
	newest  []*window.Window // of each node, for which series it had last
}

// NewPlayer makes every second node idle, the others busy; they play from start on, the begin of a
// window. cluster names that of node number i; nil: as NewNode does.
func NewPlayer(account string, idle, busy *Shape, seed uint64, nodes int, start int64,
	cluster func(i int) string) *Player {
	p := &Player{At: start, account: account, every: busy.Interval,
		newest: make([]*window.Window, nodes)}
	for i := range nodes {
		n := NewNode(OfNode(i, idle, busy), seed, i)
		if cluster != nil {
			n.Cluster = cluster(i)
		}
		p.Nodes = append(p.Nodes, n)
		p.next = append(p.next, start+int64(n.Random.IntN(int(p.every)-1000)))
	}
	return p
}

// Batch is some windows of all nodes.
type Batch struct {
	Start, End int64
	Nodes      []NodeWindows
}

// NodeWindows are one node's, and the series of all of them.
type NodeWindows struct {
	Node    *Node
	Windows []*window.Window
	Frames  [][][]byte // by window
	Series  []window.Series
	Times   []int64

	// Gone are the series that the node had in the last instant before, and has not in its first:
	// GoneAt has both instants.
	Gone   []window.Series
	GoneAt []int64
}

// Samples counts those of all nodes: a histogram is one.
func (b *Batch) Samples() (n int64) {
	for i := range b.Nodes {
		for j := range b.Nodes[i].Series {
			n += int64(len(b.Nodes[i].Series[j].At))
		}
	}
	return n
}

// Batch plays the next windows up to end.
func (p *Player) Batch(end int64) (*Batch, error) {
	b := &Batch{Start: p.At, End: end, Nodes: make([]NodeWindows, len(p.Nodes))}
	p.At = end
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i := range p.Nodes {
		g.Go(func() error { return p.some(b, i) })
	}
	return b, g.Wait()
}

// some plays one node's part of a batch.
func (p *Player) some(b *Batch, i int) error {
	n := NodeWindows{Node: p.Nodes[i]}
	var parts [][]window.Series
	for start := b.Start; start < b.End; start += frame.WindowMillis {
		var frames [][]byte
		for p.next[i] < start+frame.WindowMillis {
			f, err := n.Node.Frame(p.next[i])
			if err != nil {
				return err
			}
			n.Node.Step()
			p.next[i] += p.every
			frames = append(frames, f)
		}
		built, report, err := building.Window(
			window.Node{Account: p.account, ID: n.Node.ID}, frames)
		if err != nil || report.Corrupt+report.MissingKey+report.Duplicates+report.Excess > 0 {
			return fmt.Errorf("the generator's frames do not read back: %+v, %w", report, err)
		}
		n.Windows, n.Frames = append(n.Windows, built), append(n.Frames, frames)
		n.Times = append(n.Times, built.Times...)
		parts = append(parts, selecting.Select(built, 0, 1<<60))
	}
	n.Series = selecting.Join(parts...)
	if before := p.newest[i]; before != nil {
		n.GoneAt = []int64{before.Times[len(before.Times)-1], n.Times[0]}
		n.Gone = gone(before, parts[0], n.Times[0])
	}
	p.newest[i] = n.Windows[len(n.Windows)-1]
	b.Nodes[i] = n
	return nil
}

// gone are the series of a window's last instant that list does not have at the next one.
func gone(before *window.Window, list []window.Series, next int64) []window.Series {
	there := map[uint64]bool{}
	for j := range list {
		if list[j].At[0] == next {
			there[list[j].Labels.Hash()] = true
		}
	}
	return slices.DeleteFunc(selecting.Latest(before), func(s window.Series) bool {
		return there[s.Labels.Hash()]
	})
}
