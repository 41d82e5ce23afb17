package fleet

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// ClustersCmd is ringwatch clusters.
type ClustersCmd struct {
	client.Flags
	KindFlag
	JSON bool `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*ClustersCmd) Help() string {
	return "Lists the clusters that the key may see, with the numbers of their nodes that are " +
		"in each state.\n\nExample: ringwatch clusters"
}

// Run implements the command.
func (c *ClustersCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *ClustersCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, "/v1/clusters", c.only())
	}
	var clusters []clusterInfo
	if err := api.Ask(ctx, "/v1/clusters", c.only(), &clusters); err != nil {
		return err
	}
	if len(clusters) == 0 && c.Kind != "" {
		_, err := fmt.Fprintln(out, "No cluster has such a node: leave --kind out.")
		return err
	}
	if len(clusters) == 0 {
		return noNodes(out)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CLUSTER\tKIND\tNODES\tSTATES\tLEFT\tDATACENTERS")
	for i := range clusters {
		c := &clusters[i]
		var centers []string
		for _, d := range c.Datacenters {
			centers = append(centers,
				fmt.Sprintf("%s (%d)", screen.Dash(screen.Plain(d.Datacenter)), d.Nodes))
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%d\t%s\n", screen.Plain(c.Cluster),
			screen.Plain(strings.Join(c.Kinds, ", ")), c.Nodes, screen.Dash(c.states()), c.Left,
			strings.Join(centers, ", "))
	}
	return t.Flush()
}

// clusterInfo is a cluster as /v1/clusters shows it.
type clusterInfo struct {
	Cluster                                               string
	Kinds                                                 []string
	Nodes, Up, Leaving, Joining, Paused, Late, Down, Left int
	NotServing                                            int `json:"not_serving"`
	Datacenters                                           []struct {
		Datacenter string
		Nodes      int
	}
}

// states says how many nodes are in each state, without those in which none is.
func (c *clusterInfo) states() string {
	var list []string
	for _, s := range []struct {
		count int
		name  string
	}{
		{c.Up, "up"}, {c.Leaving, "leaving"}, {c.Joining, "joining"}, {c.Paused, "paused"},
		{c.Late, "late"}, {c.NotServing, "not serving"}, {c.Down, "down"},
	} {
		if s.count > 0 {
			list = append(list, fmt.Sprintf("%d %s", s.count, s.name))
		}
	}
	return strings.Join(list, ", ")
}

// CheckCluster fails if the key sees no such cluster; the API's error says which it sees.
func CheckCluster(ctx context.Context, c *client.Client, name string) error {
	_, err := AskNodes(ctx, c, url.Values{"cluster": {name}, "limit": {"1"}})
	return err
}
