// Package promql has the commands that ask in PromQL: query, and catalog, which lists the names
// that can be asked for.
package promql

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// QueryCmd is ringwatch query.
type QueryCmd struct {
	client.Flags
	PromQL  string `arg:"" name:"promql" help:"The expression; - reads it from standard input."`
	At      string `help:"The instant, instead of now."`
	From    string `help:"Start of a range: RFC 3339, seconds or milliseconds since 1970, or now-1h."`
	To      string `help:"End of the range, instead of now."`
	Period  string `help:"How long a range is, such as 15m, 6h or 2d, instead of --from."`
	Step    string `help:"Time between values. Without it: a 250th of the range, at least 5s."`
	JSON    bool   `name:"json" help:"Print the API's JSON."`
	CSV     bool   `name:"csv" help:"Print CSV, a column for each label."`
	Buckets bool   `help:"Print the buckets of histograms too."`
	Limit   int    `help:"At most so many series." placeholder:"N"`
	Timeout string `help:"How long the query may take, such as 30s." placeholder:"DURATION"`
}

// Help implements kong.HelpProvider.
func (*QueryCmd) Help() string {
	return "Asks in PromQL. The answer at one instant is a table, over time it is a plot. A " +
		"histogram " +
		"is shown as its number of observations, their sum and quantiles; a plot shows " +
		"its p99. In " +
		"CSV a label becomes exported_value if its name is one of CSV's own columns. Control " +
		"characters are written as \\u001b in all outputs. Put -- before an expression " +
		"that begins " +
		"with a minus.\n\n" +
		"Example: ringwatch query 'topk(10, sum by (keyspace, table) " +
		"(rate(cassandra_table_write_latency_seconds_count[5m])))'\n\n" +
		"Example: ringwatch query 'histogram_quantile(0.99, sum by (cluster) " +
		"(rate(cassandra_client_request_latency_seconds[5m])))' --period 1h\n\n" +
		"Example: ringwatch query 'sum by (node) (cassandra_compaction_pending_tasks)' " +
		"--from now-2d --to now-1d --step 5m --csv"
}

// Prometheus works on a query for two minutes if it is not told otherwise; the rest is for the
// way of its answer.
const (
	queryTime  = 2 * time.Minute
	answerTime = 15 * time.Second
)

// maxPromQLBytes bounds what is read from standard input.
const maxPromQLBytes = 1 << 20

// Run implements the command.
func (c *QueryCmd) Run(ctx context.Context) error {
	return c.RunTo(ctx, os.Stdin, os.Stdout, os.Stderr)
}

// RunTo is Run for another output than the process has.
func (c *QueryCmd) RunTo(ctx context.Context, in io.Reader, out, errs io.Writer) error {
	span, err := c.timeSpan(clock.Now())
	if err != nil {
		return err
	}
	values, timeout, err := c.parameters(span)
	if err != nil {
		return err
	}
	expression, err := c.expression(in)
	if err != nil {
		return err
	}
	values.Set("query", expression)
	api, err := c.Client()
	if err != nil {
		return err
	}
	api.HTTP.Timeout = max(queryTime, timeout) + answerTime
	path := "/api/v1/query"
	if span.ranged {
		path = "/api/v1/query_range"
	}
	body, err := api.Form(ctx, path, values)
	if refused := (client.PromError{}); errors.As(err, &refused) {
		return pointAt(expression, refused)
	}
	if err != nil {
		return err
	}
	answer, err := readAnswer(body)
	if err != nil {
		return err
	}
	answer.warn(errs)
	switch {
	case c.JSON:
		_, err = out.Write(append(screen.PlainJSON(body), missingBreak(body)...))
	case c.CSV:
		err = answer.writeCSV(out)
	case answer.text != nil:
		text := screen.Plain(*answer.text)
		if answer.scalar {
			text = screen.SixDigits(text)
		}
		_, err = fmt.Fprintln(out, text)
	case len(answer.series) == 0:
		_, err = fmt.Fprintln(errs,
			"no series: no series has these names and labels at that time, or "+
				"no value passes the conditions; ringwatch latest NODE shows a node's series")
	case answer.overTime:
		err = printRange(out, answer.series, unitOf(expression), span)
	default:
		err = printVector(out, answer.series, unitOf(expression), c.Buckets)
	}
	return err
}

// missingBreak is the line break that a body of JSON lacks at its end.
func missingBreak(body []byte) string {
	if len(body) > 0 && body[len(body)-1] == '\n' {
		return ""
	}
	return "\n"
}

// parameters returns what goes to the server but for the expression.
func (c *QueryCmd) parameters(span timeSpan) (values url.Values, timeout time.Duration, err error) {
	switch {
	case c.JSON && c.CSV:
		return nil, 0, exit.Usage(errors.New(
			"--json and --csv exclude each other: leave one out"))
	case c.Buckets && (c.JSON || c.CSV || span.ranged):
		return nil, 0, exit.Usage(errors.New(
			"--buckets works for one instant only: leave it out, or ask with --at " +
				"and without --json and --csv"))
	case c.Limit < 0:
		return nil, 0, exit.Usage(errors.New("--limit must be 1 or more, or 0 for all series"))
	}
	values = url.Values{}
	if c.Limit > 0 {
		values.Set("limit", strconv.Itoa(c.Limit))
	}
	if c.Timeout != "" {
		if timeout, err = screen.ParseSpan("timeout", c.Timeout); err != nil {
			return nil, 0, err
		}
		values.Set("timeout", Seconds(timeout.Milliseconds()))
	}
	switch {
	case span.ranged:
		values.Set("start", Seconds(span.from.UnixMilli()))
		values.Set("end", Seconds(span.to.UnixMilli()))
		values.Set("step", Seconds(span.step.Milliseconds()))
	case !span.to.IsZero():
		values.Set("time", Seconds(span.to.UnixMilli()))
	}
	return values, timeout, nil
}

// Seconds writes milliseconds as seconds.
func Seconds(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }

// expression returns the PromQL of the command line or of standard input.
func (c *QueryCmd) expression(in io.Reader) (string, error) {
	text := c.PromQL
	if text == "-" {
		all, err := io.ReadAll(io.LimitReader(in, maxPromQLBytes+1))
		switch {
		case err != nil:
			return "", fmt.Errorf("standard input: %w", err)
		case len(all) > maxPromQLBytes:
			return "", exit.Usage(fmt.Errorf("the expression is longer than %d bytes",
				maxPromQLBytes))
		}
		text = strings.TrimRight(string(all), "\r\n")
	}
	if strings.TrimSpace(text) == "" {
		return "", exit.Usage(errors.New(
			"the expression is empty: write one such as 'sum(rate(NAME[5m]))'"))
	}
	return text, nil
}
