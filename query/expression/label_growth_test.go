package expression

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/memory"
)

// labelled draws expressions that make labels of labels.
type labelled struct{ *rand.Rand }

func (r labelled) pick(list ...string) string { return list[r.IntN(len(list))] }

func (r labelled) name() string { return r.pick("x", "y", "node", "cluster", "le", "absent") }

func (r labelled) vector(depth int) string {
	if depth == 0 {
		return r.pick("a", "b", "a_bucket", `{__name__=~"a|b"}`)
	}
	of := func() string { return r.vector(depth - 1 - r.IntN(depth)) }
	switch r.IntN(12) {
	case 0, 1, 2:
		list := ""
		for range 1 + r.IntN(3) {
			list += `, "` + r.name() + `"`
		}
		return fmt.Sprintf(`label_join(%s, "%s", "%s"%s)`, of(), r.name(), r.pick("", "-", ", "),
			list)
	case 3, 4, 5:
		return fmt.Sprintf(`label_replace(%s, "%s", "%s", "%s", "%s")`, of(), r.name(),
			r.pick("$1", "$1$1", "a$1b", "${1}-$2", "", "text"), r.name(),
			r.pick("(.*)", "(.)(.*)", "a(.*)", ".*", "(a|b|1)+"))
	case 6:
		return fmt.Sprintf(`count_values by (%s) ("%s", %s)`, r.name(), r.name(), of())
	case 7:
		return fmt.Sprintf(`%s * on (node) group_left (%s) %s`, of(), r.name(),
			"max by (node, "+r.name()+") ("+of()+")")
	case 8:
		return fmt.Sprintf(`(%s %s %s)`, of(), r.pick("or", "and", "unless", "+"), of())
	case 9:
		return fmt.Sprintf(`last_over_time((%s)[3m:1m])`, of())
	case 10:
		return fmt.Sprintf(`sum %s (%s) (%s)`, r.pick("by", "without"), r.name(), of())
	}
	return fmt.Sprintf("%s(%s)", r.pick("abs", "-", "sort", "absent"), of())
}

// TestGrowthIsABound: what Prometheus's engine makes of labels is never longer, and never of more
// series, than was computed beforehand.
func TestGrowthIsABound(t *testing.T) {
	db := promqltest.LoadedStorage(t, `
load 1m
  a{cluster="c",node="n-1111"} 1+1x10
  a{cluster="c",node="n-22"} 2 2 3 3 4 4 5 5 6 6 7
  b{cluster="long-name",node="n-1111",x="1"} 1x10
  a_bucket{cluster="c",node="n-22",le="+Inf"} 1x10
`)
	engine := promqltest.NewTestEngine(t, false, 0, 1_000_000)
	parse := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	seed := rand.Uint64()
	r := labelled{rand.New(rand.NewPCG(seed, 0))}
	from, to := time.Unix(120, 0), time.Unix(480, 0)
	answered := 0
	for i := range 3000 {
		text := r.vector(1 + r.IntN(6))
		if i == 0 { // a series gets other labels at each step
			text = `a * on (node) group_left (x) count_values by (node) ("x", a)`
		}
		tree, err := parse.ParseExpr(text)
		if err != nil {
			continue // a label may not be in on () and in group_left ()
		}
		growth := NewLabelGrowth(tree, to.Sub(from), 7, 1<<40)
		if growth == nil {
			continue
		}
		g := growth.Begin(memory.Unbounded(), "", time.Hour)
		parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
			if s, is := n.(*parser.VectorSelector); is {
				return g.Read(s.LabelMatchers, selectAll(t, db, s.LabelMatchers))
			}
			return nil
		})
		most, err := growth.estimate(&g.selected)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, text, err)
		}
		q, err := engine.NewRangeQuery(t.Context(), db, nil, text, from, to, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		answer := q.Exec(t.Context())
		if answer.Err != nil {
			q.Close() // some have two series with the same labels
			continue
		}
		answered++
		list := answer.Value.(promql.Matrix)
		if float64(len(list)) > most.series {
			t.Errorf("seed %d: %s has %d series, %v were foretold", seed, text, len(list),
				most.series)
		}
		w := labelEstimator{growth: growth, read: &g.selected}
		for _, s := range list {
			bytes := 0
			s.Metric.Range(func(l labels.Label) {
				bytes += len(l.Name) + len(l.Value)
				if n := w.value(&most, l.Name); float64(len(l.Value)) > n {
					t.Errorf("seed %d: %s gives %s=%q, %v bytes were foretold", seed, text, l.Name,
						l.Value, n)
				}
			})
			if float64(bytes) > most.bytes() {
				t.Errorf("seed %d: %s gives %d bytes, %v were foretold", seed, text, bytes,
					most.bytes())
			}
		}
		q.Close()
	}
	if answered < 500 {
		t.Errorf("seed %d: only %d expressions have an answer", seed, answered)
	}
}

func selectAll(t *testing.T, db storage.Queryable,
	matchers []*labels.Matcher) (list []storage.Series) {
	t.Helper()
	q, err := db.Querier(0, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	set := q.Select(context.Background(), false, nil, matchers...)
	for set.Next() {
		list = append(list, set.At())
	}
	if set.Err() != nil {
		t.Fatal(set.Err())
	}
	return list
}
