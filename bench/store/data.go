package main

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// tickMillis is the fleet's interval.
const tickMillis = 20_000

// account owns the bench's fleet.
const account = "bench"

// dataset is what goes into every side, in memory: 3 KB a frame of 2,000 series.
type dataset struct {
	start, end int64 // of the first window, after the last
	nodes      []uuid.UUID
	frames     []map[int64][][]byte // by node and window
	counts     []map[int64]int64    // samples by node and window
	series     int                  // of all nodes
	samples    int64                // a sample is a series at a tick
	bytes      int64                // of frames
}

// makeData plays the recordings: every second node idle, the others busy.
func makeData(idle, busy *fleet.Shape, nodes int, hours float64, seed uint64, progress func(string, ...any)) (*dataset, error) {
	// Prometheus makes blocks of the past only when something newer arrives (see peers), and 6 hours aligned are one block there and one partition here.
	const six = 6 * 3600_000
	length := int64(hours*3600_000) / frame.WindowMillis * frame.WindowMillis
	now := time.Now().UnixMilli()
	d := &dataset{start: (now - length - 2*six) / six * six}
	d.end = d.start + length
	for i := range nodes {
		shape := idle
		if i%2 == 1 {
			shape = busy
		}
		n := fleet.NewNode(shape, seed, i)
		d.nodes = append(d.nodes, n.ID)
		// Ticks of a fleet are spread over the interval.
		var frames [][]byte
		for at := d.start + int64(n.Random.IntN(tickMillis-1000)); at < d.end; at += tickMillis {
			b, err := n.Frame(at + int64(n.Random.IntN(8))) // a timer is a few milliseconds late
			if err != nil {
				return nil, err
			}
			frames = append(frames, b)
			d.bytes += int64(len(b))
			n.Step()
		}
		d.frames = append(d.frames, fleet.ByWindow(frames))
		d.series += shape.Series
		counts := map[int64]int64{}
		for at := d.start; at < d.end; at += frame.WindowMillis {
			w, err := d.window(i, at)
			if err != nil {
				return nil, err
			}
			counts[at] = int64(countPoints(w.Select(d.start, d.end)))
			d.samples += counts[at]
		}
		d.counts = append(d.counts, counts)
		if (i+1)%10 == 0 {
			progress("made %d of %d nodes", i+1, nodes)
		}
	}
	return d, nil
}

// window returns a node's window.
func (d *dataset) window(node int, start int64) (*window.Window, error) {
	w, rep, err := window.Build(window.Node{Account: account, ID: d.nodes[node]}, d.frames[node][start])
	if err == nil && rep.Corrupt+rep.MissingKey+rep.Duplicates+rep.Excess > 0 {
		err = fmt.Errorf("the generator's frames do not read back: %+v", rep)
	}
	return w, err
}
