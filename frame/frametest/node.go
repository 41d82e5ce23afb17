// Package frametest makes frames of an invented Cassandra node for the tests of those who carry,
// keep and read them. A Node's cells are open, so that a test can compare what comes out at the
// far end with what went in.
package frametest

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Cell is the value of one metric of one entity; its kind says which field counts.
type Cell struct {
	Absent bool
	Int    int64
	Double float64
	Text   string
	Counts []int64
	Sum    int64
}

// Entity is one thing on the node: its label values and a cell for each of its template's metrics.
type Entity struct {
	Labels []string
	Cells  []Cell
}

// Node is an invented node. Change its cells between frames.
type Node struct {
	ID        uuid.UUID
	Cluster   string
	Interval  int64
	Identity  frame.Identity
	Bounds    []frame.Bounds
	Templates []frame.Template
	Entities  [][]Entity // by template
	// Events are the next frame's.
	Events []frame.Event

	started  uint64
	sequence uint64
	random   *rand.Rand
	key      *frame.Frame
	keyed    [][]Entity
}

// New returns a node of a cluster with the given number of tables and an address ending in .n;
// the same number always gives the same node.
func New(cluster string, n uint64, tables int) *Node {
	r := rand.New(rand.NewPCG(n, 1))
	node := &Node{Cluster: cluster, Interval: 5000, started: 1_700_000_000_000 + n, random: r}
	for i := range node.ID {
		node.ID[i] = byte(r.Uint32())
	}
	node.Identity = frame.Identity{Datacenter: "dc1", Rack: "rack" + strconv.FormatUint(n%3+1, 10),
		Facts: []frame.Fact{
			{Name: "address", Value: "10.0.0." + strconv.FormatUint(n, 10)},
			{Name: "cassandra_version", Value: "5.0.9"},
		}}
	// upper bounds of a latency histogram, each about a fifth above the last, as Cassandra's are
	var micros []int64
	for v := int64(1); len(micros) < 90; v = max(v+1, v*6/5) {
		micros = append(micros, v)
	}
	node.Bounds = []frame.Bounds{{Exponent: -6, Upper: micros},
		{Exponent: 0, Upper: []int64{0, 1, 2, 3, 4, 5, 10, 20, 50, 100}}}
	node.Templates = []frame.Template{
		{Type: "node", Metrics: []frame.Metric{
			{Name: "cassandra_compaction_pending_tasks", Kind: frame.Gauge},
			{Name: "node_load1", Kind: frame.GaugeDouble},
			{Name: "node_cpu_seconds_total", Kind: frame.Counter, Unit: "seconds", Exponent: -3},
			{Name: "cassandra_node_schema_version", Kind: frame.String},
		}},
		{Type: "table", Labels: []string{"keyspace", "table"}, Metrics: []frame.Metric{
			{Name: "cassandra_table_live_disk_space_bytes", Kind: frame.Gauge, Unit: "bytes"},
			{Name: "cassandra_table_memtable_switches_total", Kind: frame.Counter},
			{Name: "cassandra_table_read_latency_seconds", Kind: frame.Histogram, Unit: "seconds",
				Exponent: -6, HasSum: true},
			{Name: "cassandra_table_sstables_per_size", Kind: frame.GaugeHistogram, Bounds: 1},
		}},
		{Type: "client_request", Labels: []string{"request"}, Metrics: []frame.Metric{
			{Name: "cassandra_client_request_latency_seconds", Kind: frame.Histogram,
				Unit: "seconds"},
		}},
	}
	node.Entities = make([][]Entity, len(node.Templates))
	node.add(0)
	for t := range tables {
		node.add(1, "shop", "table_"+strconv.Itoa(t))
	}
	node.add(2, "Read")
	node.add(2, "Write")
	return node
}

func (n *Node) add(template int, labels ...string) {
	e := Entity{Labels: labels, Cells: make([]Cell, len(n.Templates[template].Metrics))}
	for i, m := range n.Templates[template].Metrics {
		if m.Kind.IsHistogram() {
			e.Cells[i].Counts = make([]int64, len(n.Bounds[m.Bounds].Upper)+1)
		}
		if m.Kind == frame.String {
			e.Cells[i].Text = "a \"quoted\\\" text\nof two lines"
		}
	}
	n.Entities[template] = append(n.Entities[template], e)
}

// Step lets some time pass: about half of the cells change. A table's disk space is now and then
// unknown.
func (n *Node) Step() {
	r := n.random
	for t := range n.Entities {
		for e := range n.Entities[t] {
			for i, m := range n.Templates[t].Metrics {
				c := &n.Entities[t][e].Cells[i]
				if r.IntN(2) == 0 {
					continue
				}
				switch m.Kind {
				case frame.Counter:
					c.Int += r.Int64N(5000)
				case frame.Gauge:
					c.Int = r.Int64N(1 << 40)
					c.Absent = t == 1 && r.IntN(10) == 0
				case frame.GaugeDouble:
					c.Double = r.Float64() * 8
				case frame.Histogram:
					for range 1 + r.IntN(20) {
						b := r.IntN(60)
						c.Counts[b]++
						if m.HasSum {
							c.Sum += n.Bounds[m.Bounds].Upper[b]
						}
					}
				case frame.GaugeHistogram:
					c.Counts[r.IntN(len(c.Counts))] = r.Int64N(9)
				}
			}
		}
	}
}

// Frame returns the bytes of the node's frame at an instant: a key frame in a new window,
// otherwise a delta frame.
func (n *Node) Frame(at int64) []byte {
	f := &frame.Frame{Header: frame.Header{
		Compression: frame.Zstd, Node: n.ID, Cluster: n.Cluster, Started: n.started,
		Sequence: n.sequence, At: at, Interval: n.Interval,
	}}
	n.sequence++
	if n.key != nil && frame.WindowOf(n.key.At) == frame.WindowOf(at) {
		f.KeyAge = at - n.key.At
	} else {
		n.key, n.keyed = nil, nil
		f.Identity, f.Bounds, f.Templates = n.Identity, n.Bounds, n.Templates
		for t, entities := range n.Entities {
			if len(entities) == 0 {
				continue
			}
			g := frame.Entities{Template: t}
			for _, e := range entities {
				g.Rows = append(g.Rows, e.Labels)
			}
			f.Added = append(f.Added, g)
		}
	}
	n.differences(f)
	f.Events, n.Events = n.Events, nil
	b, err := f.Append(nil, n.key)
	if err != nil {
		panic(err) // the node breaks FORMAT.md: a fault of this package
	}
	if f.IsKey() {
		n.key, n.keyed = f, n.Copy()
	}
	return b
}

// Skip loses a frame: the next one's sequence number shows it.
func (n *Node) Skip() { n.sequence++ }

// Restart begins a new run of the agent, at an instant in ms: the next frame is a key frame and
// the run's first.
func (n *Node) Restart(at int64) {
	n.started, n.sequence = uint64(at), 0
	n.key, n.keyed = nil, nil
}

// Copy returns the entities as they are now, to compare with later.
func (n *Node) Copy() [][]Entity {
	all := make([][]Entity, len(n.Entities))
	for t := range n.Entities {
		for _, e := range n.Entities[t] {
			e.Cells = slices.Clone(e.Cells)
			for i := range e.Cells {
				e.Cells[i].Counts = slices.Clone(e.Cells[i].Counts)
			}
			all[t] = append(all[t], e)
		}
	}
	return all
}

func (n *Node) differences(f *frame.Frame) {
	for t := range n.Templates {
		presence, values := frame.Group{Template: t}, frame.Group{Template: t}
		for i, m := range n.Templates[t].Metrics {
			p, v := frame.Column{Metric: i}, frame.Column{Metric: i}
			for e := range n.Entities[t] {
				var base Cell
				if n.keyed != nil {
					base = n.keyed[t][e].Cells[i]
				}
				c := n.Entities[t][e].Cells[i]
				if c.Absent != base.Absent {
					p.Entities = append(p.Entities, e)
				}
				if base.Absent {
					base = Cell{}
				}
				if !c.Absent && appendDifference(&v, m, c, base) {
					v.Entities = append(v.Entities, e)
				}
			}
			presence.Columns = appendColumn(presence.Columns, p, len(n.Entities[t]))
			values.Columns = appendColumn(values.Columns, v, len(n.Entities[t]))
		}
		if len(presence.Columns) > 0 {
			f.Presence = append(f.Presence, presence)
		}
		if len(values.Columns) > 0 {
			f.Values = append(f.Values, values)
		}
	}
}

func appendColumn(columns []frame.Column, c frame.Column, live int) []frame.Column {
	if len(c.Entities) == 0 {
		return columns
	}
	if c.All = len(c.Entities) == live; c.All {
		c.Entities = nil
	}
	return append(columns, c)
}

// appendDifference appends what a cell differs by from its base and reports whether it does.
func appendDifference(v *frame.Column, m frame.Metric, c, base Cell) bool {
	switch m.Kind {
	case frame.Counter, frame.Gauge:
		if c.Int == base.Int {
			return false
		}
		v.Ints = append(v.Ints, c.Int-base.Int)
	case frame.GaugeDouble:
		if c.Double == base.Double {
			return false
		}
		v.Doubles = append(v.Doubles, c.Double)
	case frame.String:
		if c.Text == base.Text {
			return false
		}
		v.Strings = append(v.Strings, c.Text)
	default:
		b := frame.Buckets{Sum: c.Sum - base.Sum}
		for i, n := range c.Counts {
			if base.Counts != nil {
				n -= base.Counts[i]
			}
			if n != 0 {
				b.Index, b.Count = append(b.Index, int32(i)), append(b.Count, n)
			}
		}
		if len(b.Index) == 0 && b.Sum == 0 {
			return false
		}
		v.Histograms = append(v.Histograms, b)
	}
	return true
}
