package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/rules/notify"
)

// TestYAMLOfOthers: notify's outlets are written in Prometheus's form, with our variables.
func TestYAMLOfOthers(t *testing.T) {
	t.Setenv("RW_TEST_SECRET", `a: b # "no" yaml }`)
	c := notify.DefaultConfig()
	_, err := Decode([]byte(`
alertmanagers:
  - account: acme
    static_configs:
      - targets: ["am-1:9093", am-2:9093]
    timeout: 3s
    basic_auth: {username: 0123, password: "${RW_TEST_SECRET}"}
alert_relabel_configs:
  - {source_labels: [severity], regex: "info|none", action: drop}
topic: {topic: ringwatch.alerts, partitions: 4}
`), &c)
	if err != nil || c.Validate() != nil || len(c.Alertmanagers) != 1 ||
		len(c.AlertRelabelConfigs) != 1 || c.Topic.Partitions != 4 || c.Topic.MaxEntryBytes == 0 {
		t.Fatalf("%v %+v", err, c)
	}
	a := c.Alertmanagers[0]
	auth := a.Prometheus.HTTPClientConfig.BasicAuth
	if a.Account != "acme" || string(auth.Password) != `a: b # "no" yaml }` ||
		auth.Username != "0123" || a.Prometheus.Timeout.String() != "3s" {
		t.Errorf("%+v", auth)
	}
	_, err = Decode(
		[]byte("alertmanagers:\n  - timeuot: 3s\n  - basic_auth: {password: \"${RW_NOT}\"}\n"),
		&c)
	for _, want := range []string{"line 2: alertmanagers[0]: ", "timeuot", "line 3", "RW_NOT"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

type sample struct {
	Name     string
	MaxBytes int64
	RawTTL   time.Duration
	Hosts    []string
	Ratio    float64
	On       bool
	Inner    struct{ Listen string }
	Accounts []struct {
		Name   string
		SHA256 string
	}
	Settings map[string]string
	Expires  time.Time
	Hook     func() // not settable
}

func TestYAMLFillsTheStruct(t *testing.T) {
	t.Setenv("RW_TEST_SECRET", "a: b # no yaml")
	s := sample{Name: "kept", Ratio: 0.5}
	_, err := Decode([]byte(`
max_bytes: 8MiB
raw_ttl: 14d
hosts: [a:1, "${RW_TEST_SECRET}"]
on: true
inner: {listen: ":0"}
accounts:
  - name: x
    sha256: 00ff
settings: {k: v}
expires: 2027-01-31
`), &s)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "kept" || s.MaxBytes != 8<<20 || s.RawTTL != 14*24*time.Hour || s.Ratio != 0.5 ||
		!s.On || s.Inner.Listen != ":0" {
		t.Errorf("got %+v", s)
	}
	if len(s.Hosts) != 2 || s.Hosts[1] != "a: b # no yaml" || s.Accounts[0].SHA256 != "00ff" ||
		s.Settings["k"] != "v" || s.Expires.Year() != 2027 {
		t.Errorf("got %+v", s)
	}
}

func TestYAMLSaysAllErrorsAtOnce(t *testing.T) {
	var s sample
	_, err := Decode([]byte(`
nmae: x
raw_ttl: 5 fortnights
max_bytes: 9999999999GiB
hosts: one
name: ${RW_TEST_NOT_SET}
inner: {listen: a, listne: b}
hook: 1
`), &s)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"line 2: nmae: unknown key: use one of accounts, expires, hosts,",
		"line 3: raw_ttl: \"5 fortnights\" is not a duration", "line 4: max_bytes:",
		"line 5: hosts: expected a list",
		"line 6: name: the environment variable RW_TEST_NOT_SET is not set",
		"inner.listne: unknown key: use one of listen",
		"line 8: hook: unknown key",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	if _, err := Decode([]byte("a: [1"), &s); err == nil ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("broken YAML: %v", err)
	}
}

func TestSnakeKeepsInitialismsTogether(t *testing.T) {
	for in, want := range map[string]string{"MaxFrameBytes": "max_frame_bytes", "SHA256": "sha256",
		"RawTTL": "raw_ttl", "TTLSeconds": "ttl_seconds", "ID": "id"} {
		if got := snake(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestUnsetVariableIsToldOnce: what a variable should have said is not checked as well; the rest
// is.
func TestUnsetVariableIsToldOnce(t *testing.T) {
	file := configFile(t, `
accounts:
  - {name: default, clusters: ["*"], keys: [{name: all, sha256: "${RW_NOT}", scopes: [read]}]}
kafka: {brokers: ["${RW_NOT}"]}
cassandra: {hosts: ["${RW_NOT}"]}
notify: {alertmanagers: [{static_configs: [{targets: ["${RW_NOT}"]}]}]}
lookup: {tables: [{table: a.b, accounts: [default]}]}
limits: {burst: -1}
`)
	_, _, err := (&RoleFlags{Config: file}).Load()
	if err == nil {
		t.Fatal("the configuration was taken")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 6 || strings.Count(err.Error(), "RW_NOT is not set") != 4 ||
		!strings.Contains(lines[5], "limits: burst") {
		t.Errorf("not one line for each error:\n%v", err)
	}
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ringwatch.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
