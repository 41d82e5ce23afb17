package main

import (
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/query/index"
)

// query is one kind of question, about the first cluster and its nodes.
type query struct {
	name     string
	matchers func(node int) []*labels.Matcher
	values   string // of which label; none: series
}

func equal(name, value string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, name, value)
}

const latency = "cassandra_table_read_latency_seconds"

var queries = []query{
	{name: "name_node", matchers: func(n int) []*labels.Matcher {
		return []*labels.Matcher{equal(labels.MetricName, latency),
			equal("node", nodeID(n).String())}
	}},
	{name: "name_cluster", matchers: func(n int) []*labels.Matcher {
		return []*labels.Matcher{equal(labels.MetricName, latency), equal("cluster", clusterOf(n))}
	}},
	{name: "table_cluster", matchers: func(n int) []*labels.Matcher {
		return []*labels.Matcher{equal("keyspace", fmt.Sprintf("app%d_0", n/clusterNodes)),
			equal("table", "orders_2"), equal("cluster", clusterOf(n))}
	}},
	{name: "table_regex_all", matchers: func(n int) []*labels.Matcher {
		return []*labels.Matcher{equal(labels.MetricName, latency),
			labels.MustNewMatcher(labels.MatchRegexp, "table",
				fmt.Sprintf(".*_%d|ord.*[1-4]", n%10))}
	}},
	{name: "name_all", matchers: func(int) []*labels.Matcher {
		return []*labels.Matcher{equal(labels.MetricName, latency)}
	}},
	{name: "values_keyspace", values: "keyspace"},
	{name: "nothing", matchers: func(n int) []*labels.Matcher {
		return []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "keyspace", "no.such.*"),
			equal(labels.MetricName, latency)}
	}},
}

// times are how long each query took, in ms.
type times map[string][]float64

// ask asks an Index every query once about each of some nodes. The answer is counted: it is found
// then, and what is left is to write it down.
func (t times) ask(x *index.Index, nodes, count int, at int64) (found map[string]int, err error) {
	found = map[string]int{}
	for i := range count {
		for _, q := range queries {
			var ms []*labels.Matcher
			if q.matchers != nil {
				ms = q.matchers(i * 37 % nodes)
			}
			began := time.Now()
			s, err := x.Select("acme",
				index.Query{From: at, To: at, Selectors: [][]*labels.Matcher{ms}})
			if err != nil {
				return nil, err
			}
			n := 0
			if q.values != "" {
				n = len(s.Values(q.values))
			} else {
				n, _ = s.Count()
			}
			t[q.name] = append(t[q.name], time.Since(began).Seconds()*1e3)
			found[q.name] += n
		}
	}
	return found, nil
}

// askPlain is ask of the plain index.
func (t times) askPlain(p *plain, nodes, count int) map[string]int {
	found := map[string]int{}
	for i := range count {
		for _, q := range queries {
			began := time.Now()
			n := 0
			if q.values != "" {
				n = len(p.values(q.values))
			} else {
				n = len(p.find(q.matchers(i * 37 % nodes)))
			}
			t[q.name] = append(t[q.name], time.Since(began).Seconds()*1e3)
			found[q.name] += n
		}
	}
	return found
}

// keep adds medians and 99th percentiles to a result.
func (t times) keep(r *bench.Result, prefix string) (worst float64) {
	for _, q := range queries {
		median := bench.Median(t[q.name])
		worst = max(worst, median)
		r.Add(prefix+q.name+"_ms", median)
		r.Add(prefix+q.name+"_p99_ms", bench.Quantile(t[q.name], 0.99))
	}
	return worst
}
