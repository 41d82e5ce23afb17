// Package daily has the command report, the report on a day of a cluster.
package daily

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/notices"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/promql"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/query/catalog"
)

// ReportCmd is ringwatch report.
type ReportCmd struct {
	client.Flags
	Cluster string `arg:"" help:"The cluster's name."`
	Day     string `help:"The day, in UTC. Without it: the last 24 hours." placeholder:"YYYY-MM-DD"`
	Format  string `help:"text, html or json." enum:"text,html,json" default:"text"`
	JSON    bool   `name:"json" help:"The same as --format json."`
}

// Help implements kong.HelpProvider.
func (*ReportCmd) Help() string {
	return "Reports on a cluster: its worst nodes, what left its healthy range and for how " +
		"long, when disks will be full, its busiest and slowest tables, what is uneven, alerts, " +
		"whom they woke, and what changed. The page of --format html needs no network and " +
		"can be printed.\n\n" +
		"Example: ringwatch report production --day 2026-11-20\n\n" +
		"Example: ringwatch report production --format html > report.html"
}

// Run implements the command.
func (c *ReportCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, os.Stderr) }

// progressAfter is how long a command is silent.
const progressAfter = 2 * time.Second

// RunTo is Run for another output than the process has.
func (c *ReportCmd) RunTo(ctx context.Context, out, errs io.Writer) error {
	if c.JSON {
		c.Format = "json"
	}
	to := clock.Now()
	from := to.Add(-24 * time.Hour)
	if c.Day != "" {
		var err error
		if from, err = time.Parse(time.DateOnly, c.Day); err != nil {
			return exit.Usage(fmt.Errorf("--day: %q is not a day: write one such as 2026-11-20",
				c.Day))
		}
		if !from.Before(to.Add(-report.Step)) {
			return exit.Usage(
				fmt.Errorf("--day: %s has not begun in UTC: leave it out for the last 24 "+
					"hours", c.Day))
		}
		if end := from.Add(24 * time.Hour); end.Before(to) {
			to = end
		}
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	// The error of a cluster that the key does not see says which it sees.
	nodes, err := fleet.AskNodes(ctx, api, url.Values{"cluster": {c.Cluster}})
	if err != nil {
		return err
	}
	list, err := catalogOf(ctx, api)
	if err != nil {
		return err
	}
	said, began := time.Time{}, time.Now()
	r, err := report.Make(
		ctx,
		reportSource{api},
		report.Config{Cluster: c.Cluster, From: from, To: to,
			Catalog: list, Left: leftOf(nodes),
			Advise: func(ctx context.Context, _ []map[string]string, at time.Time,
				_ func(string) string) []report.Advised {
				var list []report.Advised
				for _, a := range alerts.AskAdvice(ctx, api, c.Cluster, at) {
					list = append(list, report.Advised{Alert: a.Labels, Text: a.Text})
				}
				return list
			},
			Told: func(ctx context.Context, from, to time.Time) ([]report.Told, bool, error) {
				return askTold(ctx, api, c.Cluster, from, to)
			},
			Progress: func(asked, of int) {
				if now := time.Now(); now.Sub(began) > progressAfter &&
					now.Sub(said) > progressAfter {
					said = now
					fmt.Fprintf(errs, "asking: %d of %d\n", asked, of)
				}
			}},
	)
	if errors.Is(err, report.ErrNoNodes) {
		return fmt.Errorf("cluster %s had no nodes between %s and %s: choose another --day",
			screen.Plain(c.Cluster), from.UTC().Format(time.DateTime),
			to.UTC().Format(time.DateTime))
	}
	if err != nil {
		return err
	}
	for _, text := range r.Lacks {
		fmt.Fprintln(errs, "ringwatch: the report lacks something:", screen.Plain(text))
	}
	switch c.Format {
	case "html":
		return r.WriteHTML(out)
	case "json":
		return r.WriteJSON(out)
	}
	return r.WriteText(out)
}

// askTold returns what receivers were told about a cluster. Not known: the process that is asked
// tells nobody, or the key may not ask it.
func askTold(ctx context.Context, api *client.Client, cluster string,
	from, to time.Time) (list []report.Told, known bool, err error) {
	messages, more, err := notices.Ask(ctx, api, url.Values{"cluster": {cluster},
		"from": {from.Format(time.RFC3339)}, "to": {to.Format(time.RFC3339)},
		"limit": {strconv.Itoa(notify.MaxHistory)}})
	var refused *client.RefusedError
	if errors.As(err, &refused) && (refused.Status == http.StatusNotImplemented ||
		refused.Status == http.StatusForbidden) {
		return nil, false, nil
	}
	if err == nil && more {
		err = report.ErrTooManyTold
	}
	for i := range messages {
		list = append(list, report.Told{At: messages[i].At, Alerts: messages[i].Firing(cluster),
			Failed: messages[i].Error != ""})
	}
	return list, err == nil, err
}

// leftOf returns those of the nodes that have left.
func leftOf(nodes []fleet.NodeInfo) (list []report.Left) {
	for i := range nodes {
		if n := &nodes[i]; n.Left != nil {
			list = append(list, report.Left{Node: n.ID, Address: n.Address, At: n.Left.Since,
				Why: n.State, By: n.Left.By})
		}
	}
	return list
}

// catalogOf asks for the account's catalogue.
func catalogOf(ctx context.Context, api *client.Client) (*catalog.Catalog, error) {
	var groups []catalog.Group
	if err := api.Ask(ctx, "/v1/catalog", nil, &groups); err != nil {
		return nil, err
	}
	return catalog.New(groups)
}

// reportSource asks PromQL of the API.
type reportSource struct{ *client.Client }

// Query implements report.Source.
func (s reportSource) Query(
	ctx context.Context,
	expr string,
	at time.Time,
) ([]report.Series, error) {
	return s.series(ctx, "/api/v1/query", url.Values{"query": {expr},
		"time": {promql.Seconds(at.UnixMilli())}})
}

// QueryRange implements report.Source.
func (s reportSource) QueryRange(ctx context.Context, expr string, from, to time.Time,
	step time.Duration) ([]report.Series, error) {
	return s.series(ctx, "/api/v1/query_range", url.Values{"query": {expr},
		"start": {promql.Seconds(from.UnixMilli())}, "end": {promql.Seconds(to.UnixMilli())},
		"step": {promql.Seconds(step.Milliseconds())}})
}

func (s reportSource) series(
	ctx context.Context,
	path string,
	values url.Values,
) ([]report.Series, error) {
	body, err := s.Form(ctx, path, values)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  *reportPoint
				Values []reportPoint
			}
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf(
			"the API's answer cannot be read (%w): use a program of the API's "+
				"version",
			err,
		)
	}
	var list []report.Series
	for _, of := range answer.Data.Result {
		one := report.Series{Labels: of.Metric}
		if of.Value != nil {
			of.Values = append(of.Values, *of.Value)
		}
		for _, p := range of.Values {
			one.Points = append(one.Points, report.Point(p))
		}
		list = append(list, one)
	}
	return list, nil
}

// reportPoint is read from [1763799000.123,"1.5"].
type reportPoint report.Point

// UnmarshalJSON implements json.Unmarshaler.
func (p *reportPoint) UnmarshalJSON(text []byte) error {
	var value string
	at, err := promql.ReadPoint(text, &value)
	p.At, p.Value = at.UnixMilli(), screen.Number(value)
	return err
}
