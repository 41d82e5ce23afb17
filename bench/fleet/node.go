// Package fleet makes frames of as many nodes as a benchmark wants from the recordings of one, so
// that they are like a real fleet's and yet all different.
package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Node plays its recording forwards and backwards, again and again, beginning somewhere of its
// own, and nothing is repeated as it was:
//
//   - what came to a counter or a bucket in a tick is drawn anew from a Poisson distribution
//     around what the recording says, times the node's own level (0.5 to 1.5) and a slow wave, in
//     the units that the recorded steps have in common (a clock that counts in 10 ms goes on
//     doing so). What stepped evenly goes on stepping evenly.
//   - counters that are not zero begin at half to ten times the recorded value;
//   - a gauge moves when its recording moved, with normal noise of half its recorded steps'
//     deviation and within the range it had; large gauges differ by node by up to a third;
//     doubles that move are scaled by a factor of the node's own;
//   - what stood still stands still.
type Node struct {
	shape *Shape
	ID    uuid.UUID // its own

	// What its frames say. Each may be set before the first frame.

	Cluster  string         // fleet0 is that of the first fifty nodes
	Identity frame.Identity // datacenter dc1, one of three racks, no facts

	Started uint64 // when its agent started, ms since the Unix epoch; 1

	// Times says how much more comes to a counter or a histogram in a tick than the recording and
	// the node's level say. Row are the entity's labels. nil: 1.
	Times func(metric string, row []string) float64

	// Later is by how many buckets each observation in seconds comes later than recorded: a
	// bucket is a fifth wider than the one before.
	Later int

	Random *rand.Rand // its own noise, to be drawn from for what the caller varies
	level  float64
	phase  int
	tick   int
	now    [][]cell // by type, then metric × row
	key    [][]cell // state of the window's key frame
	keyed  *frame.Frame
}

type cell struct {
	absent bool
	word   int64 // integer, or a histogram's sum
	double float64
	text   string
	counts []int64 // never changed in place once key has it
	factor float64 // of large gauges
}

// NodesPerCluster is how many of the fleet's nodes share a cluster.
const NodesPerCluster = 50

// NewNode makes node number i of the fleet; the same seed and number give the same frames.
func NewNode(s *Shape, seed uint64, i int) *Node {
	n := &Node{shape: s, Started: 1, Random: rand.New(rand.NewPCG(seed, uint64(i)))}
	n.ID = newID(n.Random)
	n.Cluster = fmt.Sprintf("fleet%d", i/NodesPerCluster)
	n.Identity = frame.Identity{Datacenter: "dc1", Rack: fmt.Sprintf("rack%d", i%3+1)}
	n.level = 0.5 + n.Random.Float64()
	n.phase = n.Random.IntN(2 * s.ticks)
	for _, t := range s.types {
		cells := make([]cell, 0, len(t.Metrics)*len(t.rows))
		for m := range t.Metrics {
			for r := range t.rows {
				cells = append(cells, n.first(&t.cells[m][r]))
			}
		}
		n.now = append(n.now, cells)
	}
	return n
}

// position returns the recording's tick that the node plays now.
func (n *Node) position(tick int) int {
	last := n.shape.ticks - 1
	p := (tick + n.phase) % (2 * last)
	return min(p, 2*last-p)
}

func (n *Node) first(t *track) cell {
	c := cell{factor: 1}
	if t.present == nil {
		c.absent = true
		return c
	}
	p := n.position(0)
	c.absent = !t.present[p]
	scale := 0.5 + 9.5*n.Random.Float64()*n.Random.Float64()
	switch {
	case t.kind == frame.Counter:
		if c.word = t.ints[p]; !t.even {
			c.word = int64(float64(c.word)*scale) / t.unit * t.unit
		}
	case t.ints != nil:
		if t.high > 1000 {
			c.factor = 0.67 + 0.66*n.Random.Float64()
		}
		c.word = n.gauge(t, p, c.factor)
	case t.doubles != nil:
		if !t.still {
			c.factor = 0.9 + 0.1*n.Random.Float64()
		}
		c.double = t.doubles[p] * c.factor
	case t.texts != nil:
		c.text = t.texts[p]
	default:
		c.counts = t.hists[p].Dense(nil)
		c.word = t.hists[p].Sum
		if t.kind == frame.Histogram {
			for b, v := range c.counts {
				c.counts[b] = int64(float64(v) * scale)
			}
			c.word = int64(float64(c.word) * scale)
		}
	}
	return c
}

func (n *Node) gauge(t *track, p int, factor float64) int64 {
	v := float64(t.ints[p])
	if !t.still && t.high-t.low > t.unit {
		v = min(max(v+n.Random.NormFloat64()*t.sigma/2, float64(t.low)), float64(t.high))
	}
	return int64(math.Round(v*factor/float64(t.unit))) * t.unit
}

// Step lets an interval pass.
func (n *Node) Step() {
	before := n.position(n.tick)
	n.tick++
	p := n.position(n.tick)
	segment := min(before, p)
	wave := n.level *
		(1 + 0.3*
			math.Sin(2*math.Pi*float64(n.tick+40*n.phase)*float64(n.shape.Interval)/86_400_000))
	for ti, t := range n.shape.types {
		i := -1
		for m := range t.Metrics {
			for r := range t.rows {
				i++
				tr := &t.cells[m][r]
				if tr.still {
					continue
				}
				level := wave
				if n.Times != nil && (tr.kind == frame.Counter || tr.kind == frame.Histogram) {
					level *= n.Times(t.Metrics[m].Name, t.rows[r])
				}
				later := 0
				if t.Metrics[m].Unit == "seconds" {
					later = n.Later
				}
				n.move(&n.now[ti][i], tr, before, p, segment, level, later)
			}
		}
	}
}

// Set gives a gauge of integers a value, on every entity that has it. The next step of one that
// moves in the recording undoes it.
func (n *Node) Set(metric string, value int64) {
	for ti, t := range n.shape.types {
		for m := range t.Metrics {
			if t.Metrics[m].Name != metric || t.Metrics[m].Kind != frame.Gauge {
				continue
			}
			for r := range t.rows {
				n.now[ti][m*len(t.rows)+r].word = value
			}
		}
	}
}

func (n *Node) move(c *cell, t *track, before, p, segment int, wave float64, later int) {
	c.absent = !t.present[p]
	switch {
	case t.kind == frame.Counter:
		d := max(0, t.ints[segment+1]-t.ints[segment])
		if !t.even {
			d = n.poisson(float64(d/t.unit)*wave) * t.unit
		}
		c.word += d
	case t.ints != nil:
		if t.ints[p] != t.ints[before] {
			c.word = n.gauge(t, p, c.factor)
		}
	case t.doubles != nil:
		c.double = t.doubles[p] * c.factor
	case t.texts != nil:
		c.text = t.texts[p]
	case t.kind == frame.GaugeHistogram:
		c.counts, c.word = t.hists[p].Dense(nil), t.hists[p].Sum
	default:
		n.observe(c, &t.steps[segment], wave, later)
	}
}

// observe adds a tick's observations to a histogram.
func (n *Node) observe(c *cell, s *histogramStep, wave float64, later int) {
	if s.total == 0 {
		return
	}
	counts := slices.Clone(c.counts)
	total := int64(0)
	for i, b := range s.bucket {
		d := n.poisson(float64(s.count[i]) * wave)
		counts[min(b+later, len(counts)-1)] += d
		total += d
	}
	c.counts = counts
	each := float64(s.sum) / float64(s.total) * math.Pow(1.2, float64(later))
	c.word += int64(each * float64(total) * (1 + 0.02*n.Random.NormFloat64()))
}

// poisson draws from the distribution with that mean; from the normal one where that is as good.
func (n *Node) poisson(mean float64) int64 {
	if mean > 50 {
		return max(0, int64(math.Round(mean+math.Sqrt(mean)*n.Random.NormFloat64())))
	}
	k, p, limit := int64(0), n.Random.Float64(), math.Exp(-mean)
	for p > limit {
		k++
		p *= n.Random.Float64()
	}
	return k
}

// Frame returns the present state as a frame made at the given instant: a key frame if it is its
// window's first.
func (n *Node) Frame(at int64) ([]byte, error) {
	f := &frame.Frame{Header: frame.Header{Compression: frame.Zstd, Node: n.ID, Cluster: n.Cluster,
		Started: n.Started, Sequence: uint64(n.tick), At: at, Interval: n.shape.Interval}}
	if n.keyed == nil || n.keyed.Window() != f.Window() {
		n.key = nil
	} else {
		f.KeyAge, f.KeyCheck = at-n.keyed.At, n.keyed.Check
	}
	n.fill(f)
	var keyed *frame.Frame
	if n.key != nil {
		keyed = n.keyed
	}
	b, err := f.Append(nil, keyed)
	if err != nil {
		return nil, err
	}
	if n.key == nil {
		if n.keyed, err = frame.Decode(b, nil); err != nil {
			return nil, err
		}
		n.key = make([][]cell, len(n.now))
		for i := range n.now {
			n.key[i] = slices.Clone(n.now[i])
		}
	}
	return b, nil
}
