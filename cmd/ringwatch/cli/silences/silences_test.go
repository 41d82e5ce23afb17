package silences

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

func expect(t *testing.T, out string, patterns ...string) {
	t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(out) {
			t.Errorf("no %q in:\n%s", p, out)
		}
	}
}

// TestAdd: what is typed becomes these matchers, and is printed with its id, its end and how many
// alerts it keeps quiet.
func TestAdd(t *testing.T) {
	l := mustLine(t, "")
	l.fire(t, [3]string{"CassandraHints", ids[0], "warning"},
		[3]string{"CassandraHints", ids[2], "critical"},
		[3]string{"CassandraNodesDown", "", "critical"})
	for _, c := range []struct {
		args    string
		matches string // as the API has it
		says    string
	}{
		{"cluster=shop", `{cluster="shop"}`, `^quiet until .*: cluster=shop$\n^It keeps 3 alerts`},
		{"CassandraHints", `{alertname="CassandraHints"}`, `^It keeps 2 alerts quiet that fire now`},
		{"CassandraHints severity!=warning", `{alertname="CassandraHints",severity!="warning"}`,
			`^It keeps 1 alert quiet that fires now\.$`},
		{"--alert Other", `{alertname="Other"}`, `^No alert fires now that it keeps quiet\.$`},
		{"--node db-3", `{cluster="shop",node="` + ids[2] + `"}`, `: cluster=shop node=db-3$`},
		{"--cluster shop --node 10.0.0.3", `{cluster="shop",node="` + ids[2] + `"}`, `keeps 1 alert`},
		{"cluster=shop node=db-3", `{cluster="shop",node="` + ids[2] + `"}`, `node=db-3$`},
		{`node=~"db-[13]"`, `{node=~"` + ids[0] + `|` + ids[2] + `"}`, `node=~db-1\|db-3$`},
		{"node!=db-3 alertname=~Cassandra.*", `{node!="` + ids[2] + `",alertname=~"Cassandra.*"}`, ``},
		{"{cluster=shop,severity=~info|warning}", `{cluster="shop",severity=~"info|warning"}`, ``},
		{"node=elsewhere", `{node="elsewhere"}`, `sees no node elsewhere: .*; node=elsewhere is taken`},
		{"cluster=bank", `{cluster="bank"}`, `sees no cluster bank: .*; cluster=bank is taken as it is$`},
	} {
		args := append(strings.Fields("silence add "+c.args), "--for", "1h", "--comment", "a b",
			"--author", "me")
		before := len(l.known(t))
		out, notes := l.must(t, args...)
		expect(t, notes, c.says)
		list := l.known(t)
		if len(list) != before+1 {
			t.Fatalf("%s: %d silences after %d", c.args, len(list), before)
		}
		for _, s := range list {
			if s.ID+"\n" != out {
				continue
			}
			if s.Matchers.String() != c.matches || s.CreatedBy != "me" || s.Comment != "a b" ||
				time.Until(s.EndsAt) > time.Hour || time.Until(s.EndsAt) < 50*time.Minute ||
				!s.is(active) {
				t.Errorf("%s: %+v %s", c.args, s, s.Matchers)
			}
			out = ""
		}
		if out != "" {
			t.Errorf("%s: no silence has the id %q", c.args, out)
		}
	}
}

// TestRefused: bad input is one sentence and exit code 2, and nothing is silenced.
func TestRefused(t *testing.T) {
	l := mustLine(t, "")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"add A --for 0", 2, `--for: "0" is not a duration`},
		{"add A --for=-1h", 2, `is not a duration`},
		{"add A --for soon", 2, `is not a duration`},
		{"add A --until 2020-01-01T00:00:00Z", 2, `--until: .* has passed \(20.*\): name a time in the`},
		{"add A --until tomorrow", 2, `--until: "tomorrow" is not a time: use 18:00`},
		{"add A --until 2099-01-01 --for 1h", 2, `--for and --until both say`},
		{"add A", 2, `say how long with --for 1h`},
		{"add cluster= --for 1h", 2, `.`}, // Alertmanager's own sentence
		{"add cluster=~( --for 1h", 2, `"cluster=~\(" is no matcher \(.*missing closing`},
		{"add =shop --for 1h", 2, `"=shop" is no matcher`},
		{"add A B --for 1h", 2, `no alert has both alertname=A and alertname=B: write alertname=~"A\|B"`},
		{"add --cluster shop cluster=bank --for 1h", 2, `no alert has both cluster=shop and cluster=b`},
		{"add --cluster shpo --for 1h", 2, `sees no cluster shpo: did you mean`},
		{"add --cluster shop --node db-33 --for 1h", 2, `sees no node db-33: did you mean`},
		{"add --for 1h", 2, `names nothing, so it keeps every alert quiet: name a .* or say --all`},
		{"add cluster=~.+ --for 1h", 2, `names nothing`},
		{"add severity!=nothing --for 1h", 2, `names nothing`},
		{"list --cluster shpo", 2, `sees no cluster shpo`},
		{"end 123", 2, `there is no silence "123"`},
	} {
		args := strings.Fields("silence " + c.args)
		if args[1] == "add" {
			args = append(args, "--comment", "x")
		}
		code, out, notes := l.run(t, "", args...)
		sentence := notes[strings.LastIndex(notes, "\n")+1:] // after notes of names
		if code != c.code || out != "" || !regexp.MustCompile(c.says).MatchString(sentence) {
			t.Errorf("%s: exit %d, %q %q", c.args, code, out, notes)
		}
	}
	if code, _, notes := l.run(t, "", "silence", "add", "A", "--for", "1h"); code != exit.Misused ||
		!strings.Contains(notes, "--comment") {
		t.Errorf("without a comment: %d %s", code, notes)
	}
	if code, _, notes := l.run(t, "", "silence", "add", "A", "--for", "1h", "--comment",
		" "); code != exit.Misused || !strings.Contains(notes, "--comment is empty") {
		t.Errorf("an empty comment: %d %s", code, notes)
	}
	if list := l.known(t); len(list) > 0 {
		t.Errorf("%d silences", len(list))
	}
}

// TestEverything: who is about to silence everything is asked.
func TestEverything(t *testing.T) {
	l := mustLine(t, "")
	l.fire(t, [3]string{"CassandraHints", ids[0], "warning"})
	add := []string{"silence", "add", "--for", "1h", "--comment", "x"}
	code, out, notes := l.run(t, "y\n", add...)
	if code != exit.Failed || out != "" || !strings.Contains(notes, "alerts that fire now: 1.") ||
		!strings.HasSuffix(notes, "nothing is silenced") {
		t.Errorf("%d %q %q", code, out, notes)
	}
	if code, _, notes = l.run(t, "yes\n", add...); code != 0 {
		t.Errorf("%d %q", code, notes)
	}
	l.must(t, append(add, "cluster=~.*", "--all")...)
	list := l.known(t)
	if len(list) != 2 {
		t.Fatalf("%d silences", len(list))
	}
	for _, s := range list {
		if !strings.HasSuffix(s.Matchers.String(), `alertname=~".+"}`) {
			t.Error(s.Matchers)
		}
	}
}

// TestListAndEnd: what is quiet is listed with its alerts, and ends by the beginning of its id.
func TestListAndEnd(t *testing.T) {
	l := mustLine(t, "")
	if out, _ := l.must(t, "silence", "list"); out != "No silence keeps anything quiet.\n" {
		t.Errorf("%q", out)
	}
	if out, _ := l.must(t, "silence", "list", "--json"); out != "[]\n" {
		t.Errorf("%q", out)
	}
	l.fire(t, [3]string{"CassandraHints", ids[0], "warning"},
		[3]string{"CassandraHints", ids[2], "x"})
	one, _ := l.must(t, "silence", "add", "--node", "db-1", "--for", "1h", "--comment",
		"disk\x1b[2J is replaced", "--author", "ann")
	two, _ := l.must(t, "silence", "add", "cluster=bank", "--until", "2099-01-01 00:00",
		"--comment",
		"x", "--author", "bob")
	one, two = strings.TrimSpace(one), strings.TrimSpace(two)
	out, _ := l.must(t, "silence", "list")
	expect(t, out, `^ID +BY +UNTIL +IN +ALERTS +MATCHES +WHY$`,
		`^`+one[:8]+` +ann +[-\d ]*\d\d:\d\d +(59m\d\ds|1h00m) +1 +\S`,
		`^`+two[:8]+` +bob +2099-01-01 00:00 +\d+d +0 +cluster=bank +x$`)
	out, _ = l.must(t, "silence", "list", "--cluster", "shop", "--wide")
	expect(t, out, `^`+one+` .* cluster=shop node=db-1 +disk\\u001b\[2J is replaced$`)
	if strings.Contains(out, two) {
		t.Errorf("another cluster's:\n%s", out)
	}
	for _, id := range []string{"", "zz"} {
		code, out, notes := l.run(t, "", "silence", "end", one, id)
		if code != exit.Misused || out != "" {
			t.Errorf("%q: %d %q %q", id, code, out, notes)
		}
	}
	l.key = readerKey
	l.must(t, "silence", "list")
	l.key = operatorKey
	out, _ = l.must(t, "silence", "end", one[:8])
	expect(t, out, `^ended `+one+`: cluster=shop node=db-1$`)
	out, _ = l.must(t, "silence", "end", one)
	expect(t, out, `^`+one+` ended at 20.* already: cluster=shop node=db-1$`)
	if out, _ = l.must(t, "silence", "list"); strings.Contains(out, one[:8]) {
		t.Errorf("it goes on:\n%s", out)
	}
	out, _ = l.must(t, "silence", "list", "--expired")
	expect(t, out, `^`+one[:8]+` +ann +[-\d ]*\d\d:\d\d +ended +- +\S`)
	out, _ = l.must(t, "silence", "list", "--expired", "--json")
	var list []Silence
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) != 2 ||
		list[0].ID != two || *list[0].Alerts != 0 || list[1].Alerts != nil || !list[1].is(expired) {
		t.Errorf("%v\n%s", err, out)
	}
	out, _ = l.must(t, "silence", "list", "--since", "1h")
	expect(t, out, `^ID +BY +FROM +UNTIL +IN +ALERTS`,
		`^`+one[:8]+` +ann +[-\d ]*\d\d:\d\d +[-\d ]*\d\d:\d\d +ended +- +\S`, `^`+two[:8])
	if code, _, _ := l.run(t, "", "silence", "list", "--since", "soon"); code == 0 {
		t.Error("soon is taken for a time")
	}
}

func TestUntil(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"18:00":            now.Add(6 * time.Hour),
		"2026-11-29 12:00": now.Add(24 * time.Hour),
		"2026-11-29":       now.Add(12 * time.Hour),
		now.Add(time.Second).UTC().Format(time.RFC3339): now.Add(time.Second),
		local(now.Add(time.Hour)):                       now.Add(time.Hour),
		"11:59":                                         {}, "12:00": {}, "24:01": {},
		"now": {}, "now-1h": {}, "x": {},
	} {
		at, err := (&Until{Until: text}).end(now)
		if want.IsZero() != (err != nil) || err == nil && !at.Equal(want) {
			t.Errorf("%s: %s %v, want %s", text, at, err, want)
		}
	}
}
