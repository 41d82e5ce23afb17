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
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/guptarohit/asciigraph"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// SeriesCmd is ringwatch series.
type SeriesCmd struct {
	client.Flags
	Node   string `arg:"" help:"The node: its id, an unambiguous beginning of it, or its address."`
	Metric string `arg:"" help:"A metric's name, with * for any characters, or a Prometheus selector."`
	Period string `help:"How far back, such as 15m, 6h or 2d." default:"15m"`
	Step   string `help:"Only the last value of each step, such as 1m. 5m, 1h and 1d show rollups, which are kept for years."`
	Top    int    `help:"How many series to show, the largest first." default:"5"`
	Rows   int    `help:"How many of the newest rows to show, 0 for all." default:"20"`
	JSON   bool   `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*SeriesCmd) Help() string {
	return "Shows one metric of a node over time, as a plot and a table. A counter is shown as " +
		"its rate per second, a histogram as the p99 of each interval, a gauge as it is.\n\n" +
		"Example: ringwatch series 127.0.0.1 " +
		"'cassandra_client_request_latency_seconds{request=\"Read\"}' --period 15m\n\n" +
		"Example: ringwatch series 127.0.0.1 cassandra_compaction_pending_tasks --period 6h " +
		"--step 1m\n\n" +
		"Example: ringwatch series 127.0.0.1 os_load1 --period 90d --step 1d"
}

// Run implements the command.
func (c *SeriesCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *SeriesCmd) RunTo(ctx context.Context, out io.Writer) error {
	if c.Top < 1 || c.Rows < 0 {
		return exit.Usage(fmt.Errorf("--top must be 1 or more, and --rows 0 or more"))
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	node, err := FindNode(ctx, api, c.Node)
	if err != nil {
		return err
	}
	selector := c.Metric
	if !strings.Contains(selector, "{") {
		selector = GlobSelector(selector)
	}
	query := url.Values{"metrics": {selector}, "period": {c.Period}}
	period := rollups[c.Step]
	switch {
	case period > 0:
		query.Set("rollup", c.Step)
	case c.Step != "":
		query.Set("step", c.Step)
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, MetricsPath(node.ID), query)
	}
	series, partial, err := AskMetrics(ctx, api, node.ID, query)
	if err != nil {
		return err
	}
	WarnPartial(os.Stderr, partial)
	if len(series) == 0 {
		if err := unknownMetric(ctx, api, node, strings.SplitN(c.Metric, "{", 2)[0]); err != nil {
			return err
		}
		return fmt.Errorf("%s has no values of %s in the last %s: ringwatch latest %s shows "+
			"what it has", screen.Plain(node.Name()), c.Metric, c.Period, screen.Plain(node.Name()))
	}
	curves := make([]curve, len(series))
	for i := range series {
		if period > 0 {
			curves[i] = newRollupCurve(&series[i], period)
		} else {
			curves[i] = newCurve(&series[i])
		}
	}
	slices.SortStableFunc(curves, func(a, b curve) int { return cmp.Compare(b.max, a.max) })
	hidden := max(0, len(curves)-c.Top)
	curves = curves[:len(curves)-hidden]
	if err := plot(out, curves); err != nil {
		return err
	}
	if err := c.table(out, curves); err != nil {
		return err
	}
	if hidden > 0 {
		_, err = fmt.Fprintf(out, "and %d more series: --top %d shows them all\n", hidden,
			hidden+len(curves))
	}
	return err
}

// curve is a series as it is plotted.
type curve struct {
	*Payload
	what string // what the numbers are
	unit string
	screen.Track
	texts []string // for strings, instead of values
	max   float64
}

func newCurve(p *Payload) curve {
	c := curve{Payload: p, unit: p.Unit, max: math.Inf(-1)}
	for i, v := range p.Values {
		y := math.NaN()
		switch p.Type {
		case "string":
			c.texts = append(c.texts, screen.Plain(v.Value))
		case "counter":
			c.what, c.unit = "per second", ""
			if p.Unit != "" {
				c.what = p.Unit + " per second"
			}
			if i == 0 {
				continue // a rate needs two values
			}
			before, now := screen.Number(p.Values[i-1].Value), screen.Number(v.Value)
			if now < before {
				before = 0 // the node started again
			}
			y = (now - before) / v.Time.Sub(p.Values[i-1].Time).Seconds()
		case "histogram":
			c.what = "p99"
			if i == 0 {
				continue // an interval needs two values
			}
			if v.Interval != nil {
				y = screen.Number(v.Interval.P99)
			}
		case "gauge_histogram":
			c.what, y = "p99", screen.Number(v.P99)
		default:
			y = screen.Number(v.Value)
		}
		c.At, c.Samples = append(c.At, v.Time), append(c.Samples, y)
		if y > c.max {
			c.max = y
		}
	}
	return c
}

// rollups are the steps that the API has rollups of.
var rollups = map[string]time.Duration{"5m": 5 * time.Minute, "1h": time.Hour, "1d": 24 * time.Hour}

// newRollupCurve plots a gauge's mean, what a counter rose by per second and the p99 of what a
// histogram counted, in each period.
func newRollupCurve(p *Payload, period time.Duration) curve {
	c := curve{Payload: p, unit: p.Unit, what: "mean", max: math.Inf(-1)}
	for _, v := range p.Values {
		var y float64
		switch p.Type {
		case "counter":
			c.what, c.unit = "per second", ""
			if p.Unit != "" {
				c.what = p.Unit + " per second"
			}
			y = screen.Number(v.Increase) / period.Seconds()
		case "histogram", "gauge_histogram":
			c.what, y = "p99", math.NaN()
			if v.Interval != nil {
				y = screen.Number(v.Interval.P99)
			}
		default:
			y = screen.Number(v.Mean)
		}
		c.At, c.Samples = append(c.At, v.Time), append(c.Samples, y)
		if y > c.max {
			c.max = y
		}
	}
	return c
}

// plot draws all curves into one picture, on a common axis of time.
func plot(out io.Writer, curves []curve) error {
	var lines [][]float64
	var legends []string
	var first, last time.Time
	for _, c := range curves {
		for _, at := range c.At {
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
		}
	}
	for i, c := range curves {
		if c.texts != nil || !last.After(first) || math.IsInf(c.max, 0) {
			continue
		}
		lines = append(lines, c.Sample(first, last, c.patience(first, last)))
		legends = append(legends, fmt.Sprintf("%d %s", i+1, c.title()))
	}
	unit := curves[0].unit
	label := func(v float64) string { return screen.Human(v, unit) }
	names := asciigraph.SeriesLegends(legends...)
	if len(lines) == 1 {
		names = asciigraph.Caption(legends[0])
	}
	picture := screen.Draw(lines, first, last, label, screen.Colourful(out), names)
	if picture == "" {
		return nil // texts, or too few values for a line
	}
	_, err := fmt.Fprintf(out, "%s\n%s to %s\n\n", picture, first.Local().Format(time.DateTime),
		last.Local().Format(time.DateTime))
	return err
}

// patience is how old a value may be that a plot still shows: sparse values make a line and an
// outage a gap.
func (c *curve) patience(first, last time.Time) time.Duration {
	patience := 2 * screen.Place(first, last)
	for i := 1; i < len(c.At); i++ {
		// a slow agent's usual distance is no gap
		patience = max(patience, min(c.At[i].Sub(c.At[i-1]), 2*time.Minute))
	}
	return patience
}

// Title says which series a curve is and what its numbers are.
func (c *curve) title() string {
	title := c.Payload.Name()
	if c.what != "" {
		title += ", " + screen.Plain(c.what)
	}
	return title
}

// table prints a row per time and a column per curve.
func (c *SeriesCmd) table(out io.Writer, curves []curve) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(curves) > 1 {
		for i := range curves {
			fmt.Fprintf(out, "%d  %s\n", i+1, curves[i].title())
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(t, "TIME")
	rows := map[time.Time][]string{}
	var times []time.Time
	for i := range curves {
		heading := strconv.Itoa(i + 1)
		if len(curves) == 1 {
			heading = "VALUE"
			if curves[0].what != "" {
				heading = strings.ToUpper(screen.Plain(curves[0].what))
			}
		}
		fmt.Fprintf(t, "\t%s", heading)
		for j, at := range curves[i].At {
			if rows[at] == nil {
				rows[at] = make([]string, len(curves))
				times = append(times, at)
			}
			if curves[i].texts != nil {
				rows[at][i] = curves[i].texts[j]
			} else {
				rows[at][i] = screen.Human(curves[i].Samples[j], curves[i].unit)
			}
		}
	}
	fmt.Fprintln(t)
	slices.SortFunc(times, time.Time.Compare)
	hidden := 0
	if c.Rows > 0 && len(times) > c.Rows {
		hidden = len(times) - c.Rows
	}
	for _, at := range times[hidden:] {
		fmt.Fprintf(t, "%s\t%s\n", at.Local().Format(time.DateTime), strings.Join(rows[at], "\t"))
	}
	if err := t.Flush(); err != nil || hidden == 0 {
		return err
	}
	_, err := fmt.Fprintf(out, "the newest %d of %d rows: --rows 0 shows them all\n", c.Rows,
		len(times))
	return err
}
