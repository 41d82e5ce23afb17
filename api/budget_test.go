package api_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/api"
)

// TestFillsCount counts what reportNaN makes up against both limits before it is made up.
func TestFillsCount(t *testing.T) {
	f := newAlone(t, 50)
	const most = 1 << 20
	whole, _ := f.serve(func(c *api.Config, _ *api.Deps) { c.RecentSpan, c.MaxPoints = 1, 1<<30 })
	bytes, _ := f.serve(func(c *api.Config, _ *api.Deps) {
		c.MaxPoints, c.MaxResponseBytes = 1<<30, most
	})
	points, _ := f.serve(func(c *api.Config, _ *api.Deps) { c.MaxPoints = 20_000 })
	query := url.Values{"metrics": {`{__name__=~"cassandra_table_.*"}`}, "period": {"30m"},
		"reportNaN": {"true"}}
	refused := 0
	for _, step := range []string{"30m", "15m", "5m", "1m", "30s", "10s", "5s", "1s"} {
		query.Set("step", step)
		path := "/v1/nodes/" + f.nodes[0].ID.String() + "/metrics?" + query.Encode()
		r, _ := f.fetch(whole + path)
		if r.status != http.StatusOK {
			t.Fatalf("%d %s", r.status, r.body)
		}
		size, values := len(r.body), strings.Count(string(r.body), `"time"`)
		r, e := f.fetch(bytes + path)
		switch {
		case r.status == http.StatusOK && size > most*6/5:
			t.Errorf("step=%s: %d bytes are answered where %d are allowed", step, size, most)
		case r.status != http.StatusOK &&
			(e.Reason != "too_large" || e.Field != "step" || size < most*4/5):
			t.Errorf("step=%s: %d bytes, and the answer is %d %.200s", step, size, r.status, r.body)
		case r.status != http.StatusOK:
			refused++
		}
		r, e = f.fetch(points + path)
		if over := values > 20_000; over != (r.status == http.StatusBadRequest) ||
			over && e.Reason != "too_many_values" {
			t.Errorf("step=%s: %d values, and the answer is %d %.200s", step, values,
				r.status, r.body)
		}
	}
	if refused == 0 {
		t.Error("nothing was too large")
	}
}
