package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	wait "github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/rules"
)

// TestRulesLine lets real processes of ingest and rules live through what may happen to them, on a
// real Kafka and with a real Alertmanager. Each alert is told of as it is due, once.
func TestRulesLine(t *testing.T) {
	t.Parallel() // it waits most of the time
	l := newRulesLine(t)
	first := l.add("acme", "north")
	l.add("zeta", "north")
	second, third := l.add("acme", "south"), l.add("acme", "east")
	t.Run("AlertAtAlertmanager", func(t *testing.T) { l.testAlert(t, first) })
	t.Run("AccountsApart", func(t *testing.T) { l.testApart(t) })
	t.Run("ReportsInTheTopic", l.testReports)
	t.Run("KilledAtEachState", func(t *testing.T) { l.testKilled(t, second) })
	t.Run("OneOfTwoIsKilled", func(t *testing.T) { l.testTwo(t, first, second, third) })
	t.Run("KafkaIsAway", func(t *testing.T) { l.testKafka(t, third) })
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.topic {
		if a := &l.topic[i]; a.Labels.Get("alertname") == "Down" {
			t.Errorf("a node was told to be down: %+v", a)
		}
	}
}

// add adds a node that sends from now on.
func (l *rulesLine) add(account, cluster string) *lineNode {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &lineNode{Node: frametest.New(cluster, uint64(len(l.nodes)+1), 1), account: account,
		load: 1}
	n.Interval = 1000
	l.nodes = append(l.nodes, n)
	return n
}

func (l *rulesLine) load(n *lineNode, v float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.load = v
}

// changes returns what the topic has of an alert of a node, from the so-many-th change on.
func (l *rulesLine) changes(n *lineNode, alert string, from int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []string
	for i := range l.topic {
		a := &l.topic[i]
		if a.Account == n.account && a.Labels.Get("alertname") == alert &&
			a.Labels.Get("node") == n.ID.String() {
			list = append(list, fmt.Sprintf("%s %d", a.State, a.ActiveAt.UnixMilli()))
		}
	}
	return strings.Join(list[min(from, len(list)):], ", ")
}

// count is how many changes the topic has of an alert of a node.
func (l *rulesLine) count(n *lineNode, alert string) int {
	text := l.changes(n, alert, 0)
	if text == "" {
		return 0
	}
	return strings.Count(text, ",") + 1
}

// await waits until the topic has so many changes of an alert, and returns the last ones.
func (l *rulesLine) await(t *testing.T, n *lineNode, alert string, count int) string {
	t.Helper()
	eventually(t, fmt.Sprintf("%s to change %d times", alert, count), func(context.Context) error {
		if got := l.count(n, alert); got < count {
			return fmt.Errorf("it did %d times", got)
		}
		return nil
	})
	return l.changes(n, alert, 0)
}

// awaitPending waits until an alert has been pending after now, and returns since when.
func (l *rulesLine) awaitPending(t *testing.T, n *lineNode, alert string) {
	t.Helper()
	began := time.Now().UnixMilli()
	eventually(t, alert+" to be pending", func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.pending[n.account+" "+alert+" "+n.ID.String()] < began {
			return errors.New("it is not")
		}
		return nil
	})
}

// awaitEvaluated waits until all clusters have been evaluated at an instant after now.
func (l *rulesLine) awaitEvaluated(t *testing.T, within ...string) {
	t.Helper()
	began := time.Now().UnixMilli()
	eventually(t, "evaluations after now", func(context.Context) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, of := range within {
			s, there := l.states[of]
			if !there || slices.ContainsFunc(s.Groups, func(g rules.GroupState) bool {
				return g.Evaluated < began
			}) {
				return fmt.Errorf("%s is behind", of)
			}
		}
		return nil
	})
}

// people waits until people were told these states of an alert.
func (l *rulesLine) people(t *testing.T, n *lineNode, alert, want string) {
	t.Helper()
	eventually(t, "people to hear "+want, func(context.Context) error {
		if got := l.heard(n, alert); got != want {
			return fmt.Errorf("they heard %q", got)
		}
		return nil
	})
}

// heard returns the states that people heard of an alert, in their order.
func (l *rulesLine) heard(n *lineNode, alert string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.told[n.account+" "+alert+" "+n.ID.String()], " ")
}

// active returns since when Alertmanager takes an alert for firing; zero if it does not.
func (l *rulesLine) active(ctx context.Context, n *lineNode, alert string) (since, until time.Time,
	err error) {
	of := url.Values{"filter": {`alertname="` + alert + `"`, `node="` + n.ID.String() + `"`,
		`account="` + n.account + `"`}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+l.am.Addr()+"/api/v2/alerts/groups?"+of.Encode(), nil)
	if err != nil {
		return since, until, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return since, until, err
	}
	defer resp.Body.Close()
	var groups []struct {
		Labels map[string]string
		Alerts []struct{ StartsAt, EndsAt time.Time }
	}
	if err := json.NewDecoder(resp.Body).Decode(&groups); err != nil {
		return since, until, err
	}
	for _, g := range groups {
		for _, a := range g.Alerts {
			if g.Labels["account"] != n.account || g.Labels["alertname"] != alert {
				return since, until, fmt.Errorf("it is grouped by %v", g.Labels)
			}
			if a.EndsAt.After(time.Now()) {
				return a.StartsAt, a.EndsAt, nil
			}
		}
	}
	return since, until, nil
}

// testAlert: pending → firing → resolved, at people, at Alertmanager and in the topic.
func (l *rulesLine) testAlert(t *testing.T, n *lineNode) {
	l.awaitEvaluated(t, "acme/north", "zeta/north")
	l.load(n, 5)
	l.awaitPending(t, n, "High")
	if n := l.count(n, "High"); n != 0 {
		t.Errorf("%d changes are told of while it is pending", n)
	}
	l.await(t, n, "High", 1)
	eventually(t, "Alertmanager to have it", func(ctx context.Context) error {
		at, _, err := l.active(ctx, n, "High")
		if err == nil && at.IsZero() {
			err = errors.New("it has not")
		}
		return err
	})
	l.people(t, n, "High", "firing")
	l.load(n, 1)
	text := l.await(t, n, "High", 2)
	l.people(t, n, "High", "firing resolved")
	state, since, _ := strings.Cut(text, " ")
	since, _, _ = strings.Cut(since, ",")
	if text != fmt.Sprintf("%s %s, resolved %s", state, since, since) || state != "firing" {
		t.Errorf("the topic has %q", text)
	}
}

// testApart: the other account has the same cluster, a node and a rule of its own.
func (l *rulesLine) testApart(t *testing.T) {
	other := l.nodes[1]
	l.load(other, 7)
	l.await(t, other, "Own", 1)
	l.await(t, other, "High", 1)
	l.people(t, other, "Own", "firing")
	alerts := func(who string) (names []string) {
		for _, a := range l.board.Alerts(who, nil) {
			if a.State == "firing" {
				names = append(names, a.Labels["alertname"])
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	eventually(t, "the API to have the alerts", func(context.Context) error {
		if got := fmt.Sprint(alerts("zeta"), alerts("acme")); got != "[High Own] []" {
			return errors.New(got)
		}
		return nil
	})
	for who, want := range map[string]int{"zeta": 2, "acme": 1} {
		a, err := l.board.PromRules(mustSelectors(t))(account.Principal{Account: who},
			url.Values{})
		b, err2 := json.Marshal(a)
		if err != nil || err2 != nil || strings.Count(string(b), `"interval"`) != want ||
			strings.Contains(string(b), "Own") != (who == "zeta") {
			t.Errorf("%s sees %s", who, b)
		}
	}
	l.load(other, 1)
	l.await(t, other, "Own", 2)
	l.await(t, other, "High", 2)
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.topic {
		if a := &l.topic[i]; a.Labels.Get("alertname") == "Own" && a.Account != "zeta" {
			t.Errorf("acme is told of %s", a.Labels)
		}
	}
}

// testKilled kills the role while an alert is pending, while it fires and right after its end.
func (l *rulesLine) testKilled(t *testing.T, n *lineNode) {
	again := func() {
		l.kill(t, "one")
		l.start("one")
	}
	l.load(n, 5)
	l.awaitPending(t, n, "High")
	again()
	fired := l.await(t, n, "High", 1)
	again()
	l.awaitEvaluated(t, "acme/south")
	if now := l.changes(n, "High", 0); now != fired {
		t.Errorf("after a kill while it fires the topic has %q, had %q", now, fired)
	}
	l.people(t, n, "High", "firing")
	l.load(n, 1)
	ended := l.await(t, n, "High", 2)
	again()
	l.awaitEvaluated(t, "acme/south", "acme/north", "zeta/north")
	// Who was killed right after the end may say both again: what people hear is at least once.
	const both = "firing resolved"
	eventually(t, "people to hear "+both, func(context.Context) error {
		got := l.heard(n, "High")
		if got == "" || strings.Trim(strings.ReplaceAll(got, both, ""), " ") != "" {
			return fmt.Errorf("they heard %q", got)
		}
		return nil
	})
	_, since, _ := strings.Cut(fired, " ")
	if now := l.changes(n, "High", 0); now != ended || now != fired+", resolved "+since {
		t.Errorf("after all kills the topic has %q", now)
	}
}

// testTwo: two processes share the clusters. One is killed while alerts fire, and the other one
// goes on with them.
func (l *rulesLine) testTwo(t *testing.T, nodes ...*lineNode) {
	l.start("two")
	share := func(ctx context.Context) error {
		for name := range l.roles {
			m, err := metricsOf(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", l.ports[name]))
			if err != nil {
				return err
			}
			if m[`ringwatch_rules_clusters{scope="cluster"}`] == 0 {
				return fmt.Errorf("%s has no cluster", name)
			}
		}
		return nil
	}
	eventually(t, "both to have clusters", share)
	eventually(t, "both to tell as one", func(ctx context.Context) error {
		m, err := metricsOf(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", l.ports["two"]))
		if err == nil && m["ringwatch_alertmanager_members"] != 2 {
			err = fmt.Errorf("%v members", m["ringwatch_alertmanager_members"])
		}
		return err
	})
	var before []int
	for _, n := range nodes {
		before = append(before, l.count(n, "Higher"))
		l.load(n, 50)
	}
	var fired []string
	for i, n := range nodes {
		l.await(t, n, "Higher", before[i]+1)
		fired = append(fired, l.changes(n, "Higher", before[i]))
		l.people(t, n, "Higher"+ownWay, "firing")
	}
	l.kill(t, "one")
	l.awaitEvaluated(t, "acme/north", "acme/south", "acme/east", "zeta/north")
	for i, n := range nodes {
		if now := l.changes(n, "Higher", before[i]); now != fired[i] {
			t.Errorf("after the kill the topic has %q, had %q", now, fired[i])
		}
		l.load(n, 1)
	}
	for i, n := range nodes {
		l.await(t, n, "Higher", before[i]+2)
		_, since, _ := strings.Cut(fired[i], " ")
		if now := l.changes(n, "Higher", before[i]); now != fired[i]+", resolved "+since {
			t.Errorf("in the end the topic has %q", now)
		}
		l.people(t, n, "Higher", "firing resolved")
		l.people(t, n, "Higher"+ownWay, "firing resolved")
	}
}

// testKafka takes Kafka away while an alert fires.
func (l *rulesLine) testKafka(t *testing.T, n *lineNode) {
	before := l.count(n, "High")
	l.load(n, 5)
	l.await(t, n, "High", before+1)
	fired := l.changes(n, "High", before)
	if err := l.kafka.Kill(); err != nil {
		t.Fatal(err)
	}
	// It is said again long after the role's session has ended, so it never ends by itself.
	gone := time.Now().Add(30 * time.Second)
	eventually(t, "an alert to be said again without Kafka", func(ctx context.Context) error {
		_, until, err := l.active(ctx, n, "High")
		if err == nil && until.IsZero() {
			t.Error("Alertmanager takes it for resolved")
			return nil
		}
		if err == nil && until.Before(gone.Add(wait.Patience)) {
			err = fmt.Errorf("it lasts until %s", until)
		}
		return err
	})
	if err := l.kafka.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.awaitEvaluated(t, "acme/north", "acme/south", "acme/east", "zeta/north")
	if now := l.changes(n, "High", before); now != fired {
		t.Errorf("after the outage the topic has %q, had %q", now, fired)
	}
	l.load(n, 1)
	l.await(t, n, "High", before+2)
	_, since, _ := strings.Cut(fired, " ")
	if now := l.changes(n, "High", before); now != fired+", resolved "+since {
		t.Errorf("in the end the topic has %q", now)
	}
}
