// Package relabel gives series other labels, or drops them, by Prometheus's relabelling: its
// package model/relabel and its YAML. Start with Mapping.
//
// What it promises: a mapping is a pure function of a label set. Its regular expressions and what
// it makes are bounded before they take memory. A series stays its node's, because cluster,
// datacenter, rack, node and the metric's name cannot be changed. With a Cache each label set of a
// dictionary is mapped once, and the frames that follow cost nothing.
//
// Relabelling is for rules alone; whoever else wants its labels reads series that rules record.
// What is stored keeps its labels: a mapping improves with time, and a changed one would split
// stored series in two.
//
// What bites: two series that differ only in a label which is dropped or replaced become the same
// one. `ringwatch rules relabel` shows them.
//
// It may import query/selector.
package relabel

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
)

// Fixed are the labels that no mapping changes.
var Fixed = []string{labels.MetricName, "cluster", "datacenter", "rack", "node"}

// What a mapping may make of a label set, whatever its rules say.
const (
	maxLabels     = 64
	maxValueBytes = 4 << 10
)

// Mapping is a list of rules. Its methods may be called from many goroutines.
type Mapping struct {
	rules []*relabel.Config
}

// New checks rules, which are applied in their order, and returns their mapping. The error says
// which rule is wrong, and how.
func New(rules []*relabel.Config) (*Mapping, error) {
	if err := check(rules); err != nil {
		return nil, err
	}
	return &Mapping{rules: slices.Clone(rules)}, nil
}

// Rules returns how many rules there are.
func (m *Mapping) Rules() int { return len(m.rules) }

// Labels returns what the rules make of a label set, and whether the series is kept. What would
// have more than 64 labels, or a value of more than 4 KiB, stays as it was.
func (m *Mapping) Labels(l labels.Labels) (labels.Labels, bool) {
	b := labels.NewBuilder(l)
	for _, rule := range m.rules {
		if !relabel.ProcessBuilder(b, rule) {
			return l, false
		}
		if !fits(b) { // after each rule: the next one could double what this one made
			return l, true
		}
	}
	for _, name := range Fixed {
		b.Set(name, l.Get(name)) // an empty value takes a label away that was not there
	}
	return b.Labels(), true
}

// fits reports whether a label set is within the bounds.
func fits(b *labels.Builder) bool {
	n, small := 0, true
	b.Range(func(l labels.Label) {
		n++
		small = small && len(l.Name) <= maxValueBytes && len(l.Value) <= maxValueBytes
	})
	return small && n <= maxLabels
}
