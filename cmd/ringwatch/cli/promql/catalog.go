package promql

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/query/catalog"
)

// CatalogCmd is ringwatch catalog.
type CatalogCmd struct {
	client.Flags
	Name    string `arg:"" optional:"" help:"A name such as n::cpuUtilization, or a part of one. Its PromQL is shown."`
	Shipped bool   `help:"Show the shipped catalogue, without asking an API."`
	JSON    bool   `help:"Print the API's JSON." name:"json"`
}

// Help implements kong.HelpProvider.
func (*CatalogCmd) Help() string {
	return "Lists the names that metrics= of the API takes, with the account's own " +
		"entries. In " +
		"PromQL $scope stands for the matchers of a cluster, a datacenter or a node, $by for the " +
		"labels " +
		"that are kept, and $range for the window of rates.\n\n" +
		"Example: ringwatch catalog n::diskUtilization\n\n" +
		"Example: ringwatch catalog latency"
}

// Run implements the command.
func (c *CatalogCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *CatalogCmd) RunTo(ctx context.Context, out io.Writer) error {
	groups, err := c.groups(ctx)
	if err != nil {
		return err
	}
	var found []catalog.Entry
	if c.Name != "" {
		if found = findEntries(groups, c.Name); len(found) == 0 {
			return fmt.Errorf(
				"no name in the catalogue contains %q: ringwatch catalog lists all names",
				c.Name,
			)
		}
		for i := range groups {
			groups[i].Entries = slices.DeleteFunc(groups[i].Entries, func(e catalog.Entry) bool {
				return !slices.ContainsFunc(
					found,
					func(of catalog.Entry) bool { return of.Name == e.Name },
				)
			})
		}
		groups = slices.DeleteFunc(
			groups,
			func(g catalog.Group) bool { return len(g.Entries) == 0 },
		)
	}
	switch {
	case c.JSON:
		body, err := json.MarshalIndent(groups, "", "  ")
		if err != nil {
			return err
		}
		_, err = out.Write(append(screen.PlainJSON(body), '\n'))
		return err
	case len(found) == 1:
		return printEntry(out, &found[0])
	}
	return printGroups(out, groups)
}

// groups returns the account's catalogue, or the shipped one.
func (c *CatalogCmd) groups(ctx context.Context) (groups []catalog.Group, err error) {
	if c.Shipped {
		shipped, err := catalog.Shipped()
		if err != nil {
			return nil, err
		}
		return shipped.Groups, nil
	}
	api, err := c.Client()
	if err != nil {
		return nil, err
	}
	return groups, api.Ask(ctx, "/v1/catalog", nil, &groups)
}

// findEntries returns the entry with a name, or those whose names have it as a part.
func findEntries(groups []catalog.Group, name string) (parts []catalog.Entry) {
	for _, g := range groups {
		for _, e := range g.Entries {
			for _, other := range append([]string{e.Name, e.Short()}, e.Aliases...) {
				if strings.EqualFold(other, name) {
					if strings.Contains(name, "::") {
						return []catalog.Entry{e}
					}
					parts = append(parts, e)
					break
				}
				if strings.Contains(strings.ToLower(other), strings.ToLower(name)) {
					parts = append(parts, e)
					break
				}
			}
		}
	}
	return parts
}

// printGroups lists entries by group, a line for each value.
func printGroups(out io.Writer, groups []catalog.Group) error {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, screen.Plain(g.Title))
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, e := range g.Entries {
			for j, v := range e.Values {
				name, text := screen.Plain(e.Name), screen.Plain(e.Description)
				if j > 0 {
					name, text = "", ""
				}
				fmt.Fprintf(
					t,
					"  %s\t%s\t%s\t%s\t%s\n",
					name,
					screen.Plain(v.Type),
					screen.Plain(v.Unit),
					healthy(v.Healthy),
					text,
				)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// printEntry shows one entry with its PromQL.
func printEntry(out io.Writer, e *catalog.Entry) error {
	fmt.Fprintf(out, "%s, of a %s\n%s\n", screen.Plain(e.Name), screen.Plain(string(e.Of)),
		screen.Plain(e.Description))
	if len(e.Aliases) > 0 {
		fmt.Fprintf(out, "Also called %s.\n", screen.Plain(strings.Join(e.Aliases, ", ")))
	}
	for _, v := range e.Values {
		fmt.Fprintf(out, "\n%s in %s", screen.Plain(v.Type), screen.Plain(v.Unit))
		if v.Healthy != nil {
			fmt.Fprintf(out, ", healthy %s", healthy(v.Healthy))
		}
		fmt.Fprintf(out, "\n  %s\n", screen.Plain(v.PromQL))
	}
	return nil
}

// healthy writes a range for people.
func healthy(r *catalog.Range) string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch {
	case r == nil || r.Min == nil && r.Max == nil:
		return "-"
	case r.Max == nil:
		return "≥ " + number(*r.Min)
	case r.Min == nil:
		return "≤ " + number(*r.Max)
	}
	return number(*r.Min) + " to " + number(*r.Max)
}
