// Package fleet has the commands about nodes and their values: clusters, nodes, node, latest,
// series, top and safe.
package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
)

// NodesCmd is ringwatch nodes.
type NodesCmd struct {
	client.Flags
	Cluster    string `help:"Only nodes of this cluster." placeholder:"NAME"`
	Datacenter string `help:"Only nodes of this datacenter." placeholder:"NAME"`
	Rack       string `help:"Only nodes of this rack." placeholder:"NAME"`
	KindFlag
	State string `help:"Only nodes that are up, leaving, joining, paused, late, not_serving, down, or left so." placeholder:"STATE"`
	Wide  bool   `help:"Cut no name, and show each node's id, too." short:"w"`
	JSON  bool   `name:"json" help:"Print the API's JSON."`
}

// KindFlag is a flag of commands that list nodes or clusters.
type KindFlag struct {
	Kind string `help:"Only nodes that run this: cassandra, kafka, redis or other." enum:"cassandra,kafka,redis,other," default:"" placeholder:"KIND"`
}

// only is which nodes the flag asks for; nil: all.
func (f *KindFlag) only() url.Values {
	if f.Kind == "" {
		return nil
	}
	return url.Values{"kind": {f.Kind}}
}

// Help implements kong.HelpProvider.
func (*NodesCmd) Help() string {
	return "Lists the nodes that the key may see. A node is up while its frames come, late when " +
		"some are missing, and down when none came for a minute, or when a node that is " +
		"read from " +
		"outside did not answer. It is paused while its agent says that it reads nothing " +
		"(paused: true in agent.yaml). It is not serving while it says that clients or other " +
		"nodes do not reach it: it was drained, its gossip or its native transport is off, it " +
		"starts, or it could not join. It is claimed if several " +
		"senders send its frames by turns.\n\n" +
		"Nodes that have left stand last, and no alert is about them: decommissioned, replaced " +
		"by another node, moved to another cluster, or forgotten by a key (ringwatch node " +
		"forget).\n\nLines have 100 columns at most: of longer names the middle is left out. " +
		"--wide has them whole.\n\nExample: ringwatch nodes --state down"
}

// Run implements the command.
func (c *NodesCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *NodesCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, "/v1/nodes", c.only())
	}
	nodes, err := AskNodes(ctx, api, c.only())
	if err != nil {
		return err
	}
	if len(nodes) == 0 && len(c.only()) > 0 {
		_, err := fmt.Fprintln(out, "No node is like that: leave a flag out.")
		return err
	}
	if len(nodes) == 0 {
		return noNodes(out)
	}
	slices.SortStableFunc(nodes, func(a, b NodeInfo) int { return cmp.Compare(a.rank(), b.rank()) })
	heads := []string{"HOST", "ADDRESS", "CLUSTER", "DC", "RACK", "KIND", "VERSION", "STATE", "AGE"}
	if c.Wide {
		heads = append(heads, "ID")
	}
	var rows [][]string
	for _, n := range nodes {
		row := []string{n.Facts["hostname"], n.Address, n.Cluster, n.Datacenter, n.Rack,
			n.Software(), n.version(), n.StateAmong(nodes), n.Age()}
		if c.Wide {
			row = append(row, n.ID)
		}
		for i := range row {
			row[i] = screen.Dash(screen.Plain(row[i]))
		}
		rows = append(rows, row)
	}
	if !c.Wide {
		screen.Fit(heads, rows, screen.ScreenColumns)
	}
	return screen.WriteTable(out, heads, len(heads), rows)
}

// Software is what the node runs. Of what is read from outside it has the job, too: several may
// read one address.
func (n *NodeInfo) Software() string {
	if job := n.Facts["job"]; job != "" && n.Kind == frame.KindOther {
		return n.Kind + " (" + job + ")"
	}
	return n.Kind
}

// only is which nodes are asked for.
func (c *NodesCmd) only() url.Values {
	of := url.Values{}
	for name, want := range map[string]string{"cluster": c.Cluster, "datacenter": c.Datacenter,
		"rack": c.Rack, "kind": c.Kind, "state": strings.ReplaceAll(c.State, " ", "_")} {
		if want != "" {
			of.Set(name, want)
		}
	}
	return of
}

// noNodes says what to do when there is nothing to see.
func noNodes(out io.Writer) error {
	_, err := fmt.Fprintln(out,
		"No nodes yet: start a Cassandra with the agent; the console's page Add a "+
			"node says how. A new node appears some seconds after its first frame.")
	return err
}

// NodeInfo is a node as /v1/nodes shows it.
type NodeInfo struct {
	ID         string
	Cluster    string
	Datacenter string
	Rack       string
	Kind       string
	Address    string
	Facts      map[string]string
	State      string
	Claimed    bool      `json:"claimed_by_several"`
	IntervalMS int64     `json:"interval_ms"`
	LastSeen   time.Time `json:"last_seen"` // zero: never
	AgeSeconds *float64  `json:"age_seconds"`
	Left       *LeftInfo // nil: it has not
}

// LeftInfo is how a node has left.
type LeftInfo struct {
	Since time.Time
	By    string
}

// StateAmong is the node's state, and whether several senders claim to be it; or how it left, in
// which a node among those that are known is named by its address.
func (n *NodeInfo) StateAmong(known []NodeInfo) string {
	switch {
	case n.Left == nil && n.Claimed:
		return n.stateText() + ", claimed"
	case n.Left == nil:
		return n.stateText()
	}
	link := map[string]string{"replaced": " by ", "moved": " to ", "forgotten": " by key "}[n.State]
	if n.Left.By == "" || link == "" {
		return screen.Plain(n.State)
	}
	by := n.Left.By
	for i := range known {
		if known[i].ID == by && n.State == "replaced" {
			by = known[i].Name()
		}
	}
	return screen.Plain(n.State + link + by)
}

// stateText is the node's state in words, with what it does not do.
func (n *NodeInfo) stateText() string {
	text := n.State
	if why := n.Facts[frame.FactNotServing]; text == read.StateNotServing && why != "" {
		text += " (" + strings.ReplaceAll(why, ",", ", ") + ")"
	}
	return screen.Plain(strings.ReplaceAll(text, "_", " "))
}

// version is that of the software that the node runs.
func (n *NodeInfo) version() string {
	return cmp.Or(n.Facts["version"], n.Facts["cassandra_version"])
}

// rank orders nodes that have left behind the others.
func (n *NodeInfo) rank() int {
	if n.Left != nil {
		return 1
	}
	return 0
}

// Age is how old the node's newest values are.
func (n *NodeInfo) Age() string {
	if n.AgeSeconds == nil {
		return "-"
	}
	d := time.Duration(*n.AgeSeconds * float64(time.Second))
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Called is how people call the node: its host name and its address, as far as they are known.
func (n *NodeInfo) Called() string {
	return cmp.Or(frame.Called(n.Facts["hostname"], n.Address), n.ID)
}

// Name is how a command may be told of the node.
func (n *NodeInfo) Name() string {
	if n.Address != "" {
		return n.Address
	}
	return n.ID
}

// AskNodes returns the nodes that /v1/nodes has with these parameters; all with nil.
func AskNodes(ctx context.Context, c *client.Client, of url.Values) ([]NodeInfo, error) {
	var nodes []NodeInfo
	return nodes, c.Ask(ctx, "/v1/nodes", of, &nodes)
}

// FindNode finds the one node that is meant: its id, an unambiguous beginning of it, its address,
// or its host name.
func FindNode(ctx context.Context, c *client.Client, meant string) (*NodeInfo, error) {
	return FindNodeIn(ctx, c, meant, "")
}

// FindNodeIn is FindNode in a cluster; in any if that is empty. Where a node that has left and one
// that has not may be meant, the latter is.
func FindNodeIn(ctx context.Context, c *client.Client, meant, cluster string) (*NodeInfo, error) {
	if meant == "" {
		return nil,
			exit.Usage(errors.New("NODE is empty: name a node's id, the beginning of it, its " +
				"address, or its host name"))
	}
	of := url.Values{"name": {meant}}
	if cluster != "" {
		of.Set("cluster", cluster)
	}
	nodes, err := AskNodes(ctx, c, of)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(nodes, func(a, b NodeInfo) int { return cmp.Compare(a.rank(), b.rank()) })
	var found []*NodeInfo
	for i := range nodes {
		n := &nodes[i]
		if strings.EqualFold(n.ID, meant) {
			return n, nil
		}
		if len(found) > 0 && found[0].Left == nil && n.Left != nil {
			break
		}
		found = append(found, n)
	}
	switch len(found) {
	case 0:
		if cluster != "" {
			return nil, fmt.Errorf("this key sees no node %q in a cluster %q: ringwatch nodes "+
				"lists those that it sees", meant, cluster)
		}
		return nil, fmt.Errorf("this key sees no node %q: ringwatch nodes lists those that it sees",
			meant)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%q may mean %s or %s: give more of its id", meant,
		screen.Plain(found[0].ID),
		screen.Plain(found[1].ID))
}
