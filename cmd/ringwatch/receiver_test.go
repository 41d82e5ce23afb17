package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/notify/notifytest"
)

// TestFirstReceiver walks docs/NOTIFY.md: from its lines of configuration to a test mail, a mail
// about what fires, a silence, and the list of who was told what.
func TestFirstReceiver(t *testing.T) {
	page, err := os.ReadFile("../../docs/NOTIFY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, lines, found := strings.Cut(string(page), "This sends mail:\n\n```yaml\n")
	lines, _, _ = strings.Cut(lines, "```")
	const host = `"mail.example.org:587"`
	if !found || !strings.Contains(lines, host) {
		t.Fatal("docs/NOTIFY.md has no configuration that sends mail")
	}
	server := notifytest.MustMail(t, true, false)
	lines = strings.Replace(lines, host, fmt.Sprintf("%q", server.Address), 1)
	// nobody waits for 30 s here
	lines = strings.Replace(lines, "group_by:", "group_wait: 1s, group_interval: 1s, group_by:", 1)

	d := newDirectory(t)
	d.configure(t, lines)
	d.begin(t, "SSL_CERT_FILE="+server.CA)
	key := d.key(t, "me", account.Operator)
	run := func(line string, says ...string) {
		t.Helper()
		code, out, errs := say(t, append(strings.Fields(line), "--api", d.api, "--key", key)...)
		if code != 0 {
			t.Errorf("%s: exit %d\n%s%s", line, code, out, errs)
		}
		expect(t, out+errs, says...)
	}
	mails := func(what string, n int) notifytest.Mail {
		t.Helper()
		eventually(t, what, func(context.Context) error {
			if got := server.Got(); len(got) < n {
				return fmt.Errorf("%d mails", len(got))
			}
			return nil
		})
		return server.Got()[n-1]
	}
	run("notify test me", `me@example.org`)
	if m := mails("the test", 1); !m.Encrypted || m.To != "me@example.org" ||
		m.From != "ringwatch@example.org" || !strings.HasPrefix(m.Subject, "This is a test") {
		t.Errorf("%+v", m)
	}

	nodes := &promFleet{cluster: "shop", load: map[int64][]float64{}, key: key,
		nodes: []*frametest.Node{frametest.New("shop", 1, 2)}}
	nodes.send(t, d.ingest, time.Now().UnixMilli())
	rules := t.TempDir() + "/first.yaml"
	if err := os.WriteFile(rules, []byte(firstRule), 0o600); err != nil {
		t.Fatal(err)
	}
	run("rules apply " + rules)
	m := mails("what fires", 2)
	if !strings.HasPrefix(m.Subject, "Warning: It is there") ||
		!strings.Contains(m.Subject, "shop") {
		t.Errorf("%+v", m)
	}
	run("notify show", `me`)
	run("silence add --cluster shop --for 1h --comment why", `^quiet until 20.*: cluster=shop$`)
	run("silence list", `cluster=shop +why$`)
	run("silence list --since 1h", `cluster=shop +why$`)
	run("notify history", `me +email +firing +1 .*FirstAlert`)
}

// firstRule fires of any node.
const firstRule = `groups:
  - name: first
    interval: 1s
    rules:
      - alert: FirstAlert
        expr: group by (cluster, node) (ringwatch_node_last_seen_timestamp_seconds{cluster="shop"})
        labels: {severity: warning}
        annotations: {summary: It is there}
`
