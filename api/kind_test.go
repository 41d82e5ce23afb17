package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/stream"
)

// watch adds a target of a cluster, which answers or not, and says so once.
func (f *fixture) watch(kind, cluster, instance string, up int64) *frametest.Target {
	f.Helper()
	n := frametest.NewTarget(kind, cluster, kind, instance)
	n.Pass(up)
	f.hear(n)
	return n
}

// hear gives the API the target's next frame.
func (f *fixture) hear(n *frametest.Target) {
	f.Helper()
	b := n.Frame(f.now.Load())
	f.store.Put(f.account("acme"), b)
	if err := f.writer.Handle(f.Context(),
		[]stream.Record{{Account: f.account("acme"), Value: b}}); err != nil {
		f.Fatal(err)
	}
}

// TestKinds: what software a node runs is in the lists, and chooses what they have.
func TestKinds(t *testing.T) {
	f := newSafeFixture(t, nil)
	f.watch(frame.KindKafka, "fleet", "k1:9092", 1)
	k2 := f.watch(frame.KindKafka, "stream", "k2:9092", 0)
	f.watch(frame.KindRedis, "stream", "r1:6379", 1)
	f.now.Add(6000) // the API remembers who the nodes are for five seconds
	nodes := func(query string) string {
		t.Helper()
		of, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct{ Address, Kind, State string }
		f.get("/v1/nodes", of, &list)
		texts := []string{}
		for _, n := range list {
			texts = append(texts, fmt.Sprintf("%s %s %s", n.Kind, n.Address, n.State))
		}
		slices.Sort(texts)
		return strings.Join(texts, ", ")
	}
	for query, want := range map[string]string{
		"kind=kafka":                   "kafka k1:9092 up, kafka k2:9092 down",
		"kind=kafka&state=down":        "kafka k2:9092 down",
		"kind=redis":                   "redis r1:6379 up",
		"kind=other":                   "",
		"kind=cassandra&name=10.0.0.1": "cassandra 10.0.0.1 up",
		"cluster=stream":               "kafka k2:9092 down, redis r1:6379 up",
	} {
		if got := nodes(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	f.now.Add(1)
	k2.Pass(1)
	f.hear(k2)
	if got := nodes("name=k2:9092"); got != "kafka k2:9092 up" {
		t.Errorf("when it answers again: %s", got)
	}
	clusters := func(query url.Values) string {
		t.Helper()
		var list []struct {
			Cluster   string
			Kinds     []string
			Nodes, Up int
		}
		f.get("/v1/clusters", query, &list)
		return fmt.Sprint(list)
	}
	if got := clusters(nil); got != "[{fleet [cassandra kafka] 4 4} {stream [kafka redis] 2 2}]" {
		t.Error(got)
	}
	if got := clusters(url.Values{"kind": {"redis"}}); got != "[{stream [redis] 1 1}]" {
		t.Error(got)
	}
	var targets []struct{ Labels map[string]string }
	f.get("/v1/discovery", url.Values{"kind": {"kafka"}}, &targets)
	if len(targets) != 2 || targets[0].Labels["__meta_ringwatch_kind"] != "kafka" {
		t.Errorf("%v", targets)
	}
	for _, path := range []string{"/v1/nodes", "/v1/clusters", "/v1/discovery"} {
		r := f.ask(acmeKey, path, url.Values{"kind": {"oracle"}})
		if r.status != 400 || !strings.Contains(string(r.body), "bad_kind") ||
			!strings.Contains(string(r.body), "cassandra, kafka, redis, other") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
		if r := f.ask(otherKey, path, url.Values{"kind": {"kafka"}}); string(r.body) != "[]\n" {
			t.Errorf("%s of another account: %s", path, r.body)
		}
	}
}

// TestSafeBesideOthers: what is safe is said of Cassandra's nodes alone, and that others are there.
func TestSafeBesideOthers(t *testing.T) {
	var left roster.Roster
	f := newSafeFixture(t, &left)
	f.watch(frame.KindKafka, "fleet", "k1:9092", 0)
	f.watch(frame.KindRedis, "stream", "r1:6379", 1)
	f.live(2)
	var a safe.Answer
	f.get("/v1/clusters/fleet/safe", url.Values{"for": {"restart"}}, &a)
	if !a.Safe || !slices.Contains(a.NotChecked,
		"Nodes that run other software are not looked at: 1 (kafka).") {
		t.Errorf("%+v", a)
	}
	for path, want := range map[string]string{
		"/v1/clusters/stream/safe?for=restart": "cluster stream has no Cassandra node: its nodes " +
			"run redis, and what is safe is known of Cassandra alone",
		"/v1/clusters/fleet/safe?for=restart&node=k1:9092": "the cluster's Cassandra nodes",
	} {
		at, query, _ := strings.Cut(path, "?")
		of, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if r := f.ask(acmeKey, at, of); !strings.Contains(string(r.body), want) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}
