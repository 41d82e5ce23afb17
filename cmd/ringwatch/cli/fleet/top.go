package fleet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/term"
	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
)

// TopCmd is ringwatch top.
type TopCmd struct {
	client.Flags
	KindFlag
	Once  bool          `help:"Print one table and exit. This is the default if the output is not a terminal."`
	Every time.Duration `help:"How often to ask again." default:"2s"`
}

// Help implements kong.HelpProvider.
func (*TopCmd) Help() string {
	return "Watches the nodes, worst first: nodes that are down, then those that do not " +
		"serve, then late ones, then those whose agent is paused, then those that join or leave " +
		"the ring, then the others by the p99 of client reads, which only " +
		"Cassandra has. Rates and p99 cover the last 20 " +
		"seconds, or two of the " +
		"agent's intervals if these are longer. q quits.\n\n" +
		"Example: ringwatch top\n\nExample: ringwatch top --once | head -5"
}

// Run implements the command.
func (c *TopCmd) Run(ctx context.Context) error {
	if c.Once || !term.IsTerminal(os.Stdout.Fd()) {
		return c.RunOnce(ctx, os.Stdout)
	}
	return c.Live(ctx)
}

// RunOnce prints once what the command shows again and again.
func (c *TopCmd) RunOnce(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	rows, err := askTop(ctx, api, c.only())
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return noNodes(out)
	}
	_, err = io.WriteString(out, topTable(rows))
	return err
}

// Live shows it until q is pressed.
func (c *TopCmd) Live(ctx context.Context, options ...tea.ProgramOption) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	return screen.Live(ctx, api.Base, c.Every, func(ctx context.Context) (screen.Screen, error) {
		rows, err := askTop(ctx, api, c.only())
		if err != nil || len(rows) == 0 {
			return screen.Screen{Title: "ringwatch top   0 nodes", Text: "no nodes yet"}, err
		}
		return screen.Screen{Title: fmt.Sprintf("ringwatch top   %d nodes", len(rows)),
			Text: topTable(rows)}, nil
	}, options...)
}

// topRow is a node in the table. Numbers that are not known are NaN.
type topRow struct {
	NodeInfo
	requests, readP99, writeP99, pending float64
}

const (
	requestLatency = "cassandra_client_request_latency_seconds"
	pendingTasks   = "cassandra_compaction_pending_tasks"
	topAtOnce      = 8 // nodes asked at a time
	// short enough to follow, long enough for a p99 of a quiet node
	topStep = 20 * time.Second
)

// askTop asks for the row of every node that is asked for, worst first.
func askTop(ctx context.Context, c *client.Client, only url.Values) ([]topRow, error) {
	nodes, err := AskNodes(ctx, c, only)
	if err != nil {
		return nil, err
	}
	nodes = slices.DeleteFunc(nodes, func(n NodeInfo) bool { return n.Left != nil })
	rows := make([]topRow, len(nodes))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(topAtOnce)
	for i := range nodes {
		g.Go(func() error {
			nan := math.NaN()
			rows[i] = topRow{nodes[i], nan, nan, nan, nan}
			if nodes[i].State == "down" || nodes[i].State == "paused" ||
				nodes[i].Kind != frame.KindCassandra {
				return nil // nothing is known of its last seconds, or it has no such numbers
			}
			// Two steps: the last value's interval is the last step.
			step := max(topStep, 2*time.Duration(nodes[i].IntervalMS)*time.Millisecond)
			series, _, err := AskMetrics(ctx, c, nodes[i].ID, url.Values{
				"metrics": {requestLatency + `{request=~"Read|Write"}`, pendingTasks},
				"period":  {model.Duration(2 * step).String()},
				"step":    {model.Duration(step).String()},
			})
			if err != nil {
				return err
			}
			rows[i].take(series)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b topRow) int {
		// NaN is the least
		return cmp.Or(cmp.Compare(badness(b.State), badness(a.State)),
			cmp.Compare(b.readP99, a.readP99))
	})
	return rows, nil
}

func badness(state string) int {
	return slices.Index(read.States, state)
}

func (r *topRow) take(series []Payload) {
	for i := range series {
		s := &series[i]
		if len(s.Values) == 0 {
			continue
		}
		last := s.Values[len(s.Values)-1]
		switch {
		case s.Metric == pendingTasks:
			r.pending = screen.Number(last.Value)
		case last.Interval != nil && len(s.Values) > 1:
			seconds := last.Time.Sub(s.Values[len(s.Values)-2].Time).Seconds()
			rate := screen.Number(last.Interval.Count) / seconds
			if math.IsNaN(r.requests) {
				r.requests = 0
			}
			r.requests += rate
			if s.Labels["request"] == "Read" {
				r.readP99 = screen.Number(last.Interval.P99)
			} else {
				r.writeP99 = screen.Number(last.Interval.P99)
			}
		}
	}
}

func topTable(rows []topRow) string {
	var sb strings.Builder
	t := tabwriter.NewWriter(&sb, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tCLUSTER\tDC\tKIND\tSTATE\tAGE\tREQ/S\tREAD P99\tWRITE P99\tPENDING")
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", screen.Plain(r.Called()),
			screen.Plain(r.Cluster), screen.Plain(r.Datacenter), screen.Plain(r.Kind),
			r.stateText(), r.Age(),
			screen.Human(r.requests, ""), screen.Human(r.readP99, "seconds"),
			screen.Human(r.writeP99, "seconds"),
			screen.Human(r.pending, ""))
	}
	_ = t.Flush() // a strings.Builder takes everything
	return sb.String()
}
