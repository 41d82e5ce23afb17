// Package events has the commands events and slow-queries: what happened on the nodes.
package events

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// EventTimes are what events and slow queries are asked of.
type EventTimes struct {
	Cluster string `help:"Only of this cluster." placeholder:"NAME"`
	Node    string `help:"Only of this node: its id, the beginning of it, its address or its host name." placeholder:"NODE"`
	From    string `help:"Not before: RFC 3339, seconds or milliseconds since 1970, or now-2h." placeholder:"TIME"`
	To      string `help:"Not after: the same." placeholder:"TIME"`
	Since   string `help:"Instead of --from: 30m, 6h, 2d." placeholder:"DURATION"`
	JSON    bool   `name:"json" help:"Print the API's JSON."`
}

// Values returns them as the API takes them.
func (c *EventTimes) values(now time.Time) (url.Values, error) {
	v := url.Values{}
	set := func(name, text string) {
		if text != "" {
			v.Set(name, text)
		}
	}
	set("cluster", c.Cluster)
	set("node", c.Node)
	if c.From != "" && c.Since != "" {
		return nil,
			exit.Usage(errors.New("--from and --since both say where to begin: leave one out"))
	}
	end := now
	for _, at := range []struct{ name, text string }{{"from", c.From}, {"to", c.To}} {
		if at.text == "" {
			continue
		}
		t, err := screen.ParseTime(at.name, at.text, now)
		if err != nil {
			return nil, err
		}
		v.Set(at.name, strconv.FormatInt(t.UnixMilli(), 10))
		end = t
	}
	if c.Since != "" {
		span, err := screen.ParseSpan("since", c.Since)
		if err != nil {
			return nil, err
		}
		v.Set("from", strconv.FormatInt(max(0, end.Add(-span).UnixMilli()), 10))
	}
	return v, nil
}

// EventsCmd is ringwatch events.
type EventsCmd struct {
	client.Flags
	EventTimes
	Kind     []string `help:"Only of this kind, such as gc_pause; several with commas between." placeholder:"KIND"`
	Severity string   `help:"Only so severe, or more: info, warning or error." enum:"info,warning,error," default:"" placeholder:"SEVERITY"`
	Text     string   `help:"Only with this in the text or in a label, in whatever case." placeholder:"TEXT"`
	Limit    int      `help:"How many at most." default:"100"`
	Follow   bool     `help:"Go on with what happens, the newest last, until interrupted." short:"f"`
}

// Help implements kong.HelpProvider.
func (*EventsCmd) Help() string {
	return "Lists what happened on the nodes, the newest first: starts and stops, nodes " +
		"that went " +
		"up or down, slow queries, long pauses, large partitions, changed schemas and settings. " +
		"With --follow the newest comes last and new ones are printed as they come, each once, " +
		"also those that nodes could not send for hours.\n\n" +
		"Example: ringwatch events --severity warning --since 6h\n\n" +
		"Example: ringwatch events --cluster production --kind node_down,node_up --follow"
}

// Run implements the command.
func (c *EventsCmd) Run(ctx context.Context) error {
	return c.RunTo(ctx, os.Stdout, os.Stderr, time.Now())
}

// EventsEvery is how often --follow asks. Tests have less time.
var EventsEvery = 2 * time.Second

// eventsPage is how many events are asked for at once.
const eventsPage = 1000

// RunTo is Run for another output than the process has.
func (c *EventsCmd) RunTo(ctx context.Context, out, errs io.Writer, now time.Time) error {
	query, err := c.values(now)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"kind": strings.Join(c.Kind, ","),
		"severity": c.Severity, "text": c.Text} {
		if text != "" {
			query.Set(name, text)
		}
	}
	switch {
	case c.Limit < 1:
		return exit.Usage(fmt.Errorf("--limit: %d: use 1 or more", c.Limit))
	case c.Follow && c.To != "":
		return exit.Usage(errors.New("--to ends what --follow goes on with: leave one out"))
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	list, err := askEvents(ctx, api, query, c.Limit)
	if err != nil {
		return err
	}
	if c.Follow {
		return c.follow(ctx, api, query, list, now, out, errs)
	}
	if c.JSON {
		raw := []json.RawMessage{}
		for i := range list {
			raw = append(raw, list[i].raw)
		}
		text, err := json.Marshal(map[string]any{"events": raw})
		if err != nil {
			return err
		}
		_, err = out.Write(screen.PlainJSON(append(text, '\n')))
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "Nothing happened.")
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "AT\tSEVERITY\tKIND\tCLUSTER\tNODE\tWHAT")
	for i := range list {
		fmt.Fprintln(t, strings.Join(list[i].columns(), "\t"))
	}
	return t.Flush()
}

// EventInfo is an event as /v1/events shows it.
type EventInfo struct {
	ID, Cluster, Node, Name, Kind, Severity, Text string
	At                                            time.Time
	Labels                                        map[string]string
	// that said so, of a change of the schema
	Nodes int
	Also  []string // the ids of what the others said

	raw json.RawMessage // as it came
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *EventInfo) UnmarshalJSON(b []byte) error {
	type fields EventInfo // has no methods
	e.raw = bytes.Clone(b)
	return json.Unmarshal(b, (*fields)(e))
}

// columns are what a table shows.
func (e *EventInfo) columns() []string {
	what := []string{}
	for name, value := range e.Labels {
		what = append(what, name+"="+value)
	}
	slices.Sort(what)
	if e.Text != "" {
		what = append(what, e.Text)
	}
	if e.Nodes > 1 {
		what = append(what, fmt.Sprintf("(%d nodes)", e.Nodes))
	}
	node, _, _ := strings.Cut(e.Node, "-")
	list := []string{e.At.Local().Format("2006-01-02 15:04:05.000"), e.Severity, e.Kind, e.Cluster,
		cmp.Or(e.Name, node), screen.Dash(strings.Join(what, "  "))}
	for i := range list {
		list[i] = screen.Plain(list[i])
	}
	return list
}

// EventsAnswer is a page of events as /v1/events gives it.
type EventsAnswer struct {
	Events []EventInfo
	Next   string
	More   bool
}

// askEvents asks for the newest events, page by page.
func askEvents(ctx context.Context, c *client.Client, query url.Values,
	limit int) (list []EventInfo,
	err error) {
	for len(list) < limit {
		query.Set("limit", strconv.Itoa(min(limit-len(list), eventsPage)))
		var page EventsAnswer
		if err := c.Ask(ctx, "/v1/events", query, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Events...)
		if page.Next == "" {
			break
		}
		query.Set("cursor", page.Next)
	}
	query.Del("cursor")
	return list, nil
}

// follow prints a list, the newest last, and then what comes. It goes on after the API was away.
func (c *EventsCmd) follow(ctx context.Context, api *client.Client, query url.Values,
	list []EventInfo,
	now time.Time, out, errs io.Writer) error {
	f := EventFollower{json: c.JSON, Out: out, Printed: map[string]time.Time{}}
	after := c.FollowFrom(query, list, now)
	slices.Reverse(list)
	if err := f.Print(list, now); err != nil {
		return err
	}
	query.Set("limit", strconv.Itoa(eventsPage))
	query.Set("after", strconv.FormatInt(after, 10))
	anew := false
	for away := false; ; {
		var page EventsAnswer
		err := api.Ask(ctx, "/v1/events", query, &page)
		refused, is := errors.AsType[client.RefusedError](err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case is && refused.Reason == "bad_after" && !anew: // the API's place is another version's
			anew = true
			query.Set("after", strconv.FormatInt(c.FollowFrom(query, nil, now), 10))
			continue
		case is && refused.Status < http.StatusInternalServerError &&
			refused.Status != http.StatusTooManyRequests:
			return err
		case err != nil && !away:
			away = true
			fmt.Fprintf(errs, "ringwatch: %v; asking again\n", err)
		case err == nil:
			away, anew, now = false, false, time.Now()
			if err := f.Print(page.Events, now); err != nil {
				return err
			}
			query.Set("after", page.Next)
			if page.More {
				continue
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(EventsEvery):
		}
	}
}

// eventsLate is how late an event may come so that who follows hears of it: events of different
// nodes do not come in the order in which they happened.
const eventsLate = 5 * time.Minute

// FollowFrom returns from when on, ms, to ask for what comes after a list of the newest: so far
// before its end that what is late comes too, but not before its begin if more were left out there.
// A node's clock may be ahead, so its event is not the end.
func (c *EventsCmd) FollowFrom(query url.Values, list []EventInfo, now time.Time) int64 {
	end := now
	if len(list) > 0 && list[0].At.Before(now) {
		end = list[0].At
	}
	after, _ := strconv.ParseInt(query.Get("from"), 10, 64) // values wrote it
	after = max(after, end.Add(-eventsLate).UnixMilli())
	if len(list) == c.Limit {
		after = max(after, list[len(list)-1].At.UnixMilli())
	}
	return after
}

// EventFollower prints each event once.
type EventFollower struct {
	json    bool
	Out     io.Writer
	headed  bool
	Printed map[string]time.Time // ids of what may come again, with when it came last
}

const (
	// printedMost is how many ids are remembered before old ones are forgotten, and printedFor how
	// long those did not come again: an answer repeats five minutes, and a store that was ended
	// writes once more what it had not closed.
	printedMost = 10_000
	printedFor  = 20 * time.Minute
)

// Print prints what was not printed before; it came at an instant.
func (f *EventFollower) Print(list []EventInfo, now time.Time) error {
	var b bytes.Buffer
	for i := range list {
		e := &list[i]
		had := false // of a change of the schema also by what another node said
		for _, id := range append(e.Also, e.ID) {
			_, is := f.Printed[id]
			f.Printed[id], had = now, had || is
		}
		if had {
			continue
		}
		if f.json {
			_ = json.Compact(&b, screen.PlainJSON(e.raw)) // it was read before
			b.WriteByte('\n')
			continue
		}
		const columns = "%-23s  %-8s  %-15s  %-16s  %-20s  %s\n"
		if !f.headed {
			f.headed = true
			fmt.Fprintf(&b, columns, "AT", "SEVERITY", "KIND", "CLUSTER", "NODE", "WHAT")
		}
		c := e.columns()
		fmt.Fprintf(&b, columns, c[0], c[1], c[2], c[3], c[4], c[5])
	}
	if len(f.Printed) > printedMost {
		for id, at := range f.Printed {
			if now.Sub(at) > printedFor {
				delete(f.Printed, id)
			}
		}
	}
	_, err := f.Out.Write(b.Bytes())
	return err
}

// SlowQueriesCmd is ringwatch slow-queries.
type SlowQueriesCmd struct {
	client.Flags
	EventTimes
	Limit int `help:"How many at most." default:"20"`
}

// Help implements kong.HelpProvider.
func (*SlowQueriesCmd) Help() string {
	return "Lists the statements that Cassandra found slow, without their literals, the slowest " +
		"first: how long the slowest took, how often in all, on how many nodes, when last. " +
		"Without --from and --since it is of the last 24 hours.\n\n" +
		"Example: ringwatch slow-queries --cluster production --since 1h"
}

// Run implements the command.
func (c *SlowQueriesCmd) Run(ctx context.Context) error {
	return c.RunTo(ctx, os.Stdout, os.Stderr, time.Now())
}

// RunTo is Run for another output than the process has.
func (c *SlowQueriesCmd) RunTo(ctx context.Context, out, errs io.Writer, now time.Time) error {
	query, err := c.values(now)
	if err != nil {
		return err
	}
	if c.Limit < 1 || c.Limit > eventsPage {
		return exit.Usage(fmt.Errorf("--limit: %d: use 1 to %d", c.Limit, eventsPage))
	}
	query.Set("limit", strconv.Itoa(c.Limit))
	api, err := c.Client()
	if err != nil {
		return err
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, "/v1/slow-queries", query)
	}
	var answer struct {
		Queries []struct {
			Cluster, Keyspace, Table, Statement string
			Times, Nodes                        int64
			Slowest                             float64 `json:"slowest_seconds"`
			Last                                time.Time
		}
		Partial []string
	}
	if err := api.Ask(ctx, "/v1/slow-queries", query, &answer); err != nil {
		return err
	}
	for _, text := range answer.Partial {
		fmt.Fprintf(errs, "ringwatch: the answer may lack something: %s\n", screen.Plain(text))
	}
	if len(answer.Queries) == 0 {
		_, err := fmt.Fprintln(out, "No query was slow.")
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SLOWEST\tTIMES\tNODES\tLAST\tCLUSTER\tTABLE\tSTATEMENT")
	for _, q := range answer.Queries {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", screen.Human(q.Slowest, "seconds"),
			q.Times, q.Nodes,
			q.Last.Local().Format("2006-01-02 15:04:05"), screen.Plain(q.Cluster),
			screen.Dash(screen.Plain(strings.Trim(q.Keyspace+"."+q.Table, "."))), screen.Dash(screen.Plain(q.Statement)))
	}
	return t.Flush()
}
