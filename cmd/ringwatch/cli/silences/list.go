package silences

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// ListCmd is ringwatch silence list.
type ListCmd struct {
	client.Flags
	Expired bool   `help:"Those that ended within five days, too."`
	Since   string `help:"Those that held within so long, ended or not: 12h, 30d." placeholder:"DURATION"`
	Cluster string `help:"Only those that may keep alerts of this cluster quiet." placeholder:"NAME"`
	Wide    bool   `help:"Cut nothing, and show whole ids." short:"w"`
	JSON    bool   `name:"json" help:"Print Alertmanager's JSON, with alerts: how many that fire now are kept quiet."`
}

// Help implements kong.HelpProvider.
func (*ListCmd) Help() string {
	return "Lists silences: who made each, until when it lasts and for how long from now, how " +
		"many alerts that fire now it keeps quiet, what it matches, and why. One that has not " +
		"begun is pending. Comments of maintenance begin with \"maintenance: \".\n\n" +
		"Lines have 100 columns at most: of longer words the middle is left out. --wide has " +
		"them whole.\n\nExample: ringwatch silence list --cluster shop"
}

// Run implements the command.
func (c *ListCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *ListCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.Cluster != "" {
		if err := fleet.CheckCluster(ctx, api, c.Cluster); err != nil {
			return err
		}
	}
	list, more, err := c.ask(ctx, api)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(s Silence) bool {
		return s.is(expired) && !c.Expired && c.Since == "" ||
			c.Cluster != "" && !s.concerns(c.Cluster)
	})
	if err := countQuiet(ctx, api, list); err != nil {
		return err
	}
	if c.JSON {
		return screen.PrintJSON(out, list)
	}
	if len(list) == 0 {
		said := "No silence keeps anything quiet."
		if c.Since != "" {
			said = "No silence kept anything quiet within " + screen.Plain(c.Since) + "."
		}
		_, err := fmt.Fprintln(out, said)
		return err
	}
	heads := []string{"ID", "BY", "UNTIL", "IN", "ALERTS", "MATCHES", "WHY"}
	now, names := time.Now(), nodeNames(ctx, api)
	var rows [][]string
	if c.Since != "" {
		heads = slices.Insert(heads, 2, "FROM")
	}
	for i := range list {
		s := &list[i]
		row := []string{c.id(s), screen.Plain(s.CreatedBy), shortTime(s.EndsAt, now),
			s.lasts(now), s.quiet(), matchersText(s.Matchers, names), screen.Plain(s.Comment)}
		if c.Since != "" {
			row = slices.Insert(row, 2, shortTime(s.StartsAt, now))
		}
		rows = append(rows, row)
	}
	if err := writeRows(out, heads, rows, c.Wide); err != nil || !more {
		return err
	}
	_, err = fmt.Fprintf(out, "There are more than %d: use a shorter --since.\n", mostSilences)
	return err
}

// mostSilences is how many --since lists.
const mostSilences = 10_000

// ask returns what there is to list, and whether there is more.
func (c *ListCmd) ask(ctx context.Context, api *client.Client) ([]Silence, bool, error) {
	if c.Since == "" {
		list, err := AskSilences(ctx, api)
		return list, false, err
	}
	if _, err := screen.ParseSpan("since", c.Since); err != nil {
		return nil, false, err
	}
	var answer struct {
		Silences []Silence
		More     bool
	}
	err := api.Ask(ctx, "/alertmanager/ringwatch/silences",
		url.Values{"period": {c.Since}, "limit": {strconv.Itoa(mostSilences)}}, &answer)
	return answer.Silences, answer.More, err
}

// concerns reports whether alerts of a cluster may match.
func (s *Silence) concerns(cluster string) bool {
	for _, m := range s.Matchers {
		if m.Name == clusterLabel && !m.Matches(cluster) {
			return false
		}
	}
	return true
}

// shortID is how much of an id tells silences apart.
const shortID = 8

func (c *ListCmd) id(s *Silence) string {
	if c.Wide {
		return s.ID
	}
	return s.ID[:min(shortID, len(s.ID))]
}

// shortTime is a time by this machine's clock, without the day if that is today.
func shortTime(at, now time.Time) string {
	if at.Local().Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return at.Local().Format("15:04")
	}
	return at.Local().Format("2006-01-02 15:04")
}

// lasts is how long the silence goes on, or that it does not.
func (s *Silence) lasts(now time.Time) string {
	switch {
	case s.is(expired):
		return "ended"
	case s.is(pending):
		return pending
	}
	seconds := max(0, s.EndsAt.Sub(now).Seconds())
	return (&fleet.NodeInfo{AgeSeconds: &seconds}).Age()
}

// quiet is how many alerts the silence keeps quiet; a dash if it does not.
func (s *Silence) quiet() string {
	if s.Alerts == nil {
		return "-"
	}
	return strconv.Itoa(*s.Alerts)
}

func writeRows(out io.Writer, heads []string, rows [][]string, wide bool) error {
	for _, row := range rows {
		for i := range row {
			row[i] = screen.Dash(row[i])
		}
	}
	if !wide {
		screen.Fit(heads, rows, screen.ScreenColumns)
	}
	return screen.WriteTable(out, heads, len(heads), rows)
}
