package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/dev/eventually"
)

// hook is a webhook's receiver that answers as it is told.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	status []int // of the next answers; then 200
	taken  []string
	bodies []map[string]any
}

func newHook(t *testing.T, status ...int) *hook {
	h := &hook{status: status}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		if len(h.status) > 0 {
			status := h.status[0]
			h.status = h.status[1:]
			w.WriteHeader(status)
			return
		}
		name := body["commonLabels"].(map[string]any)["alertname"]
		h.taken = append(h.taken, fmt.Sprintf("%v %v", name, body["status"]))
		h.bodies = append(h.bodies, body)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) has(t *testing.T, want ...string) {
	t.Helper()
	eventually.Nil(t, strings.Join(want, ", "), func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !slices.Equal(h.taken, want) {
			return fmt.Errorf("it took %q", h.taken)
		}
		return nil
	})
}

func webhookConfig(t *testing.T, format string, args ...any) Webhook {
	t.Helper()
	var w Webhook
	if err := w.UnmarshalYAML(fmt.Appendf(nil, format, args...)); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWebhook: each change once and in order through errors of the server, and what it refuses is
// dropped; of its account only, and without ends where these are not wanted.
func TestWebhook(t *testing.T) {
	all, acme := newHook(t, 500, 503, 429), newHook(t, 400)
	c := testConfig()
	c.Webhooks = []Webhook{
		webhookConfig(t, "url: %s/token-x", all.URL),
		webhookConfig(t, "{url: %q, account: acme, send_resolved: false, timeout: 20s}", acme.URL),
	}
	n, reg, stop := mustNotifier(t, c, Deps{})
	n.Restore([]Alert{firing("known", 40)})
	other := firing("other", 50)
	other.Account = "zeta"
	n.Send(t.Context(), []Alert{
		firing("known", 40), firing("a", 50), firing("a", 50), resolved("a", 50, 51), other,
	})
	// Nothing waits between alerts: while a is refused for a moment, it stays before its end.
	eventually.Nil(t, "all is taken", func() error {
		if n.Pending() > 0 {
			return fmt.Errorf("%d wait", n.Pending())
		}
		return nil
	})
	n.Send(t.Context(), []Alert{firing("a", 50), firing("b", 52), resolved("known", 40, 53)})
	all.has(t, "a firing", "a resolved", "other firing", "b firing", "known resolved")
	acme.has(t, "b firing")
	body := all.bodies[0]
	alert := body["alerts"].([]any)[0].(map[string]any)
	if body["version"] != "4" || body["groupKey"] == "" || alert["status"] != "firing" ||
		alert["endsAt"] != "0001-01-01T00:00:00Z" || len(alert["fingerprint"].(string)) != 16 ||
		alert["labels"].(map[string]any)["account"] != "acme" {
		t.Errorf("%v", body)
	}
	if first, end := all.bodies[0]["groupKey"], all.bodies[1]["groupKey"]; first != end {
		t.Errorf("the beginning is of group %v and the end of %v", first, end)
	}
	m := sums(t, reg)
	if m["ringwatch_notify_failures_total webhook-0"] != 3 ||
		m["ringwatch_notify_dropped_total refused"] != 1 {
		t.Errorf("%v", m)
	}
	stop()
}

// TestConfig: Prometheus's form, strictly; all errors at once; no secret is printed.
func TestConfig(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	c := Config{
		Alertmanagers: []Alertmanager{{}}, Webhooks: []Webhook{{URL: "nowhere"}},
		ExternalLabels: map[string]string{"": "x"}, LateSpacing: -1, StopTimeout: -1,
	}
	c.Topic.Topic = "a b"
	err := c.Validate()
	for _, want := range []string{"alertmanagers[0]", "webhooks[0]: url", "webhooks[0]: timeout",
		"topic: ", "external_labels", "max_bytes", "firing_lasts", "late_spacing", "retry_min",
		"stop_timeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	a := alertmanagerConfig(t, `
account: acme
scheme: https
path_prefix: /am
timeout: 3s
basic_auth: {username: u, password: hush}
dns_sd_configs: [{names: [alertmanager.example.org], type: SRV}]
`)
	if a.Account != "acme" || a.Prometheus.Timeout != model.Duration(3*time.Second) ||
		a.Prometheus.HTTPClientConfig.BasicAuth.Password != "hush" ||
		len(a.Prometheus.ServiceDiscoveryConfigs) != 1 {
		t.Errorf("%+v", a)
	}
	w := webhookConfig(t, "{url: 'https://h/hush', http_config: {authorization: {credentials: "+
		"hush}, http_headers: {X-Key: {secrets: [0123, \"<&>\\u00e9\\n\"]}}}, account: '#1: {a}'}")
	if keys := w.HTTPConfig.HTTPHeaders.Headers["X-Key"].Secrets; w.Account != "#1: {a}" ||
		len(keys) != 2 || keys[0] != "0123" || keys[1] != "<&>é\n" {
		t.Errorf("%q %q", w.Account, keys)
	}
	c = Config{Alertmanagers: []Alertmanager{a}, Webhooks: []Webhook{w}}
	if text := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(text, "hush") ||
		!strings.Contains(text, "alertmanager.example.org") {
		t.Errorf("printed: %s", text)
	}
	for text, want := range map[string]string{
		"{static_configs: [{targets: [a]}], timeuot: 3s}": "timeuot",
		"{ec2_sd_configs: [{}]}":                          "ec2_sd_configs",
		"{scheme: https, scheme: http}":                   "already defined",
		"{account: [acme]}":                               "account: expected one value",
		"{a: &a [x], b: *a}":                              "field a not found",
		"{scheme: *a}":                                    "anchor",
		"{password: hush":                                 "",
		"[]":                                              "keys and values",
		"":                                                "keys and values",
	} {
		if err := new(Alertmanager).UnmarshalYAML([]byte(text)); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", text, err)
		}
	}
	var r Relabel
	if err := r.UnmarshalYAML([]byte("[{action: drop, regex: '('}]")); err == nil {
		t.Error("a bad expression is taken")
	}
}
