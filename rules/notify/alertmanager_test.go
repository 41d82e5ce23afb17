package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// people are whom an Alertmanager notifies: a webhook that remembers what each alert was told as.
type people struct {
	*httptest.Server
	mu    sync.Mutex
	heard map[string][]string // states by alertname, without repetitions
	names map[string]map[string]string
}

func newPeople(t *testing.T) *people {
	p := &people{heard: map[string][]string{}, names: map[string]map[string]string{}}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			Alerts []struct {
				Status string
				Labels map[string]string
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, a := range m.Alerts {
			name := a.Labels["alertname"]
			p.heard[name] = append(p.heard[name], a.Status)
			p.names[name] = a.Labels
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *people) of(name string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.heard[name], " ")
}

func (p *people) hear(t *testing.T, name, want string) {
	t.Helper()
	eventually.Nil(t, name+" is "+want, func() error {
		if got := p.of(name); got != want {
			return fmt.Errorf("people heard %q", got)
		}
		return nil
	})
}

// quick is an Alertmanager's configuration that tells people soon.
func (p *people) quick() string {
	return fmt.Sprintf(`
route: {receiver: people, group_by: ['...'], group_wait: 200ms,
  group_interval: 1s, repeat_interval: 4h}
receivers: [{name: people, webhook_configs: [{url: %q, send_resolved: true}]}]
`, p.URL)
}

func alertmanagerConfig(t *testing.T, format string, args ...any) Alertmanager {
	t.Helper()
	var a Alertmanager
	if err := a.UnmarshalYAML(fmt.Appendf(nil, format, args...)); err != nil {
		t.Fatal(err)
	}
	return a
}

// ask returns the states of the alerts that an Alertmanager has, by name.
func ask(t *testing.T, am *engines.Alertmanager, password string) (map[string]string, error) {
	t.Helper()
	url := "http://" + am.Addr() + "/api/v2/alerts"
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if password != "" {
		r.SetBasicAuth("ringwatch", password)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	var list []struct {
		Labels   map[string]string
		StartsAt time.Time
		Status   struct{ State string }
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %s", answer.Status, text)
	}
	m := map[string]string{}
	for _, a := range list {
		m[a.Labels["alertname"]] = a.Status.State + " since " +
			a.StartsAt.UTC().Format(time.RFC3339)
	}
	return m, nil
}

// basicAuth lets in ringwatch with the password secret.
const basicAuth = `basic_auth_users: {ringwatch: ` +
	`$2a$04$2lW3OpaULZORmI0UXSoXmuCjD89mzNAUwt.XOquBXQkm8C8JL300a}`

// TestAlertmanagers: two real ones are told of a beginning and an end and tell people, one of them
// found in a file that comes later, behind a password; and only of their account's alerts.
func TestAlertmanagers(t *testing.T) {
	first, second := newPeople(t), newPeople(t)
	one := engines.MustAlertmanager(t, first.quick())
	two := engines.MustAlertmanager(t, second.quick(), func(c *engines.AlertmanagerConfig) {
		c.Web = basicAuth
	})
	file := filepath.Join(t.TempDir(), "found.json")
	c := testConfig()
	c.LateSpacing = 0 // the alerts are of an hour ago, and told now
	c.ExternalLabels = map[string]string{"site": "here", "severity": "not this"}
	c.Alertmanagers = []Alertmanager{
		alertmanagerConfig(t, "{account: acme, static_configs: [{targets: [%q]}], "+
			"alert_relabel_configs: [{source_labels: [alertname], regex: hidden, action: drop}]}",
			one.Addr()),
		alertmanagerConfig(t, "{file_sd_configs: [{files: [%q], refresh_interval: 1s}], "+
			"basic_auth: {username: ringwatch, password: secret}}", file),
	}
	n, reg, stop := mustNotifier(t, c, Deps{})
	other := firing("others", 50)
	other.Account = "zeta"
	n.Send(t.Context(), []Alert{firing("down", 50), firing("hidden", 50), other})
	first.hear(t, "down", "firing")
	found := fmt.Appendf(nil, `[{"targets": [%q]}]`, two.Addr())
	if err := os.WriteFile(file, found, 0o600); err != nil {
		t.Fatal(err)
	}
	second.hear(t, "down", "firing") // it waited for somebody to be found
	second.hear(t, "others", "firing")
	if labels := second.names["others"]; labels["account"] != "zeta" || labels["site"] != "here" ||
		labels["severity"] != "page" {
		t.Errorf("an outlet for all says %v", labels)
	}
	if labels := first.names["down"]; labels["account"] != "" {
		t.Errorf("an outlet of one account says %v", labels)
	}
	since := "active since " + at(50).UTC().Format(time.RFC3339)
	for am, password := range map[*engines.Alertmanager]string{one: "", two: "secret"} {
		alerts, err := ask(t, am, password)
		if err != nil || alerts["down"] != since {
			t.Errorf("%v %v", alerts, err)
		}
	}
	n.Send(t.Context(), []Alert{firing("down", 50)}) // a repeat tells nobody anything
	n.Send(t.Context(), []Alert{resolved("down", 50, 55)})
	first.hear(t, "down", "firing resolved")
	second.hear(t, "down", "firing resolved")
	if first.of("others")+first.of("hidden") != "" || second.of("hidden") != "firing" {
		t.Errorf("others %q, hidden %q and %q", first.of("others"), first.of("hidden"),
			second.of("hidden"))
	}
	m := sums(t, reg)
	if m["ringwatch_notify_receivers alertmanagers-1"] != 1 ||
		m["ringwatch_notify_dropped_total relabel"] != 1 {
		t.Errorf("%v", m)
	}
	stop()
}

// remembers waits until an Alertmanager has noted that it notified people of an alert, which is
// after they have heard of it. A group of alerts takes one step after the other, so it has noted
// the first notification when it begins with the second.
func remembers(t *testing.T, am *engines.Alertmanager, name string) {
	t.Helper()
	begun := regexp.MustCompile(`msg=flushing alerts=\[` + name + `\[`)
	eventually.Nil(t, "Alertmanager has noted that it told of "+name, func() error {
		text, err := os.ReadFile(am.LogFile())
		if err != nil {
			return err
		}
		if n := len(begun.FindAll(text, -1)); n < 2 {
			return fmt.Errorf("it has begun %d times", n)
		}
		return nil
	})
}

// TestAlertmanagerAway: its process ends, and while it is away alerts fire and resolve. When it is
// back, people hear of exactly what was due, late and once. It is ended with SIGTERM, for only then
// it writes down whom it has notified; after SIGKILL it notifies again of what still fires.
func TestAlertmanagerAway(t *testing.T) {
	told := newPeople(t)
	am := engines.MustAlertmanager(t, told.quick(), func(c *engines.AlertmanagerConfig) {
		c.Debug = true
	})
	c := testConfig()
	c.LateSpacing = 8 * time.Second // many group_intervals of quick
	c.Alertmanagers = []Alertmanager{
		alertmanagerConfig(t, "{static_configs: [{targets: [%q]}], timeout: 20s}", am.Addr()),
	}
	n, reg, stop := mustNotifier(t, c, Deps{})
	n.Send(t.Context(), []Alert{firing("ends", 40), firing("lasts", 40)})
	told.hear(t, "ends", "firing")
	told.hear(t, "lasts", "firing")
	remembers(t, am, "ends")
	remembers(t, am, "lasts")
	pid := am.Pid()
	if err := am.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for minute := 41.0; minute < 51; minute++ { // as the rules repeat
		n.Send(t.Context(), []Alert{firing("lasts", 40), firing("new", 41)})
		switch minute {
		case 42:
			n.Send(t.Context(), []Alert{resolved("ends", 40, 42), firing("short", 42)})
		case 43:
			n.Send(t.Context(), []Alert{resolved("short", 42, 43), firing("twice", 43)})
		case 45:
			n.Send(t.Context(), []Alert{resolved("twice", 43, 45)})
		case 48:
			n.Send(t.Context(), []Alert{firing("twice", 48)})
		default:
			n.Send(t.Context(), []Alert{resolved("ends", 40, 42)})
		}
	}
	eventually.Nil(t, "it is missed", func() error {
		if sums(t, reg)["ringwatch_notify_failures_total alertmanagers-0"] < 2 {
			return fmt.Errorf("no request failed")
		}
		return nil
	})
	if n.Pending() != 8 {
		t.Errorf("%d wait, want lasts, ends, new, short and its end, twice, its end and twice",
			n.Pending())
	}
	checkLedger(t, reg)
	if err := am.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if am.Pid() == pid {
		t.Error("it is the same process")
	}
	told.hear(t, "short", "firing resolved")
	told.hear(t, "twice", "firing resolved firing")
	told.hear(t, "new", "firing")
	// It kept its log of notifications: of lasts nobody hears again, of the end of ends once.
	told.hear(t, "ends", "firing resolved")
	n.Send(t.Context(), []Alert{
		resolved("lasts", 40, 52), resolved("new", 41, 52), resolved("twice", 48, 52),
	})
	told.hear(t, "lasts", "firing resolved")
	told.hear(t, "new", "firing resolved")
	told.hear(t, "twice", "firing resolved firing resolved")
	told.hear(t, "short", "firing resolved")
	stop()
}

// TestAlertmanagerRefuses: what it never takes is dropped alone; a wrong password is not the
// alert's.
func TestAlertmanagerRefuses(t *testing.T) {
	told := newPeople(t)
	am := engines.MustAlertmanager(t, told.quick(), func(c *engines.AlertmanagerConfig) {
		c.Web = basicAuth
	})
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("wrong"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := testConfig()
	c.Alertmanagers = []Alertmanager{alertmanagerConfig(t, "{static_configs: [{targets: [%q]}], "+
		"basic_auth: {username: ringwatch, password_file: %q}}", am.Addr(), password)}
	n, reg, stop := mustNotifier(t, c, Deps{})
	bad := firing("bad", 50)
	bad.Labels = labels.FromStrings("no-name", "Alertmanager 0.25 takes none with a dash")
	n.Send(t.Context(), []Alert{firing("a", 50), bad, firing("b", 50)})
	eventually.Nil(t, "401", func() error {
		if sums(t, reg)["ringwatch_notify_failures_total alertmanagers-0"] == 0 {
			return fmt.Errorf("no request failed")
		}
		return nil
	})
	if n.Pending() != 3 {
		t.Errorf("%d of 3 wait", n.Pending())
	}
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	told.hear(t, "a", "firing")
	told.hear(t, "b", "firing")
	eventually.Nil(t, "the bad one is dropped", func() error {
		if m := sums(t, reg); m["ringwatch_notify_dropped_total refused"] != 1 ||
			m["ringwatch_notify_sent_total alertmanagers-0"] != 2 {
			return fmt.Errorf("%v", m)
		}
		return nil
	})
	stop()
}

// TestStopWithoutAlertmanager: what nobody takes within the deadline is dropped and counted.
func TestStopWithoutAlertmanager(t *testing.T) {
	c := testConfig()
	c.StopTimeout = 300 * time.Millisecond
	port := engines.FreePorts(t, 1)[0]
	c.Alertmanagers = []Alertmanager{
		alertmanagerConfig(t, "{static_configs: [{targets: ['127.0.0.1:%d']}]}", port),
	}
	n, reg, stop := mustNotifier(t, c, Deps{})
	n.Send(context.Background(), []Alert{firing("a", 50), firing("b", 50)})
	stop()
	if m := sums(t, reg); m["ringwatch_notify_dropped_total stopped"] != 2 {
		t.Errorf("%v", m)
	}
}
