package query_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// TestFineSubqueriesAreRefused: what no query's end would stop is not begun.
func TestFineSubqueriesAreRefused(t *testing.T) {
	e := engineOf(t, querytest.NewMemory(t, querytest.Frames{}))
	who := querytest.Principal(t, "test")
	now := time.UnixMilli(shift)
	for _, c := range []struct {
		expr    string
		refused bool
	}{
		{"max_over_time(rate(x[5m])[1d:1m])", false},
		{"quantile_over_time(0.9, rate(x[5m])[7d:1m])", false},
		{"max_over_time(max_over_time(x[1h:1m])[1d:5m])", false},
		{"sum_over_time(vector(1)[100s:1ms])", false},
		{"sum_over_time(sum_over_time(vector(1)[100s:1ms])[100s:1ms])", true},
		{"sum_over_time(vector(1)[10y:1ms])", true},
		{"sum_over_time(vector(1)[9000s:1ms])", false},
		{"quantile_over_time(0.5, vector(1)[9000s:1ms])", true},
		{"mad_over_time((vector(1)[9000s:1ms]))", true},
		{"vector(1)[10y:1ms]", true},
		{"1 + abs(sum_over_time(sum_over_time(vector(1)[1d:1s])[1d:1s]))", true},
	} {
		answer, err := e.Instant(t.Context(), who, c.expr, now, query.Options{})
		if err == nil {
			answer.Close()
		}
		limit, is := errors.AsType[*limit.Error](err)
		if c.refused != is || is && limit.Limit != "max_subquery_points" {
			t.Errorf("%s: %v", c.expr, err)
		}
	}
	// Each step of a range looks at the whole window.
	_, err := e.Range(t.Context(), who, "max_over_time(x[1d:1s])", now.Add(-24*time.Hour), now,
		30*time.Second, query.Options{})
	if limit, is := errors.AsType[*limit.Error](err); !is || limit.Needed != 2881*86_400 {
		t.Errorf("a range: %v", err)
	}
}
