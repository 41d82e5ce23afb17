package notices

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/notify"
)

// ShowCmd is ringwatch notify show.
type ShowCmd struct {
	client.Flags
	Alert string `arg:"" optional:"" help:"An alert's name or fingerprint. Without it: all that fires."`
	JSON  bool   `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*ShowCmd) Help() string {
	return "Shows for each group of firing alerts the receiver, the matchers of the routes that " +
		"lead to it, how long it waits, and the text that it would be sent now. Below an alert " +
		"stands what keeps it quiet: a silence, another alert, or a time interval. Nothing is " +
		"sent.\n\nExample: ringwatch notify show CassandraNodeDown"
}

// showPath is where the API answers.
const showPath = "/alertmanager/ringwatch/show"

// Run implements the command.
func (c *ShowCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, time.Now()) }

// RunTo is Run for another output and another time than the process has.
func (c *ShowCmd) RunTo(ctx context.Context, out io.Writer, now time.Time) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	of := url.Values{}
	if c.Alert != "" {
		of.Set("alert", c.Alert)
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, showPath, of)
	}
	var answer struct {
		Notices []notify.Notice
		More    int
	}
	if err := api.Ask(ctx, showPath, of, &answer); err != nil {
		return err
	}
	if len(answer.Notices) == 0 {
		_, err := fmt.Fprintln(out, "Nothing fires, so nobody is told of anything.")
		return err
	}
	var text strings.Builder
	for i := range answer.Notices {
		if i > 0 {
			fmt.Fprintln(&text)
		}
		printNotice(&text, &answer.Notices[i], now)
	}
	if answer.More > 0 {
		fmt.Fprintf(&text, "\n%d groups more: name an alert\n", answer.More)
	}
	_, err = io.WriteString(out, text.String())
	return err
}

func printNotice(out io.Writer, n *notify.Notice, now time.Time) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "  %-7s %s\n", name, screen.Plain(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(out, "Receiver %s\n", screen.Plain(n.Receiver))
	route := "the first: no other one matches"
	if len(n.Route) > 0 {
		route = strings.Join(n.Route, " → ")
	}
	line("route", "%s", route)
	line("group", "%s", screen.Dash(labels(n.Group)))
	line("when", "%s after the first alert, %s for a change, %s for the same again",
		seconds(n.Wait), seconds(n.Interval), seconds(n.Repeat))
	if len(n.MutedBy) > 0 {
		line("muted", "by the time interval %s", strings.Join(n.MutedBy, ", "))
	}
	for i := range n.Alerts {
		a := &n.Alerts[i]
		line("alert", "%s", a.Line)
		for _, s := range a.SilencedBy {
			line("", "silenced by %s until %s: %s (%s)", s.By, s.Ends.UTC().Format(time.RFC3339),
				s.Comment, s.ID)
		}
		for _, other := range a.InhibitedBy {
			line("", "kept quiet by: %s", other)
		}
	}
	if n.More > 0 {
		line("", "and %d more", n.More)
	}
	if len(n.Messages) == 0 {
		line("sends", "nothing: the receiver has no integration")
	}
	for i := range n.Messages {
		printMessage(out, &n.Messages[i], now)
	}
}

func printMessage(out io.Writer, m *notify.Message, now time.Time) {
	name := m.Integration
	if m.To != "" {
		name += " to " + m.To
	}
	if m.Told != nil {
		name += ", told last " + now.Sub(*m.Told).Round(time.Second).String() + " ago"
	}
	fmt.Fprintf(out, "  %s\n", screen.Plain(name))
	if m.Fails != "" {
		fmt.Fprintf(out, "    fails: %s\n", screen.Plain(m.Fails))
	}
	for _, p := range m.Parts {
		fmt.Fprintf(out, "    %s:\n", screen.Plain(p.Name))
		for text := range strings.SplitSeq(p.Text, "\n") {
			fmt.Fprintf(out, "      %s\n", screen.Plain(strings.TrimRight(text, "\r ")))
		}
	}
}

func labels(of map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		list = append(list, name+"="+of[name])
	}
	return strings.Join(list, " ")
}

func seconds(of float64) string {
	text := time.Duration(of * float64(time.Second)).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
