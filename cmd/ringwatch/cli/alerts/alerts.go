// Package alerts has the command alerts: what fires, and what the numbers beside it suggest.
package alerts

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/api/advice"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// AlertsCmd is ringwatch alerts.
type AlertsCmd struct {
	client.Flags
	Cluster string `help:"Only alerts of this cluster." placeholder:"NAME"`
	State   string `help:"Only alerts in this state: firing, or pending, which did not hold for long enough yet." enum:"firing,pending," default:"" placeholder:"STATE"`
	Since   string `help:"Show when alerts fired so far back, the newest first: 6h, 7d." placeholder:"DURATION"`
	Wide    bool   `help:"Show each alert's expression and summary too." short:"w"`
	JSON    bool   `name:"json" help:"Print the API's JSON, of all alerts."`
}

// Help implements kong.HelpProvider.
func (*AlertsCmd) Help() string {
	return "Lists the alerts that the key may see, what fires first, by severity and age: " +
		"since when each is active, where, and the value of its expression. Below one that fires " +
		"stands what the numbers beside it suggest, if they do. With --since it lists when " +
		"alerts fired, also those that are over. Those that a silence keeps quiet are among " +
		"them: ringwatch silence list has silences.\n\n" +
		"Example: ringwatch alerts --state firing --wide\n\n" +
		"Example: ringwatch alerts --cluster shop --since 7d"
}

// Run implements the command.
func (c *AlertsCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, time.Now()) }

// RunTo is Run for another output than the process has.
func (c *AlertsCmd) RunTo(ctx context.Context, out io.Writer, now time.Time) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.Since != "" {
		return c.past(ctx, out, api, now)
	}
	if c.JSON {
		if c.Cluster != "" {
			if err := fleet.CheckCluster(ctx, api, c.Cluster); err != nil {
				return err
			}
		}
		return client.PrintJSON(ctx, out, api, "/api/v1/alerts", nil)
	}
	alerts, err := AskAlerts(ctx, api)
	if err != nil {
		return err
	}
	alerts = slices.DeleteFunc(alerts, func(a AlertInfo) bool {
		return c.State != "" && a.State != c.State ||
			c.Cluster != "" && a.Labels["cluster"] != c.Cluster
	})
	if len(alerts) == 0 && c.Cluster != "" {
		if err := fleet.CheckCluster(ctx, api, c.Cluster); err != nil {
			return err
		}
	}
	if len(alerts) == 0 {
		_, err := fmt.Fprintln(out, c.nothing())
		return err
	}
	var expressions map[string]string
	if c.Wide {
		if expressions, err = askExpressions(ctx, api); err != nil {
			return err
		}
	}
	slices.SortStableFunc(alerts, compareAlerts)
	names, err := askNames(ctx, api, alerts)
	if err != nil {
		return err
	}
	var words []advice.Advice
	if slices.ContainsFunc(alerts, func(a AlertInfo) bool { return a.State == "firing" }) {
		words = AskAdvice(ctx, api, c.Cluster, time.Time{})
	}
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SEVERITY\tALERT\tSTATE\tSINCE\tWHERE\tVALUE")
	for i := range alerts {
		a := &alerts[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", screen.Dash(screen.Plain(a.Labels["severity"])),
			screen.Dash(screen.Plain(a.Labels["alertname"])), screen.Dash(screen.Plain(a.State)),
			a.since(now), a.where(names),
			a.value())
	}
	_ = t.Flush() // a strings.Builder takes everything
	for i, line := range strings.SplitAfter(table.String(), "\n") {
		if _, err := io.WriteString(out, line); err != nil {
			return err
		}
		if i == 0 || i > len(alerts) {
			continue
		}
		a := &alerts[i-1]
		if c.Wide {
			a.explain(out, expressions)
		}
		if text := adviceTo(words, a.Labels); a.State == "firing" && text != "" {
			fmt.Fprintf(out, "    → %s\n", screen.Plain(text))
		}
	}
	return nil
}

// nothing is what to say when there is nothing to show.
func (c *AlertsCmd) nothing() string {
	text := "Nothing is firing"
	switch c.State {
	case "":
		text += " or pending"
	case "pending":
		text = "Nothing is pending"
	}
	if c.Cluster != "" {
		text += " in cluster " + screen.Plain(c.Cluster)
	}
	return text + "."
}

// AlertInfo is an alert as /api/v1/alerts shows it.
type AlertInfo struct {
	Labels, Annotations map[string]string
	State               string
	ActiveAt            time.Time
	Value               string
}

// AskAlerts returns the alerts that the key may see.
func AskAlerts(ctx context.Context, c *client.Client) ([]AlertInfo, error) {
	var answer struct{ Data struct{ Alerts []AlertInfo } }
	err := c.Ask(ctx, "/api/v1/alerts", nil, &answer)
	return answer.Data.Alerts, err
}

// askExpressions returns the expressions of alerts by AlertInfo.key, and by the rules' names for
// an alert that has changed since.
func askExpressions(ctx context.Context, c *client.Client) (map[string]string, error) {
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name, Query string
					Alerts      []AlertInfo
				}
			}
		}
	}
	if err := c.Ask(ctx, "/api/v1/rules", url.Values{"type": {"alert"}}, &answer); err != nil {
		return nil, err
	}
	m := map[string]string{}
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			m[r.Name] = r.Query
			for i := range r.Alerts {
				m[r.Alerts[i].key()] = r.Query
			}
		}
	}
	return m, nil
}

// Key tells alerts apart; no name of a rule is one.
func (a *AlertInfo) key() string {
	var parts []string
	for name, value := range a.Labels {
		parts = append(parts, name+"\x00"+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x01") + "\x01"
}

// explain prints what the table has no room for.
func (a *AlertInfo) explain(out io.Writer, expressions map[string]string) {
	expression, ok := expressions[a.key()]
	if !ok {
		expression = expressions[a.Labels["alertname"]]
	}
	summary := a.Annotations["summary"]
	if summary == "" {
		summary = a.Annotations["description"]
	}
	for _, text := range []string{expression, summary} {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			fmt.Fprintf(out, "    %s\n", screen.Plain(text))
		}
	}
}

// severities in the words that rules use, the worst first. Others come after all of these.
var severities = [][]string{
	{"critical", "page", "emergency", "fatal"}, {"error", "high", "major"}, {"warning", "warn"},
	{"minor", "low"}, {"info", "information", "none"},
}

func (a *AlertInfo) rank() int {
	i := slices.IndexFunc(severities, func(words []string) bool {
		return slices.Contains(words, strings.ToLower(a.Labels["severity"]))
	})
	if i < 0 {
		return len(severities)
	}
	return i
}

// compareAlerts sorts what fires before what is pending, then by severity, the oldest first.
func compareAlerts(a, b AlertInfo) int {
	if d := strings.Compare(a.State, b.State); d != 0 { // firing is before pending
		return d
	}
	if d := a.rank() - b.rank(); d != 0 {
		return d
	}
	if d := a.ActiveAt.Compare(b.ActiveAt); d != 0 {
		return d
	}
	return strings.Compare(a.key(), b.key())
}

// since is how long the alert's expression has held.
func (a *AlertInfo) since(now time.Time) string {
	if a.ActiveAt.IsZero() {
		return "-"
	}
	seconds := max(0, now.Sub(a.ActiveAt).Seconds())
	return (&fleet.NodeInfo{AgeSeconds: &seconds}).Age()
}

// askNames returns what people call the nodes that alerts are about, by id.
func askNames(ctx context.Context, c *client.Client, alerts []AlertInfo) (map[string]string,
	error) {
	if !slices.ContainsFunc(alerts, func(a AlertInfo) bool { return a.Labels["node"] != "" }) {
		return nil, nil
	}
	nodes, err := fleet.AskNodes(ctx, c, nil)
	names := map[string]string{}
	for i := range nodes {
		names[nodes[i].ID] = nodes[i].Called()
	}
	return names, err
}

// places are the labels that say where in the fleet something is, the widest first.
var places = []string{"cluster", "datacenter", "rack", "node", "instance", "keyspace", "table"}

// where is what of the fleet the alert is about: its labels from the cluster down to a table, with
// the node by its name, and then all others, so that no two alerts have the same row.
func (a *AlertInfo) where(names map[string]string) string {
	var parts []string
	for _, name := range places {
		value := a.Labels[name]
		if name == "instance" && strings.Contains(names[a.Labels["node"]], value) {
			continue // the node's name has it
		}
		if name == "node" {
			value = cmp.Or(names[value], value)
		}
		if value != "" {
			parts = append(parts, screen.Plain(value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Labels)) {
		if !slices.Contains(places, name) && name != "alertname" && name != "severity" {
			parts = append(parts, screen.Plain(name+"="+a.Labels[name]))
		}
	}
	return screen.Dash(strings.Join(parts, " / "))
}

// Value is the expression's, in few characters.
func (a *AlertInfo) value() string {
	v, err := strconv.ParseFloat(a.Value, 64)
	if err != nil || math.IsInf(v, 0) {
		return screen.Dash(screen.Plain(a.Value))
	}
	return screen.Human(v, "")
}
