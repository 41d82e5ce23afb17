package notify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDefault(t *testing.T) {
	c := Default()
	if !c.Silent() || len(c.Receivers()) != 1 {
		t.Errorf("the default has receivers that send: %v", c.Receivers())
	}
	if mustParse(t, yamlOf("http://x/", "1h", "", "")).Silent() {
		t.Error("a webhook is silent")
	}
}

// TestConfigErrors: each mistake is one line that says where it is.
func TestConfigErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "am.yml: no route provided in config"},
		{"route:\n  receiver: [\n", "am.yml:"},
		{"route:\n  receiver: a\n  nonsense: 1\nreceivers: [{name: a}]\n",
			"am.yml:3: field nonsense not found"},
		{"route:\n  receiver: nobody\nreceivers: [{name: a}]\n",
			`am.yml:2: undefined receiver "nobody"`},
		{"route:\n  receiver: a\n  group_wait: soon\nreceivers: [{name: a}]\n", `am.yml:3: `},
		{"route:\n  receiver: a\nreceivers:\n  - name: a\n  - name: a\n",
			`am.yml: notification config name "a" is not unique`},
		{"route:\n  receiver: a\n  routes: [{mute_time_intervals: [night]}]\n" +
			"receivers: [{name: a}]\n", `am.yml:3: undefined time interval "night"`},
		{"route: {receiver: a}\nreceivers: [{name: a}]\ntemplates: ['bad.tmpl']\n",
			"DIR/bad.tmpl:1: the template fails: unclosed action"},
		{"route: {receiver: a}\nreceivers:\n  - name: a\n    slack_configs:\n" +
			"      - api_url: http://s/\n        title: '{{ .Nonsense }}'\n",
			`am.yml:6: receiver "a", slack, Title: the template fails: <.Nonsense>: can't evaluate ` +
				"field Nonsense in type *template.Data"},
		{"route: {receiver: a}\nreceivers:\n  - name: a\n    slack_configs:\n" +
			"      - {api_url: http://s/, text: '{{ template \"mine\" . }}'}\n" +
			"templates: [mine.tmpl]\n",
			"DIR/mine.tmpl:2: the template mine fails: <.Alertz>: can't evaluate field Alertz in " +
				`type *template.Data (receiver "a", slack, Text)`},
		{"route: {receiver: a}\nreceivers:\n  - name: a\n    webhook_configs: [{url: 'ftp:'}]\n",
			"am.yml:4: invalid URL"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "bad.tmpl"), []byte("{{ define"),
			0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "mine.tmpl"), []byte(
			"{{ define \"mine\" }}\n{{ len .Alertz }}{{ end }}"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Parse([]byte(c.text), "am.yml", dir)
		c.want = strings.Replace(c.want, "DIR", dir, 1)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q:\n%v\nnot %s", c.text, err, c.want)
		}
	}
}

// TestSecrets: none is shown, and paths are of the file's directory.
func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "am.yml")
	if err := os.WriteFile(path, []byte(`
route: {receiver: a}
receivers:
  - name: a
    webhook_configs:
      - url: https://example.org/hook/sesame
        http_config: {authorization: {credentials_file: key}, proxy_url: "http://u:sesame@p:1"}
    slack_configs: [{api_url: "https://hooks.slack.com/sesame", channel: x}]
    pagerduty_configs: [{routing_key: sesame}]
    email_configs: [{to: a@b, from: c@d, smarthost: "m:25", auth_username: u,
      auth_password: sesame}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if said := c.String(); strings.Contains(said, "sesame") {
		t.Errorf("a secret is shown:\n%s", said)
	}
	if !strings.Contains(c.String(), filepath.Join(dir, "key")) {
		t.Errorf("the file is not of the directory:\n%s", c)
	}
}
