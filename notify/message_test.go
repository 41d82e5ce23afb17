package notify

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

var update = flag.Bool("update", false, "write the golden messages anew")

// everyReceiver has an integration of each kind that makes a text.
const everyReceiver = `
global: {smtp_smarthost: "m:25", smtp_from: r@example.org, slack_api_url: "http://s/",
  victorops_api_key: k, wechat_api_corp_id: i, wechat_api_secret: s, opsgenie_api_key: k,
  jira_api_url: "http://j/rest/api/2", telegram_bot_token: t}
route: {receiver: all}
receivers:
  - name: all
    email_configs: [{to: me@example.org}]
    slack_configs: [{channel: "#ops"}]
    pagerduty_configs: [{routing_key: k}]
    opsgenie_configs: [{}]
    msteams_configs: [{webhook_url: "http://t/"}]
    msteamsv2_configs: [{webhook_url: "http://t/"}]
    jira_configs: [{project: P, issue_type: Bug}]
    discord_configs: [{webhook_url: "http://d/"}]
    telegram_configs: [{chat_id: 1}]
    pushover_configs: [{user_key: u, token: t}]
    sns_configs: [{topic_arn: "arn:aws:sns:us-east-2:123456789012:t", sigv4: {region: us-east-2}}]
    victorops_configs: [{routing_key: r}]
    webex_configs: [{room_id: r, http_config: {authorization: {credentials: t}}}]
    wechat_configs: [{}]
    mattermost_configs: [{webhook_url: "http://m/"}]
    rocketchat_configs: [{channel: c, token: t, token_id: i}]
`

const nodeID = "6f1c8d2e-9a41-4c0b-8f7e-0123456789ab"

// at is when the golden messages are sent.
var at = time.Date(2026, 3, 5, 14, 14, 0, 0, time.UTC)

// told makes an alert that fires since so long before at.
func told(since time.Duration, labels, annotations model.LabelSet) *alert.Alert {
	return alert.New(model.Alert{Labels: labels, Annotations: annotations,
		StartsAt: at.Add(-since), EndsAt: at.Add(24 * 365 * 100 * time.Hour),
		GeneratorURL: "https://rw.example:9470/#/explore?expr=up+%3D%3D+0&from=1&to=2"}, at, false)
}

const runbooks = "https://github.com/ringwatch/ringwatch/blob/main/docs/runbooks/cassandra.md#"

func nodeDown() *alert.Alert {
	return told(12*time.Minute, model.LabelSet{"alertname": "CassandraNodeDown",
		"severity": "warning", "cluster": "shop", "datacenter": "dc1", "rack": "r1",
		"node": nodeID},
		model.LabelSet{
			"summary": "Node db-7 (10.0.0.7:7000) of cluster shop is silent",
			"description": "Nothing has come from this node in datacenter dc1, rack r1, for a " +
				"minute or more. It is down or cut off, or its agent has stopped.",
			"address": "10.0.0.7:7000", "runbook_url": runbooks + "cassandranodedown",
			"advice": "No other node of rack r1 is silent. Look at the machine before the " +
				"network.",
			ruleAnnotation: model.LabelValue(ruleOf("cassandra.yaml", "nodes")),
		})
}

func diskFull(mount, severity, full string) *alert.Alert {
	return told(26*time.Hour, model.LabelSet{"alertname": "NodeDiskFull", "cluster": "shop",
		"severity": model.LabelValue(severity), "node": nodeID, "mount": model.LabelValue(mount)},
		model.LabelSet{
			"summary": model.LabelValue(mount +
				" of node db-7 (10.0.0.7:7000) of cluster shop is " + full + " full"),
			"description": "Cassandra's compactions need free space to work with, and Cassandra " +
				"stops writing to a full disk. A Kafka broker stops altogether.",
			"address": "10.0.0.7:7000", "runbook_url": runbooks + "nodediskfull",
			ruleAnnotation: model.LabelValue(ruleOf("cassandra.yaml", "nodes")),
		})
}

func nodesDown() *alert.Alert {
	return told(40*time.Second, model.LabelSet{"alertname": "CassandraNodesDown",
		"severity": "critical", "cluster": "shop"}, model.LabelSet{
		"summary": "3 nodes of cluster shop are silent",
		"description": "With a replication factor of 3, two nodes down can make quorum reads and " +
			"writes fail. CassandraNodeDown names the nodes. If it is most of them, look at the " +
			"network first.",
		"runbook_url":  runbooks + "cassandranodesdown",
		ruleAnnotation: model.LabelValue(ruleOf("cassandra.yaml", "nodes")),
	})
}

// hostile has all that some medium would take for more than text.
func hostile() *alert.Alert {
	a := told(time.Hour, model.LabelSet{"alertname": "<b>Odd</b>", "severity": "page<script>",
		"cluster": "a_b*c`d", "node": "x", "keyspace": "shop\r\nBcc: all@example.org"},
		model.LabelSet{
			"summary": "*bold* _it_ <script>alert(1)</script> & a_b*c`d [click](http://evil/) " +
				"@channel <!everyone>\r\nSubject: other\u202egnp.exe\x1b[2J {panel} |x|",
			"description": "# head\n\n- list\n> quote <img src=x onerror=alert(1)> " +
				model.LabelValue(strings.Repeat("long ", 200)),
			"advice": "**do** {{ .Evil }} `rm -rf` ~~x~~", "runbook_url": "javascript:alert(1)",
			"host": "<db>|7",
		})
	a.GeneratorURL = "https://rw.example:9470/#/explore?expr=a)|<b>\"' _x_"
	return a
}

func thousand() (list []*alert.Alert) {
	for i := range 1000 {
		a := nodeDown()
		id := fmt.Sprintf("%08d-0000-4000-8000-000000000000", i)
		a.Labels["node"] = model.LabelValue(id)
		a.Annotations["summary"] = model.LabelValue(
			fmt.Sprintf("Node db-%d of cluster shop is silent", i))
		a.Annotations["address"] = model.LabelValue(fmt.Sprintf("db-%d:7000", i))
		a.StartsAt = at.Add(-time.Duration(i) * time.Second)
		list = append(list, alert.New(a.Alert, at, false))
	}
	gravest := nodesDown()
	return append(list, gravest)
}

func over(a *alert.Alert, after time.Duration) *alert.Alert {
	m := a.Alert
	m.EndsAt = m.StartsAt.Add(after)
	return alert.New(m, at, false)
}

// rendered is what each integration of everyReceiver would send.
func rendered(t *testing.T, console string, alerts ...*alert.Alert) string {
	t.Helper()
	c := mustParse(t, everyReceiver)
	address, err := url.Parse(console)
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := newTemplate(nil, newMessenger(address, func() time.Time { return at }))
	if err != nil {
		t.Fatal(err)
	}
	tmpl.ExternalURL = address
	a := &account{options: &Options{Limits: DefaultLimits()}}
	alerts = a.prepared(t.Context(), alerts, a.options.Limits.MaxMessageAlerts)
	data := tmpl.Data("all", model.LabelSet{"cluster": "shop"}, nil, "", alerts...)
	r := completed(c.parsed.Receivers[0], a.options.Limits)
	return texts(t, &r, tmpl, data)
}

func texts(t *testing.T, r *config.Receiver, tmpl *template.Template, data *template.Data) string {
	t.Helper()
	var all strings.Builder
	for _, d := range drafts(r) {
		for _, p := range d.parts {
			text, err := p.render(tmpl, data)
			if err != nil {
				t.Errorf("%s %s: %v", d.kind, p.name, err)
			}
			if d.kind != "email" && strings.Contains(text, "#ZgotmplZ") {
				t.Errorf("%s %s: %s", d.kind, p.name, text)
			}
			fmt.Fprintf(&all, "======== %s %s\n%s\n", d.kind, p.name, text)
		}
	}
	return all.String()
}

// TestMessages holds what each medium is told against testdata/messages; -update writes it anew.
func TestMessages(t *testing.T) {
	const console = "https://rw.example:9470/"
	bare := told(3*time.Hour, model.LabelSet{"alertname": "DiskFilling", "severity": "high",
		"cluster": "shop", "node": nodeID, "mount": "/data"}, nil)
	bare.GeneratorURL = ""
	for name, c := range map[string]struct {
		console string
		alerts  []*alert.Alert
	}{
		"node_down": {console, []*alert.Alert{nodeDown()}},
		"disk_full": {console, []*alert.Alert{diskFull("/", "warning", "78%"),
			diskFull("/var/lib/cassandra", "critical", "92.5%")}},
		"nodes_down": {console, []*alert.Alert{nodesDown()}},
		"hostile":    {console, []*alert.Alert{hostile()}},
		"hostile_among_many": {console, []*alert.Alert{hostile(), nodeDown(), nodesDown(),
			diskFull("/", "warning", "78%")}},
		"thousand": {console, thousand()},
		"resolved": {console, []*alert.Alert{over(nodeDown(), 72*time.Minute)}},
		"some_resolved": {console, []*alert.Alert{over(nodeDown(), 5*time.Minute), nodesDown(),
			diskFull("/", "warning", "78%")}},
		"without_console": {"", []*alert.Alert{bare}},
		"test":            {console, []*alert.Alert{testAlert("me", at)}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rendered(t, c.console, c.alerts...)
			path := filepath.Join("testdata", "messages", name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s says something else; see what with -update:\n%s", path, got)
			}
		})
	}
}
