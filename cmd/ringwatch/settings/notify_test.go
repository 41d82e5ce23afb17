package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const goodAlertmanager = `
route: {receiver: me, group_by: [cluster], group_wait: 10s}
receivers:
  - name: me
    webhook_configs: [{url: "https://example.org/sesame"}]
`

// TestPeople: an alertmanager.yml in a file, in sections, and of an account.
func TestPeople(t *testing.T) {
	t.Setenv("RW_TEST_HOOK", "https://example.org/sesame")
	path := writeFile(t, "am.yml", goodAlertmanager)
	for name, section := range map[string]string{
		"file": "config_file: " + path,
		"sections": `route: {receiver: me, group_by: [cluster], group_wait: 10s}
  receivers:
    - name: me
      webhook_configs: [{url: "${RW_TEST_HOOK}"}]`,
		"account": "accounts: {acme: " + path + "}",
	} {
		c, _, err := Parse("ringwatch.yaml", []byte("accounts: [{name: acme}]\nnotify:\n  "+section+
			"\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		people, err := c.Notify.People(c.File)
		of := people.Shared
		if name == "account" {
			of = people.Own["acme"]
		}
		if err != nil || of == nil || of.Silent() || strings.Join(of.Receivers(), "") != "me" {
			t.Errorf("%s: %v, %v", name, of, err)
		}
		for _, said := range []string{of.String(), fmt.Sprintf("%v %+v %#v", c.Notify, c.Notify,
			c.Notify)} {
			if strings.Contains(said, "sesame") {
				t.Errorf("%s: a secret is shown: %s", name, said)
			}
		}
		dir, err := c.NotifyDir()
		if err != nil || dir != filepath.Join("ringwatch-data", "notify") {
			t.Errorf("%s: %q, %v", name, dir, err)
		}
	}
}

// TestPeopleWrong: mistakes are said with the rest, and with their place.
func TestPeopleWrong(t *testing.T) {
	bad := writeFile(t, "bad.yml", strings.ReplaceAll(goodAlertmanager, "receiver: me,",
		"receiver: you,"))
	for _, c := range []struct{ section, want string }{
		{"config_file: " + bad, `notify: config_file: ` + bad + `:2: undefined receiver "you"`},
		{"config_file: /no/such.yml", "notify: config_file: open /no/such.yml"},
		{"config_file: " + bad + "\n  templates: [x]", "use one of them"},
		{"route: {receiver: me, groups: x}\n  receivers: [{name: me}]",
			"notify: route: field groups not found"},
		{"receivers: [{name: me, nonsense: 1}]\n  route: {receiver: me}",
			"notify: receivers: field nonsense not found"},
		{"receivers: [{name: me}]", "notify: no routes provided"},
		{"accounts: {nobody: " + bad + "}", `there is no account "nobody"`},
		{"limits: {max_alerts: 0}", "notify: limits.max_alerts is 0"},
		{"gossip: {listen: nowhere, wait: 0s}", `notify: gossip.listen is "nowhere": write`},
		{"gossip: {listen: nowhere, wait: 0s}", "notify: gossip.wait is 0s: use more"},
		{`gossip: {listen: "127.0.0.1:1"}`, "one has its stream in data.dir; leave it out"},
	} {
		_, _, err := Parse("ringwatch.yaml", []byte("accounts: [{name: acme}]\nnotify:\n  "+
			c.section+"\n"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nlacks %s", c.section, err, c.want)
		}
	}
}

// TestPeopleNeedADirectory: with engines alone there is none unless it is named.
func TestPeopleNeedADirectory(t *testing.T) {
	engines := "accounts: [{name: acme}]\nkafka: {brokers: [\"k:9092\"]}\ncassandra: {hosts: [c]}\n"
	path := writeFile(t, "am.yml", goodAlertmanager)
	for section, want := range map[string]string{
		"": "", "notify: {config_file: " + path + ", dir: /var/lib/x}\n": "/var/lib/x",
		`notify: {dir: /x, gossip: {listen: "127.0.0.1:1"}}` + "\n": "/x",
	} {
		c, _, err := Parse("ringwatch.yaml", []byte(engines+section))
		if err != nil {
			t.Fatal(err)
		}
		if dir, err := c.NotifyDir(); err != nil || dir != want {
			t.Errorf("%q: %q, %v", section, dir, err)
		}
	}
	c, _, err := Parse("ringwatch.yaml", []byte(engines+"notify: {config_file: "+path+"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.NotifyDir(); err == nil || !strings.Contains(err.Error(), "notify.dir") {
		t.Error(err)
	}
}
