package notices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/notify"
)

// TestCmd is ringwatch notify test.
type TestCmd struct {
	client.Flags
	Receiver string `arg:"" help:"A receiver's name, as the configuration of the account has it."`
	JSON     bool   `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*TestCmd) Help() string {
	return "Sends one message through each integration of a receiver. It begins with: This is a " +
		"test. What each server answers is printed. It is sent once, past routes, silences and " +
		"time intervals. An incident that it opens stays open. The key needs the scope rules.\n\n" +
		"It ends with 0 if all was delivered as it should be, 1 if not, and 2 if there is no " +
		"such receiver.\n\n" +
		"Example: ringwatch notify test night"
}

// Run implements the command.
func (c *TestCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *TestCmd) RunTo(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	body, err := api.Post(ctx, "/alertmanager/ringwatch/test",
		map[string]string{"receiver": c.Receiver})
	if err != nil {
		return err
	}
	var answer struct{ Deliveries []notify.Delivery }
	if err := json.Unmarshal(body, &answer); err != nil {
		return fmt.Errorf("the API's answer cannot be read (%w): use a program of the API's "+
			"version", err)
	}
	if c.JSON {
		if _, err := out.Write(screen.PlainJSON(body)); err != nil {
			return err
		}
	}
	var faults, lost int
	for i := range answer.Deliveries {
		d := &answer.Deliveries[i]
		if !d.Delivered {
			lost++
		}
		if d.Fault != "" {
			faults++
		}
		if !c.JSON {
			printDelivery(out, d)
		}
	}
	switch all := len(answer.Deliveries); {
	case lost > 0:
		return fmt.Errorf("%d of %d messages were not delivered", lost, all)
	case faults > 0:
		return errors.New("a template fails: the first line was sent in its place")
	}
	return nil
}

func printDelivery(out io.Writer, d *notify.Delivery) {
	name := screen.Plain(d.Integration)
	if d.To != "" {
		name += " to " + screen.Plain(d.To)
	}
	took := time.Duration(d.Seconds * float64(time.Second)).Round(10 * time.Millisecond)
	if d.Delivered {
		fmt.Fprintf(out, "%s: delivered in %s\n", name, took)
	} else {
		fmt.Fprintf(out, "%s: not delivered: %s\n", name, screen.Plain(d.Why))
		if d.Retried {
			fmt.Fprintln(out, "  This may pass: an alert would be sent again.")
		}
	}
	if d.Fault != "" {
		fmt.Fprintf(out, "  %s\n", screen.Plain(d.Fault))
	}
}
