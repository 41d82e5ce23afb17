package notices

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/notify"
)

// HistoryCmd is ringwatch notify history.
type HistoryCmd struct {
	client.Flags
	Since   string `help:"How far back, such as 6h or 7d." default:"7d" placeholder:"DURATION"`
	Cluster string `help:"Only messages about this cluster." placeholder:"NAME"`
	Alert   string `help:"Only messages with an alert of this name." placeholder:"NAME"`
	Limit   int    `help:"How many at most." default:"100"`
	JSON    bool   `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*HistoryCmd) Help() string {
	return "Lists what people were told, the newest first: when, which receiver, of what, after " +
		"how many tries, and why one that was given up did not take it. A message that was given " +
		"up is tried again at its group's next interval.\n\n" +
		"Example: ringwatch notify history --cluster shop --since 30d"
}

// Run implements the command.
func (c *HistoryCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *HistoryCmd) RunTo(ctx context.Context, out io.Writer) error {
	if _, err := screen.ParseSpan("since", c.Since); err != nil {
		return err
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.Cluster != "" {
		if err := fleet.CheckCluster(ctx, api, c.Cluster); err != nil {
			return err
		}
	}
	query := url.Values{"period": {c.Since}, "limit": {strconv.Itoa(c.Limit)}}
	for name, value := range map[string]string{"cluster": c.Cluster, "alert": c.Alert} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, messagesPath, query)
	}
	messages, more, err := Ask(ctx, api, query)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		_, err := fmt.Fprintf(out, "Nobody was told anything within %s.\n", screen.Plain(c.Since))
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AT\tRECEIVER\tBY\tSTATUS\tTRIES\tGROUP\tALERTS")
	for i := range messages {
		m := &messages[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", m.At.Local().Format(time.DateTime),
			screen.Plain(m.Receiver), screen.Plain(m.Integration), outcome(m), m.Tries,
			screen.Dash(group(m)), screen.Dash(screen.Plain(what(m))))
	}
	if err := t.Flush(); err != nil || !more {
		return err
	}
	_, err = fmt.Fprintln(out, "There are older ones: give a larger --limit.")
	return err
}

const messagesPath = "/alertmanager/ringwatch/messages"

// Ask returns what receivers were told, the newest first, and whether there are older ones. query
// has from, to or period, limit, cluster, node and alert.
func Ask(ctx context.Context, api *client.Client, query url.Values) (list []notify.Told, more bool,
	err error) {
	var answer struct {
		Messages []notify.Told
		More     bool
	}
	err = api.Ask(ctx, messagesPath, query, &answer)
	return answer.Messages, answer.More, err
}

// outcome is what became of a message.
func outcome(m *notify.Told) string {
	if m.Error != "" {
		return "not told: " + screen.Plain(m.Error)
	}
	return screen.Plain(m.Status)
}

func group(m *notify.Told) string {
	var parts []string
	for name, value := range m.Group {
		parts = append(parts, screen.Plain(name+"="+value))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// what names a message's alerts, each name once.
func what(m *notify.Told) string {
	var names []string
	for _, a := range m.Alerts {
		if name := a.Labels["alertname"]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	text := strings.Join(names, ", ")
	if n := len(m.Alerts) + m.More; n > len(names) {
		text += fmt.Sprintf(" (%d alerts)", n)
	}
	return text
}
