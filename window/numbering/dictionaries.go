package numbering

import (
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// Dictionaries are the dictionaries of a window while they are collected.
type Dictionaries struct {
	List   []*Dictionary
	bounds []*frame.Bounds
	Bytes  int64 // that rows and entity maps take, for who counts
	Want   *frame.Wanted
}

// builder returns the builder for a type with these labels.
func (ds *Dictionaries) builder(typ string, labels []string) *Dictionary {
	for _, d := range ds.List {
		if d.Result.Type == typ && slices.Equal(d.Result.Labels, labels) {
			return d
		}
	}
	d := &Dictionary{Result: &window.Dictionary{Key: typ, Type: typ, Labels: labels},
		index: map[string]int32{}}
	ds.List = append(ds.List, d)
	return d
}

// metrics returns, by metric of a template, the metric's number in the dictionary; −1: it is not
// wanted.
func (ds *Dictionaries) metrics(d *Dictionary, t *frame.Template,
	boundsOf func(int) *frame.Bounds) []int32 {
	numbers := make([]int32, len(t.Metrics))
	first := len(d.Result.Metrics) == 0
	for i := range t.Metrics {
		if !ds.Want.Metric(t.Metrics[i].Name) {
			numbers[i] = -1
			continue
		}
		m := window.Metric{Type: t.Type, Name: t.Metrics[i].Name, Kind: t.Metrics[i].Kind,
			Unit: t.Metrics[i].Unit, Exponent: t.Metrics[i].Exponent, HasSum: t.Metrics[i].HasSum}
		if m.Kind.IsHistogram() {
			m.Bounds = ds.shared(boundsOf(t.Metrics[i].Bounds))
		}
		if first { // a template's names are unique, so there is nothing to compare with
			if d.Result.Metrics == nil {
				d.Result.Metrics = make([]window.Metric, 0, ds.wanted(t.Metrics[i:]))
			}
			numbers[i] = int32(len(d.Result.Metrics))
			d.Result.Metrics = append(d.Result.Metrics, m)
		} else {
			numbers[i] = d.metric(m)
		}
	}
	return numbers
}

// wanted counts the metrics that are wanted: a Follower keeps them for as long as it lives.
func (ds *Dictionaries) wanted(list []frame.Metric) (n int) {
	for i := range list {
		if ds.Want.Metric(list[i].Name) {
			n++
		}
	}
	return n
}

// shared returns the first bounds equal to b.
func (ds *Dictionaries) shared(b *frame.Bounds) *frame.Bounds {
	for _, known := range ds.bounds {
		if window.EqualBounds(known, b) {
			return known
		}
	}
	ds.bounds = append(ds.bounds, b)
	return b
}

// Finish sorts the rows of all dictionaries and returns them as types by ascending key.
func (ds *Dictionaries) Finish(node *window.Node) []*window.Type {
	types := make([]*window.Type, 0, len(ds.List))
	for _, d := range ds.List {
		if slices.ContainsFunc(ds.List, func(o *Dictionary) bool {
			return o != d && o.Result.Type == d.Result.Type
		}) {
			d.Result.Key = window.HashedKey(d.Result.Type, d.Result.Labels)
		}
		r := d.Result
		r.Rows, d.Order = window.SortRows(r.Rows)
		r.Node, r.Cluster, r.Datacenter, r.Rack = node.ID, node.Cluster, node.Datacenter, node.Rack
		types = append(types,
			&window.Type{Dictionary: r, Columns: make([]*columns.Column, len(r.Metrics))})
	}
	slices.SortFunc(types, func(a, b *window.Type) int { return strings.Compare(a.Key, b.Key) })
	return types
}
