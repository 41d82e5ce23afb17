package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// SafeCmd is ringwatch safe.
type SafeCmd struct {
	client.Flags
	Cluster string        `required:"" help:"The cluster's name." placeholder:"NAME"`
	Node    string        `help:"The node that it is about: its id, an unambiguous beginning of it, its address, or its host name. Without it the question is whether any may be the next one. decommission and node-replace need it." placeholder:"NODE"`
	For     string        `required:"" help:"What is about to be done: restart, upgrade, decommission, repair or node-replace." enum:"restart,upgrade,decommission,repair,node-replace" placeholder:"WHAT"`
	Wait    time.Duration `help:"Ask again until it is safe, for so long at most. Only what nodes say from now on counts, so a step that has just been done is seen." placeholder:"30m"`
	JSON    bool          `name:"json" help:"Print one JSON answer, the API's."`
}

// Help implements kong.HelpProvider.
func (*SafeCmd) Help() string {
	return "Says whether it is safe to go on with maintenance of a cluster: every other node up " +
		"and normal, nothing joining or leaving, the schema agreed on, hints delivered, nothing " +
		"streaming, no keyspace without its quorum, latency and waiting work as usual. What " +
		"cannot be known is a no, with its reason.\n\n" +
		"It ends with 0 for yes, 1 for no and 2 if it was called wrongly. With --wait it says on " +
		"standard error what it waits for.\n\n" +
		"Example: ringwatch safe --cluster production --node db-3 --for restart --wait 30m && " +
		"ssh db-3 sudo systemctl restart cassandra"
}

// Run implements the command.
func (c *SafeCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, os.Stderr) }

var (
	// SafeEvery is how long --wait waits before it asks again: an agent's usual interval. Tests
	// have less time.
	SafeEvery = 5 * time.Second
	// ErrInterrupted is none of the context's, with which a command ends well.
	ErrInterrupted = errors.New("interrupted before it was safe")
)

// safeSaid is how long --wait is silent while it waits for the same.
const safeSaid = 30 * time.Second

// RunTo is Run for another output than the process has.
func (c *SafeCmd) RunTo(ctx context.Context, out, errs io.Writer) error {
	if c.Wait < 0 {
		return exit.Usage(errors.New("--wait: name a time such as 30m"))
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	began, since, said, saidAt := time.Now(), "", "", time.Time{}
	for {
		answer, body, err := c.ask(ctx, api, since)
		refused, is := errors.AsType[client.RefusedError](err)
		switch {
		case ctx.Err() != nil:
			return ErrInterrupted
		case is && (refused.Status == http.StatusBadRequest ||
			refused.Status == http.StatusNotFound):
			return exit.Usage(err)
		case is && refused.Status < 500 && refused.Status != http.StatusTooManyRequests:
			return err
		case err == nil && answer.Safe && (c.Wait == 0 || since != ""):
			return c.print(out, answer, body)
		}
		left := c.Wait - time.Since(began)
		if left <= 0 {
			if err := c.print(out, answer, body); err != nil {
				return err
			}
			return errors.New("it is not safe")
		}
		if err == nil && since == "" {
			since = answer.At.Format(time.RFC3339Nano)
		}
		if text := waitsFor(answer); text != said || time.Since(saidAt) > safeSaid {
			fmt.Fprintf(errs, "waiting, %s of %s: %s\n", time.Since(began).Round(time.Second),
				c.Wait, screen.Plain(text))
			said, saidAt = text, time.Now()
		}
		timer := time.NewTimer(min(left, SafeEvery))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ErrInterrupted
		}
	}
}

// Ask asks once. Where the API gives no answer, the answer is a no that says so, and body what the
// API would have written.
func (c *SafeCmd) ask(ctx context.Context, api *client.Client, since string) (*safe.Answer, []byte,
	error) {
	of := url.Values{"for": {c.For}}
	if c.Node != "" {
		of.Set("node", c.Node)
	}
	if since != "" {
		of.Set("since", since)
	}
	body, err := api.Get(ctx, "/v1/clusters/"+url.PathEscape(c.Cluster)+"/safe", of)
	answer := &safe.Answer{}
	if err == nil {
		if err = json.Unmarshal(body, answer); err == nil {
			return answer, body, nil
		}
	}
	answer = &safe.Answer{Cluster: c.Cluster, For: safe.Purpose(c.For), At: time.Now().UTC(),
		Reasons: []safe.Reason{{Condition: "api", Text: err.Error()}}, Conditions: []safe.Result{},
		NotChecked: []string{}}
	body, _ = json.Marshal(answer) // texts always can be
	return answer, append(body, '\n'), err
}

// waitsFor is what --wait says.
func waitsFor(a *safe.Answer) string {
	switch n := len(a.Reasons); n {
	case 0:
		return "all is well, and each node is to say so once more"
	case 1:
		return a.Reasons[0].Text
	default:
		return fmt.Sprintf("%s And %d more.", a.Reasons[0].Text, n-1)
	}
}

func (c *SafeCmd) print(out io.Writer, a *safe.Answer, body []byte) error {
	if c.JSON {
		_, err := out.Write(screen.PlainJSON(body))
		return err
	}
	verb := c.For
	if a.For == safe.NodeReplace {
		verb = "replace"
	}
	what := "any node"
	if !a.For.TakesAway() {
		what = "a node"
	}
	if a.NodeName != "" {
		what = screen.Plain(a.NodeName)
	} else if c.Node != "" {
		what = screen.Plain(c.Node)
	}
	what = fmt.Sprintf("safe to %s %s of cluster %s", verb, what, screen.Plain(a.Cluster))
	if !a.Safe {
		fmt.Fprintf(out, "No, it is not %s:\n", what)
		for _, r := range a.Reasons {
			fmt.Fprintf(out, "- %s\n", reasonText(r))
		}
		printChoices(out, a.Nodes)
		return nil
	}
	fmt.Fprintf(out, "Yes, it is %s. %d conditions hold. Not checked:\n", what, len(a.Conditions))
	for _, text := range a.NotChecked {
		fmt.Fprintf(out, "- %s\n", screen.Plain(text))
	}
	printChoices(out, a.Nodes)
	return nil
}

func reasonText(r safe.Reason) string {
	mark := r.Condition
	if !r.Known {
		mark += ", not known"
	}
	return fmt.Sprintf("%s (%s)", screen.Plain(r.Text), screen.Plain(mark))
}

// printChoices prints which nodes could be taken, in their order, and by what the others are kept.
func printChoices(out io.Writer, nodes []safe.Choice) {
	var can []string
	var why []string // in their order
	kept := map[string][]string{}
	for _, n := range nodes {
		if n.Safe {
			can = append(can, screen.Plain(n.Name))
			continue
		}
		var list []string
		for _, r := range n.Reasons {
			list = append(list, reasonText(r))
		}
		text := strings.Join(list, " ")
		if kept[text] == nil {
			why = append(why, text)
		}
		kept[text] = append(kept[text], screen.Plain(n.Name))
	}
	switch {
	case len(nodes) == 0:
	case len(can) == 0:
		fmt.Fprintln(out, "No node could be taken now.")
		return
	case len(why) == 0:
		fmt.Fprintln(out, "One at a time, best in this order:")
	default:
		fmt.Fprintln(out, "Only one of these could be taken now, best in this order:")
	}
	for i, name := range can {
		fmt.Fprintf(out, "%d. %s\n", i+1, name)
	}
	if len(why) > 0 {
		fmt.Fprintln(out, "The others could not:")
	}
	for _, text := range why {
		const most = 5
		names := kept[text]
		if rest := len(names) - most; rest > 0 {
			names = append(names[:most:most], fmt.Sprintf("%d more", rest))
		}
		fmt.Fprintf(out, "- %s: %s\n", strings.Join(names, ", "), text)
	}
}
