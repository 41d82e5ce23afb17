package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/catalog"
	"github.com/ringwatch/ringwatch/query/expression"
)

// catalogs are the catalogues of accounts, and that of all others under the empty name.
type catalogs map[string]*catalog.Catalog

// of returns an account's catalogue.
func (c catalogs) of(account string) *catalog.Catalog {
	if own := c[account]; own != nil {
		return own
	}
	return c[""]
}

// catalogs reads the shipped catalogue and the files of accounts that have one.
func (c *config) catalogs() (catalogs, error) {
	shipped, err := catalog.Shipped()
	if err != nil {
		return nil, err
	}
	list := catalogs{"": shipped}
	var wrong []error
	for _, a := range c.Accounts {
		if a.Catalog == "" {
			continue
		}
		own, err := catalog.LoadFile(a.Catalog)
		if err == nil {
			err = c.checkLabels(own, a.Catalog)
		}
		if err == nil {
			own, err = shipped.With(own, a.Catalog)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("account %s: %w", a.Name, err))
			continue
		}
		list[a.Name] = own
	}
	return list, errors.Join(wrong...)
}

// checkLabels refuses entries whose labels become longer than a query's may.
func (c *config) checkLabels(of *catalog.Catalog, file string) error {
	parse := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	var wrong []error
	for _, e := range of.All() {
		for i := range e.Values {
			expr := e.Values[i].Expr(catalog.Scope{}, catalog.Labels(e.Of, catalog.NodeLabels...),
				catalog.DefaultWindow)
			tree, err := parse.ParseExpr(expr)
			if err == nil {
				err = expression.NewLabelGrowth(tree, 0, 1, c.Query.MaxLabelBytes).Check()
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: entry %s: %w", file, e.Name, err))
			}
		}
	}
	return errors.Join(wrong...)
}

// validateCatalogs finds what is wrong with the accounts' files. One that is not there is no
// error of the configuration: only the role api reads it, which may run on another machine and
// does say so.
func (c *config) validateCatalogs() error {
	_, err := c.catalogs()
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

type catalogCmd struct {
	clientFlags
	Name    string `arg:"" optional:"" help:"A name such as n::cpuUtilization, or a part of one. Its PromQL is shown."`
	Shipped bool   `help:"Show the shipped catalogue, without asking an API."`
	JSON    bool   `help:"Print the API's JSON." name:"json"`
}

// Help implements kong.HelpProvider.
func (*catalogCmd) Help() string {
	return "Lists the names that metrics= of the API takes, with the account's own " +
		"entries. In " +
		"PromQL $scope stands for the matchers of a cluster, a datacenter or a node, $by for the " +
		"labels " +
		"that are kept, and $range for the window of rates.\n\n" +
		"Example: ringwatch catalog n::diskUtilization\n\n" +
		"Example: ringwatch catalog latency"
}

// Run implements the command.
func (c *catalogCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdout) }

func (c *catalogCmd) run(ctx context.Context, out io.Writer) error {
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
		_, err = out.Write(append(plainJSON(body), '\n'))
		return err
	case len(found) == 1:
		return printEntry(out, &found[0])
	}
	return printGroups(out, groups)
}

// groups returns the account's catalogue, or the shipped one.
func (c *catalogCmd) groups(ctx context.Context) (groups []catalog.Group, err error) {
	if c.Shipped {
		shipped, err := catalog.Shipped()
		if err != nil {
			return nil, err
		}
		return shipped.Groups, nil
	}
	api, err := c.client()
	if err != nil {
		return nil, err
	}
	return groups, api.ask(ctx, "/v1/catalog", nil, &groups)
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
		fmt.Fprintln(out, plain(g.Title))
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, e := range g.Entries {
			for j, v := range e.Values {
				name, text := plain(e.Name), plain(e.Description)
				if j > 0 {
					name, text = "", ""
				}
				fmt.Fprintf(
					t,
					"  %s\t%s\t%s\t%s\t%s\n",
					name,
					plain(v.Type),
					plain(v.Unit),
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
	fmt.Fprintf(out, "%s, of a %s\n%s\n", plain(e.Name), plain(string(e.Of)), plain(e.Description))
	if len(e.Aliases) > 0 {
		fmt.Fprintf(out, "Also called %s.\n", plain(strings.Join(e.Aliases, ", ")))
	}
	for _, v := range e.Values {
		fmt.Fprintf(out, "\n%s in %s", plain(v.Type), plain(v.Unit))
		if v.Healthy != nil {
			fmt.Fprintf(out, ", healthy %s", healthy(v.Healthy))
		}
		fmt.Fprintf(out, "\n  %s\n", plain(v.PromQL))
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
