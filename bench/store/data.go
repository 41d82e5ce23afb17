package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

const (
	// tickMillis is the fleet's interval.
	tickMillis = 20_000
	hourMillis = 3600_000
)

// account owns the bench's fleet.
const account = "bench"

// dataset is what goes into every side, in memory: 3 KB a frame of 2,000 series.
type dataset struct {
	start, end int64 // of the first window, after the last
	nodes      []uuid.UUID
	frames     []map[int64][][]byte // by node that really differs and window; the others are copies
	counts     []map[int64]int64    // samples by node that really differs and window
	series     int                  // of all nodes
	samples    int64                // a sample is a series at a tick
	bytes      int64                // of frames
	table      map[string]string    // a table that nodes have, as labels
}

// makeData plays the recordings: every second node idle, the others busy. Nodes beyond the distinct
// ones say what one of those says.
func makeData(idle, busy *fleet.Shape, o options) (*dataset, error) {
	// Prometheus makes blocks of the past only when something newer arrives (see peers), and 6
	// hours aligned are one block there and one partition here.
	const six = 6 * hourMillis
	length := int64(o.hours*hourMillis) / frame.WindowMillis * frame.WindowMillis
	now := time.Now().UnixMilli()
	d := &dataset{start: (now - length - 2*six) / six * six, table: common(idle, busy)}
	d.end = d.start + length
	distinct := min(o.distinct, o.nodes)
	d.frames, d.counts = make([]map[int64][][]byte, distinct), make([]map[int64]int64, distinct)
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i := range distinct {
		shape := fleet.OfNode(i, idle, busy)
		d.series += shape.Series * (o.nodes/distinct + min(1, max(0, o.nodes%distinct-i)))
		g.Go(func() error { return d.make(shape, o.seed, i) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i := range o.nodes {
		d.nodes = append(d.nodes, fleet.IDOf(o.seed, i))
		for at, n := range d.counts[i%distinct] {
			d.samples += n
			for _, b := range d.frames[i%distinct][at] {
				d.bytes += int64(len(b))
			}
		}
	}
	return d, nil
}

// make makes the frames of a node and counts its samples.
func (d *dataset) make(shape *fleet.Shape, seed uint64, i int) error {
	n := fleet.NewNode(shape, seed, i)
	// Ticks of a fleet are spread over the interval.
	var frames [][]byte
	for at := d.start + int64(n.Random.IntN(tickMillis-1000)); at < d.end; at += tickMillis {
		b, err := n.Frame(at + int64(n.Random.IntN(8))) // a timer is a few milliseconds late
		if err != nil {
			return err
		}
		frames = append(frames, b)
		n.Step()
	}
	d.frames[i], d.counts[i] = fleet.ByWindow(frames), map[int64]int64{}
	for at := d.start; at < d.end; at += frame.WindowMillis {
		w, err := build(n.ID, d.frames[i][at])
		if err != nil {
			return err
		}
		d.counts[i][at] = int64(countPoints(selecting.Select(w, d.start, d.end)))
	}
	bench.Progress("made node %d of %d", i+1, len(d.frames))
	return nil
}

// common is a table that both shapes have, or one of the busy one.
func common(idle, busy *fleet.Shape) map[string]string {
	const keyspace, table = "keyspace", "table"
	theirs := busy.Rows(table)
	for _, a := range idle.Rows(table) {
		for _, b := range theirs {
			if a[keyspace] == b[keyspace] && a[table] == b[table] {
				return map[string]string{keyspace: a[keyspace], table: a[table]}
			}
		}
	}
	if len(theirs) == 0 {
		return nil
	}
	return map[string]string{keyspace: theirs[0][keyspace], table: theirs[0][table]}
}

// of returns the frames of a node's window.
func (d *dataset) of(node int, start int64) ([][]byte, error) {
	frames := d.frames[node%len(d.frames)][start]
	if node < len(d.frames) {
		return frames, nil
	}
	return fleet.AllAs(frames, d.nodes[node], 0)
}

// samplesOf is how many samples all nodes have in a window.
func (d *dataset) samplesOf(start int64) (n int64) {
	for i := range d.nodes {
		n += d.counts[i%len(d.counts)][start]
	}
	return n
}

// windows builds all nodes' windows.
func (d *dataset) windows(start int64) (list []*window.Window, err error) {
	for i := range d.nodes {
		frames, err := d.of(i, start)
		if err != nil {
			return nil, err
		}
		w, err := build(d.nodes[i], frames)
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

func build(node uuid.UUID, frames [][]byte) (*window.Window, error) {
	w, rep, err := building.Window(window.Node{Account: account, ID: node}, frames)
	if err == nil && rep.Corrupt+rep.MissingKey+rep.Duplicates+rep.Excess > 0 {
		err = fmt.Errorf("the generator's frames do not read back: %+v", rep)
	}
	return w, err
}
