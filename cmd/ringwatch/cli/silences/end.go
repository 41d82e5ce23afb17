package silences

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// EndCmd is ringwatch silence end.
type EndCmd struct {
	client.Flags
	IDs []string `arg:"" name:"silence" help:"The silence's id, or an unambiguous beginning of it."`
}

// Help implements kong.HelpProvider.
func (*EndCmd) Help() string {
	return "Ends silences. Whoever is told of alerts hears at once of those that still fire. If " +
		"an id is wrong, none is ended. The key needs the scopes read and rules.\n\n" +
		"Example: ringwatch silence end 3f0c2a71"
}

// Run implements the command.
func (c *EndCmd) Run(ctx context.Context) error { return told(c.RunTo(ctx, os.Stdout)) }

// RunTo is Run for another output than the process has.
func (c *EndCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	known, err := AskSilences(ctx, api)
	if err != nil {
		return err
	}
	var meant []*Silence
	for _, id := range c.IDs {
		s, err := find(known, id)
		if err != nil {
			return err
		}
		meant = append(meant, s)
	}
	names := nodeNames(ctx, api)
	for _, s := range meant {
		what := matchersText(s.Matchers, names)
		if s.is(expired) {
			fmt.Fprintf(out, "%s ended at %s already: %s\n", s.ID, local(s.EndsAt), what)
			continue
		}
		if err := expire(ctx, api, s.ID); err != nil {
			return err
		}
		fmt.Fprintf(out, "ended %s: %s\n", s.ID, what)
		s.Status.State = expired // it may be named twice
	}
	return nil
}

// find returns the one silence whose id begins so. One that goes on is preferred to those that
// ended.
func find(known []Silence, id string) (*Silence, error) {
	if id == "" {
		return nil, exit.Usage(errors.New("the id is empty: ringwatch silence list has the ids"))
	}
	for _, states := range [][]string{{active, pending}, {expired}} {
		var found []*Silence
		for i := range known {
			if s := &known[i]; s.is(states...) && strings.HasPrefix(s.ID, strings.ToLower(id)) {
				found = append(found, s)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		return nil, exit.Usage(fmt.Errorf("%q may mean %s or %s: give more of its id", id,
			found[0].ID, found[1].ID))
	}
	return nil, exit.Usage(fmt.Errorf("there is no silence %q: ringwatch silence list has the ids",
		id))
}
