package silences

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"

	"github.com/ringwatch/ringwatch/api/safe"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/frame"
)

// DoneCmd is ringwatch maintenance end.
type DoneCmd struct {
	client.Flags
	Cluster string        `required:"" help:"The cluster's name." placeholder:"NAME"`
	Node    string        `required:"" help:"The node: its id, an unambiguous beginning of it, its address, or its host name." placeholder:"NODE"`
	Wait    time.Duration `help:"For how long at most to wait until the node is well." default:"10m"`
}

// Help implements kong.HelpProvider.
func (*DoneCmd) Help() string {
	return "Waits until the node is well again, and ends its silence. It is well if it is up, " +
		"was heard of since this began, is a full member of its ring that listens for clients " +
		"and gossips, no other node takes it for down, and no critical alert of its own fires. A " +
		"node that has left needs no more.\n\n" +
		"If it is not well within --wait, it says why and ends with 1, and the silence stays. It " +
		"says on standard error what it waits for. To end the silence of a node that is not " +
		"well: ringwatch silence end. The key needs the scopes read and rules.\n\n" +
		"Example: ringwatch maintenance end --cluster shop --node db-3 --wait 15m"
}

// Run implements the command.
func (c *DoneCmd) Run(ctx context.Context) error {
	return told(c.RunTo(ctx, os.Stdout, os.Stderr))
}

// askEvery is how long end waits before it asks again. Tests have less time.
var askEvery = 2 * time.Second

// saidEvery is how long end is silent while it waits for the same.
const saidEvery = 30 * time.Second

var errInterrupted = errors.New("interrupted before it was; the silence stays")

// RunTo is Run for another output than the process has.
func (c *DoneCmd) RunTo(ctx context.Context, out, notes io.Writer) error {
	if c.Wait <= 0 {
		return exit.Usage(errors.New("--wait: name a time such as 10m"))
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	node, err := fleet.FindNodeIn(ctx, api, c.Node, c.Cluster)
	if err != nil {
		return err
	}
	if err := mayChange(ctx, api); err != nil {
		return err
	}
	list, err := AskSilences(ctx, api)
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(maintenances(list), func(w work) bool {
		return !w.of(node, active, pending, expired)
	})
	name := fmt.Sprintf("%s of cluster %s", screen.Plain(node.Called()),
		screen.Plain(node.Cluster))
	if len(all) == 0 {
		return fmt.Errorf("%s is in no maintenance: ringwatch maintenance list has those that are",
			name)
	}
	state, err := c.wait(ctx, &health{api: api, id: node.ID, cluster: node.Cluster}, notes)
	if err != nil {
		return fmt.Errorf("%s is not well: %w", name, err)
	}
	over := true
	for _, w := range all {
		if !w.is(expired) {
			over = false
			if err := expire(ctx, api, w.ID); err != nil {
				return err
			}
		}
	}
	said := "its maintenance has ended"
	if over {
		said = "its maintenance was over already"
	}
	_, err = fmt.Fprintf(out, "%s %s, and %s.\n", name, state, said)
	return err
}

// wait asks until the node is well, and returns in words in which state it is.
func (c *DoneCmd) wait(ctx context.Context, h *health, notes io.Writer) (state string, err error) {
	began, said, saidAt := time.Now(), "", time.Time{}
	for {
		why, err := h.ask(ctx, time.Since(began))
		switch {
		case ctx.Err() != nil:
			return "", errInterrupted
		case lasting(err):
			return "", err
		case err != nil:
			why = err.Error()
		case why == "" && h.departed:
			return "has left", nil
		case why == "":
			return "is well", nil
		}
		rest := c.Wait - time.Since(began)
		if rest <= 0 {
			return "", fmt.Errorf("%s; the silence stays", strings.TrimSuffix(why, "."))
		}
		if why != said || time.Since(saidAt) > saidEvery {
			fmt.Fprintf(notes, "waiting, %s of %s: %s\n", time.Since(began).Round(time.Second),
				c.Wait, screen.Plain(why))
			said, saidAt = why, time.Now()
		}
		timer := time.NewTimer(min(rest, askEvery))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return "", errInterrupted
		}
	}
}

// lasting reports whether to ask again makes no sense: the API understood, and refused.
func lasting(err error) bool {
	refused, is := errors.AsType[client.RefusedError](err)
	return is && refused.Status < 500 && refused.Status != http.StatusTooManyRequests
}

// health asks how a node is.
type health struct {
	api         *client.Client
	id, cluster string
	since       string // what nodes said before counts for nothing; "": that is not known yet
	departed    bool   // the node has left
}

// ask returns in a sentence why the node is not well; "" if it is. elapsed is how long ago the
// maintenance's end was asked for.
func (h *health) ask(ctx context.Context, elapsed time.Duration) (why string, err error) {
	nodes, err := fleet.AskNodes(ctx, h.api,
		url.Values{"name": {h.id}, "cluster": {h.cluster}})
	if err != nil {
		return "", err
	}
	if len(nodes) == 0 {
		return "Nothing is known of it.", nil
	}
	n := &nodes[0]
	if h.departed = n.Left != nil; h.departed {
		return "", nil
	}
	if n.State != "up" {
		return fmt.Sprintf("It is %s.", n.State), nil
	}
	// The age is of a moment after elapsed was taken: a younger frame is from after the beginning.
	if n.AgeSeconds == nil || *n.AgeSeconds >= elapsed.Seconds() {
		return "It was not heard of since this began.", nil
	}
	first := h.since == "" && n.Kind == frame.KindCassandra
	if n.Kind == frame.KindCassandra {
		if why, err = h.member(ctx, n.Address); why != "" || err != nil {
			return why, err
		}
	}
	if why, err = h.alerts(ctx); why != "" || err != nil {
		return why, err
	}
	if first { // what safe was told may be from before
		return "All is well, and it is to say so once more.", nil
	}
	return "", nil
}

// ofTheNode are the conditions of safe that say how a node is, and not how busy.
var ofTheNode = []string{"fresh", "up", "normal", "clients", "gossip"}

// member returns why the node does not serve, by what ringwatch safe says of it. Before a repair
// all nodes must be well.
func (h *health) member(ctx context.Context, address string) (why string, err error) {
	of := url.Values{"for": {string(safe.Repair)}}
	if h.since != "" {
		of.Set("since", h.since)
	}
	var a safe.Answer
	err = h.api.Ask(ctx, "/v1/clusters/"+url.PathEscape(h.cluster)+"/safe", of, &a)
	if err != nil {
		return "", err
	}
	if h.since == "" {
		h.since = a.At.Format(time.RFC3339Nano)
	}
	for _, r := range a.Reasons {
		takenForDown := r.Condition == "peers" && r.Node != h.id && address != "" &&
			strings.Contains(r.Text, " "+address+" ")
		if r.Node == h.id && slices.Contains(ofTheNode, r.Condition) || takenForDown {
			return r.Text, nil
		}
	}
	return "", nil
}

// saysDown are alerts that say that a node is down: they are told of if they still fire when the
// silence ends.
var saysDown = []string{"CassandraNodeDown", "TargetDown"}

// alerts returns which alerts of the node still fire that somebody would be woken by.
func (h *health) alerts(ctx context.Context) (why string, err error) {
	list, err := askMatching(ctx, h.api,
		labels.Matchers{equal(clusterLabel, h.cluster), equal(nodeLabel, h.id)})
	if err != nil {
		return "", err
	}
	var names []string
	for i := range list {
		name := list[i].Labels[nameLabel]
		if list[i].Labels["severity"] == "critical" || slices.Contains(saysDown, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", nil
	}
	slices.Sort(names)
	return fmt.Sprintf("Its alerts still fire: %s.",
		strings.Join(slices.Compact(names), ", ")), nil
}
