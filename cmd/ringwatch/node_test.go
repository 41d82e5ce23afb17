package main

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// TestNodeForget: a node is forgotten by its address or id, in the cluster that is named; it is the
// last in the list of nodes from then on, and in no list of those that are watched.
func TestNodeForget(t *testing.T) {
	nodes := serve(t)
	for _, c := range []struct {
		args []string
		code int
		says string // on standard error
	}{
		{[]string{"node", "forget", "10.0.0.1"}, 1, "is up and would be back with its next frame"},
		{[]string{"node", "forget", "10.0.0.77"}, 2, `sees no node "10.0.0.77"`},
		{[]string{"node", "forget", "10.0.0.3", "--cluster", "south"}, 2, `sees no cluster "south"`},
		{[]string{"node", "forget", ""}, 2, "NODE is empty"},
		{[]string{"node", "forget"}, 2, "expected"},
	} {
		if code, out, errs := say(t, c.args...); code != c.code || out != "" ||
			!strings.Contains(errs, c.says) {
			t.Errorf("%q: exit %d, %q %q", c.args, code, out, errs)
		}
	}
	print := func(args ...string) string {
		t.Helper()
		code, out, errs := say(t, args...)
		if code != 0 || errs != "" {
			t.Errorf("%q: exit %d, %q", args, code, errs)
		}
		return out
	}
	expect(t, print("node", "forget", "10.0.0.3", "--cluster", "prod"),
		`^forgot 10\.0\.0\.3 of cluster prod; if it speaks again it is back$`)
	expect(t, print("node", "forget", nodes[2].ID.String()),
		`^10\.0\.0\.3 of cluster prod has left already: forgotten by key r since 20.*Z$`)
	expect(t, print("node", "forget", "10.0.0.3", "--json"), `"state":"forgotten"`)
	expect(t, print("nodes"), `10\.0\.0\.2 .* up .*\n.*10\.0\.0\.3 .* forgotten by key r +2m00s`)
	expect(t, print("clusters"), `^prod +cassandra +2 +2 up +1 +dc1 \(2\)$`)
	if out := print("top", "--once"); strings.Contains(out, "10.0.0.3") ||
		!strings.Contains(out, "10.0.0.2") {
		t.Error(out)
	}
	if out := print("__complete", "zsh", "node", "forget",
		"10.0.0."); strings.Contains(out, "10.0.0.3") ||
		!strings.Contains(out, "10.0.0.2") {
		t.Error(out)
	}
}

// TestPausedNode: a node whose agent is paused is counted apart, and stands between those that are
// down and those that are up.
func TestPausedNode(t *testing.T) {
	nodes := []*frametest.Node{frametest.New("prod", 1, 7), frametest.New("prod", 2, 7),
		frametest.New("prod", 3, 7)}
	facts := append(nodes[1].Identity.Facts, frame.Fact{Name: frame.FactPaused,
		Value: "2026-11-28T08:15:00Z"})
	slices.SortFunc(facts, func(a, b frame.Fact) int { return cmp.Compare(a.Name, b.Name) })
	nodes[1].Identity.Facts = facts
	serveNodes(t, nodes)
	for command, want := range map[string]string{
		"nodes":                `10\.0\.0\.2 .* paused `,
		"nodes --state paused": `^HOST .*\n.*10\.0\.0\.2 .*\n$`,
		"clusters":             `^prod +cassandra +3 +1 up, 1 paused, 1 down +0 +dc1 \(3\)$`,
		"top --once": `(?s)10\.0\.0\.3.* down .*10\.0\.0\.2.* paused .* - +- +- +-` +
			`.*10\.0\.0\.1.* up `,
	} {
		code, out, errs := say(t, strings.Fields(command)...)
		if code != 0 || errs != "" {
			t.Errorf("%s: exit %d, %q", command, code, errs)
		}
		expect(t, out, want)
	}
}

// TestNodesThatRunAndDoNotServe: the list says what such a node does not do, and they stand behind
// the one that is down and before those that are up.
func TestNodesThatRunAndDoNotServe(t *testing.T) {
	nodes := []*frametest.Node{frametest.New("prod", 1, 7), frametest.New("prod", 2, 7),
		frametest.New("prod", 3, 7)}
	for i, words := range []string{frame.Leaving, frame.NoGossip + "," + frame.NoClients} {
		facts := append(nodes[i].Identity.Facts,
			frame.Fact{Name: frame.FactNotServing, Value: words})
		slices.SortFunc(facts, func(a, b frame.Fact) int { return cmp.Compare(a.Name, b.Name) })
		nodes[i].Identity.Facts = facts
	}
	serveNodes(t, nodes)
	for command, want := range map[string]string{
		"nodes":                     `10\.0\.0\.2 .* not serving \(no gossip, no clients\) `,
		"nodes --state not_serving": `^HOST .*\n.*10\.0\.0\.2 .*\n$`,
		"clusters":                  `^prod +cassandra +3 +1 leaving, 1 not serving, 1 down +0 `,
		"top --once": `(?s)10\.0\.0\.3.* down .*10\.0\.0\.2.* not serving \(.*` +
			`10\.0\.0\.1.* leaving `,
	} {
		code, out, errs := say(t, strings.Fields(command)...)
		if code != 0 || errs != "" {
			t.Errorf("%s: exit %d, %q", command, code, errs)
		}
		expect(t, out, want)
	}
	if code, out, _ := say(t, "nodes", "--state", "not serving"); code != 0 ||
		!strings.Contains(out, "10.0.0.2") {
		t.Errorf("as the list has it: exit %d, %s", code, out)
	}
}

// TestHowNodesLeft: the list says where they are or who is in their place, by address where that is
// known.
func TestHowNodesLeft(t *testing.T) {
	known := []fleet.NodeInfo{{ID: "aa-1", Address: "10.0.0.1:7000"}}
	for want, n := range map[string]fleet.NodeInfo{
		"up": {State: "up"}, "down, claimed": {State: "down", Claimed: true},
		"decommissioned":            leftNode("decommissioned", ""),
		"replaced by 10.0.0.1:7000": leftNode("replaced", "aa-1"),
		"replaced by bb-2":          leftNode("replaced", "bb-2"),
		"moved to south":            leftNode("moved", "south"),
		`forgotten by key \u001b`:   leftNode("forgotten", "\x1b"),
	} {
		if got := n.StateAmong(known); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func leftNode(why, by string) fleet.NodeInfo {
	n := fleet.NodeInfo{State: why}
	n.Left = &fleet.LeftInfo{By: by}
	return n
}
