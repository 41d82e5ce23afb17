package window

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Dictionary is what the columns of one entity type refer to: whose they are, which metrics there
// are and which entities. It is immutable.
type Dictionary struct {
	Node                      uuid.UUID
	Cluster, Datacenter, Rack string
	// Key tells the dictionaries of a window apart. It is Type, or Type, "#" and a hash of Labels
	// if an agent that restarted within the window gave the type other labels.
	Key    string
	Type   string
	Labels []string   // label names
	Rows   [][]string // label values by entity, ascending, no two alike
	// in the agent's order; one that changed its definition within the window is there twice
	Metrics []Metric
}

// MetricKey tells metric number i apart from all others of the dictionary: its name, or its name,
// "#" and a hash of its definition if there is another of that name. It follows from the
// definitions and not from their order, so that a window that is stored again never mixes up two
// metrics.
func (d *Dictionary) MetricKey(i int) string {
	m := &d.Metrics[i]
	for j := range d.Metrics {
		if o := &d.Metrics[j]; j != i && o.Name == m.Name {
			bounds := frame.Bounds{}
			if m.Bounds != nil {
				bounds = *m.Bounds
			}
			return hashed(m.Name, m.Kind, m.Unit, m.Exponent, m.HasSum, bounds)
		}
	}
	return m.Name
}

// hashed returns a name with a hash of what else tells it apart.
func hashed(name string, facts ...any) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%#v", facts)
	return fmt.Sprintf("%s#%016x", name, h.Sum64())
}

// dictionaryBuilder is a dictionary while its entities are collected: rows have provisional numbers
// in order of appearance.
type dictionaryBuilder struct {
	result   *Dictionary
	index    map[string]int32 // row → provisional number
	order    []int32          // provisional number → final number
	reported int              // rows that newBytes has counted
}

// rowBytes is what a row takes while it is collected, apart from its labels.
const rowBytes = 160

// newBytes returns what the rows take that came since it was called last.
func (d *dictionaryBuilder) newBytes() (bytes int64) {
	for _, row := range d.result.Rows[d.reported:] {
		bytes += rowBytes
		for _, value := range row {
			bytes += 16 + int64(len(value))
		}
	}
	d.reported = len(d.result.Rows)
	return bytes
}

// row returns the provisional number of an entity.
func (d *dictionaryBuilder) row(values []string) int32 {
	k := RowKey(values)
	n, found := d.index[k]
	if !found {
		n = int32(len(d.result.Rows))
		d.index[k] = n
		d.result.Rows = append(d.result.Rows, values)
	}
	return n
}

// RowKey is a map key for label values. A label value may hold any byte, so lengths keep
// ("a","b") and ("ab","") apart.
func RowKey(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteString(strconv.Itoa(len(v)))
		b.WriteByte(':')
		b.WriteString(v)
	}
	return b.String()
}

// SortRows returns rows of label values in ascending order, as Dictionary.Rows has them, and by
// index of each given row its index among the sorted ones.
func SortRows(rows [][]string) (sorted [][]string, order []int32) {
	from := make([]int32, len(rows))
	for i := range from {
		from[i] = int32(i)
	}
	slices.SortFunc(from, func(a, b int32) int { return slices.Compare(rows[a], rows[b]) })
	sorted, order = make([][]string, len(from)), make([]int32, len(from))
	for to, i := range from {
		sorted[to], order[i] = rows[i], int32(to)
	}
	return sorted, order
}

// dictionaryBuilders are the dictionaries of a window while they are collected.
type dictionaryBuilders struct {
	list   []*dictionaryBuilder
	bounds []*frame.Bounds
	bytes  int64 // that rows and entity maps take, for who counts
	want   *frame.Wanted
}

// builder returns the builder for a type with these labels.
func (ds *dictionaryBuilders) builder(typ string, labels []string) *dictionaryBuilder {
	for _, d := range ds.list {
		if d.result.Type == typ && slices.Equal(d.result.Labels, labels) {
			return d
		}
	}
	d := &dictionaryBuilder{result: &Dictionary{Key: typ, Type: typ, Labels: labels},
		index: map[string]int32{}}
	ds.list = append(ds.list, d)
	return d
}

// metric returns the number of a metric in the dictionary; it is added if there is none of the same
// definition.
func (d *dictionaryBuilder) metric(m Metric) int32 {
	for i := range d.result.Metrics {
		if d.result.Metrics[i].Same(&m) {
			return int32(i)
		}
	}
	d.result.Metrics = append(d.result.Metrics, m)
	return int32(len(d.result.Metrics) - 1)
}

// metrics returns, by metric of a template, the metric's number in the dictionary; −1: it is not
// wanted.
func (ds *dictionaryBuilders) metrics(d *dictionaryBuilder, t *frame.Template,
	boundsOf func(int) *frame.Bounds) []int32 {
	numbers := make([]int32, len(t.Metrics))
	first := len(d.result.Metrics) == 0
	for i := range t.Metrics {
		if !ds.want.Metric(t.Metrics[i].Name) {
			numbers[i] = -1
			continue
		}
		m := Metric{Type: t.Type, Name: t.Metrics[i].Name, Kind: t.Metrics[i].Kind,
			Unit: t.Metrics[i].Unit, Exponent: t.Metrics[i].Exponent, HasSum: t.Metrics[i].HasSum}
		if m.Kind.IsHistogram() {
			m.Bounds = ds.shared(boundsOf(t.Metrics[i].Bounds))
		}
		if first { // a template's names are unique, so there is nothing to compare with
			if d.result.Metrics == nil {
				d.result.Metrics = make([]Metric, 0, ds.wanted(t.Metrics[i:]))
			}
			numbers[i] = int32(len(d.result.Metrics))
			d.result.Metrics = append(d.result.Metrics, m)
		} else {
			numbers[i] = d.metric(m)
		}
	}
	return numbers
}

// wanted counts the metrics that are wanted: a Follower keeps them for as long as it lives.
func (ds *dictionaryBuilders) wanted(list []frame.Metric) (n int) {
	for i := range list {
		if ds.want.Metric(list[i].Name) {
			n++
		}
	}
	return n
}

// shared returns the first bounds equal to b.
func (ds *dictionaryBuilders) shared(b *frame.Bounds) *frame.Bounds {
	for _, known := range ds.bounds {
		if equalBounds(known, b) {
			return known
		}
	}
	ds.bounds = append(ds.bounds, b)
	return b
}

// finish sorts the rows of all dictionaries and returns them as types by ascending key.
func (ds *dictionaryBuilders) finish(node *Node) []*Type {
	types := make([]*Type, 0, len(ds.list))
	for _, d := range ds.list {
		if slices.ContainsFunc(ds.list, func(o *dictionaryBuilder) bool {
			return o != d && o.result.Type == d.result.Type
		}) {
			d.result.Key = hashed(d.result.Type, d.result.Labels)
		}
		r := d.result
		r.Rows, d.order = SortRows(r.Rows)
		r.Node, r.Cluster, r.Datacenter, r.Rack = node.ID, node.Cluster, node.Datacenter, node.Rack
		types = append(types, &Type{Dictionary: r, columns: make([]*column, len(r.Metrics))})
	}
	slices.SortFunc(types, func(a, b *Type) int { return strings.Compare(a.Key, b.Key) })
	return types
}
