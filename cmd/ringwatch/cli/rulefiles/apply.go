package rulefiles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/rules"
)

// RulesApplyCmd is ringwatch rules apply.
type RulesApplyCmd struct {
	client.Flags
	Files  []string `arg:"" name:"file" help:"Rule files, as a Prometheus reads them. A file's name, without its folder, is its name from then on."`
	Remove bool     `help:"Remove the files with these names instead."`
}

// Help implements kong.HelpProvider.
func (*RulesApplyCmd) Help() string {
	return "Gives rule files to the key's account, through the API. A file replaces one of the " +
		"same name. " +
		"Files are checked together with the account's others, and each is applied whole " +
		"or not at " +
		"all. The key needs the scope rules. Evaluation begins some seconds later; " +
		"ringwatch rules " +
		"list shows when.\n\nExample: ringwatch rules apply team.yaml"
}

// Run implements the command.
func (c *RulesApplyCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *RulesApplyCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	for _, file := range c.Files {
		name := filepath.Base(file)
		path := "/v1/rules/" + url.PathEscape(name)
		if c.Remove {
			if _, err := api.Send(ctx, http.MethodDelete, path, nil); err != nil {
				return err
			}
			fmt.Fprintf(out, "removed %s\n", screen.Plain(name))
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return exit.Usage(err)
		}
		body, _, err := api.Do(ctx, http.MethodPut, path, "application/yaml", bytes.NewReader(text))
		if refused, is := errors.AsType[client.RefusedError](err); is &&
			refused.Reason == "bad_rules" {
			return exit.Usage(fmt.Errorf("%s was not applied, correct it first:\n%s", file,
				strings.ReplaceAll("\n"+refused.Text, "\n"+name+":", "\n"+file+":")[1:]))
		}
		if err != nil {
			return err
		}
		var of rules.AppliedFile
		if err := json.Unmarshal(body, &of); err != nil {
			return fmt.Errorf("the API's answer cannot be read (%w): use a program of the API's "+
				"version", err)
		}
		fmt.Fprintf(out, "applied %s: %d rules\n", screen.Plain(of.Name), of.Rules)
	}
	return nil
}

// RulesListCmd is ringwatch rules list.
type RulesListCmd struct {
	client.Flags
	Type string `help:"Only rules that alert, or that record." enum:"alert,record," default:"" placeholder:"TYPE"`
	Bad  bool   `help:"Only rules that fail."`
	JSON bool   `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*RulesListCmd) Help() string {
	return "Shows the account's rules as they are evaluated: state, when each was evaluated " +
		"last, how " +
		"long that took in the slowest cluster, and why it failed, if it did.\n\n" +
		"Example: ringwatch rules list --type alert"
}

// Run implements the command.
func (c *RulesListCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, time.Now()) }

// RunTo is Run for another output than the process has.
func (c *RulesListCmd) RunTo(ctx context.Context, out io.Writer, now time.Time) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	query := url.Values{}
	if c.Type != "" {
		query.Set("type", c.Type)
	}
	if c.JSON {
		return client.PrintJSON(ctx, out, api, "/api/v1/rules", query)
	}
	var answer struct {
		Data struct{ Groups []rules.Group }
	}
	if err := api.Ask(ctx, "/api/v1/rules", query, &answer); err != nil {
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "GROUP\tRULE\tSTATE\tLAST\tTOOK\tFILE")
	shown := 0
	var failed []string
	for _, g := range answer.Data.Groups {
		for i := range g.Rules {
			r := &g.Rules[i]
			if c.Bad && r.LastError == "" {
				continue
			}
			shown++
			state := r.Health
			if r.State != nil && r.Health == "ok" {
				state = *r.State
			}
			last := "never"
			if !r.LastEvaluation.IsZero() {
				last = now.Sub(r.LastEvaluation).Round(time.Second).String()
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", screen.Plain(g.Name), screen.Plain(r.Name),
				screen.Plain(state),
				last, time.Duration(r.EvaluationTime*1e9).Round(10*time.Microsecond), screen.Plain(g.File))
			if r.LastError != "" {
				failed = append(failed, fmt.Sprintf("%s: %s", r.Name, r.LastError))
			}
		}
	}
	if shown == 0 {
		_, err := fmt.Fprintln(out, "No rule matches.")
		return err
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, text := range failed {
		fmt.Fprintln(out, "\n"+strings.TrimSpace(screen.Plain(text)))
	}
	return nil
}
