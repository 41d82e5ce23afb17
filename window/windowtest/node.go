// Package windowtest makes random histories of a node, as frames and as the samples that these
// frames say, for tests of whatever stores or answers them.
package windowtest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Pick returns a number from 0 to n−1: rapid's or a seeded generator's choice.
type Pick func(n int) int

// Node is a monitored node that lives at random: values rise, stand still, vanish, start again;
// entities come, go and come back; its agent restarts and comes back with other templates.
type Node struct {
	ID               uuid.UUID
	Cluster          string
	Datacenter, Rack string
	Interval         int64 // milliseconds
	Compression      frame.Compression

	pick     Pick
	types    []*entityType
	bounds   []frame.Bounds
	born     int // numbers entities
	key      *keyed
	started  uint64
	sequence uint64
}

type entityType struct {
	frame.Template
	live []*entity
}

type entity struct {
	born   int
	labels []string
	cells  []cell
}

type cell struct {
	absent bool
	word   int64 // integers and sums
	double float64
	text   string
	counts []int64
}

func (c cell) clone() cell {
	c.counts = slices.Clone(c.counts)
	return c
}

// keyed is the last key frame and the state it says.
type keyed struct {
	frame *frame.Frame
	types []entityType // deep copies
}

// Sent is one frame and what it says.
type Sent struct {
	At      int64
	Key     bool
	KeyAt   int64
	Bytes   []byte
	Samples Samples
}

// Samples are values in a form that compares: series → instant → value.
type Samples map[string]map[int64]string

// Add adds all of o.
func (s Samples) Add(o Samples) {
	for series, values := range o {
		for at, v := range values {
			s.set(series, at, v)
		}
	}
}

func (s Samples) set(series string, at int64, v string) {
	if s[series] == nil {
		s[series] = map[int64]string{}
	}
	s[series][at] = v
}

// NewNode returns a node without any entity.
func NewNode(pick Pick) *Node {
	n := &Node{pick: pick, Cluster: "c1", Datacenter: "dc1", Rack: "r1", Interval: 5000, started: 1}
	for i := range n.ID {
		n.ID[i] = byte(pick(256))
	}
	n.ID[0] |= 1
	n.bounds = []frame.Bounds{{Exponent: -6, Upper: []int64{1, 2, 5, 10}},
		{Upper: []int64{-3, 0, 100}}}
	n.templates()
	return n
}

// templates makes new templates, as a restarted agent of another version does. Entities are
// forgotten.
func (n *Node) templates() {
	n.types = nil
	for _, name := range []string{"node", "table", "pool"}[:1+n.pick(3)] {
		t := &entityType{Template: frame.Template{Type: name}}
		if name != "node" {
			t.Labels = []string{"keyspace", "table"}[:1+n.pick(2)]
		}
		for i := range 1 + n.pick(4) {
			m := frame.Metric{Name: fmt.Sprintf("%s_%d", name, i), Kind: frame.Kind(n.pick(6)),
				Unit: "bytes"}
			switch m.Kind {
			case frame.Counter, frame.Gauge:
				m.Exponent = -3 * n.pick(2)
			case frame.Histogram, frame.GaugeHistogram:
				m.Bounds, m.HasSum = n.pick(2), n.pick(2) == 1
			}
			t.Metrics = append(t.Metrics, m)
		}
		n.types = append(n.types, t)
	}
}

// Step lets the node live on and returns its frame at an instant. It is a key frame if asked for,
// or if it is the first in its window.
func (n *Node) Step(at int64, key bool) Sent {
	if n.key == nil || frame.WindowOf(at) != n.key.frame.Window() {
		key = true
	}
	if key && n.pick(6) == 0 {
		n.started, n.sequence = uint64(at), 0
		if n.pick(2) == 0 {
			n.templates()
		}
	}
	n.live()
	f := &frame.Frame{Header: frame.Header{Compression: n.Compression, Node: n.ID,
		Cluster: n.Cluster, Started: n.started, Sequence: n.sequence, At: at, Interval: n.Interval}}
	n.sequence++
	if key {
		n.key = nil
	}
	n.encode(f)
	var keyFrame *frame.Frame
	if !key {
		f.KeyAge = at - n.key.frame.At
		keyFrame = n.key.frame
	}
	b, err := f.Append(nil, keyFrame)
	if err != nil {
		panic(err) // a bug in this package
	}
	if key {
		n.key = &keyed{frame: f}
		for _, t := range n.types {
			c := entityType{Template: t.Template}
			for _, e := range t.live {
				c.live = append(c.live, e.clone())
			}
			n.key.types = append(n.key.types, c)
		}
	}
	return Sent{At: at, Key: key, KeyAt: f.KeyAt(), Bytes: b, Samples: n.samples(at)}
}

func (e *entity) clone() *entity {
	c := &entity{born: e.born, labels: e.labels, cells: slices.Clone(e.cells)}
	for i := range c.cells {
		c.cells[i] = c.cells[i].clone()
	}
	return c
}

// live changes the state a little.
func (n *Node) live() {
	for _, t := range n.types {
		if n.pick(4) == 0 && len(t.live) > 0 { // drop one, and perhaps create it again at once
			i := n.pick(len(t.live))
			e := t.live[i]
			t.live = slices.Delete(t.live, i, i+1)
			if n.pick(2) == 0 {
				n.create(t, e.labels)
			}
		}
		if len(t.live) == 0 || n.pick(4) == 0 {
			row := make([]string, len(t.Labels))
			for i := range row {
				row[i] = []string{"a", "b", "ab", "", "system"}[n.pick(5)]
			}
			n.create(t, row)
		}
		for _, e := range t.live {
			for i := range e.cells {
				n.change(&e.cells[i], &t.Metrics[i])
			}
		}
	}
}

func (n *Node) create(t *entityType, row []string) {
	for _, e := range t.live {
		if slices.Equal(e.labels, row) {
			return
		}
	}
	n.born++
	e := &entity{born: n.born, labels: row, cells: make([]cell, len(t.Metrics))}
	for i := range e.cells {
		if m := &t.Metrics[i]; m.Kind.IsHistogram() {
			e.cells[i].counts = make([]int64, len(n.bounds[m.Bounds].Upper)+1)
		}
	}
	at := n.pick(len(t.live) + 1)
	t.live = slices.Insert(t.live, at, e)
}

func (n *Node) change(c *cell, m *frame.Metric) {
	switch n.pick(8) {
	case 0:
		c.absent = !c.absent
	case 1, 2, 3, 4:
		return
	}
	step := []int64{0, 1, 7, 300, 1 << 40}[n.pick(5)]
	switch m.Kind {
	case frame.Counter:
		if c.word += step; n.pick(10) == 0 {
			c.word = 0
		}
	case frame.Gauge:
		c.word = step - int64(n.pick(3))*5
	case frame.GaugeDouble:
		c.double = []float64{0, math.Copysign(0, -1), 0.5, 1e300, math.Inf(-1), 1.0 / 3}[n.pick(6)]
	case frame.String:
		c.text = []string{"", "4.1", "5.0.9", "üñ\x00"}[n.pick(4)]
	default:
		c.counts[n.pick(len(c.counts))] += step
		if m.HasSum {
			c.word += step * 3
		}
		if n.pick(10) == 0 {
			clear(c.counts)
			c.word = 0
		}
	}
}

// samples returns the present state.
func (n *Node) samples(at int64) Samples {
	out := Samples{}
	for _, t := range n.types {
		for _, e := range t.live {
			for i, c := range e.cells {
				if c.absent {
					continue
				}
				m := &t.Metrics[i]
				b := labels.NewBuilder(labels.FromStrings(labels.MetricName, m.Name, "cluster",
					n.Cluster, "datacenter", n.Datacenter, "rack", n.Rack, "node", n.ID.String()))
				for j, l := range t.Labels {
					b.Set(l, e.labels[j])
				}
				wm := window.Metric{Kind: m.Kind, Unit: m.Unit, Exponent: m.Exponent,
					HasSum: m.HasSum}
				if m.Kind.IsHistogram() {
					wm.Bounds = &n.bounds[m.Bounds]
				}
				var v string
				switch m.Kind {
				case frame.Counter, frame.Gauge:
					v = fmt.Sprint(c.word)
				case frame.GaugeDouble:
					v = fmt.Sprintf("%x", math.Float64bits(c.double))
				case frame.String:
					v = c.text
				default:
					v = fmt.Sprint(c.counts, c.word)
				}
				out.set(seriesKey(b.Labels(), &wm), at, v)
			}
		}
	}
	return out
}

func seriesKey(l labels.Labels, m *window.Metric) string {
	k := fmt.Sprintf("%s %s %s %d %v", l, m.Kind, m.Unit, m.Exponent, m.HasSum)
	if m.Bounds != nil {
		k += fmt.Sprint(*m.Bounds)
	}
	return k
}

// Of returns series as samples, and an error if one is not as Series promises or an instant comes
// twice.
func Of(list []window.Series) (Samples, error) {
	out := Samples{}
	for i := range list {
		s := &list[i]
		k := seriesKey(s.Labels, s.Metric)
		if i > 0 && labels.Compare(list[i-1].Labels, s.Labels) > 0 {
			return nil, fmt.Errorf("series %s is out of order", k)
		}
		if out[k] != nil {
			return nil, fmt.Errorf("series %s is there twice", k)
		}
		if len(s.At) == 0 ||
			len(s.Ints)+len(s.Doubles)+len(s.Histograms)+len(s.Strings) != len(s.At) {
			return nil, fmt.Errorf("series %s has %d instants and another number of values", k,
				len(s.At))
		}
		for j, at := range s.At {
			if j > 0 && s.At[j-1] >= at {
				return nil, fmt.Errorf("series %s: instant %d after %d", k, at, s.At[j-1])
			}
			var v string
			switch s.Metric.Kind {
			case frame.Counter, frame.Gauge:
				v = fmt.Sprint(s.Ints[j])
			case frame.GaugeDouble:
				v = word(s.Doubles[j])
			case frame.String:
				v = s.Strings[j]
			default:
				v = fmt.Sprint(s.Histograms[j].Dense(nil), s.Histograms[j].Sum)
			}
			out.set(k, at, v)
		}
	}
	return out, nil
}

// word is how Samples have a double.
func word(v float64) string { return fmt.Sprintf("%x", math.Float64bits(v)) }

// Diff says how the samples differ, or "".
func Diff(got, want Samples) string {
	var b strings.Builder
	lines := 0
	say := func(format string, args ...any) {
		if lines++; lines <= 10 {
			fmt.Fprintf(&b, format+"\n", args...)
		}
	}
	for series, values := range want {
		for at, v := range values {
			if g, found := got[series][at]; !found {
				say("missing: %s at %d = %s", series, at, v)
			} else if g != v {
				say("%s at %d = %s, want %s", series, at, g, v)
			}
		}
	}
	for series, values := range got {
		for at, v := range values {
			if _, found := want[series][at]; !found {
				say("not wanted: %s at %d = %s", series, at, v)
			}
		}
	}
	return b.String()
}
