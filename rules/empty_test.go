package rules

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/teststorage"
)

// TestEmptyOnEmpty holds that an expression that is emptyOnEmpty yields nothing of an empty
// storage, by Prometheus's own engine, and that the usual ones count as that.
func TestEmptyOnEmpty(t *testing.T) {
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1000, Timeout: time.Minute, Parser: p,
		LookbackDelta: time.Minute, NoStepSubqueryIntervalFn: func(int64) int64 { return 15_000 }})
	db := teststorage.New(t)
	for text, want := range map[string]bool{
		`a > 1`: true, `1 - a`: true, `-(a) / b`: true, `rate(a[5m]) == bool 0`: true,
		`sum by (x) (rate(a[5m])) / on (x) b`:             true,
		`histogram_quantile(0.9, sum(rate(a[5m]))) > 0.5`: true,
		`max_over_time(rate(a[1m])[5m:1m])`:               true,
		`count(a) or a`:                                   true,
		`a unless b`:                                      true,
		`topk(3, a) and b`:                                true,
		`label_replace(a, "x", "$1", "y", "(.*)")`:        true,
		`quantile(scalar(b), a)`:                          true,
		`predict_linear(a[1h], 3600) < 0`:                 true,
		`absent(a)`:                                       false,
		`absent_over_time(a[5m])`:                         false,
		`sum(a) or vector(0)`:                             false,
		`vector(1) unless a`:                              false,
		`scalar(a)`:                                       false,
		`vector(scalar(a))`:                               false,
		`vector(1)`:                                       false,
		`time() > 1`:                                      false,
		`hour() > 1`:                                      false,
		`sum(absent(a))`:                                  false,
		`1 > bool 2`:                                      false,
	} {
		expr, err := p.ParseExpr(text)
		if err != nil {
			if want {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if got := emptyOnEmpty(expr); got != want {
			t.Errorf("%s counts as barren: %v", text, got)
		}
		if !want {
			continue
		}
		q, err := engine.NewInstantQuery(context.Background(), db, nil, text,
			time.UnixMilli(1_000_000))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := q.Exec(context.Background()).Vector(); err != nil || len(v) > 0 {
			t.Errorf("%s yields %v of nothing, %v", text, v, err)
		}
	}
}
