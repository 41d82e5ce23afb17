package expression

import (
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/series"
)

// selected are the labels that selectors gave so far.
type selected struct {
	longest map[string]float64 // bytes of the longest value of each label
	buckets float64            // of the widest histogram
	base    float64            // bytes of the longest labels of a series
	series  map[string]float64 // by selector
}

// LabelBudget is one evaluation of an expression whose labels grow. Its methods are for one
// goroutine.
type LabelBudget struct {
	growth   *LabelGrowth
	selected selected
	lease    *memory.Lease
	limit    string // the name of the one on work
	work     time.Duration
	taken    int64
}

// Begin begins an evaluation, whose labels take their memory from a lease. What it computes of
// labels may take so much work at most, which is the limit of that name.
func (g *LabelGrowth) Begin(lease *memory.Lease, limit string, work time.Duration) *LabelBudget {
	if g == nil {
		return nil
	}
	return &LabelBudget{growth: g, lease: lease, limit: limit, work: work,
		selected: selected{longest: map[string]float64{}, series: map[string]float64{}}}
}

// Read notes which series a selector gave, before anything is computed of them, and takes the
// memory of the labels that the expression can make of all that was selected so far. The error is
// a *LimitError, or package memory's.
func (g *LabelBudget) Read(matchers []*labels.Matcher, list []storage.Series) error {
	if g == nil {
		return nil
	}
	for _, s := range list {
		g.selected.add(s.Labels())
		if of, is := s.(*series.Series); is {
			g.selected.buckets = max(g.selected.buckets, float64(of.Buckets()))
		}
	}
	return g.grow(matchers, len(list))
}

// ReadSeries is Read of a list of our own.
func (g *LabelBudget) ReadSeries(matchers []*labels.Matcher, list []*series.Series) error {
	if g == nil {
		return nil
	}
	for _, s := range list {
		g.selected.add(s.Metric)
		g.selected.buckets = max(g.selected.buckets, float64(s.Buckets()))
	}
	return g.grow(matchers, len(list))
}

func (s *selected) add(l labels.Labels) {
	bytes := 0
	l.Range(func(l labels.Label) {
		bytes += len(l.Name) + len(l.Value) + labelRest
		if n := float64(len(l.Value)); n > s.longest[l.Name] {
			s.longest[l.Name] = n
		}
	})
	s.base = max(s.base, float64(bytes))
}

// grow takes what the expression can make now.
func (g *LabelBudget) grow(matchers []*labels.Matcher, series int) error {
	key := keyOf(matchers)
	g.selected.series[key] = max(g.selected.series[key], float64(series))
	e, err := g.growth.estimate(&g.selected)
	if err != nil {
		return err
	}
	if e.work > float64(g.work) {
		return &limit.Error{Limit: g.limit, Value: g.work.Milliseconds(),
			Needed: whole(e.work / 1e6), Unit: "ms of making labels",
			Remedy: "select fewer series, or nest fewer functions that make labels"}
	}
	more := whole(e.peak) - g.taken
	if more <= 0 {
		return nil
	}
	if err := g.lease.Take(more); err != nil {
		return err
	}
	g.taken += more
	return nil
}

// Rewrite says that another expression is evaluated in the place of the one that was: of which
// parts are computed already.
func (g *LabelBudget) Rewrite(expr parser.Expr) {
	if g != nil {
		old := g.growth
		g.growth = NewLabelGrowth(expr, old.span, old.steps, int(old.maxValue))
	}
}

// End gives the memory back.
func (g *LabelBudget) End() {
	if g == nil {
		return
	}
	g.lease.Give(g.taken)
	g.taken = 0
}

// keyOf names a selector by its matchers.
func keyOf(matchers []*labels.Matcher) string {
	var key strings.Builder
	for _, m := range matchers {
		key.WriteString(m.String())
		key.WriteByte('/')
	}
	return key.String()
}
