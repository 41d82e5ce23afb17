package promql

import (
	"net/url"
	"reflect"
	"testing"
	"time"
)

func TestQueryTimes(t *testing.T) {
	now := time.Date(2025, 11, 22, 8, 0, 0, 700e6, time.UTC)
	for _, c := range []struct {
		cmd  QueryCmd
		want url.Values
	}{
		{QueryCmd{}, url.Values{}},
		{QueryCmd{At: "2025-11-22T09:00:00.25+01:00"}, url.Values{"time": {"1763798400.25"}}},
		{QueryCmd{At: "1763798400"}, url.Values{"time": {"1763798400"}}},
		{QueryCmd{At: "1763798400250"}, url.Values{"time": {"1763798400.25"}}},
		{QueryCmd{At: "now-90m", Limit: 3, Timeout: "1.5"}, url.Values{"time": {"1763793000"},
			"limit": {"3"}, "timeout": {"1.5"}}},
		{QueryCmd{Period: "1h"}, url.Values{"start": {"1763794800"}, "end": {"1763798400"},
			"step": {"14"}}},
		{QueryCmd{Period: "5m"}, url.Values{"start": {"1763798100"}, "end": {"1763798400"},
			"step": {"5"}}},
		{QueryCmd{From: "-1d"}, url.Values{"start": {"1763712000"}, "end": {"1763798400"},
			"step": {"346"}}},
		{QueryCmd{Period: "60", To: "1763790000", Step: "1m30s"},
			url.Values{"start": {"1763789940"}, "end": {"1763790000"}, "step": {"90"}}},
	} {
		span, err := c.cmd.timeSpan(now)
		if err != nil {
			t.Errorf("%+v: %v", c.cmd, err)
			continue
		}
		if got, _, err := c.cmd.parameters(span); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %v, %v", c.cmd, got, err)
		}
	}
}
