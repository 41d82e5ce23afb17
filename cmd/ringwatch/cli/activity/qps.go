package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"

	"github.com/ringwatch/ringwatch/api/qps"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// QPSCmd is ringwatch qps.
type QPSCmd struct {
	client.Flags
	By    []string      `help:"Add up by class, client, table or datacenter, or by several of these with commas. Without it: by all four." placeholder:"PART"`
	JSON  bool          `name:"json" help:"Print the API's JSON."`
	Once  bool          `help:"Print one table and exit. This is the default if the output is not a terminal."`
	Every time.Duration `help:"How often to ask again." default:"2s"`
}

// Help implements kong.HelpProvider.
func (*QPSCmd) Help() string {
	return "Shows who uses how much of Cassandra, over all processes, as a mean of the last " +
		"seconds, the largest first: operations, finished requests, operations that wait, " +
		"operations that were " +
		"refused, and how long requests took. LIMIT is the class's limit, HEALTH the part of it " +
		"that the cluster's health leaves. The key needs the scope admin. It sees its account's " +
		"clients, or all clients if " +
		"the server's api.operators names the account. q quits.\n\n" +
		"Example: ringwatch qps\n\nExample: ringwatch qps --by class,client --once"
}

// Run implements the command.
func (c *QPSCmd) Run(ctx context.Context) error {
	if c.JSON || c.Once || !term.IsTerminal(os.Stdout.Fd()) {
		return c.RunOnce(ctx, os.Stdout)
	}
	return c.Live(ctx)
}

func (c *QPSCmd) query() url.Values {
	if len(c.By) == 0 {
		return nil
	}
	return url.Values{"by": {strings.Join(c.By, ",")}}
}

// RunOnce prints once what the command shows again and again.
func (c *QPSCmd) RunOnce(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, "/v1/qps", c.query())
	}
	s, err := askQPS(ctx, api, c.query())
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, s.Text)
	return err
}

// Live shows it until q is pressed.
func (c *QPSCmd) Live(ctx context.Context, options ...tea.ProgramOption) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	return screen.Live(ctx, api.Base, c.Every, func(ctx context.Context) (screen.Screen, error) {
		return askQPS(ctx, api, c.query())
	}, options...)
}

// askQPS asks who asks.
func askQPS(ctx context.Context, c *client.Client, query url.Values) (screen.Screen, error) {
	path := "/v1/qps"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	body, header, err := c.Exchange(ctx, http.MethodGet, path, nil)
	if err != nil {
		return screen.Screen{}, err
	}
	var rows []qps.Rate
	if err := json.Unmarshal(body, &rows); err != nil {
		return screen.Screen{},
			fmt.Errorf("the API's answer cannot be read (%w): use a program of the "+
				"API's version", err)
	}
	var operations, waiting float64
	for i := range rows {
		operations += rows[i].OperationsPerSecond
		waiting += rows[i].Waiting
	}
	s := screen.Screen{Title: fmt.Sprintf("ringwatch qps   %s operations/s   %s waiting",
		screen.Human(math.Round(operations), ""), screen.Human(waiting, "")), Text: qpsTable(rows)}
	if len(rows) == 0 {
		s.Text = "Nobody whom this key may see has asked for anything in the last seconds.\n"
	}
	if header.Get(reply.PartialHeader) != "" {
		s.Title += "   of this API process alone"
		s.Text += "Redis does not answer the API, so this is what that server does by itself.\n"
	}
	return s, nil
}

// qpsTable has columns for what is not added up.
func qpsTable(rows []qps.Rate) string {
	type column struct {
		name string
		text func(*qps.Rate) string
	}
	seconds := func(of func(*qps.Rate) float64) func(*qps.Rate) string {
		return func(r *qps.Rate) string {
			if of(r) == 0 {
				return "-"
			}
			return screen.Human(of(r), "seconds")
		}
	}
	columns := []column{
		{"CLASS", func(r *qps.Rate) string { return r.Class }},
		{"CLIENT", func(r *qps.Rate) string { return r.Client }},
		{"TABLE", func(r *qps.Rate) string {
			return strings.Trim(r.Keyspace+"."+r.Table, ".")
		}},
		{"DC", func(r *qps.Rate) string { return r.Datacenter }},
		{"OPS/S", func(r *qps.Rate) string { return rate(r.OperationsPerSecond) }},
		{"REQ/S", func(r *qps.Rate) string { return rate(r.RequestsPerSecond) }},
		{"WAITING", func(r *qps.Rate) string { return screen.Human(r.Waiting, "") }},
		{"REFUSED/S", func(r *qps.Rate) string { return rate(r.RefusedPerSecond) }},
		{"MEAN", seconds(func(r *qps.Rate) float64 { return r.MeanSeconds })},
		{"P50", seconds(func(r *qps.Rate) float64 { return r.P50Seconds })},
		{"P99", seconds(func(r *qps.Rate) float64 { return r.P99Seconds })},
		{"LIMIT", func(r *qps.Rate) string {
			if r.LimitPerSecond == 0 {
				return ""
			}
			return screen.Human(r.LimitPerSecond, "")
		}},
		{"HEALTH", func(r *qps.Rate) string {
			if r.LimitPerSecond == 0 {
				return ""
			}
			return fmt.Sprintf("%.0f%%", r.HealthFactor*100)
		}},
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return !slices.ContainsFunc(rows, func(r qps.Rate) bool { return c.text(&r) != "" })
	})
	var sb strings.Builder
	t := tabwriter.NewWriter(&sb, 0, 0, 2, ' ', 0)
	line := func(text func(column) string) {
		cells := make([]string, len(columns))
		for i, c := range columns {
			if cells[i] = screen.Plain(text(c)); cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	line(func(c column) string { return c.name })
	for i := range rows {
		line(func(c column) string { return c.text(&rows[i]) })
	}
	_ = t.Flush() // a strings.Builder takes everything
	return sb.String()
}

// rate is a number per second for people.
func rate(v float64) string {
	if v >= 100 {
		return screen.Human(math.Round(v), "")
	}
	return screen.Human(math.Round(v*10)/10, "")
}
