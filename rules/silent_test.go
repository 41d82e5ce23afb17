package rules

import (
	"slices"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/series"
)

// TestSilentNode: its up is 0 after six intervals, and the alert on it survives the role for as
// long as the node is missed: hours in which no record of the node is left that the role would
// read.
func TestSilentNode(t *testing.T) {
	for _, end := range []string{"back", "absent"} {
		t.Run(end, func(t *testing.T) {
			w := newTown(t, 2, townRules)
			w.set = func(c *Config, _ *Deps) { c.Absent = 6 * time.Hour }
			w.pass(10*time.Minute, nil)
			silent := w.nodes[1]
			silent.dead = true
			last := silent.next - townInterval
			w.pass(10*time.Minute, nil)
			w.wantTold(0, "Few firing", "Down 1 firing")
			a := w.last("Down", 1)
			if late := a.FiredAt.UnixMilli() - last; late <= 6*townInterval ||
				late > 6*townInterval+15_000 {
				t.Errorf("down %d ms after the last frame", late)
			}
			up := w.recordedUp(silent)
			if up != 0 {
				t.Errorf("up is %v", up)
			}
			for range 4 {
				w.pass(time.Hour, nil)
				w.begin()
			}
			w.pass(time.Minute, nil)
			w.wantTold(0, "Few firing", "Down 1 firing")
			if now := w.last("Down", 1); !now.ActiveAt.Equal(a.ActiveAt) ||
				!now.FiredAt.Equal(a.FiredAt) || now.ValidUntil.UnixMilli() < w.at {
				t.Errorf("after the kills it is %s, was %s", said(now), said(a))
			}
			if end == "back" {
				silent.dead = false
				w.pass(time.Minute, nil)
			} else {
				w.until(last+6*time.Hour.Milliseconds()+20_000, nil)
				w.begin() // it is not known any more
				w.pass(time.Minute, nil)
				if n := len(w.states[clusterKey{a.Account, "north"}].Nodes); n != 1 {
					t.Errorf("the state has %d nodes", n)
				}
			}
			w.wantTold(0, "Few firing", "Down 1 firing", "Down 1 inactive")
			w.pass(20*time.Minute, nil)
			w.wantTold(0, "Few firing", "Down 1 firing", "Down 1 inactive")
		})
	}
}

// recordedUp is a node's up as rules see it.
func (w *town) recordedUp(c *citizen) float64 {
	w.Helper()
	of := w.cluster(c.account, c.Cluster)
	v, err := of.evaluation.query(w.Context(), series.MetricUp+`{node="`+c.ID.String()+`"}`,
		time.UnixMilli(w.at))
	if err != nil || len(v) != 1 {
		w.Fatalf("up is %v, %v", v, err)
	}
	return v[0].F
}

// cluster returns what the role has of a cluster.
func (w *town) cluster(account, cluster string) *cluster {
	w.Helper()
	s := sent{account: account}
	c := w.role.partitions[0].clusters[clusterKey{s.of(), cluster}]
	if c == nil {
		w.Fatalf("no cluster %s", cluster)
	}
	return c
}

// TestRenamedNode: what a node says of itself changes, and its series of before end at once, so
// that no rule sees it twice.
func TestRenamedNode(t *testing.T) {
	w := newTown(t, 1, `
groups:
- name: of
  rules:
  - record: node:version:one
    expr: up * on (cluster, node) group_left (cassandra_version) ringwatch_node_info
`)
	w.pass(6*time.Minute, nil)
	c := w.nodes[0]
	c.Identity.Facts[1].Value = "5.1.0"
	c.Restart(w.at)
	w.pass(time.Minute, func() {
		for _, r := range w.cluster("", "north").groups[0].Rules() {
			if err := r.LastError(); err != nil {
				t.Error(err)
			}
		}
	})
	if len(w.line.recorded()) != 2 {
		t.Errorf("%v", w.line.recorded())
	}
}

// TestSilentCluster: all nodes of a cluster are silent for so long that no record is left that the
// role would read. It is killed, and the alerts go on.
func TestSilentCluster(t *testing.T) {
	w := newTown(t, 2, townRules)
	w.pass(10*time.Minute, nil)
	for _, c := range w.nodes {
		c.dead = true
	}
	w.pass(2*time.Hour, nil)
	w.wantTold(0, "Down 0 firing", "Down 1 firing", "Few firing", "Few inactive")
	fired := w.last("Down", 0).FiredAt
	w.role = w.line.role(w.file)
	w.role.Assign(0)
	w.pass(10*time.Minute, nil)
	w.wantTold(0, "Down 0 firing", "Down 1 firing", "Few firing", "Few inactive")
	if a := w.last("Down", 0); a.ValidUntil.UnixMilli() < w.at || !a.FiredAt.Equal(fired) {
		t.Errorf("it is said no more: %s, valid until %s", said(a), a.ValidUntil)
	}
	w.role.Revoke(0)
	if len(w.role.partitions)+len(w.role.assigned) > 0 {
		t.Error("the partition is not given up")
	}
}

// TestKeyFrameLost: a node whose key frame never came is not down. Its values are missed until the
// next key frame, and nothing else.
func TestKeyFrameLost(t *testing.T) {
	w := newTown(t, 2, `
groups:
- name: all
  rules:
  - {alert: Down, expr: up == 0}
  - {alert: Load, expr: node_load1 > 3}
`)
	w.begin()
	lost, second := 0, frame.WindowOf(w.at)+frame.WindowMillis
	for end := second + 2*frame.WindowMillis; w.at < end; {
		w.at += 5000
		if w.at > second+frame.WindowMillis {
			w.nodes[0].load = 5
		}
		list := slices.DeleteFunc(w.made(w.at), func(s sent) bool {
			drop := frame.WindowOf(s.at) == second && isOf(&s, w.nodes[0]) && isKey(s)
			if drop {
				lost++
			}
			return drop
		})
		w.deliver(w.role, w.at, list...)
	}
	if lost != 1 {
		t.Fatalf("%d key frames were lost", lost)
	}
	w.wantTold(0, "Load 0 firing")
}
