package silences

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/rules"
)

// of are arguments about a node.
func of(command, node string, more ...string) []string {
	return append([]string{"maintenance", command, "--cluster", "shop", "--node", node}, more...)
}

// TestMaintenance: a node's alerts are quiet from a yes until the node is well.
func TestMaintenance(t *testing.T) {
	askEvery = time.Millisecond
	l := mustLine(t, "")
	out, _ := l.must(t, of("begin", "db-3", "--for", "30m", "--comment", "new: disk", "--author",
		"ann")...)
	expect(t, out,
		`^db-3 \(10\.0\.0\.3:7000\) of cluster shop is in maintenance until 20.* \(silence `,
		`^No alert fires now that it keeps quiet`)
	if want := "for=restart&node=" + ids[2]; !slices.Equal(l.asked, []string{want}) {
		t.Errorf("asked %q", l.asked)
	}
	if s := l.known(t)[0]; s.Comment != "maintenance: restart: new: disk" ||
		s.Matchers.String() != `{cluster="shop",node="`+ids[2]+`"}` {
		t.Errorf("%+v %s", s, s.Matchers)
	}
	code, out, notes := l.run(t, "", of("begin", "10.0.0.3", "--for", "30m")...)
	if code != exit.Failed || out != "" || strings.Contains(notes, "\n") {
		t.Errorf("begun twice: %d %q %q", code, out, notes)
	}
	expect(t, notes, `is in maintenance until 20.* already \(restart, by ann\): end that with`)
	_, notes = l.must(t, of("begin", "db-1", "--for", "30m", "--purpose", "repair")...)
	if !strings.HasPrefix(notes, "db-3 of this cluster is in maintenance, too, until 20") {
		t.Errorf("%q", notes)
	}

	l.fire(t, [3]string{"CassandraNodeDown", ids[2], "warning"})
	l.change(func() { l.nodes[2].State = "down" })
	out, _ = l.must(t, "maintenance", "list")
	expect(t, out, `^NODE +CLUSTER +STATE +FOR +BY +UNTIL +IN +ALERTS +WHY$`,
		`^db-3 .* shop +down +restart +ann +[-\d ]*\d\d:\d\d +(29m\d\ds|30m00s) +1 +new: disk$`)
	var list []Silence
	out, _ = l.must(t, "maintenance", "list", "--json", "--cluster", "shop")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 2 {
		t.Errorf("%v\n%s", err, out)
	}

	// each reason alone, then none
	unwell := func(why string) {
		t.Helper()
		code, out, notes := l.run(t, "", of("end", "db-3", "--wait", "20ms")...)
		if code != exit.Failed || out != "" ||
			!strings.HasSuffix(notes, " of cluster shop is not well: "+why+"; the silence stays") {
			t.Errorf("%s: %d %q %q", why, code, out, notes)
		}
	}
	unwell("It is down")
	old := 3600.0
	l.change(func() { l.nodes[2].State, l.nodes[2].AgeSeconds = "up", &old })
	unwell("It was not heard of since this began")
	l.change(func() {
		l.nodes[2].AgeSeconds = new(float64)
		l.answer.Reasons = []safe.Reason{
			{Condition: "normal", Known: true, Node: ids[0], Text: "Db-1."},
			{Condition: "latency", Known: true, Node: ids[2], Text: "Slow."},
			{Condition: "normal", Known: true, Node: ids[2], Text: "It is JOINING, not NORMAL."}}
	})
	unwell("It is JOINING, not NORMAL")
	l.change(func() {
		l.answer.Reasons[2] = safe.Reason{Condition: "peers", Known: true, Node: ids[0],
			Text: "db-1 takes 10.0.0.3:7000 for down."}
	})
	unwell("db-1 takes 10.0.0.3:7000 for down")
	l.change(func() { l.answer.Reasons = l.answer.Reasons[:2] })
	l.fire(t, [3]string{"CassandraHints", ids[2], "critical"},
		[3]string{"NodeGCTime", ids[2], "warning"}, [3]string{"CassandraHints", ids[1], "critical"})
	unwell("Its alerts still fire: CassandraHints, CassandraNodeDown")
	l.end(t, "CassandraHints", ids[2], "critical")
	unwell("Its alerts still fire: CassandraNodeDown")
	l.end(t, "CassandraNodeDown", ids[2], "warning")
	out, notes = l.must(t, of("end", "db-3")...)
	if out != "db-3 (10.0.0.3:7000) of cluster shop is well, and its maintenance has ended.\n" ||
		!strings.Contains(notes, " of 10m0s: All is well, and it is to say so once more.\n") {
		t.Errorf("%q %q", out, notes)
	}
	if last := l.asked[len(l.asked)-1]; !strings.Contains(last, "for=repair&since=20") {
		t.Errorf("asked %q", last)
	}
	if out, _ = l.must(t, of("end", "db-3")...); !strings.Contains(out, "was over already") {
		t.Errorf("%q", out)
	}
	if code, _, notes = l.run(t, "", of("end", "db-2")...); code != exit.Failed ||
		!strings.Contains(notes, "is in no maintenance") {
		t.Errorf("%d %q", code, notes)
	}

	// one that is gone needs no more
	l.change(func() { l.nodes[0].State, l.nodes[0].Left = "decommissioned", &fleet.LeftInfo{} })
	out, _ = l.must(t, of("end", "db-1")...)
	if !strings.Contains(out, "has left, and its mainten") {
		t.Errorf("%q", out)
	}
	if code, _, notes = l.run(t, "", of("begin", "db-1", "--for", "1h")...); code != exit.Misused ||
		!strings.Contains(notes, "has left cluster shop (decommissioned)") {
		t.Errorf("%d %q", code, notes)
	}
	if out, _ = l.must(t, "maintenance", "list"); out != "No node is in maintenance.\n" {
		t.Errorf("%q", out)
	}
}

// TestNotSafe: a no is printed with its reasons, and begins nothing unless somebody insists.
func TestNotSafe(t *testing.T) {
	l := mustLine(t, "")
	l.answer = safe.Answer{For: safe.Upgrade, NodeName: "db-2", Reasons: []safe.Reason{
		{Condition: "hints", Known: true, Text: "db-1 has hints."}}}
	begin := of("begin", "db-2", "--for", "30m", "--purpose", "upgrade")
	code, out, notes := l.run(t, "", begin...)
	no := "No, it is not safe to upgrade db-2 of cluster shop:\n- db-1 has hints. (hints)\n"
	if code != exit.Failed || out != no || notes != "it is not safe" || len(l.known(t)) > 0 {
		t.Errorf("%d %q %q", code, out, notes)
	}
	if out, notes = l.must(t, append(begin, "--anyway")...); !strings.HasPrefix(notes, no) ||
		!strings.Contains(notes, "it begins anyway") || !strings.HasPrefix(out, "db-2 ") ||
		len(l.known(t)) != 1 {
		t.Errorf("%q %q", out, notes)
	}
}

// TestMaintenanceRefused: bad input is one sentence, before anything is asked or waited for.
func TestMaintenanceRefused(t *testing.T) {
	l := mustLine(t, "")
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{of("begin", "db-3"), 2, "say how long"},
		{of("begin", "db-3", "--for", "0"), 2, "is not a duration"},
		{of("begin", "db-3", "--until", "2020-01-01"), 2, "has passed"},
		{of("begin", "db-3", "--for", "1h", "--purpose", "fun"), 2, "purpose"},
		{of("begin", "db-9", "--for", "1h"), 2, "sees no node db-9: did you mean"},
		{of("begin", "", "--for", "1h"), 2, "NODE is empty"},
		{of("end", "db-9"), 2, "sees no node db-9"},
		{of("end", "db-3", "--wait", "0s"), 2, "--wait: name a time"},
		{[]string{"maintenance", "end", "--node", "db-3"}, 2, "cluster"},
		{[]string{"maintenance", "begin", "--cluster", "shpo", "--node", "db-3", "--for", "1h"}, 2,
			"sees no cluster shpo"},
		{[]string{"maintenance", "list", "--cluster", "shpo"}, 2, "sees no cluster shpo"},
	} {
		if code, out, notes := l.run(t, "", c.args...); code != c.code || out != "" ||
			!strings.Contains(notes, c.says) {
			t.Errorf("%q: exit %d, %q %q", c.args, code, out, notes)
		}
	}
	l.key = readerKey
	for _, args := range [][]string{of("begin", "db-3", "--for", "1h"), of("end", "db-3")} {
		if code, out, notes := l.run(t, "", args...); code != exit.Failed || out != "" ||
			notes != "this key does not have the scope rules: use one that has it, such as "+
				"ringwatch "+
				"key create --scopes operator makes" {
			t.Errorf("%q: exit %d, %q %q", args, code, out, notes)
		}
	}
	if len(l.asked) > 0 {
		t.Errorf("asked %q", l.asked)
	}
}

// TestInterrupted: who is interrupted has not begun anything, so the exit code is no success.
func TestInterrupted(t *testing.T) {
	l := mustLine(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	flags := client.Flags{API: l.url, Key: l.key}
	begin := BeginCmd{Flags: flags, Cluster: "shop", Node: "db-3", Until: Until{For: "1h"}}
	end := DoneCmd{Flags: flags, Cluster: "shop", Node: "db-3", Wait: time.Minute}
	for _, run := range []func(context.Context) error{begin.Run, end.Run} {
		if err := run(ctx); err == nil || errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}

// TestAnotherNodePages: while one node is in maintenance, a second one that is down is told of, by
// itself and as two that are silent. The one in maintenance is not.
func TestAnotherNodePages(t *testing.T) {
	told := make(chan []string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var m struct {
			Alerts []struct{ Labels map[string]string }
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		var names []string
		for _, a := range m.Alerts {
			names = append(names, strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["node"]))
		}
		slices.Sort(names)
		told <- names
	}))
	t.Cleanup(hook.Close)
	shipped, err := os.ReadFile("../../../../notify/default.yml")
	if err != nil {
		t.Fatal(err)
	}
	l := mustLine(t, strings.NewReplacer("group_wait: 30s", "group_wait: 1s", "name: console",
		"name: console\n    webhook_configs: [{url: '"+hook.URL+"'}]").Replace(string(shipped)))
	l.must(t, of("begin", "db-3", "--for", "30m")...)
	l.fire(t, [3]string{"CassandraNodeDown", ids[2], "warning"},
		[3]string{"NodeGCTime", ids[2], "critical"},
		[3]string{"CassandraNodeDown", ids[1], "warning"},
		[3]string{"CassandraNodesDown", "", "critical"})
	select {
	case names := <-told:
		want := []string{"CassandraNodeDown " + ids[1], "CassandraNodesDown"}
		if !slices.Equal(names, want) {
			t.Errorf("told %q, want %q", names, want)
		}
	case <-time.After(patience):
		t.Fatal("nobody is told")
	}
}

// TestClusterAlertsStayLoud: no shipped alert about several nodes has the label node, so that no
// maintenance keeps it quiet.
func TestClusterAlertsStayLoud(t *testing.T) {
	want := map[string]bool{"CassandraNodesDown": true, "RingwatchNodesStale": true}
	for _, file := range rules.ShippedFiles {
		text, err := rules.Shipped.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var parsed struct {
			Groups []struct {
				Rules []struct{ Alert, Expr string }
			}
		}
		if err := yaml.Unmarshal(text, &parsed); err != nil {
			t.Fatal(err)
		}
		for _, g := range parsed.Groups {
			for _, r := range g.Rules {
				if !want[r.Alert] {
					continue
				}
				delete(want, r.Alert)
				expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
				if err != nil {
					t.Fatal(err)
				}
				if labels := resultLabels(expr); !slices.Equal(labels, []string{"cluster"}) {
					t.Errorf("%s has the labels %q: %s", r.Alert, labels, r.Expr)
				}
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("not shipped: %v", want)
	}
}

// TestRepeatingWindowOfTheDocs: what SAFE.md says about windows that come again is taken.
func TestRepeatingWindowOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/SAFE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "```yaml\ntime_intervals:")
	block, _, ends := strings.Cut(after, "```")
	if !found || !ends {
		t.Fatal("SAFE.md has no time_intervals")
	}
	for _, zone := range []string{"", ", location: Europe/Berlin"} {
		text := strings.Replace("time_intervals:"+block, "}]}]", "}]"+zone+"}]", 1) +
			"receivers: [{name: me}]\n"
		if _, err := notify.Parse([]byte(text), "SAFE.md", ""); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
	}
}

// resultLabels are the labels of what an expression gives, as far as they are sure: those of the
// aggregation by names that its left side ends with.
func resultLabels(expr parser.Expr) []string {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return resultLabels(e.Expr)
	case *parser.BinaryExpr:
		return resultLabels(e.LHS)
	case *parser.AggregateExpr:
		if !e.Without {
			return e.Grouping
		}
	}
	return []string{"not sure"}
}
