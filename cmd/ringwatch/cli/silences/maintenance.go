package silences

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// maintenanceMark is how the comment of a maintenance begins. The purpose follows, and then, after
// a colon, what whoever began it says.
const maintenanceMark = "maintenance: "

// work is a maintenance: a silence of one node.
type work struct {
	*Silence
	cluster, node string // node is an id
}

// maintenances are those among silences, in their order.
func maintenances(list []Silence) (found []work) {
	for i := range list {
		w := work{Silence: &list[i]}
		if !strings.HasPrefix(w.Comment, maintenanceMark) || len(w.Matchers) != 2 {
			continue
		}
		for _, m := range w.Matchers {
			switch {
			case m.Type != labels.MatchEqual:
			case m.Name == clusterLabel:
				w.cluster = m.Value
			case m.Name == nodeLabel:
				w.node = m.Value
			}
		}
		if w.cluster != "" && w.node != "" {
			found = append(found, w)
		}
	}
	return found
}

// said is the purpose, and what whoever began it says.
func (w *work) said() (purpose, why string) {
	purpose, why, _ = strings.Cut(strings.TrimPrefix(w.Comment, maintenanceMark), ": ")
	return purpose, why
}

// of reports whether it is a node's, and in one of these states.
func (w *work) of(n *fleet.NodeInfo, states ...string) bool {
	return w.cluster == n.Cluster && w.node == n.ID && w.is(states...)
}

// BeginCmd is ringwatch maintenance begin.
type BeginCmd struct {
	client.Flags
	Cluster string `required:"" help:"The cluster's name." placeholder:"NAME"`
	Node    string `required:"" help:"The node: its id, an unambiguous beginning of it, its address, or its host name." placeholder:"NODE"`
	Until
	Purpose string        `help:"What is about to be done: restart, upgrade, decommission, repair or node-replace." enum:"restart,upgrade,decommission,repair,node-replace" default:"restart"`
	Comment string        `help:"What else who looks at it later should know." placeholder:"TEXT"`
	Wait    time.Duration `help:"Ask again until it is safe, for so long at most, as ringwatch safe does." placeholder:"30m"`
	Anyway  bool          `help:"Begin even if it is not safe; the reasons are printed all the same."`
	Author
}

// Help implements kong.HelpProvider.
func (*BeginCmd) Help() string {
	return "Asks what ringwatch safe asks. If it is safe, alerts of this node are quiet until " +
		"the time is over or ringwatch maintenance end is called. If it is not, it prints why " +
		"and ends with 1, unless --anyway is given.\n\n" +
		"No alert of another node is kept quiet, and none that is about the cluster: if a second " +
		"node is down meanwhile and QUORUM is lost, CassandraNodesDown fires. The key needs the " +
		"scopes read and rules.\n\n" +
		"Example: ringwatch maintenance begin --cluster shop --node db-3 --for 30m --wait 10m && " +
		"ssh db-3 sudo systemctl restart cassandra && ringwatch maintenance end --cluster shop " +
		"--node db-3"
}

// Run implements the command.
func (c *BeginCmd) Run(ctx context.Context) error {
	return told(c.RunTo(ctx, os.Stdout, os.Stderr))
}

// RunTo is Run for another output than the process has.
func (c *BeginCmd) RunTo(ctx context.Context, out, notes io.Writer) error {
	if _, err := c.Until.end(time.Now()); err != nil {
		return err
	}
	if c.Wait < 0 {
		return exit.Usage(errors.New("--wait: name a time such as 30m"))
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	node, err := fleet.FindNodeIn(ctx, api, c.Node, c.Cluster)
	if err != nil {
		return err
	}
	if node.Left != nil {
		return exit.Usage(fmt.Errorf("%s has left cluster %s (%s): no alert is about it",
			screen.Plain(node.Called()), screen.Plain(node.Cluster), node.StateAmong(nil)))
	}
	if err := mayChange(ctx, api); err != nil {
		return err
	}
	if _, err := alone(ctx, api, node); err != nil {
		return err
	}
	if err := c.safe(ctx, node, out, notes); err != nil {
		return err
	}
	others, err := alone(ctx, api, node) // that took a while, if it waited
	if err != nil {
		return err
	}
	return c.begin(ctx, api, node, others, out, notes)
}

// alone refuses a node that is in maintenance, and returns what else is in its cluster.
func alone(ctx context.Context, api *client.Client, node *fleet.NodeInfo) (others []work,
	err error) {
	list, err := AskSilences(ctx, api)
	if err != nil {
		return nil, err
	}
	for _, w := range maintenances(list) {
		if w.of(node, active, pending) {
			purpose, _ := w.said()
			return nil, fmt.Errorf("%s of cluster %s is in maintenance until %s already (%s, by "+
				"%s): end that with ringwatch maintenance end", screen.Plain(node.Called()),
				screen.Plain(node.Cluster), local(w.EndsAt), screen.Plain(purpose),
				screen.Plain(w.CreatedBy))
		}
		if w.cluster == node.Cluster && w.is(active) {
			others = append(others, w)
		}
	}
	return others, nil
}

// safe asks what ringwatch safe does, whose words are printed if it is a no.
func (c *BeginCmd) safe(ctx context.Context, node *fleet.NodeInfo, out, notes io.Writer) error {
	var said bytes.Buffer
	ask := fleet.SafeCmd{Flags: c.Flags, Cluster: c.Cluster, Node: node.ID, For: c.Purpose,
		Wait: c.Wait}
	err := ask.RunTo(ctx, &said, notes)
	if err == nil {
		return nil
	}
	if !c.Anyway || errors.Is(err, fleet.ErrInterrupted) {
		_, _ = said.WriteTo(out)
		return err
	}
	_, _ = said.WriteTo(notes)
	fmt.Fprintf(notes, "ringwatch: %s; it begins anyway\n", screen.PlainLines(err.Error()))
	return nil
}

func (c *BeginCmd) begin(ctx context.Context, api *client.Client, node *fleet.NodeInfo,
	others []work, out, notes io.Writer) error {
	now := time.Now() // the time that it waited is none of it
	ends, err := c.Until.end(now)
	if err != nil {
		return err
	}
	s := Silence{CreatedBy: c.name(), Comment: maintenanceMark + c.Purpose, EndsAt: ends,
		Matchers: labels.Matchers{equal(clusterLabel, node.Cluster), equal(nodeLabel, node.ID)}}
	if why := strings.TrimSpace(c.Comment); why != "" {
		s.Comment += ": " + why
	}
	quiet, err := askMatching(ctx, api, s.Matchers)
	if err != nil {
		return err
	}
	id, err := post(ctx, api, s, now)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		names := nodeNames(ctx, api)
		for _, w := range others {
			fmt.Fprintf(notes, "%s of this cluster is in maintenance, too, until %s\n",
				screen.Plain(cmp.Or(names[w.node], w.node)), local(w.EndsAt))
		}
	}
	_, err = fmt.Fprintf(out, "%s of cluster %s is in maintenance until %s (silence %s).\n%s\n",
		screen.Plain(node.Called()), screen.Plain(node.Cluster), local(ends), id,
		quietText(len(quiet)))
	return err
}

// WorkCmd is ringwatch maintenance list.
type WorkCmd struct {
	client.Flags
	Cluster string `help:"Only nodes of this cluster." placeholder:"NAME"`
	Wide    bool   `help:"Cut nothing." short:"w"`
	JSON    bool   `name:"json" help:"Print Alertmanager's JSON of the silences, with alerts: how many that fire now are kept quiet."`
}

// Help implements kong.HelpProvider.
func (*WorkCmd) Help() string {
	return "Lists the nodes in maintenance: in which state each is, what is done, by whom, until " +
		"when and for how long from now, and how many of its alerts that fire now are kept " +
		"quiet.\n\nExample: ringwatch maintenance list --cluster shop"
}

// Run implements the command.
func (c *WorkCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *WorkCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.Cluster != "" {
		if err := fleet.CheckCluster(ctx, api, c.Cluster); err != nil {
			return err
		}
	}
	list, err := AskSilences(ctx, api)
	if err != nil {
		return err
	}
	if err := countQuiet(ctx, api, list); err != nil {
		return err
	}
	all := []Silence{} // no null
	for _, w := range maintenances(list) {
		if !w.is(expired) && (c.Cluster == "" || c.Cluster == w.cluster) {
			all = append(all, *w.Silence)
		}
	}
	if c.JSON {
		return screen.PrintJSON(out, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out, "No node is in maintenance.")
		return err
	}
	nodes, err := fleet.AskNodes(ctx, api, nil)
	if err != nil {
		return err
	}
	heads := []string{"NODE", "CLUSTER", "STATE", "FOR", "BY", "UNTIL", "IN", "ALERTS", "WHY"}
	var rows [][]string
	for _, w := range maintenances(all) {
		rows = append(rows, w.row(nodes, time.Now()))
	}
	return writeRows(out, heads, rows, c.Wide)
}

func (w *work) row(nodes []fleet.NodeInfo, now time.Time) []string {
	name, state := w.node, ""
	for i := range nodes {
		if n := &nodes[i]; n.ID == w.node && n.Cluster == w.cluster {
			name, state = n.Called(), n.StateAmong(nodes)
		}
	}
	purpose, why := w.said()
	return []string{screen.Plain(name), screen.Plain(w.cluster), state, screen.Plain(purpose),
		screen.Plain(w.CreatedBy), shortTime(w.EndsAt, now), w.lasts(now), w.quiet(),
		screen.Plain(why)}
}
