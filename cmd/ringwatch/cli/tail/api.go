package tail

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// kindUnknown is the kind of a frame that is known of by its node's newest time only.
const kindUnknown = "-"

// TailEvery is how often tail asks the API. Tests have less time.
var TailEvery = time.Second

// followAPI prints nodes that have spoken since the last question, with the values that are asked
// for. It goes on after the API was away.
func (c *TailCmd) followAPI(ctx context.Context, out io.Writer) error {
	if c.Since != "" {
		return exit.Usage(errors.New("--since needs Kafka, which keeps frames: without it, " +
			"ringwatch series and ringwatch query show what was"))
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	t := &tail{tailCmd: c, out: bufio.NewWriter(out), nodes: map[tailKey]*tailNode{}}
	var seen map[string]time.Time // nil: nothing was asked yet
	failed := false
	for {
		nodes, err := fleet.AskNodes(ctx, api, nil)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && seen == nil:
			return err
		case err != nil && !failed:
			fmt.Fprintln(os.Stderr, "ringwatch:", err)
		}
		if failed = err != nil; !failed {
			if seen, err = t.spoke(ctx, api, nodes, seen); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(TailEvery):
		}
	}
}

// spoke prints the nodes whose newest frame is newer than before, and returns when each spoke.
func (t *tail) spoke(ctx context.Context, api *client.Client, nodes []fleet.NodeInfo,
	before map[string]time.Time) (map[string]time.Time, error) {
	seen := map[string]time.Time{}
	for i := range nodes {
		n := &nodes[i]
		key := n.Cluster + "/" + n.ID
		seen[key] = n.LastSeen
		if before == nil || !n.LastSeen.After(before[key]) || !t.shows(n) {
			continue
		}
		shown := tailFrame{At: n.LastSeen.UTC(), Cluster: n.Cluster, Node: n.ID, Address: n.Address,
			Kind: kindUnknown}
		if n.AgeSeconds != nil {
			shown.Received = shown.At.Add(time.Duration(*n.AgeSeconds * float64(time.Second)))
		}
		if len(t.tailCmd.Match) > 0 {
			values, err := askNewest(ctx, api, n.ID, t.tailCmd.Match)
			if err != nil {
				shown.Error = err.Error()
			}
			shown.Values = values
		}
		if err := t.print(&shown); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// shows reports whether a node is asked for.
func (t *tail) shows(n *fleet.NodeInfo) bool {
	return (t.tailCmd.Cluster == "" || globMatches(t.tailCmd.Cluster, n.Cluster)) &&
		(t.tailCmd.Node == "" || IsAddress(n.Address, t.tailCmd.Node) ||
			n.Facts["hostname"] == t.tailCmd.Node ||
			strings.HasPrefix(n.ID, strings.ToLower(t.tailCmd.Node)))
}

// askNewest returns a node's newest values of metrics whose names match.
func askNewest(ctx context.Context, c *client.Client, id string, globs []string) ([]tailValue,
	error) {
	query := url.Values{}
	for _, glob := range globs {
		query.Add("metrics", fleet.GlobSelector(glob))
	}
	series, _, err := fleet.AskMetrics(ctx, c, id, query)
	if err != nil {
		return nil, err
	}
	var list []tailValue
	for i := range series {
		s := &series[i]
		b := labels.NewBuilder(labels.FromMap(s.Labels)).Set(labels.MetricName, s.Metric)
		for _, v := range s.Values {
			list = append(list, tailValue{Series: b.Labels(), Value: v.Value, Count: v.Count})
		}
	}
	return list, nil
}
