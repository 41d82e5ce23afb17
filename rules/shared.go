package rules

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// Rules of a group are evaluated at the same instant of the same data. An aggregation that stands
// in several of them, such as the sum of histograms of which one records p50, p95 and p99, is
// evaluated once for them all: reading a fleet's histograms is what their evaluation costs. The
// rules' own expressions then select its result.

// sharedLabel is the label that such a selector has, and nothing else does.
const sharedLabel = "__shared__"

// rewritten is an expression in which what it shares with other rules of its group is selected.
type rewritten struct {
	text string
	uses []int // of ruleScope.shared
}

func rewriteKey(group, expr string) string { return group + "\x00" + expr }

// share finds what the rules of a group have in common. What selects something that a rule of the
// group records may have another result from rule to rule.
func (p *ruleScope) share(file string, g *rulefmt.RuleGroup, parse parser.Parser) {
	recorded := map[string]bool{}
	var exprs []parser.Expr
	for _, r := range g.Rules {
		if r.Record != "" {
			recorded[r.Record] = true
		}
		exprs = append(exprs, p.parsed[r.Expr])
	}
	group := promrules.GroupKey(file, g.Name)
	count := map[string]int{}
	for _, e := range exprs {
		replaceAggregates(e, func(of *parser.AggregateExpr) parser.Expr {
			if shareable(of, recorded) {
				count[of.String()]++
			}
			return nil
		})
	}
	number := map[string]int{}
	for _, e := range exprs {
		text := e.String()
		key := rewriteKey(group, text)
		if p.rewritten[key] != nil {
			continue
		}
		own, err := parse.ParseExpr(text) // clusters share the other one
		if err != nil {
			continue
		}
		var r rewritten
		own = replaceAggregates(own, func(of *parser.AggregateExpr) parser.Expr {
			text := of.String()
			if count[text] < 2 {
				return nil
			}
			i, known := number[text]
			if !known {
				i = len(p.shared)
				number[text] = i
				p.shared = append(p.shared, text)
			}
			r.uses = append(r.uses, i)
			return &parser.VectorSelector{LabelMatchers: []*labels.Matcher{
				labels.MustNewMatcher(labels.MatchEqual, sharedLabel, strconv.Itoa(i))}}
		})
		if len(r.uses) == 0 {
			continue
		}
		r.text = own.String()
		if p.rewritten == nil {
			p.rewritten = map[string]*rewritten{}
		}
		p.rewritten[key] = &r
	}
}

// shareable reports whether an aggregation has the same result in all rules of a group.
func shareable(e *parser.AggregateExpr, recorded map[string]bool) bool {
	list := selectorsOf(e)
	return len(list) > 0 && !slices.ContainsFunc(list, func(s *parser.VectorSelector) bool {
		name := nameOf(s)
		return name == "" || alertSeries(name) || recorded[name]
	})
}

// replaceAggregates puts what by returns, if that is not nil, in the place of aggregations, outer
// ones first. What is within a subquery is evaluated at other instants, and is left alone.
func replaceAggregates(e parser.Expr, by func(*parser.AggregateExpr) parser.Expr) parser.Expr {
	switch e := e.(type) {
	case *parser.ParenExpr:
		e.Expr = replaceAggregates(e.Expr, by)
	case *parser.UnaryExpr:
		e.Expr = replaceAggregates(e.Expr, by)
	case *parser.BinaryExpr:
		e.LHS, e.RHS = replaceAggregates(e.LHS, by), replaceAggregates(e.RHS, by)
	case *parser.Call:
		switch e.Func.Name {
		case "timestamp", "info", "absent", "label_replace", "label_join":
			return e // these look at how their argument is written, or are too rare to ask
		}
		for i := range e.Args {
			e.Args[i] = replaceAggregates(e.Args[i], by)
		}
	case *parser.AggregateExpr:
		if other := by(e); other != nil {
			return other
		}
		e.Expr = replaceAggregates(e.Expr, by)
	}
	return e
}

// prepared evaluates what an expression of a rule shares, unless a rule before it did, and returns
// the text that is to be evaluated in its place.
func (e *evaluation) prepared(ctx context.Context, expr string, at time.Time) (string, error) {
	if e.current == nil {
		return expr, nil
	}
	r := e.head.scope.rewritten[rewriteKey(e.current.key, expr)]
	if r == nil {
		return expr, nil
	}
	if !e.sharedAt.Equal(at) || e.sharedOf == nil {
		e.forgetShared()
		e.sharedAt, e.sharedOf = at, map[int]promql.Vector{}
	}
	for _, i := range r.uses {
		if _, known := e.sharedOf[i]; known {
			continue
		}
		v, err := e.run(ctx, e.head.scope.shared[i], at)
		if err == nil {
			err = e.share(i, v)
		}
		if err != nil {
			return "", err
		}
	}
	return r.text, nil
}

// sharedSeries returns the result that a selector stands for; false if it is an ordinary one.
func (e *evaluation) sharedSeries(matchers []*labels.Matcher) ([]storage.Series, bool) {
	if len(matchers) != 1 || matchers[0].Name != sharedLabel {
		return nil, false
	}
	i, err := strconv.Atoi(matchers[0].Value)
	if err != nil {
		return nil, false
	}
	v := e.sharedOf[i]
	list := make([]storage.Series, len(v))
	for j := range v {
		list[j] = sharedSeries{&v[j]}
	}
	return list, true
}

// sharedSeries is one element of a result, as a series with one sample. It implements
// storage.Series, storage.Samples and chunks.Sample.
type sharedSeries struct{ of *promql.Sample }

// Labels implements storage.Series.
func (s sharedSeries) Labels() labels.Labels { return s.of.Metric }

// Iterator implements storage.Series. Who reads a histogram may change it, so each has a copy.
func (s sharedSeries) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return storage.NewListSeriesIteratorWithCopy(s)
}

// Get implements storage.Samples.
func (s sharedSeries) Get(int) chunks.Sample { return s }

// Len implements storage.Samples.
func (s sharedSeries) Len() int { return 1 }

// The rest implements chunks.Sample.

func (s sharedSeries) T() int64                      { return s.of.T }
func (s sharedSeries) ST() int64                     { return 0 }
func (s sharedSeries) F() float64                    { return s.of.F }
func (s sharedSeries) H() *histogram.Histogram       { return nil }
func (s sharedSeries) FH() *histogram.FloatHistogram { return s.of.H }

func (s sharedSeries) Type() chunkenc.ValueType {
	if s.of.H != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

func (s sharedSeries) Copy() chunks.Sample {
	of := *s.of
	if of.H != nil {
		of.H = of.H.Copy()
	}
	return sharedSeries{&of}
}
