package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// TestConfig: Prometheus's form, strictly; all errors at once; no secret is printed.
func TestConfig(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	c := Config{
		Alertmanagers: []Alertmanager{{}}, ExternalLabels: map[string]string{"": "x"},
		LateSpacing: -1, StopTimeout: -1,
	}
	c.Topic.Topic = "a b"
	err := c.Validate()
	for _, want := range []string{"alertmanagers[0]",
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
	headers := alertmanagerConfig(t, "{static_configs: [{targets: [a]}], "+
		"authorization: {credentials: hush}, account: '#1: {a}', "+
		"http_headers: {X-Key: {secrets: [0123, \"<&>\\u00e9\\n\"]}}}")
	keys := headers.Prometheus.HTTPClientConfig.HTTPHeaders.Headers["X-Key"].Secrets
	if headers.Account != "#1: {a}" || len(keys) != 2 || keys[0] != "0123" ||
		keys[1] != "<&>é\n" {
		t.Errorf("%q %q", headers.Account, keys)
	}
	c = Config{Alertmanagers: []Alertmanager{a, headers}}
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
