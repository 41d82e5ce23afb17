package ingest

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// TestNobodySendsAsRules: a key that may write everywhere does not say what rules have recorded.
func TestNobodySendsAsRules(t *testing.T) {
	key := account.NewKey()
	registry, err := account.NewRegistry([]account.Account{{Name: "acme", Clusters: []string{"*"},
		Keys: []account.Key{{Name: "all", Key: key, Scopes: []account.Scope{account.Write}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := mustServe(t, taken, func(_ *Config, d *Deps) {
		d.Admit = account.NewDoor(registry.Authenticate).Admit
	})
	for _, c := range []struct {
		node    uuid.UUID
		cluster string
		ok      bool
	}{
		{uuid.New(), "prod-1", true},
		{uuid.New(), "*x", true}, // a name like any other
		{frame.RecorderID("acme", "prod-1", "g"), "prod-1", false},
		{frame.RecorderID("other", "prod-1", "g"), "prod-1", false},
		{frame.RecorderID("acme", frame.EveryCluster, "g"), frame.EveryCluster, false},
		{uuid.New(), frame.EveryCluster, false},
	} {
		f := node{cluster: c.cluster}.key()
		f.Node = c.node
		b, err := f.Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := post(t, s.url, bytes.NewReader(b), withKey(key))
		if !c.ok {
			wantRefusal(t, answer, 403, "recorder")
		} else if answer.StatusCode != 204 {
			t.Errorf("node %s of %s: %s", c.node, c.cluster, answer.Status)
		}
	}
	s.ledger(t)
}

// TestLabelsOfNodes: a node's entities may have the label quantile of a summary, and no other label
// that is only a recorder's.
func TestLabelsOfNodes(t *testing.T) {
	s := mustServe(t, taken, func(*Config, *Deps) {})
	for _, c := range []struct {
		label string
		ok    bool
	}{
		{"recorded_quantile", true}, {"quantile_of", true}, {"exported_recorded_node", true},
		{"recorded_cluster", false}, {"recorded_node", false}, {"recorded_le", false},
		{"recorded_recorded_x", false}, {"recorded_", false},
	} {
		f := node{cluster: "prod-1"}.key()
		f.Node = uuid.New()
		f.Templates = append(f.Templates, frame.Template{Type: "summary",
			Labels: []string{c.label}, Metrics: []frame.Metric{{Name: "x", Kind: frame.Gauge}}})
		f.Added = append(f.Added, frame.Entities{Template: len(f.Templates) - 1,
			Rows: [][]string{{"0.99"}}})
		b, err := f.Append(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := post(t, s.url, bytes.NewReader(b))
		if !c.ok {
			wantRefusal(t, answer, 422, "recorder")
		} else if answer.StatusCode != 204 {
			t.Errorf("%s: %s", c.label, answer.Status)
		}
	}
	s.ledger(t)
}

// TestProcesses: our own processes send what they say of themselves, and of nothing else.
func TestProcesses(t *testing.T) {
	key := account.NewKey()
	registry, err := account.NewRegistry([]account.Account{{Name: "acme", Clusters: []string{"*"},
		Keys: []account.Key{{Name: "own", Key: key, Scopes: []account.Scope{account.Write},
			Clusters: []string{"ringwatch"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := mustServe(t, taken, func(_ *Config, d *Deps) {
		d.Admit = account.NewDoor(registry.Authenticate).Admit
	})
	own := frametest.Recorder{Cluster: "ringwatch", Interval: 20_000,
		Node: frame.ProcessID("ringwatch", "a", "api")}
	at := time.Now().UnixMilli() - 60_000
	for _, c := range []struct {
		labels map[string]string
		reason string
	}{
		{map[string]string{"cluster": "ringwatch", "instance": "a", "quantile": "0.5"}, ""},
		{map[string]string{"cluster": "prod"}, "process"},
		{map[string]string{"instance": "a"}, "process"},
		{map[string]string{"cluster": "ringwatch", "node": "n1"}, "process"},
		{map[string]string{"cluster": "ringwatch", "recorded_node": "n1"}, "process"},
	} {
		at++
		b, err := own.Frame(at, []frametest.Recorded{{Name: "x", Labels: c.labels, Value: 1}})
		if err != nil {
			t.Fatal(err)
		}
		answer := post(t, s.url, bytes.NewReader(b), withKey(key))
		if c.reason != "" {
			wantRefusal(t, answer, 422, c.reason)
		} else if answer.StatusCode != 204 {
			t.Errorf("%v: %s", c.labels, answer.Status)
		}
	}
	f := node{cluster: "ringwatch"}.key()
	f.Node, f.KeyAge, f.KeyCheck = own.Node, 1, 7
	f.Identity, f.Bounds, f.Templates, f.Added, f.Presence, f.Values = frame.Identity{}, nil, nil,
		nil, nil, nil
	f.At++
	keyed := &frame.Frame{Header: f.Header}
	keyed.At, keyed.KeyAge, keyed.KeyCheck, keyed.Check = f.At-1, 0, 0, 7
	b, err := f.Append(nil, keyed)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, post(t, s.url, bytes.NewReader(b), withKey(key)), 422, "process")
	s.ledger(t)
}
