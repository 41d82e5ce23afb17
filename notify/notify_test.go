package notify

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestGroups(t *testing.T) {
	h := mustHook(t, nil)
	// Long enough for a slow machine: what began before the group waited so long is told at once.
	text := strings.Replace(yamlOf(h.URL, "1h", "", ""), "group_wait: 1s", "group_wait: 5s", 1)
	n := mustOpen(t, options(t.TempDir(), mustParse(t, text)))
	mustPut(t, n, firing("A"), firing("B"))
	h.wait(t, "A firing, B firing")
	mustPut(t, n, firing("C"))
	h.wait(t, "A firing, B firing", "A firing, B firing, C firing")
	// another cluster is another group
	d := firing("D")
	d.Labels = d.Labels.MatchLabels(true, "alertname")
	mustPut(t, n, d)
	h.wait(t, "A firing, B firing", "A firing, B firing, C firing", "D firing")
	h.stays(t, n, "A firing, B firing", "A firing, B firing, C firing", "D firing")
}

func TestRepeat(t *testing.T) {
	h := mustHook(t, nil)
	n := opened(t, h, "500ms")
	mustPut(t, n, firing("A"))
	h.wait(t, "A firing", "A firing", "A firing")
}

// TestEnds: an end is told once, however often it is said, and not again beside what comes next.
func TestEnds(t *testing.T) {
	h := mustHook(t, nil)
	n := opened(t, h, "1h")
	a := firing("A")
	mustPut(t, n, a)
	h.wait(t, "A firing")
	a = ended(a)
	mustPut(t, n, a)
	h.wait(t, "A firing", "A resolved")
	mustPut(t, n, a)
	h.stays(t, n, "A firing", "A resolved")
	mustPut(t, n, a, firing("B"))
	h.wait(t, "A firing", "A resolved", "B firing")
	// it begins again
	mustPut(t, n, firing("A"))
	h.wait(t, "A firing", "A resolved", "B firing", "A firing, B firing")
}

// TestUnrepeated: an alert that nobody repeats ends, and stays ended for who opens the directory.
func TestUnrepeated(t *testing.T) {
	h := mustHook(t, nil)
	o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", "")))
	o.FiringLasts = 6 * time.Second // longer than the group waits
	n := mustOpen(t, o)
	mustPut(t, n, firing("A"))
	h.wait(t, "A firing", "A resolved")
	settled(t, n) // who is killed before it has noted that tells once more
	o.Dir, o.Metrics = copied(t, o.Dir), newRegistry()
	h.stays(t, mustOpen(t, o), "A firing", "A resolved")
}

// TestShippedInhibitions: what the default keeps quiet, told to a webhook.
func TestShippedInhibitions(t *testing.T) {
	rules := defaultText[strings.Index(defaultText, "inhibit_rules:"):]
	for _, c := range []struct {
		name   string
		alerts []Alert
		want   string
	}{
		{"twins", []Alert{firing("Full", "node", "1", "severity", "critical"),
			firing("Full", "node", "1", "severity", "warning"),
			firing("Full", "node", "2", "severity", "warning")}, "Full firing, Full firing"},
		{"a node that is down", []Alert{firing("CassandraNodeDown", "node", "1"),
			firing("NodeGCTime", "node", "1", "severity", "critical"),
			firing("CassandraHints", "node", "2", "severity", "critical"),
			firing("CassandraUnavailables", "node", "2", "severity", "critical")},
			"CassandraNodeDown firing, CassandraUnavailables firing"},
		{"a node that does not serve", []Alert{firing("CassandraNotServing", "node", "1"),
			firing("CassandraHints", "node", "2"), firing("NodeGCTime", "node", "1")},
			"CassandraNotServing firing, NodeGCTime firing"},
		{"two nodes that are down", []Alert{firing("CassandraNodeDown", "node", "1"),
			firing("CassandraNodeDown", "node", "2"),
			firing("CassandraNodesDown", "severity", "critical")},
			"CassandraNodeDown firing, CassandraNodeDown firing, CassandraNodesDown firing"},
		{"quorum is lost", []Alert{firing("CassandraNodesDown", "severity", "critical"),
			firing("CassandraUnavailables", "node", "1", "severity", "critical"),
			firing("CassandraReadLatencyHigh", "node", "1", "severity", "critical")},
			"CassandraNodesDown firing"},
		{"another cluster", []Alert{firing("CassandraNodeDown", "node", "1"),
			firing("NodeGCTime", "node", "2")}, "CassandraNodeDown firing, NodeGCTime firing"},
		{"most nodes at once", []Alert{firing("CassandraNodeDown", "node", "1"),
			firing("CassandraNodesDown"), firing("RingwatchNodesStale")},
			"RingwatchNodesStale firing"},
		{"a network that is cut", []Alert{
			firing("CassandraNetworkPartition", "severity", "critical"),
			firing("CassandraUnavailables", "node", "1", "severity", "critical"),
			firing("CassandraNodeDown", "node", "2"), firing("CassandraSchemaDisagreement")},
			"CassandraNetworkPartition firing, CassandraNodeDown firing"},
		{"an overload hides nothing graver", []Alert{firing("CassandraOverloaded", "node", "1",
			"severity", "warning"), firing("CassandraTimeouts", "node", "2", "severity", "warning"),
			firing("CassandraReadLatencyHigh", "node", "3", "severity", "critical")},
			"CassandraOverloaded firing, CassandraReadLatencyHigh firing"},
		{"a grave overload", []Alert{firing("CassandraOverloaded", "node", "1"),
			firing("CassandraDroppedMessages", "node", "2", "severity", "critical"),
			firing("CassandraTimeouts", "node", "3", "severity", "critical")},
			"CassandraDroppedMessages firing"},
		{"a node that starts and ends", []Alert{firing("NodeRestarts", "node", "1"),
			firing("CassandraNodeDown", "node", "1"), firing("CassandraNodeDown", "node", "2")},
			"CassandraNodeDown firing, NodeRestarts firing"},
		{"a disk that fills and is full", []Alert{firing("NodeDiskFull", "node", "1", "mount", "/d",
			"severity", "critical"), firing("NodeDiskFills", "node", "1", "mount", "/d"),
			firing("NodeDiskFillsSlowly", "node", "1", "mount", "/e")},
			"NodeDiskFillsSlowly firing, NodeDiskFull firing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := mustHook(t, nil)
			text := strings.Replace(yamlOf(h.URL, "1h", "", rules), "group_wait: 1s",
				"group_wait: 3s", 1)
			n := mustOpen(t, options(t.TempDir(), mustParse(t, text)))
			for i := range c.alerts {
				c.alerts[i].StartsAt = time.Now()
			}
			mustPut(t, n, c.alerts...)
			h.wait(t, c.want)
		})
	}
}

// TestLate: what is old when it comes is told at once, and yet what keeps it quiet comes in time.
func TestLate(t *testing.T) {
	rules := defaultText[strings.Index(defaultText, "inhibit_rules:"):]
	h := mustHook(t, nil)
	o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", rules)))
	o.calm = time.Second
	n := mustOpen(t, o)
	hints, down := firing("CassandraHints", "node", "2"), firing("CassandraNodeDown", "node", "1")
	hints.StartsAt, down.StartsAt = time.Now().Add(-time.Hour), time.Now().Add(-time.Hour)
	mustPut(t, n, hints)
	mustPut(t, n, down)
	h.wait(t, "CassandraNodeDown firing")
	h.stays(t, n, "CassandraNodeDown firing")
}

func TestSilence(t *testing.T) {
	h := mustHook(t, nil)
	n := opened(t, h, "1h")
	id := mustSilence(t, n, "alertname", "A", time.Hour)
	mustPut(t, n, firing("A"), firing("B"))
	h.wait(t, "B firing")
	h.stays(t, n, "B firing")
	if status, said := ask(t, n, "shop", http.MethodGet, "/api/v2/alerts?filter=alertname%3DA",
		""); status != http.StatusOK || !strings.Contains(said, id) {
		t.Errorf("the alert does not name its silence: %d %s", status, said)
	}
	if status, said := ask(t, n, "shop", http.MethodDelete, "/api/v2/silence/"+id, ""); status !=
		http.StatusOK {
		t.Fatalf("%d %s", status, said)
	}
	h.wait(t, "B firing", "A firing, B firing")
}

func TestTimeInterval(t *testing.T) {
	h := mustHook(t, nil)
	always := `
time_intervals:
  - name: always
    time_intervals: [{times: [{start_time: "00:00", end_time: "24:00"}]}]
`
	n := mustOpen(t, options(t.TempDir(),
		mustParse(t, yamlOf(h.URL, "1h", "", always))))
	if err := n.Reload(Configs{Shared: mustParse(t, yamlOf(h.URL, "1h",
		"  routes: [{matchers: ['alertname=\"A\"'], mute_time_intervals: [always]}]",
		always))}); err != nil {
		t.Fatal(err)
	}
	mustPut(t, n, firing("A"), firing("B"))
	h.wait(t, "B firing")
	h.stays(t, n, "B firing")
	if err := n.Reload(Configs{Shared: mustParse(t, yamlOf(h.URL, "1h", "", ""))}); err != nil {
		t.Fatal(err)
	}
	h.wait(t, "B firing", "A firing, B firing")
}

// TestReload: a request on its way arrives, and is not made again by what comes after.
func TestReload(t *testing.T) {
	on, off := make(chan struct{}), make(chan struct{})
	h := mustHook(t, func(n int, _ *http.Request) int {
		if n == 1 {
			close(on)
			<-off
		}
		return http.StatusOK
	})
	text := yamlOf(h.URL, "1h", "", "")
	n := opened(t, h, "1h")
	mustPut(t, n, firing("A"))
	<-on
	done := make(chan error)
	go func() { done <- n.Reload(Configs{Shared: mustParse(t, text)}) }()
	eventually(t, func() bool { // it has begun
		free := n.mu.TryRLock()
		if free {
			n.mu.RUnlock()
		}
		return !free
	}, func() string { return "Reload does not begin" })
	close(off)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	h.stays(t, n, "A firing")
	bad, _ := Parse([]byte(text), "x", "")
	bad.parsed.Templates = []string{"["}
	if err := n.Reload(Configs{Shared: bad}); err == nil {
		t.Error("a template that cannot be found is taken")
	}
	mustPut(t, n, firing("B"))
	h.wait(t, "A firing", "A firing, B firing")
}

// TestReceiverFails: what is not taken is tried again, and then told once.
func TestReceiverFails(t *testing.T) {
	h := mustHook(t, func(n int, _ *http.Request) int {
		return []int{http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusOK,
			http.StatusOK}[min(n-1, 3)]
	})
	n := opened(t, h, "1h")
	mustPut(t, n, firing("A"))
	h.wait(t, "A firing")
	h.stays(t, n, "A firing")
}

// TestCredentialsStay: no receiver is redirected to with credentials.
func TestCredentialsStay(t *testing.T) {
	thief := mustHook(t, nil)
	h := mustHook(t, nil)
	s := http.NewServeMux()
	s.Handle("/", http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	from := mustServe(t, s)
	text := strings.ReplaceAll(yamlOf(h.URL, "1h", "", ""), "webhook_configs: [",
		fmt.Sprintf("webhook_configs: [{url: %q, http_config: {basic_auth: {username: u, "+
			"password: p}}}, ", from))
	n := mustOpen(t, options(t.TempDir(), mustParse(t, text)))
	mustPut(t, n, firing("A"))
	h.wait(t, "A firing")
	h.stays(t, n, "A firing")
	if thief.requests > 0 {
		t.Error("a redirection was followed with credentials")
	}
}

// TestAccountsAreApart: silences, alerts and receivers of one are nothing to the other.
func TestAccountsAreApart(t *testing.T) {
	shop, bank := mustHook(t, nil), mustHook(t, nil)
	o := options(t.TempDir(), mustParse(t, yamlOf(shop.URL, "1h", "", "")))
	o.NameAccounts = true
	o.Configs.Own = map[string]*Config{"bank/1": mustParse(t, yamlOf(bank.URL, "1h", "", ""))}
	n := mustOpen(t, o)
	mustSilence(t, n, "alertname", "A", time.Hour)
	theirs := firing("A")
	theirs.Account = "bank/1"
	mustPut(t, n, firing("A"), firing("B"), theirs)
	shop.wait(t, "B firing")
	bank.wait(t, "A firing")
	if got := shop.got()[0].Alerts[0].Labels["account"]; got != "shop" {
		t.Errorf("account %q", got)
	}
	if got := bank.got()[0].Alerts[0].Labels["account"]; got != "" {
		t.Errorf("account %q for who has a configuration alone", got)
	}
	for _, path := range []string{"/api/v2/silences", "/api/v2/alerts?filter=alertname%3DB"} {
		if status, said := ask(t, n, "bank/1", http.MethodGet, path, ""); status !=
			http.StatusOK || strings.TrimSpace(said) != "[]" {
			t.Errorf("%s: %d %s", path, status, said)
		}
	}
}

func TestClosed(t *testing.T) {
	h := mustHook(t, nil)
	n := opened(t, h, "1h")
	mustPut(t, n, firing("A"))
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := n.Put(t.Context(), firing("B")); err == nil {
		t.Error("taken after the end")
	}
	if _, err := n.Handler("shop"); err == nil {
		t.Error("served after the end")
	}
}
