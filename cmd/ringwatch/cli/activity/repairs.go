package activity

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/api/activity"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// RepairsCmd is ringwatch repairs.
type RepairsCmd struct {
	client.Flags
	Cluster string `help:"Only of this cluster." placeholder:"NAME"`
	JSON    bool   `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*RepairsCmd) Help() string {
	return "Lists when each table was repaired last, the worst first: tables that never " +
		"were, and " +
		"then those with the least time left. A table is due when gc_grace_seconds have passed " +
		"since all of its ranges were repaired: after that deleted rows may come back. Repairs " +
		"that run stand below.\n\n" +
		"Example: ringwatch repairs --cluster production"
}

// Run implements the command.
func (c *RepairsCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, time.Now()) }

// RunTo is Run for another output than the process has.
func (c *RepairsCmd) RunTo(ctx context.Context, out io.Writer, now time.Time) error {
	of := url.Values{}
	if c.Cluster != "" {
		of.Set("cluster", c.Cluster)
	}
	return activityOf(ctx, &c.Flags, c.JSON, out, "/v1/repairs", of,
		func(list *activity.RepairList) string { return repairsTable(list, now) })
}

func repairsTable(list *activity.RepairList, now time.Time) string {
	var b strings.Builder
	if len(list.Tables) == 0 {
		b.WriteString("No table is known that needs repairs: those that are replicated show some " +
			"minutes after their agents began.\n")
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if len(list.Tables) > 0 {
		fmt.Fprintln(t, "CLUSTER\tTABLE\tDUE\tFULL REPAIR\tINCREMENTAL\tREPAIRED\tUNREPAIRED")
	}
	for i := range list.Tables {
		s := &list.Tables[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", screen.Plain(s.Cluster),
			screen.Plain(s.Keyspace+"."+s.Table), due(s, now), ago(s.LastFull, now),
			ago(s.LastIncremental, now), percent(s.RepairedRatio), bytesText(s.UnrepairedBytes))
	}
	_ = t.Flush() // a strings.Builder takes everything
	if len(list.Sessions) > 0 {
		b.WriteString("\n")
		t = tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "RUNNING ON\tCLUSTER\tOF\tDONE\t\tSINCE\tID")
	}
	for i := range list.Sessions {
		s := &list.Sessions[i]
		since := "-"
		if s.Started != nil {
			since = brief(max(0, now.Sub(*s.Started)))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", screen.Plain(s.Name),
			screen.Plain(s.Cluster),
			screen.Plain(s.Keyspace+"."+s.Table), bar(s.Ratio), percent(s.Ratio), since,
			screen.Dash(screen.Plain(s.ID)))
	}
	_ = t.Flush()
	fmt.Fprintf(&b, "\n%d repairs run. Within the last day %.0f failed.\n", list.Running,
		list.Failures)
	b.WriteString(lacks(list.LeftOut, "tables", list.Partial))
	if list.SessionsLeftOut > 0 {
		fmt.Fprintf(&b, "%d more running repairs are left out: name a cluster.\n",
			list.SessionsLeftOut)
	}
	return b.String()
}

// due is until when a table must be repaired again.
func due(t *activity.RepairedTable, now time.Time) string {
	switch {
	case t.Never():
		return "never repaired"
	case t.Due == nil:
		return "not all of it repaired"
	case t.Due.Before(now):
		return "overdue by " + brief(now.Sub(*t.Due))
	}
	return "due in " + brief(t.Due.Sub(now))
}

// ago is how long ago something was.
func ago(at *time.Time, now time.Time) string {
	if at == nil {
		return "never"
	}
	return brief(max(0, now.Sub(*at))) + " ago"
}
