package rules

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
)

// TestAlertsNameNodes: a summary says a node's address and host name, also of one that has been
// silent for hours, and after the role was killed.
func TestAlertsNameNodes(t *testing.T) {
	w := newTownOf(t, 2, "cassandra.yaml")
	silent := w.nodes[1]
	silent.Identity.Facts = append(silent.Identity.Facts,
		frame.Fact{Name: "hostname", Value: "db-2"})
	w.pass(6*time.Minute, nil)
	silent.dead = true
	for range 2 {
		w.pass(time.Hour, nil)
		a := w.last("CassandraNodeDown", 1)
		if got, want := a.Annotations.Get("summary"), "Node db-2 (10.0.0.2) of cluster north "+
			"is silent"; got != want {
			t.Errorf("the summary is %q, want %q", got, want)
		}
		if a.Labels.Get("node") != silent.ID.String() || a.State.String() != "firing" {
			t.Errorf("it is %s", said(a))
		}
		w.begin()
	}
}

// TestNameChanges: a node gets another address, and its alert goes on under the new name.
func TestNameChanges(t *testing.T) {
	w := newTown(t, 1, `
groups:
- name: of
  rules:
  - alert: There
    expr: up >= 0
    annotations:
      summary: >-
        {{ $node := $labels.node }}{{ range printf "ringwatch_node_info{cluster=%q,node=%q}"
        $labels.cluster $labels.node | query }}{{ $node = or .Labels.name $node }}{{ end -}}
        {{ $node }} is there
`)
	c := w.nodes[0]
	w.pass(6*time.Minute, nil)
	began := w.last("There", 0)
	if got := began.Annotations.Get("summary"); got != "10.0.0.1 is there" {
		t.Errorf("the summary is %q", got)
	}
	c.Identity.Facts[0].Value = "10.0.0.77"
	c.Restart(w.at)
	w.pass(6*time.Minute, nil)
	now := w.last("There", 0)
	if got := now.Annotations.Get("summary"); got != "10.0.0.77 is there" ||
		!now.ActiveAt.Equal(began.ActiveAt) {
		t.Errorf("the summary is %q, since %s, was since %s", got, now.ActiveAt, began.ActiveAt)
	}
	w.wantTold(0, "There 0 firing")
}
