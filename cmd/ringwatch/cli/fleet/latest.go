package fleet

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/query/nearest"
)

// LatestCmd is ringwatch latest.
type LatestCmd struct {
	client.Flags
	Node     string   `arg:"" help:"The node: its id, an unambiguous beginning of it, or its address."`
	Match    []string `help:"Only metrics whose name matches, * for any characters; may be repeated." sep:"none" placeholder:"GLOB"`
	Selector []string `help:"Only series that a Prometheus selector selects; may be repeated." sep:"none"`
	JSON     bool     `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*LatestCmd) Help() string {
	return "Shows a node's newest values. For a histogram, VALUE is the number of observations " +
		"since the node started, with their p50 and p99.\n\n" +
		"Example: ringwatch latest 127.0.0.1 --match 'cassandra_table_*'\n\n" +
		"Example: ringwatch latest 127.0.0.1 --selector " +
		"'cassandra_table_read_latency_seconds{keyspace=\"system\"}'"
}

// Run implements the command.
func (c *LatestCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *LatestCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	node, err := FindNode(ctx, api, c.Node)
	if err != nil {
		return err
	}
	query := url.Values{}
	for _, glob := range c.Match {
		query.Add("metrics", GlobSelector(glob))
	}
	for _, selector := range c.Selector {
		query.Add("metrics", selector)
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, MetricsPath(node.ID), query)
	}
	series, partial, err := AskMetrics(ctx, api, node.ID, query)
	if err != nil {
		return err
	}
	WarnPartial(os.Stderr, partial)
	if len(series) == 0 {
		for _, glob := range c.Match {
			if err := unknownMetric(ctx, api, node, glob); err != nil {
				return err
			}
		}
		return fmt.Errorf("%s has no such metrics: ringwatch latest %s shows all that it has",
			screen.Plain(node.Name()), screen.Plain(node.Name()))
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERIES\tVALUE\tP50\tP99\tUNIT")
	for i := range series {
		s := &series[i]
		for _, v := range s.Values {
			if v.Count != "" {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", s.Name(), screen.Plain(v.Count),
					screen.Human(screen.Number(v.P50), s.Unit), screen.Human(screen.Number(v.P99),
						s.Unit), screen.Plain(s.Unit))
			} else {
				text := screen.Plain(v.Value)
				if s.Type != "string" {
					text = screen.SixDigits(v.Value)
				}
				fmt.Fprintf(t, "%s\t%s\t\t\t%s\n", s.Name(), text, screen.Plain(s.Unit))
			}
		}
	}
	return t.Flush()
}

// unknownMetric is the error of a metric, or of a glob of them, that a node has none of; nil if it
// has one.
func unknownMetric(ctx context.Context, c *client.Client, of *NodeInfo, glob string) error {
	series, _, err := AskMetrics(ctx, c, of.ID, url.Values{})
	if err != nil || len(series) == 0 {
		return err
	}
	names := map[string]bool{}
	for i := range series {
		name := screen.Plain(series[i].Metric)
		if is, _ := path.Match(glob, name); is {
			return nil
		}
		names[name] = true
	}
	return exit.Usage(fmt.Errorf("%s has no metric %q: %s", screen.Plain(of.Name()),
		screen.Plain(glob),
		nearest.Offer(strings.Trim(glob, "*?"), slices.Sorted(maps.Keys(names)))))
}
