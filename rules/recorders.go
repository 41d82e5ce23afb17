package rules

import (
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/ringwatch/ringwatch/frame"
)

// span is for how long after an instant a frame of a recorder says what there is: until its group
// is evaluated again. It is 0 for a recorder whose group is there no more, or feeds nothing now.
func (m *members) span(n *node) int64 {
	for _, f := range m.set.cluster.files {
		for _, g := range f.groups {
			if frame.RecorderID(m.account, n.cluster, promrules.GroupKey(f.name, g.Name)) != n.id {
				continue
			}
			if !m.set.feeds(&g) {
				return 0
			}
			every := max(time.Duration(g.Interval), time.Duration(n.interval)*time.Millisecond)
			if g.Interval == 0 {
				every = max(every, m.role.config.EvaluationInterval)
			}
			if g.QueryOffset != nil { // its samples are that much older than its evaluation
				every += time.Duration(*g.QueryOffset)
			}
			return every.Milliseconds()
		}
	}
	return 0
}

// coverage says whether what rules over all clusters look at is there for an instant.
type coverage int

const (
	covered coverage = iota
	// late: a cluster has not been evaluated up to the instant, or has not said so yet.
	late
	// gap: it never was, and has been evaluated later.
	gap
)

// coverage looks at the recorders of all clusters. Each says at every evaluation what it
// recorded, if only that it is nothing. Until it does, nobody knows what there is.
func (m *members) coverage(at int64) (coverage, *node) {
	found, of := covered, (*node)(nil)
	if !m.role.deps.Every {
		return found, of
	}
	for _, n := range m.nodes {
		if n.span == nil {
			span := m.span(n)
			n.span = &span
		}
		if *n.span == 0 || at-max(n.last, n.before) > m.role.config.Absent.Milliseconds() {
			continue
		}
		last := int64(0)
		if i := n.newest(at); i >= 0 {
			last = n.instants[i]
		} else if n.before <= at {
			last = n.before
		}
		if last == 0 || last+*n.span > at || n.over() {
			continue
		}
		if n.last <= at {
			return late, n
		}
		found, of = gap, n
	}
	return found, of
}

// lastFrame is on the last frame of a recorder whose cluster is gone.
var lastFrame = frame.Fact{Name: "last", Value: "true"}

// over reports whether a recorder has said its last word.
func (n *node) over() bool { return slices.Contains(n.identity.Facts, lastFrame) }

// feeds reports whether rules over all clusters select anything that a group of single ones may
// record.
func (s *set) feeds(g *rulefmt.RuleGroup) bool {
	return slices.ContainsFunc(g.Rules, func(r rulefmt.Rule) bool {
		return slices.ContainsFunc(s.every.selectors, func(of *selector) bool {
			if r.Alert != "" {
				return of.Wants("ALERTS") || of.Wants("ALERTS_FOR_STATE")
			}
			return of.Wants(r.Record)
		})
	})
}
