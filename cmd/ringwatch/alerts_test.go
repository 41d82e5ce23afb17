package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/promapi"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
)

// alertsAnswer is in Prometheus's form; the names are what a hostile label may try.
const alertsAnswer = `{"status":"success","data":{"alerts":[
{"labels":{"alertname":"DiskFilling","severity":"warning","cluster":"prod","node":"n2"},
 "annotations":{"summary":"the disk of n2 is full in 3 days"},
 "state":"firing","activeAt":"%[1]s","value":"8.5e-01"},
{"labels":{"alertname":"Odd\u001b[2J","cluster":"test","instance":"10.0.0.1:9470"},
 "annotations":{},"state":"pending","activeAt":"%[1]s","value":"NaN"},
{"labels":{"alertname":"NodeDown","severity":"critical","cluster":"prod","node":"n1",
  "datacenter":"dc1","keyspace":"shop","table":"items"},
 "annotations":{},"state":"firing","activeAt":"%[2]s","value":"1e+00"},
{"labels":{"alertname":"NodeDown","severity":"critical","cluster":"prod","node":"n3"},
 "annotations":{},"state":"pending","activeAt":"%[1]s","value":"+Inf"},
{"labels":{"alertname":"KafkaGroupStandsStill","cluster":"kafka","group":"orders","topic":"a"},
 "annotations":{},"state":"pending","activeAt":"%[1]s","value":"7"},
{"labels":{"alertname":"KafkaGroupStandsStill","cluster":"kafka","group":"orders","topic":"b"},
 "annotations":{},"state":"pending","activeAt":"%[1]s","value":"7"},
{"labels":{"alertname":"TargetNotRead","cluster":"prod","node":"n4","instance":"web:9100","job":"w"},
 "annotations":{},"state":"pending","activeAt":"%[1]s","value":"1"}]}}`

const rulesAnswer = `{"status":"success","data":{"groups":[{"name":"g","rules":[
{"name":"NodeDown","query":"up\n  == 0","type":"alerting","alerts":[]},
{"name":"DiskFilling","query":"other > 1","type":"alerting","alerts":[]},
{"name":"DiskFilling","query":"used > 0.8","type":"alerting","alerts":[
 {"labels":{"alertname":"DiskFilling","severity":"warning","cluster":"prod","node":"n2"}}]},
{"name":"DiskFilling","query":"third > 1","type":"alerting","alerts":[]}]}]}}`

func TestAlerts(t *testing.T) {
	now := time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/alerts", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, alertsAnswer, now.Add(-5*time.Minute).Format(time.RFC3339Nano),
			now.Add(-3*time.Hour).Format(time.RFC3339Nano))
	})
	mux.HandleFunc("GET /v1/nodes", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("cluster") == "nope" {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"reason":"unknown_cluster","message":"use prod, the only one"}}`)
			return
		}
		fmt.Fprint(w, `[{"id":"n1","address":"10.0.0.1:7000","facts":{"hostname":"db-1"}},
			{"id":"n2","address":"10.0.0.2:7000","facts":{}},
			{"id":"n4","address":"web:9100","facts":{}}]`)
	})
	mux.HandleFunc("GET /v1/advice", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"advice":[{"alert":"DiskFilling","case":"c","text":"Clear\u001b[2J snapshots.",
			"labels":{"alertname":"DiskFilling","severity":"warning","cluster":"prod","node":"n2"}}]}`)
	})
	mux.HandleFunc("GET /api/v1/rules", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("type") != "alert" {
			t.Errorf("asked for %s", r.URL)
		}
		fmt.Fprint(w, rulesAnswer)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("RINGWATCH_API", server.URL)
	t.Setenv("RINGWATCH_KEY", testKey)
	show := func(wants int, args ...string) string {
		t.Helper()
		code, out, errs := say(t, append([]string{"alerts"}, args...)...)
		if code != wants {
			t.Errorf("%q: exit %d, %s", args, code, errs)
		}
		return out + errs
	}
	lines := strings.Split(strings.TrimSpace(show(0)), "\n")
	for i, want := range []string{
		`^SEVERITY +ALERT +STATE +SINCE +WHERE +VALUE$`,
		`^critical +NodeDown +firing +3h00m +prod / dc1 / db-1 \(10\.0\.0\.1:7000\) / shop / items +1$`,
		`^warning +DiskFilling +firing +5m\d\ds +prod / 10\.0\.0\.2:7000 +0.85$`,
		`^    → Clear.*\[2J snapshots\.$`,
		`^critical +NodeDown +pending +5m\d\ds +prod / n3 +\+Inf$`,
		`^- +KafkaGroupStandsStill +pending +5m\d\ds +kafka / group=orders / topic=a +7$`,
		`^- +KafkaGroupStandsStill +pending +5m\d\ds +kafka / group=orders / topic=b +7$`,
		`^- +Odd.*\[2J +pending +5m\d\ds +test / 10.0.0.1:9470 +-$`,
		`^- +TargetNotRead +pending +5m\d\ds +prod / web:9100 / job=w +1$`,
	} {
		if len(lines) != 9 {
			t.Fatalf("%q", lines)
		}
		expect(t, lines[i], want)
	}
	if strings.Contains(strings.Join(lines, ""), "\x1b") {
		t.Error("a label reaches the terminal")
	}
	out := show(0, "--wide", "--state", "firing", "--cluster", "prod")
	expect(t, out, `1\n    up == 0\n`, `0.85\n    used > 0.8\n    the disk of n2 is full.*\n    → Clear`)
	if strings.Contains(out, "pending") || strings.Contains(out, "test") {
		t.Errorf("not what was asked for:\n%s", out)
	}
	expect(t, show(0, "--cluster", "none", "--state", "pending"),
		`^Nothing is pending in cluster none\.$`)
	expect(t, show(2, "--cluster", "nope"), `use prod, the only one`)
	expect(t, show(2, "--cluster", "nope", "--json"), `use prod, the only one`)
	expect(t, show(0, "--json"), `"alertname":"NodeDown"`)
	expect(t, show(2, "--state", "burning"), `firing.*pending`)
}

// TestNoAlerts asks the endpoint as it is today.
func TestNoAlerts(t *testing.T) {
	mux := http.NewServeMux()
	for _, route := range promapi.New(promapi.Deps{}).Routes() {
		if strings.HasPrefix(route.Pattern, "GET ") {
			mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
				if err := route.Handle(w, r, account.Principal{}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Setenv("RINGWATCH_API", server.URL)
	t.Setenv("RINGWATCH_KEY", testKey)
	if code, out, errs := say(t, "alerts", "--wide"); code != 0 ||
		out != "Nothing is firing or pending.\n" || errs != "" {
		t.Errorf("exit %d: %q %q", code, out, errs)
	}
}

// TestAccountsAdvice: an account's own file is its alone, and a wrong one is said.
func TestAccountsAdvice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acme.yaml")
	c := settings.Default()
	if _, err := settings.Decode(
		[]byte("accounts: [{name: acme, advice: "+path+"}, {name: other}]"),
		&c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Advice(); c.ValidateAdvice() != nil || err == nil {
		t.Errorf("a file that is not there: %v", err)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("alerts: [{alert: NodeCPUBusy, none: we know}]")
	list, err := c.Advice()
	if err != nil || len(list.For("acme").Cases("NodeCPUBusy")) != 0 ||
		len(list.For("other").Cases("NodeCPUBusy")) == 0 {
		t.Errorf("%v %v", list, err)
	}
	write("alerts: [{alert: NodeCPUBusy}]")
	if err := c.ValidateAdvice(); err == nil ||
		!strings.Contains(err.Error(), "account acme: "+path+": alert NodeCPUBusy: write cases") {
		t.Error(err)
	}
}
