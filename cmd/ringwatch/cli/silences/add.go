package silences

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/prometheus/alertmanager/pkg/labels"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// AddCmd is ringwatch silence add.
type AddCmd struct {
	client.Flags
	Matchers []string `arg:"" optional:"" name:"matcher" help:"What to keep quiet, as amtool takes it: cluster=shop, severity!=critical or alertname=~\"Node.*\". A word alone is an alert's name. All of them must match."`
	Until
	Comment string `required:"" help:"Why, for who looks at it later." placeholder:"TEXT"`
	Author
	Cluster string `help:"Only alerts of this cluster." placeholder:"NAME"`
	Node    string `help:"Only alerts of this node: its id, an unambiguous beginning of it, its address, or its host name." placeholder:"NODE"`
	Alert   string `help:"Only alerts of this name." placeholder:"NAME"`
	All     bool   `help:"Do not ask before everything is kept quiet."`
}

// Help implements kong.HelpProvider.
func (*AddCmd) Help() string {
	return "Keeps alerts quiet: nobody is told of those that match until the time is over. They " +
		"fire all the same, and the console and ringwatch alerts show them. What still fires " +
		"when it ends is told then.\n\n" +
		"Prints the id alone on standard output; what it matches, until when, and how many " +
		"alerts it keeps quiet now go to standard error. The label node is a node's id: a host " +
		"name or an address in its place becomes the id.\n\n" +
		"A silence that names nothing keeps everything quiet. A terminal is asked before; " +
		"without one it needs --all. The key needs the scopes read and rules.\n\n" +
		"Example: ringwatch silence add --cluster shop --node db-3 --for 1h --comment " +
		"\"disk is replaced\"\n\n" +
		"Example: ringwatch silence add CassandraHints cluster=shop --until 18:00 --comment " +
		"\"known, see ticket 7\""
}

// Run implements the command.
func (c *AddCmd) Run(ctx context.Context) error {
	return told(c.RunTo(ctx, Talk{In: os.Stdin, Out: os.Stdout, Notes: os.Stderr,
		Answers: term.IsTerminal(os.Stdin.Fd())}))
}

// Talk is who a command speaks with.
type Talk struct {
	In         io.Reader
	Out, Notes io.Writer
	Answers    bool // there is a person who can be asked
}

// RunTo is Run for another person than the process has.
func (c *AddCmd) RunTo(ctx context.Context, t Talk) error {
	now := time.Now()
	s := Silence{CreatedBy: c.name(), Comment: c.Comment}
	var err error
	if s.EndsAt, err = c.Until.end(now); err != nil {
		return err
	}
	if strings.TrimSpace(c.Comment) == "" {
		return exit.Usage(errors.New("--comment is empty: say why, for who looks at it later"))
	}
	if s.Matchers, err = parseMatchers(c.Matchers); err != nil {
		return err
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	if s.Matchers, err = c.matchers(ctx, api, s.Matchers, t.Notes); err != nil {
		return err
	}
	all := matchesAll(s.Matchers)
	if all && s.Matchers.Matches(nil) {
		s.Matchers = append(s.Matchers, everything()...)
	}
	quiet, err := askMatching(ctx, api, s.Matchers)
	if err != nil {
		return err
	}
	if all && !c.All {
		if err := confirm(t, len(quiet), s.EndsAt); err != nil {
			return err
		}
	}
	id, err := post(ctx, api, s, now)
	if err != nil {
		return err
	}
	fmt.Fprintf(t.Notes, "quiet until %s: %s\n%s\n", local(s.EndsAt),
		matchersText(s.Matchers, nodeNames(ctx, api)), quietText(len(quiet)))
	_, err = fmt.Fprintln(t.Out, id)
	return err
}

// matchers adds those of the flags, whose names must exist, to those of the words.
func (c *AddCmd) matchers(
	ctx context.Context, api *client.Client, words labels.Matchers, notes io.Writer,
) (labels.Matchers, error) {
	r := resolver{api: api, notes: notes, cluster: c.Cluster}
	if err := r.resolve(ctx, words); err != nil {
		return nil, err
	}
	var list labels.Matchers
	if c.Alert != "" {
		list = append(list, equal(nameLabel, c.Alert))
	}
	if c.Cluster != "" {
		if err := fleet.CheckCluster(ctx, api, c.Cluster); err != nil {
			return nil, err
		}
		list = append(list, equal(clusterLabel, c.Cluster))
	}
	if c.Node != "" {
		n, err := fleet.FindNodeIn(ctx, api, c.Node, r.cluster)
		if err != nil {
			return nil, err
		}
		if c.Cluster == "" {
			list = append(list, equal(clusterLabel, n.Cluster))
		}
		list = append(list, equal(nodeLabel, n.ID))
	}
	list = append(list, words...)
	return list, contradicts(list)
}

// confirm asks whether everything is to be quiet.
func confirm(t Talk, firing int, until time.Time) error {
	if !t.Answers {
		return exit.Usage(errors.New("this names nothing, so it keeps every alert quiet: name a " +
			"cluster, a node or an alert, or say --all"))
	}
	fmt.Fprintf(t.Notes, "This names nothing, so it keeps every alert quiet until %s; alerts that "+
		"fire now: %d.\nType yes to do so: ", local(until), firing)
	answer, err := bufio.NewReader(t.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing is silenced")
	}
	return nil
}
