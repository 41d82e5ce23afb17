package notify

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// metric is a value of the process's metrics; several of a name are added up.
func metric(t *testing.T, g prometheus.Gatherer, name string) (sum float64) {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			for _, s := range f.Metric {
				sum += s.GetCounter().GetValue() + s.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// TestMany: of 100,000 alerts at once what the limits allow is held and told, in messages with a
// bound, and the rest is counted. When there is room, repeats are taken.
func TestMany(t *testing.T) {
	h := mustHook(t, nil)
	o := options(t.TempDir(), mustParse(t, strings.Replace(yamlOf(h.URL, "1h", "", ""),
		"group_wait: 1s", "group_wait: 5s", 1)))
	o.Limits.MaxAlerts, o.Limits.MaxGroups, o.Limits.MaxMessageAlerts = 5000, 3, 100
	n := mustOpen(t, o)
	began := time.Now()
	all := make([]Alert, 100_000)
	for i := range all {
		a := firing("Many", "node", fmt.Sprint(i))
		a.Labels = labels.NewBuilder(a.Labels).Set("cluster", fmt.Sprint("c", i%10)).Labels()
		a.StartsAt = began
		all[i] = a
	}
	for i := 0; i < len(all); i += 1000 {
		mustPut(t, n, all[i:i+1000]...)
	}
	reg := o.Metrics.(*prometheus.Registry)
	accepted := metric(t, reg, "ringwatch_alertmanager_accepted_total")
	dropped := metric(t, reg, "ringwatch_alertmanager_dropped_total")
	held := metric(t, reg, "ringwatch_alertmanager_alerts")
	if held != 5000 || accepted != 100_000 || accepted != held+dropped {
		t.Errorf("%v accepted, %v held, %v dropped", accepted, held, dropped)
	}
	whole := func() (n int) { // messages of a group with all its alerts
		for _, m := range h.got() {
			if len(m.Alerts) > 100 || len(m.Alerts)+m.Truncated > 500 {
				t.Errorf("a message of %d alerts and %d more", len(m.Alerts), m.Truncated)
			}
			if len(m.Alerts)+m.Truncated == 500 {
				n++
			}
		}
		return n
	}
	eventually(t, func() bool { return whole() >= 3 },
		func() string { return fmt.Sprintf("%d groups are told whole", whole()) })
	if len(h.got()) > 9 {
		t.Errorf("%d messages", len(h.got()))
	}
	if groups := metric(t, reg, "ringwatch_alertmanager_groups"); groups < 3 ||
		groups > 5 { // the dispatcher's workers may pass its bound at the same moment
		t.Errorf("%v groups", groups)
	}
	large := firing("Large", "text", strings.Repeat("x", 1<<20))
	mustPut(t, n, large)
	if now := metric(t, reg, "ringwatch_alertmanager_dropped_total"); now != dropped+1 {
		t.Errorf("a label of 1 MB: %v dropped after %v", now, dropped)
	}
}

// TestRoom: an alert that ended makes room when it leaves memory.
func TestRoom(t *testing.T) {
	h := mustHook(t, nil)
	o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", "")))
	o.Limits.MaxAlerts, o.collectEvery = 1, 50*time.Millisecond
	n := mustOpen(t, o)
	a := firing("A")
	mustPut(t, n, a)
	h.wait(t, "A firing")
	mustPut(t, n, ended(a))
	h.wait(t, "A firing", "A resolved")
	eventually(t, func() bool {
		_ = n.Put(context.Background(), firing("B"))
		return len(h.got()) == 3
	}, h.told)
	h.wait(t, "A firing", "A resolved", "B firing")
}

func TestSilencesAreBounded(t *testing.T) {
	o := options(t.TempDir(), Default())
	o.Limits.MaxSilences = 2
	n := mustOpen(t, o)
	mustSilence(t, n, "alertname", "A", time.Hour)
	mustSilence(t, n, "alertname", "B", time.Hour)
	status, said := ask(t, n, "shop", http.MethodPost, "/api/v2/silences", `{"matchers": [{"name":
		"a", "value": "b", "isRegex": false}], "startsAt": "2026-01-01T00:00:00Z", "endsAt":
		"2099-01-01T00:00:00Z", "createdBy": "me", "comment": "no"}`)
	if status != http.StatusBadRequest && status != http.StatusInternalServerError ||
		!strings.Contains(said, "maximum number") {
		t.Errorf("%d %s", status, said)
	}
}

// TestAmtool asks what Debian's amtool asks.
func TestAmtool(t *testing.T) {
	engines.Needed(t, "amtool")
	if _, err := exec.LookPath("amtool"); err != nil {
		t.Fatal("amtool is not installed: it is in the package prometheus-alertmanager")
	}
	h := mustHook(t, nil)
	n := opened(t, h, "1h")
	mustPut(t, n, firing("A", "node", "1"), firing("B"))
	handler, err := n.Handler("shop")
	if err != nil {
		t.Fatal(err)
	}
	url := mustServe(t, http.StripPrefix("/alertmanager", handler)) + "/alertmanager"
	run := func(want string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "amtool",
			append([]string{"--alertmanager.url=" + url}, args...)...)
		command.Env = append(command.Environ(), "HOME="+t.TempDir())
		out, err := command.Output() // it warns of other versions on stderr
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("amtool %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("A", "alert", "query")
	run("B", "alert", "query", "alertname=B")
	id := run("-", "silence", "add", "--author=me", "--comment=test", "--duration=1h",
		"alertname=A")
	run(id, "silence", "query", "-q")
	run("alertname=\"A\"", "silence", "query")
	run("A", "alert", "query", "--silenced")
	run("", "silence", "expire", id)
	if out := run("", "silence", "query", "-q"); out != "" {
		t.Errorf("a silence that ended is there: %s", out)
	}
	run("receiver: hook", "config", "show")
	run("", "cluster", "show")
	run("", "alert", "add", "C", "cluster=c")
	run("C", "alert", "query", "alertname=C")
}
