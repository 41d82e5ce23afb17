// Package activity has the commands about what goes on: tasks, repairs, clients and qps.
package activity

import (
	"context"
	"encoding/json"
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

// TasksCmd is ringwatch tasks.
type TasksCmd struct {
	client.Flags
	PlaceFlags
	Live  bool          `help:"Show them again and again; q quits."`
	Every time.Duration `help:"How often --live asks." default:"2s"`
	JSON  bool          `name:"json" help:"Print the API's JSON."`
}

// PlaceFlags say whose activity is asked for.
type PlaceFlags struct {
	Cluster string `help:"Only of this cluster." placeholder:"NAME"`
	Node    string `help:"Only of this node: its id, an unambiguous beginning of it, its address, or its host name." placeholder:"NODE"`
}

// only is whose activity the flags ask for.
func (f *PlaceFlags) only() url.Values {
	of := url.Values{}
	if f.Cluster != "" {
		of.Set("cluster", f.Cluster)
	}
	if f.Node != "" {
		of.Set("node", f.Node)
	}
	return of
}

// Help implements kong.HelpProvider.
func (*TasksCmd) Help() string {
	return "Lists what nodes are doing: compactions, cleanups, validations, streams and the " +
		"like, with how much is done, how fast, and when it ends if it goes on so. Rates are of " +
		"the last two minutes. The id is what nodetool stop -id takes.\n\n" +
		"Example: ringwatch tasks --cluster production\n\nExample: ringwatch tasks " +
		"--node db-3 --live"
}

// Run implements the command.
func (c *TasksCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, time.Now) }

// RunTo is Run for another output than the process has.
func (c *TasksCmd) RunTo(ctx context.Context, out io.Writer, now func() time.Time) error {
	if !c.Live {
		return activityOf(ctx, &c.Flags, c.JSON, out, "/v1/tasks", c.only(),
			func(list *activity.TaskList) string { return tasksTable(list, now()) })
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	return screen.Live(ctx, api.Base, c.Every, func(ctx context.Context) (screen.Screen, error) {
		var list activity.TaskList
		err := api.Ask(ctx, "/v1/tasks", c.only(), &list)
		return screen.Screen{Title: fmt.Sprintf("ringwatch tasks   %d tasks", len(list.Tasks)),
			Text: tasksTable(&list, now())}, err
	})
}

func tasksTable(list *activity.TaskList, now time.Time) string {
	var b strings.Builder
	if len(list.Tasks) == 0 {
		b.WriteString("Nothing runs.\n")
	} else {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NODE\tCLUSTER\tTASK\tOF\tDONE\t\tBYTES\tRATE\tENDS\tID")
		for i := range list.Tasks {
			s := &list.Tasks[i]
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", screen.Plain(s.Name),
				screen.Plain(s.Cluster), screen.Plain(s.Task), taskOf(s), bar(s.Ratio),
				percent(s.Ratio),
				doneOf(s), rateText(s.BytesPerSecond), ends(s.Ends, now),
				screen.Dash(screen.Plain(s.ID)))
		}
		_ = t.Flush() // a strings.Builder takes everything
	}
	b.WriteString(lacks(list.LeftOut, "tasks", list.Partial))
	return b.String()
}

// taskOf is what a task works on: a table, or a stream's peer.
func taskOf(s *activity.Task) string {
	var parts []string
	if s.Keyspace != "" || s.Table != "" {
		parts = append(parts, screen.Plain(s.Keyspace+"."+s.Table))
	}
	if s.Peer != "" {
		word := map[string]string{"in": "from ", "out": "to "}[s.Direction]
		parts = append(parts, word+screen.Plain(s.Peer))
	}
	return screen.Dash(strings.Join(parts, " "))
}

const barWidth = 20

// bar shows how much is done.
func bar(ratio *float64) string {
	if ratio == nil {
		return strings.Repeat("░", barWidth)
	}
	n := int(min(max(*ratio, 0), 1)*barWidth + 0.5)
	return strings.Repeat("█", n) + strings.Repeat("░", barWidth-n)
}

func percent(ratio *float64) string {
	if ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", *ratio*100)
}

func doneOf(s *activity.Task) string {
	return bytesText(s.DoneBytes) + " of " + bytesText(s.SizeBytes)
}

func bytesText(v *float64) string {
	if v == nil {
		return "-"
	}
	return screen.Human(*v, "bytes")
}

func rateText(v *float64) string {
	if v == nil {
		return "-"
	}
	return screen.Human(*v, "bytes") + "/s"
}

// ends is when a task ends.
func ends(at *time.Time, now time.Time) string {
	switch {
	case at == nil:
		return "-"
	case at.Sub(now) < time.Second:
		return "now"
	}
	return "in " + brief(at.Sub(now))
}

// brief is a duration in one unit.
func brief(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%.0fm", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	}
	return fmt.Sprintf("%.0fd", d.Hours()/24)
}

// lacks says what a list leaves out.
func lacks(leftOut int, what string, p activity.Partial) string {
	var b strings.Builder
	if leftOut > 0 {
		fmt.Fprintf(&b, "%d more %s are left out: name a cluster or a node.\n", leftOut, what)
	}
	for _, text := range p.Partial {
		fmt.Fprintf(&b, "The list is not whole: %s\n", screen.Plain(text))
	}
	return b.String()
}

// activityOf asks one of the API's lists and prints it as JSON or as a table.
func activityOf[T any](ctx context.Context, flags *client.Flags, asJSON bool, out io.Writer,
	path string, of url.Values, table func(*T) string) error {
	api, err := flags.Client()
	if err != nil {
		return err
	}
	body, err := api.Get(ctx, path, of)
	if err != nil {
		return err
	}
	if asJSON {
		_, err := out.Write(screen.PlainJSON(body))
		return err
	}
	var list T
	if err := json.Unmarshal(body, &list); err != nil {
		return fmt.Errorf("the API's answer cannot be read (%w): use a program of the API's "+
			"version", err)
	}
	_, err = io.WriteString(out, table(&list))
	return err
}
