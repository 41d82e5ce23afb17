package rules

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/query/querytest"
)

// newRecords lets a role log into the text that it returns.
func newRecords(d *Deps) *strings.Builder {
	lines := &strings.Builder{}
	d.Log = slog.New(slog.NewTextHandler(lines, nil))
	return lines
}

// TestTenants: two accounts have a cluster of the same name with nodes of the same ids, and files
// of their own beside one of all. Each has its own rules' results on its own nodes, and no other.
func TestTenants(t *testing.T) {
	w := newTown(t, 0,
		`groups: [{name: all, rules: [{record: "cluster:nodes:count", expr: count by (cluster) (up)}]}]`)
	own := map[string]string{}
	for _, account := range []string{"acme", "zeta"} {
		own[account] = write(t, fmt.Sprintf(`
groups:
- name: own
  rules:
  - {alert: Load, expr: node_load1 > 3, labels: {of: %[1]s}}
  - {record: "%[1]s:load:max", expr: max by (cluster) (node_load1)}
`, account))
	}
	w.set = func(c *Config, _ *Deps) {
		c.Accounts = map[string][]string{"acme": {own["acme"]}, "zeta": {own["zeta"]}}
	}
	for i := range 4 {
		w.add("acme", "north", uint64(i+1))
	}
	w.add("zeta", "north", 1).load = 9
	w.add("", "north", 2).load = 9 // an account without rules of its own
	for range 3 {
		w.pass(4*time.Minute, nil)
		w.begin()
	}
	w.wantTold(0, "Load 4 firing")
	for i := range w.alerts {
		if a := &w.alerts[i]; a.Account != "zeta" || a.Labels.Get("of") != "zeta" ||
			a.Cluster != "north" {
			t.Errorf("%s %s", a.Account, a.Labels)
		}
	}
	want := map[string]map[string]float64{
		"acme": {"cluster:nodes:count": 4, "acme:load:max": 1},
		"zeta": {"cluster:nodes:count": 1, "zeta:load:max": 9, "ALERTS": 1,
			"ALERTS_FOR_STATE": -1},
		querytest.Account: {"cluster:nodes:count": 1},
	}
	seen := 0
	for account, names := range want {
		of := &line{t: t}
		for _, s := range w.published {
			if s.of() == account {
				of.published = append(of.published, s)
			}
		}
		for series, values := range of.recorded() {
			seen++
			_, name, _ := strings.Cut(series, `__name__="`)
			name, _, _ = strings.Cut(name, `"`)
			v, wanted := names[name]
			newest := int64(0)
			for at := range values {
				newest = max(newest, at)
			}
			if !wanted || v >= 0 && values[newest] != v {
				t.Errorf("%s has %s = %v", account, series, values[newest])
			}
		}
		s := w.states[clusterKey{account, "north"}]
		if s.Account != account || len(s.Nodes) != int(want[account]["cluster:nodes:count"]) {
			t.Errorf("the state of %s is of %q, with %d nodes", account, s.Account, len(s.Nodes))
		}
		for _, g := range s.Groups {
			for other, file := range own {
				if other != account && g.File == file {
					t.Errorf("the state of %s has a group of %s", account, other)
				}
			}
		}
	}
	if seen != 2+4+1 {
		t.Errorf("%d series", seen)
	}
	board := w.board()
	if list := board.Alerts("acme", nil); len(list) != 0 {
		t.Errorf("acme sees %v", list)
	}
	if list := board.Alerts("zeta", nil); len(list) != 1 || list[0].Labels["of"] != "zeta" {
		t.Errorf("zeta sees %v", list)
	}
	for account, file := range own {
		for _, g := range board.Groups(account, Filter{}) {
			if g.File != file && g.File != w.file {
				t.Errorf("%s sees a group of %s", account, g.File)
			}
		}
	}
}

// board returns what the API would say now.
func (w *town) board() *Status {
	w.Helper()
	if err := w.role.save(w.Context(), time.UnixMilli(w.at), true); err != nil {
		w.Fatal(err)
	}
	c := w.role.config
	b, err := NewStatus(c, Deps{})
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range w.states {
		packed, err := s.Pack()
		if err != nil {
			w.Fatal(err)
		}
		of, err := UnpackState(packed)
		if err != nil {
			w.Fatal(err)
		}
		b.Put(of)
	}
	return b
}

// TestFilesChange: while the role runs, files change. What is wrong changes nothing and is said
// once; what is new is in force soon, and alerts of rules that stay are the same ones.
func TestFilesChange(t *testing.T) {
	const load = `
- name: load
  rules:
  - {alert: Load, expr: node_load1 > 3, for: 2m}
`
	w := newTown(t, 2, "groups:"+load)
	var log *strings.Builder
	w.set = func(_ *Config, d *Deps) {
		if log == nil {
			log = newRecords(d)
		}
	}
	change := func(text string) {
		t.Helper()
		if err := os.WriteFile(w.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(6*time.Minute, nil)
	w.nodes[0].load = 5
	w.pass(time.Minute, nil)

	change("groups: [{name: load, rules: [{alert: Load, expr: 'node_load1 >'}]}]\n---\n{}")
	w.pass(2*time.Minute, nil)
	if n := strings.Count(log.String(), "the rule files are wrong"); n != 1 ||
		strings.Count(log.String(), "\n") > 3 { // Prometheus's parser says something, too
		t.Errorf("it was said %d times that a file is wrong: %s", n, log)
	}
	w.wantTold(0, "Load 0 firing")
	first := said(w.last("Load", 0))

	before := len(w.alerts)
	change("groups:" + load + `
- name: more
  rules:
  - {alert: Every, expr: node_load1 > 0}
  - {record: "cluster:load:max", expr: "max by (cluster) (max_over_time(node_load1[3m]))"}
`)
	w.pass(time.Minute, nil)
	w.wantTold(before, "Every 0 firing", "Every 1 firing")
	if now := said(w.last("Load", 0)); now != first {
		t.Errorf("it is %s, was %s", now, first)
	}
	if len(w.line.recorded()) == 0 {
		t.Error("nothing is recorded")
	}

	before = len(w.alerts)
	change("groups:" + strings.Replace(load, "for: 2m", "for: 2m, labels: {severity: page}", 1))
	w.pass(3*time.Minute, nil)
	// The rule is another one now. What the old ones said ends.
	w.wantTold(before, "Load 0 inactive", "Load 0 firing", "Every 0 inactive", "Every 1 inactive")

	before = len(w.alerts)
	change("groups: []")
	w.pass(time.Minute, nil)
	w.wantTold(before, "Load 0 inactive")
	if s := w.states[clusterKey{querytest.Account, "north"}]; len(s.Groups) > 0 {
		t.Errorf("without any rules the state is %+v", s)
	}
}

// TestAppliedFilesAreApart holds that what one account applies, wrong or right, changes nothing of
// another's rules, not even which set it has.
func TestAppliedFilesAreApart(t *testing.T) {
	applied := map[string]map[string][]byte{
		"acme":  {"a.yaml": []byte("groups: [{name: a, rules: [{alert: A, expr: up == 0}]}]")},
		"other": {"b.yaml": []byte("groups: [{name: b, rules: [{alert: B, expr: up == 0}]}]")},
	}
	c := DefaultConfig()
	c.Shipped = false
	r, err := New(c, Deps{Applied: func() map[string]map[string][]byte { return applied }})
	if err != nil {
		t.Fatal(err)
	}
	acme, _ := r.files.of("acme")
	other, _ := r.files.of("other")
	change := func(text string) {
		t.Helper()
		applied = map[string]map[string][]byte{"acme": {"a.yaml": []byte(text)},
			"other": applied["other"]}
		if err := r.files.load(); err != nil {
			t.Fatal(err)
		}
		if s, _ := r.files.of("other"); s != other {
			t.Errorf("the other account's rules are others after %q", text)
		}
	}
	change("groups: [{name: a, rules: [{alert: A, expr: 'sum(up) =='}]}]")
	if s, _ := r.files.of("acme"); s != acme {
		t.Error("a wrong file took the account's rules away")
	}
	change("groups: [{name: a, rules: [{alert: C, expr: up == 0}]}]")
	if s, _ := r.files.of("acme"); s == acme || s.all[0].groups[0].Rules[0].Alert != "C" {
		t.Error("a right file did not come into force")
	}
	applied = map[string]map[string][]byte{"acme": {"a.yaml": []byte("groups: [")}}
	if r, err = New(c, Deps{Applied: func() map[string]map[string][]byte {
		return applied
	}}); err != nil {
		t.Fatalf("one account's file keeps the role from starting: %v", err)
	}
	if s, _ := r.files.of("acme"); len(s.all) != 0 {
		t.Error("an account with a wrong file has rules that nobody gave it")
	}
}
