package api_test

import (
	"net/http"
	"testing"
	"time"
)

// TestRedirects: the addresses of Prometheus's pages lead to the console's, without a key.
func TestRedirects(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	f.now.Store(1_800_000_000_000)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	for path, want := range map[string]string{
		"/graph": "/#/explore", "/query": "/#/explore", "/alerts": "/#/alerts",
		"/targets": "/#/fleet",
		"/graph?g0.expr=sum(rate(x%5B5m%5D))+%3E+1&g0.tab=1": "/#/explore?expr=" +
			"sum%28rate%28x%5B5m%5D%29%29+%3E+1&range=1h&show=t",
		"/graph?g0.expr=up&g0.range_input=1d&g0.tab=0": "/#/explore?expr=up&range=24h",
		"/graph?g0.expr=up&g0.range_input=2h": "/#/explore?expr=up&from=1799992800&" +
			"to=1800000000",
		"/query?g0.expr=up&g0.range_input=1h&g0.end_input=2027-01-15+07%3A00%3A00": "/#/explore?" +
			"expr=up&from=1799992800&to=1799996400",
		"/graph?g0.expr=a&g1.expr=b&g1.tab=table&g0.range_input=never": "/#/explore?expr=a&" +
			"expr=b&range=1h&show=g%2Ct",
		"/graph?g0.expr=%ff%22%3E": "/#/explore?expr=%FF%22%3E&range=1h",
	} {
		answer, err := client.Get("http://" + f.server.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Location"); answer.StatusCode != http.StatusFound ||
			got != want {
			t.Errorf("%s: %s %q, want %q", path, answer.Status, got, want)
		}
	}
}
