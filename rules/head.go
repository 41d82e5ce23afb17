package rules

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// head is the series of a cluster in memory, by the selectors that mean them. Prometheus has a
// head, too. What they take is of the account's budget.
type head struct {
	budget  *memory.Budget
	lease   *memory.Lease
	scope   *ruleScope
	seen    map[*selector][]*seriesView
	ordered map[*selector]int           // how many of seen have been put in order
	metrics map[string][]*window.Metric // by name, for sameMetric
	// recorded are those that rules record, by their labels.
	recorded          map[string]*memSeries
	count             int               // series in memory
	lackingBySelector map[*selector]int // series that there was no memory for
	hasEnded          bool              // there are series that nobody needs
	tidied            int64             // ms: when those were looked for
	horizon           int64             // ms: no group will be evaluated at an instant before it
}

func newHead(scope *ruleScope, budget *memory.Budget, account string) *head {
	return &head{budget: budget, lease: budget.Open(account), scope: scope,
		seen: map[*selector][]*seriesView{}, ordered: map[*selector]int{},
		metrics: map[string][]*window.Metric{}, recorded: map[string]*memSeries{},
		lackingBySelector: map[*selector]int{}}
}

// noSeries stands where a series is meant by no selector.
var noSeries = &memSeries{}

// newSeries makes the series in memory and enters it where selectors look; noSeries if none means
// it, or if there is no memory for it, which is noted.
func (h *head) newSeries(l labels.Labels, m *window.Metric, interval int64) *memSeries {
	found := h.scope.candidatesOf(m.Name)
	if found == nil {
		return noSeries
	}
	of := &memSeries{Series: window.Series{Labels: l, Metric: h.sameMetric(m)}}
	found.each(l, func(s *selector) {
		if live := s.Live(&of.Series); live != nil {
			of.keep = max(of.keep, s.keep.Milliseconds())
			of.views = append(of.views, &seriesView{live, of, s})
		}
	})
	if len(of.views) == 0 {
		return noSeries
	}
	if !h.takeMemory(costOf(m.Kind, of.keep, interval)) {
		for _, v := range of.views {
			h.lackingBySelector[v.selector]++
		}
		return noSeries
	}
	for _, v := range of.views {
		h.seen[v.selector] = append(h.seen[v.selector], v)
	}
	h.count++
	return of
}

// takeMemory takes memory for a series if there is some. A part of the account's share is left for
// reading frames: without it no rule would have anything to look at.
func (h *head) takeMemory(bytes int64) bool {
	return h.lease.TakeLeaving(bytes, h.budget.Share()/8) == nil
}

// sameMetric returns the first metric that is the same: a fleet's nodes have the same ones.
func (h *head) sameMetric(m *window.Metric) *window.Metric {
	for _, known := range h.metrics[m.Name] {
		if known.Equal(m) {
			return known
		}
	}
	one := *m
	h.metrics[m.Name] = append(h.metrics[m.Name], &one)
	return &one
}

// recordedSeries returns the series in memory of a recorded one, of which there is a sample every
// interval, in ms; noSeries if no rule selects it.
func (h *head) recordedSeries(l labels.Labels, interval int64) *memSeries {
	key := string(l.Bytes(nil))
	of := h.recorded[key]
	if of == nil {
		m := window.Metric{Name: l.Get(labels.MetricName), Kind: frame.GaugeDouble}
		of = h.newSeries(l, &m, interval)
		h.recorded[key] = of
	}
	return of
}

// inOrder returns what a selector sees by labels: sums depend on the order in their last bits, and
// are to be the same after a restart.
func (h *head) inOrder(s *selector) []*seriesView {
	list := h.seen[s]
	if len(list) > 1 && h.ordered[s] != len(list) {
		slices.SortStableFunc(list, func(a, b *seriesView) int {
			return labels.Compare(a.Series.Labels, b.Series.Labels)
		})
		h.ordered[s] = len(list)
	}
	return list
}

// forgetEnded drops the series of which nothing is left that rules look back to at an instant.
func (h *head) forgetEnded(at int64) {
	h.hasEnded, h.tidied = false, at
	for s, list := range h.seen {
		h.seen[s] = slices.DeleteFunc(list, func(v *seriesView) bool { return v.gone(at) })
		delete(h.ordered, s)
	}
	maps.DeleteFunc(h.recorded, func(_ string, of *memSeries) bool { return of.gone(at) })
}

// dropped gives back what a series took that had a sample every interval, in ms.
func (h *head) dropped(of *memSeries, interval int64) {
	h.count--
	h.lease.Return(costOf(of.Metric.Kind, of.keep, interval))
}
