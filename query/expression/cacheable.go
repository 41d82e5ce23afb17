package expression

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/series"
)

// cacheableFunctions are those whose value at a step follows from what their argument is at that
// step. Functions of labels are not among them: whether two series become one is found over all
// steps.
var cacheableFunctions = strings.Fields(`
	abs absent absent_over_time acos acosh asin asinh atan atanh avg_over_time ceil changes clamp
	clamp_max clamp_min cos cosh count_over_time day_of_month day_of_week day_of_year days_in_month
	deg delta deriv exp floor histogram_avg histogram_count histogram_fraction histogram_quantile
	histogram_stddev histogram_stdvar histogram_sum hour idelta increase irate last_over_time ln log10
	log2 max_over_time min_over_time minute month pi predict_linear present_over_time
	quantile_over_time rad rate resets round scalar sgn sin sinh sort sort_desc sqrt stddev_over_time
	stdvar_over_time sum_over_time tan tanh time timestamp vector year`)

// IsCacheable reports whether each step's value of an expression follows from the samples that the
// step looks at, whatever the range is. So there is no @ and no subquery, and every selector names
// one metric: of several it is found over all steps whether series become one without their names.
// Of nodes' own series only the value of MetricInfo is the same at all steps. When they have
// samples, and what the others say, depends on where the question begins.
func IsCacheable(tree parser.Expr) bool {
	selects, can := false, true
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case nil, parser.Expressions, *parser.BinaryExpr, *parser.ParenExpr, *parser.NumberLiteral:
		case *parser.AggregateExpr:
			can = can && n.Op != parser.LIMITK && n.Op != parser.LIMIT_RATIO
		case *parser.Call:
			can = can && slices.Contains(cacheableFunctions, n.Func.Name)
			if n.Func.Name == "timestamp" {
				v, is := Unparenthesized(n.Args[0]).(*parser.VectorSelector)
				can = can && !(is && names(v.LabelMatchers, series.MetricInfo))
			}
		case *parser.MatrixSelector:
			v, is := n.VectorSelector.(*parser.VectorSelector)
			can = can && n.RangeExpr == nil && is && !names(v.LabelMatchers, series.MetricInfo)
		case *parser.VectorSelector:
			selects = true
			can = can && n.Timestamp == nil && n.StartOrEnd == 0 && n.OriginalOffsetExpr == nil &&
				!n.Anchored && !n.Smoothed &&
				(NamesOne(n.LabelMatchers) || names(n.LabelMatchers, series.MetricInfo))
		case *parser.StringLiteral: // of count_values
		default:
			can = false
		}
		return nil
	})
	return can && selects
}

// NamesOne reports whether matchers name one metric of frames.
func NamesOne(matchers []*labels.Matcher) bool {
	return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
		return m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value != "" &&
			!slices.Contains(series.OwnMetrics, m.Value)
	})
}

// names reports whether matchers name this metric.
func names(matchers []*labels.Matcher, metric string) bool {
	return slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
		return m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value == metric
	})
}
