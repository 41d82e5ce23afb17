package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
)

// patience is for machines that do much else.
const patience = 5 * time.Minute

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// posted is what Alertmanager posts to a webhook, as far as tests look.
type posted struct {
	Status    string
	Truncated int `json:"truncatedAlerts"`
	Alerts    []struct {
		Status string
		Labels map[string]string
	}
}

// sentinel is the name of alerts that hook.stays is told of, and hook.told leaves out.
const sentinel = "Sentinel"

// told are the alerts of a message: name and state, in order.
func (m posted) told() string {
	var list []string
	for _, a := range m.Alerts {
		list = append(list, a.Labels["alertname"]+" "+a.Status)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// hook is a receiver on loopback.
type hook struct {
	URL    string
	answer func(n int, r *http.Request) int // the status for the n-th request; nil: 200

	mu       sync.Mutex
	requests int
	messages []posted
}

func mustHook(t *testing.T, answer func(int, *http.Request) int) *hook {
	t.Helper()
	h := &hook{answer: answer}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m posted
		err := json.NewDecoder(r.Body).Decode(&m)
		h.mu.Lock()
		h.requests++
		n := h.requests
		h.mu.Unlock()
		status := http.StatusOK
		if h.answer != nil {
			status = h.answer(n, r)
		}
		if err == nil && status == http.StatusOK {
			h.mu.Lock()
			h.messages = append(h.messages, m)
			h.mu.Unlock()
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	h.URL = s.URL
	return h
}

// got is what came so far.
func (h *hook) got() []posted {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.messages)
}

func (h *hook) told() string {
	var list []string
	for _, m := range h.got() {
		if m.Alerts[0].Labels["alertname"] != sentinel {
			list = append(list, m.told())
		}
	}
	return strings.Join(list, " | ")
}

// wait waits for what the hook has been told, each message's alerts, in order.
func (h *hook) wait(t *testing.T, want ...string) {
	t.Helper()
	all := strings.Join(want, " | ")
	eventually(t, func() bool { return h.told() == all },
		func() string { return fmt.Sprintf("told %q, not %q", h.told(), all) })
}

// stays says that nothing more is told until an alert of a new group is, which waits for longer
// than two intervals.
func (h *hook) stays(t *testing.T, n *Notifier, want ...string) {
	t.Helper()
	group := fmt.Sprint(time.Now().UnixNano())
	mustPut(t, n, firing(sentinel, "cluster", group))
	eventually(t, func() bool {
		return slices.ContainsFunc(h.got(), func(m posted) bool {
			return m.Alerts[0].Labels["cluster"] == group
		})
	}, func() string { return "the next group is not told of after " + h.told() })
	if all := strings.Join(want, " | "); h.told() != all {
		t.Fatalf("told %q, not %q", h.told(), all)
	}
}

func eventually(t *testing.T, ok func() bool, what func() string) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what())
		}
	}
}

// interval is the groups' interval in tests.
const interval = 400 * time.Millisecond

// yaml is a configuration with one webhook; more stands beside the route's keys and below all.
func yamlOf(url, repeat, inRoute, below string) string {
	return fmt.Sprintf(`
route:
  receiver: hook
  group_by: [cluster]
  group_wait: 1s
  group_interval: %s
  repeat_interval: %s
%s
receivers:
  - name: hook
    webhook_configs: [{url: %q}]
%s`, interval, repeat, inRoute, url, below)
}

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text), "test.yml", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func options(dir string, c *Config) Options {
	o := DefaultOptions()
	o.Dir, o.Configs.Shared = dir, c
	o.Metrics, o.Log = prometheus.NewRegistry(), quiet
	o.syncEvery, o.shortenEvery, o.calm = 20*time.Millisecond, 50*time.Millisecond,
		50*time.Millisecond
	return o
}

// mustOpen is closed when the test ends, unless it was before.
func mustOpen(t *testing.T, o Options) *Notifier {
	t.Helper()
	n, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// opened is a Notifier whose account shop tells one webhook.
func opened(t *testing.T, h *hook, repeat string) *Notifier {
	t.Helper()
	return mustOpen(t, options(t.TempDir(), mustParse(t, yamlOf(h.URL, repeat, "", ""))))
}

// firing is an alert that began a moment ago.
func firing(name string, more ...string) Alert {
	b := labels.NewBuilder(labels.FromStrings("alertname", name, "cluster", "c"))
	for pair := range slices.Chunk(more, 2) {
		b.Set(pair[0], pair[1])
	}
	return Alert{Account: "shop", Labels: b.Labels(), StartsAt: time.Now()}
}

func ended(a Alert) Alert {
	a.EndsAt = time.Now()
	return a
}

func mustPut(t *testing.T, n *Notifier, alerts ...Alert) {
	t.Helper()
	if err := n.Put(context.Background(), alerts...); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request to an account's API and returns what it answers.
func ask(t *testing.T, n *Notifier, account, method, path, body string) (status int, said string) {
	t.Helper()
	handler, err := n.Handler(account)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// mustSilence returns the silence's id.
func mustSilence(t *testing.T, n *Notifier, label, value string, lasts time.Duration) string {
	t.Helper()
	return mustSilenceAs(t, n, label, value, lasts, "a test")
}

func mustSilenceAs(
	t *testing.T, n *Notifier, label, value string, lasts time.Duration, comment string,
) string {
	t.Helper()
	status, said := ask(t, n, "shop", http.MethodPost, "/api/v2/silences", fmt.Sprintf(
		`{"matchers": [{"name": %q, "value": %q, "isRegex": false, "isEqual": true}],
		"startsAt": %q, "endsAt": %q, "createdBy": "me", "comment": %q}`, label, value,
		time.Now().Format(time.RFC3339Nano), time.Now().Add(lasts).Format(time.RFC3339Nano),
		comment))
	var answer struct{ SilenceID string }
	if status != http.StatusOK || json.Unmarshal([]byte(said), &answer) != nil {
		t.Fatalf("%d: %s", status, said)
	}
	return answer.SilenceID
}
