package querytest

import (
	"fmt"
)

// Kernel returns an expression that dashboards have the like of: an aggregation of a function of a
// range vector, or of a selector, and often something around it.
func (e *Expressions) Kernel() string {
	v := e.aggregated()
	switch e.IntN(10) {
	case 0:
		return fmt.Sprintf("%s %s %s", v, pick(e, "/", "-", "or", "and", "unless", "> bool"),
			e.aggregated())
	case 1:
		return fmt.Sprintf(pick(e, "-%s", "(%s) * 2", "clamp_max(%s, 10)", "sort(%s)", "absent(%s)",
			"timestamp(%s)", "scalar(%s)", "vector(scalar(%s))", "histogram_quantile(0.9, %s)",
			`label_replace(%s, "d", "$1", "cluster", "(.).*")`, "topk(2, %s)", "sum(%s)"), v)
	case 2:
		if e.IntN(3) > 0 {
			return fmt.Sprintf(pick(e, "histogram_quantile(0.9, %s)", "histogram_count(%s)",
				"histogram_sum(%s)",
				"histogram_avg(%s)", "histogram_avg((%s))", "histogram_fraction(0, 0.01, %s)",
				"%s"),
				fmt.Sprintf(pick(e, "sum%s(%s)", "sum%s(%s)", "avg%s(%s)", "count%s(%s)",
					"max%s(%s)"), e.group(),
					pick(e, "rate", "rate", "increase", "delta")+"("+
						e.matrix(pick(e, append(Histograms, GaugeHistograms...)...), 0)+")"))
		}
		return fmt.Sprintf("max_over_time(%s[%s:1m])", v, pick(e, "5m", "20m"))
	case 3:
		return fmt.Sprintf("histogram_quantile(0.9, sum by (le%s) (rate(%s)))",
			pick(e, "", ", cluster"), e.matrix(pick(e, Histograms...)+"_bucket", 0))
	}
	return v
}

func (e *Expressions) aggregated() string {
	name := pick(e, e.number(), e.counter())
	if e.IntN(8) == 0 {
		name = pick(e, append(Histograms, GaugeHistograms...)...)
	}
	of := name + e.matchers(name) + e.at()
	if e.IntN(12) == 0 {
		of = pick(e, `{__name__=~"node_.*"}`, `{__name__=~"cassandra_table.*_total|node_load1"}`,
			`{rack="rack1"}`, `{__name__=~"cassandra_table.*"}`)
	}
	if e.IntN(4) > 0 {
		of = pick(e, "rate", "rate", "increase", "irate", "delta", "idelta", "sum_over_time",
			"avg_over_time", "min_over_time", "max_over_time", "count_over_time", "last_over_time",
			"first_over_time",
			"present_over_time", "changes", "resets", "deriv", "stddev_over_time") +
			"(" + e.matrix(name, 0) + ")"
	}
	if e.IntN(30) == 0 { // without their names some of these are the same
		of = pick(e, `rate({__name__=~"node_.*"}[5m])`, `last_over_time({__name__=~"node_.*"}[5m])`)
	}
	if e.IntN(8) == 0 {
		return of
	}
	return fmt.Sprintf(pick(e, "sum%s(%s)", "sum%s(%s)", "avg%s(%s)", "min%s(%s)", "max%s(%s)",
		"count%s(%s)", "group%s(%s)", "stddev%s(%s)", "stdvar%s(%s)", "topk%s(2, %s)",
		"topk%s((1), %s)", "topk%s(9.9, %s)", "bottomk%s(2, %s)", "bottomk%s(100, %s)",
		"topk%s(0, %s)", "quantile%s(0.7, %s)", "quantile%s(0.99, %s)", "quantile%s(1, %s)",
		"quantile%s(-1, %s)", "quantile%s(NaN, %s)"), e.group(), of)
}
