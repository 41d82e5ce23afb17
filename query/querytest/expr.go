package querytest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Expressions makes PromQL expressions about a Fleet, the same ones for the same seed. Most select
// something, few are refused. None depends on the order in which Prometheus's engine has series
// that it has computed, since that is another one each time: sums, and choices among equals, are of
// series as they are stored.
type Expressions struct {
	*rand.Rand
	fleet *Fleet
	// Ranges are those of range vectors.
	ranges []string
}

// NewExpressions returns a generator.
func NewExpressions(f *Fleet, seed uint64) *Expressions {
	return &Expressions{Rand: rand.New(rand.NewPCG(seed, 99)), fleet: f,
		ranges: []string{"30s", "1m", "90s", "2m", "5m", "7m13s", "20m", "1h"}}
}

func pick[T any](e *Expressions, list ...T) T { return list[e.IntN(len(list))] }

// Next returns an expression.
func (e *Expressions) Next() string { return e.vector(2) }

// Time returns an instant at which an expression is worth asking, in ms.
func (e *Expressions) Time() int64 {
	spare := 10 * time.Minute.Milliseconds()
	if e.IntN(4) == 0 { // what is new
		return e.fleet.End() - time.Minute.Milliseconds() + e.Int64N(3*time.Minute.Milliseconds())
	}
	return e.fleet.From - spare + e.Int64N(e.fleet.Span.Milliseconds()+2*spare)
}

// matchers returns matchers in braces, or nothing.
func (e *Expressions) matchers(of string) string {
	var list []string
	for range e.IntN(3) {
		m := pick(e, `cluster="fleet-0"`, `cluster=~"fleet-.*"`, `cluster!="fleet-1"`,
			`cluster!~"fleet-[1-9]|x"`,
			`datacenter="dc1"`, `datacenter=~"dc0|dc1"`, `rack!="rack1"`, `rack=~"rack[12]"`,
			`rack!~"rack[23]"`,
			fmt.Sprintf("node=%q", e.fleet.Node(e.IntN(9))), fmt.Sprintf("node!=%q",
				e.fleet.Node(e.IntN(9))),
			`node=~"[0-7].*"`, `node!~"[0-7].*"`, `nothing=""`, `nothing!="a"`,
			`nothing="a"`, `job=~".+"`)
		list = append(list, m)
	}
	switch {
	case strings.Contains(of, "table"):
		if e.IntN(2) == 0 {
			list = append(list, pick(e, `table="table_1"`, `table=~"table_[0-2]"`,
				`table!="table_0"`, `table!~"table_[13]"`, `keyspace="shop"`, `keyspace!~"shop"`,
				`table=~""`))
		}
	case strings.Contains(of, "client"):
		if e.IntN(2) == 0 {
			list = append(list, pick(e, `request="Read"`, `request=~"Re.*|x"`, `request!="Read"`))
		}
	}
	if strings.HasSuffix(of, "_bucket") && e.IntN(2) == 0 {
		list = append(list, pick(e, `le="+Inf"`, `le!="+Inf"`, `le=~"0.*"`, `le!~"1.*"`))
	}
	switch of {
	case "cassandra_node_schema_version":
		list = append(list, pick(e, `value="5.0.9"`, `value!="5.0.9"`, `value=~"[45].*"`,
			`value=""`, `value=~".*\n.*"`, `rack!=""`))
	case "cassandra_pool_state":
		list = append(list, pick(e, `value="Mutation"`, `exported_value="4.1.3"`,
			`exported_value!~"4.*"`, `rack!=""`))
	}
	if len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ",") + "}"
}

func (e *Expressions) at() string {
	s := ""
	if e.IntN(5) == 0 {
		s += pick(e, " offset 1m", " offset 17m", " offset -3m", " offset 3s")
	}
	switch e.IntN(12) {
	case 0:
		s += fmt.Sprintf(" @ %.3f", float64(e.Time())/1000)
	case 1:
		s += pick(e, " @ start()", " @ end()")
	}
	return s
}

func (e *Expressions) counter() string {
	switch e.IntN(4) {
	case 0:
		return pick(e, Histograms...) + pick(e, "_bucket", "_count", "_count", "_sum")
	}
	return pick(e, Counters...)
}

func (e *Expressions) number() string {
	if e.IntN(3) == 0 {
		return e.counter()
	}
	return pick(e, append([]string{Texts[0], Texts[1]}, append(Gauges, Gauges...)...)...)
}

// selector returns an instant vector.
func (e *Expressions) selector(of string) string { return of + e.matchers(of) + e.at() }

// matrix returns a range vector.
func (e *Expressions) matrix(of string, depth int) string {
	if depth > 0 && e.IntN(6) == 0 {
		return fmt.Sprintf("(%s)[%s:%s]%s", e.vector(depth-1), pick(e, "3m", "10m", "30m"),
			pick(e, "", "20s", "1m", "77s", "4m"), e.at())
	}
	return fmt.Sprintf("%s%s[%s]%s", of, e.matchers(of), pick(e, e.ranges...), e.at())
}

func (e *Expressions) over(depth int) string {
	switch e.IntN(6) {
	case 0, 1:
		return pick(e, "rate", "increase", "irate", "resets", "changes") + "(" +
			e.matrix(e.counter(), depth) + ")"
	case 2:
		return fmt.Sprintf(pick(e, "quantile_over_time(0.9, %s)", "predict_linear(%s, 600)",
			"double_exponential_smoothing(%s, 0.3, 0.6)", "quantile_over_time(0, %s)"), e.matrix(
			pick(e, Gauges...), depth))
	case 3:
		return pick(e, "rate", "increase", "sum_over_time", "avg_over_time", "last_over_time",
			"count_over_time", "present_over_time", "first_over_time", "irate") +
			"(" + e.matrix(pick(e, Histograms...), depth) + ")"
	}
	return pick(e, "delta", "idelta", "deriv", "changes", "avg_over_time", "min_over_time",
		"max_over_time", "sum_over_time", "count_over_time", "stddev_over_time",
		"stdvar_over_time", "last_over_time", "first_over_time", "present_over_time",
		"mad_over_time", "ts_of_max_over_time", "ts_of_min_over_time",
		"ts_of_last_over_time", "ts_of_first_over_time") +
		"(" + e.matrix(e.number(), depth) + ")"
}

func (e *Expressions) group() string {
	return pick(e, "", " by (cluster)", " by (cluster, node)", " by (table)", " without (node)",
		" without (node, rack, table)", " by (le)", " by (nothing)", " without ()", " by (value)")
}

func (e *Expressions) histogram(depth int) string {
	name := pick(e, append(GaugeHistograms, Histograms...)...)
	h := e.selector(name)
	if name != GaugeHistograms[0] && e.IntN(3) > 0 {
		h = pick(e, "rate", "increase") + "(" + e.matrix(name, 0) + ")"
	}
	if e.IntN(2) == 0 {
		h = pick(e, "sum", "avg") + e.group() + "(" + h + ")"
	}
	if depth > 0 && e.IntN(6) == 0 {
		h = fmt.Sprintf("%s %s %s", h, pick(e, "+", "-"), h)
	}
	return h
}

func (e *Expressions) vector(depth int) string {
	if depth == 0 {
		if e.IntN(2) == 0 {
			return e.selector(e.number())
		}
		return e.over(0)
	}
	switch e.IntN(12) {
	case 0:
		return e.selector(pick(e, append(Histograms, e.number(), e.number())...))
	case 1, 2:
		return e.over(depth)
	case 3, 4:
		// What is added up must come in a certain order, see Expressions.
		if e.IntN(2) == 0 {
			return pick(e, "sum", "avg", "stddev", "stdvar") + e.group() + "(" + e.vector(0) + ")"
		}
		return pick(e, "min", "max", "count", "group") + e.group() + "(" + e.vector(depth-1) + ")"
	case 5:
		if e.IntN(2) == 0 {
			return fmt.Sprintf(pick(e, "topk%s(3, %s)", "bottomk%s(2, %s)", "limitk%s(2, %s)",
				"limit_ratio%s(0.5, %s)"), e.group(), e.vector(0))
		}
		return fmt.Sprintf(pick(e, "quantile%s(0.7, %s)", `count_values%s("v", %s)`), e.group(),
			e.vector(depth-1))
	case 6, 7:
		return fmt.Sprintf(pick(e, "histogram_quantile(0.9, %s)", "histogram_quantile(0.5, %s)",
			"histogram_fraction(0, 0.01, %s)", "histogram_avg(%s)",
			"histogram_count(%s)", "histogram_sum(%s)", "histogram_stddev(%s)",
			"histogram_stdvar(%s)", "%s"),
			e.histogram(depth))
	case 8:
		return fmt.Sprintf("histogram_quantile(%s, sum by (le, cluster) (rate(%s)))",
			pick(e, "0.5", "0.99"), e.matrix(pick(e, Histograms...)+"_bucket", 0))
	case 9:
		v := e.vector(depth - 1)
		return fmt.Sprintf(pick(e, "abs(%s)", "ceil(%s)", "-%s", "sgn(%s)", "sqrt(%s)", "ln(%s)",
			"clamp(%s, 1, 100)", "round(%s, 0.5)", "timestamp(%s)", "absent(%s)", "sort(%s)",
			"vector(scalar(%s))", "exp(%s)",
			`label_replace(%s, "d", "$1", "node", "(.).*")`,
			`label_join(%s, "d", "/", "cluster", "rack")`,
			"minute(%s)", "day_of_week(%s)"), v)
	case 10: // one metric with itself or another of its entity
		a, b := pick(e, Gauges[:3]...), pick(e, Gauges[:3]...)
		if e.IntN(2) == 0 {
			a, b = Gauges[3], Counters[1]
		}
		op := pick(e, "+", "-", "*", "/", "%", "^", "==", "!=", ">", "<=", "> bool", "atan2", "and",
			"or", "unless", "== bool")
		return fmt.Sprintf("%s %s %s %s", e.selector(a), op,
			pick(e, "", "ignoring (nothing)", "on (cluster, node, keyspace, table)"), e.selector(b))
	}
	switch e.IntN(3) {
	case 0:
		return fmt.Sprintf("%s * on (cluster, node) group_left (value) %s", e.selector(Counters[1]),
			e.selector(Texts[0]))
	case 1:
		return fmt.Sprintf("%s / on (cluster, node) group_right sum by (cluster, node) (%s)",
			e.selector(Gauges[1]), e.vector(0))
	}
	return fmt.Sprintf("%s %s", e.vector(depth-1),
		pick(e, "> 1", "* 3", "== bool 0", "/ scalar(vector(7))", "unless on (node) node_load1 > 4",
			"or vector(1)", "and on (cluster) node_load1", "% 10"))
}
