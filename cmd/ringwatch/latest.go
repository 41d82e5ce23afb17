package main

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

	"github.com/ringwatch/ringwatch/query/nearest"
)

type latestCmd struct {
	clientFlags
	Node     string   `arg:"" help:"The node: its id, an unambiguous beginning of it, or its address."`
	Match    []string `help:"Only metrics whose name matches, * for any characters; may be repeated." sep:"none" placeholder:"GLOB"`
	Selector []string `help:"Only series that a Prometheus selector selects; may be repeated." sep:"none"`
	JSON     bool     `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*latestCmd) Help() string {
	return "Shows a node's newest values. For a histogram, VALUE is the number of observations " +
		"since the node started, with their p50 and p99.\n\n" +
		"Example: ringwatch latest 127.0.0.1 --match 'cassandra_table_*'\n\n" +
		"Example: ringwatch latest 127.0.0.1 --selector " +
		"'cassandra_table_read_latency_seconds{keyspace=\"system\"}'"
}

// Run implements the command.
func (c *latestCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdout) }

func (c *latestCmd) run(ctx context.Context, out io.Writer) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	node, err := api.node(ctx, c.Node)
	if err != nil {
		return err
	}
	query := url.Values{}
	for _, glob := range c.Match {
		query.Add("metrics", globSelector(glob))
	}
	for _, selector := range c.Selector {
		query.Add("metrics", selector)
	}
	if c.JSON {
		return printJSON(ctx, out, api, metricsPath(node.ID), query)
	}
	series, partial, err := api.metrics(ctx, node.ID, query)
	if err != nil {
		return err
	}
	warnPartial(os.Stderr, partial)
	if len(series) == 0 {
		for _, glob := range c.Match {
			if err := api.unknownMetric(ctx, node, glob); err != nil {
				return err
			}
		}
		return fmt.Errorf("%s has no such metrics: ringwatch latest %s shows all that it has",
			plain(node.name()), plain(node.name()))
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERIES\tVALUE\tP50\tP99\tUNIT")
	for i := range series {
		s := &series[i]
		for _, v := range s.Values {
			if v.Count != "" {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", s.name(), plain(v.Count),
					human(number(v.P50), s.Unit), human(number(v.P99), s.Unit), plain(s.Unit))
			} else {
				text := plain(v.Value)
				if s.Type != "string" {
					text = sixDigits(v.Value)
				}
				fmt.Fprintf(t, "%s\t%s\t\t\t%s\n", s.name(), text, plain(s.Unit))
			}
		}
	}
	return t.Flush()
}

// unknownMetric is the error of a metric, or of a glob of them, that a node has none of; nil if it
// has one.
func (c *client) unknownMetric(ctx context.Context, of *nodeInfo, glob string) error {
	series, _, err := c.metrics(ctx, of.ID, url.Values{})
	if err != nil || len(series) == 0 {
		return err
	}
	names := map[string]bool{}
	for i := range series {
		name := plain(series[i].Metric)
		if is, _ := path.Match(glob, name); is {
			return nil
		}
		names[name] = true
	}
	return usageError{fmt.Errorf("%s has no metric %q: %s", plain(of.name()), plain(glob),
		nearest.Offer(strings.Trim(glob, "*?"), slices.Sorted(maps.Keys(names))))}
}
