package notify

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/ringwatch/ringwatch/notify/notifytest"
)

// mailTo is a configuration that sends to a server.
func mailTo(m *notifytest.MailServer, more string) string {
	tls := "require_tls: false"
	if m.CA != "" {
		tls = fmt.Sprintf("tls_config: {ca_file: %q}", m.CA)
	}
	return fmt.Sprintf(`
route: {receiver: me, group_by: [cluster], group_wait: 500ms, group_interval: 1s}
receivers:
  - name: me
    email_configs:
      - {to: me@example.org, from: ringwatch@example.org, smarthost: %q, send_resolved: true, %s%s}
`, m.Address, tls, more)
}

// TestMail: an alert and its end are mails by STARTTLS, with who sends them, in two forms.
func TestMail(t *testing.T) {
	m := notifytest.MustMail(t, true, true)
	o := options(t.TempDir(), mustParse(t, mailTo(m, ", auth_username: u, auth_password: sesame")))
	o.Insights = func(_ context.Context, account string, alerts []map[string]string) []Insight {
		if account != "shop" || alerts[0]["alertname"] != "A" {
			t.Errorf("asked for %s: %v", account, alerts)
		}
		return []Insight{{Host: "db-7 (10.0.0.7)", Advice: "Look <here>."}}
	}
	n := mustOpen(t, o)
	a := firing("A", "severity", "critical", "node", nodeID)
	a.Annotations = labels.FromStrings("description", "It hurts.")
	mustPut(t, n, a)
	eventually(t, func() bool { return len(m.Got()) == 1 },
		func() string { return fmt.Sprint(len(m.Got()), " mails") })
	one := m.Got()[0]
	if !one.Encrypted || one.User != "u" || one.To != "me@example.org" ||
		one.From != "ringwatch@example.org" {
		t.Errorf("%+v", one)
	}
	const subject = "Critical: A on db-7 (10.0.0.7) in cluster c, since "
	if !strings.HasPrefix(one.Subject, subject) || strings.Contains(one.Text, nodeID) ||
		!strings.HasPrefix(one.Text, one.Subject+"\r\n\r\nIt hurts.\r\nAdvice: Look <here>.") ||
		!strings.Contains(one.HTML, "Look &lt;here&gt;.") {
		t.Errorf("%+v", one)
	}
	mustPut(t, n, ended(a))
	eventually(t, func() bool { return len(m.Got()) == 2 },
		func() string { return fmt.Sprint(len(m.Got()), " mails") })
	if got := m.Got()[1].Subject; !strings.HasPrefix(got, "Ended after ") {
		t.Error(got)
	}
}

// mustTest is what becomes of a test of the receiver me.
func mustTest(t *testing.T, config string, atMost time.Duration) Delivery {
	t.Helper()
	o := options(t.TempDir(), mustParse(t, config))
	if atMost > 0 {
		o.testTime = atMost
	}
	n := mustOpen(t, o)
	list, err := n.Test(t.Context(), "shop", "me")
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v %v", list, err)
	}
	return list[0]
}

// TestMailTests: a test says that the server took it, or why not in the server's own words.
func TestMailTests(t *testing.T) {
	m := notifytest.MustMail(t, true, true)
	if d := mustTest(t, mailTo(m, ", auth_username: u, auth_password: sesame"), 0); !d.Delivered ||
		d.Integration != "email[0]" || d.To != "me@example.org" || d.Why != "" {
		t.Errorf("%+v", d)
	}
	if got := m.Got(); len(got) != 1 || !strings.HasPrefix(got[0].Subject, "This is a test") ||
		!strings.HasPrefix(got[0].Text, "This is a test") {
		t.Errorf("%+v", got)
	}
	plain, cut := notifytest.MustMail(t, false, false), notifytest.MustMail(t, false, false)
	cut.Cuts = true
	refusing := notifytest.MustMail(t, false, false)
	refusing.Refuses = "me@example.org"
	silent := &notifytest.MailServer{Address: mustSilent(t)}
	nobody := &notifytest.MailServer{Address: "127.0.0.1:1"}
	for _, c := range []struct {
		what, config, why string
		atMost            time.Duration
	}{
		{"a wrong password", mailTo(m, ", auth_username: u, auth_password: wrong"), "535", 0},
		{"no user", mailTo(m, ""), "uthenticat", 0},
		{"no STARTTLS", strings.Replace(mailTo(plain, ""), ", require_tls: false", "", 1),
			"STARTTLS", 0},
		{"no mailbox", mailTo(refusing, ""), "no such mailbox here", 0},
		{"cut", mailTo(cut, ""), "EOF|reset by peer", 0},
		{"silence", mailTo(silent, ""), "no answer within 300ms", 300 * time.Millisecond},
		{"nobody", mailTo(nobody, ""), "refused", 0},
	} {
		d := mustTest(t, c.config, c.atMost)
		if d.Delivered || !regexp.MustCompile(c.why).MatchString(d.Why) ||
			strings.Contains(d.Why, "sesame") || strings.Contains(d.Why, "\n") {
			t.Errorf("%s: %+v", c.what, d)
		}
	}
}

// mustSilent takes connections and says nothing.
func mustSilent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
		}
	}()
	return l.Addr().String()
}
