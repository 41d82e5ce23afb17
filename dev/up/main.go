// Command up brings a whole Ringwatch up on this machine, with a monitored Cassandra, and takes it
// down again. `make up`, `make up-line`, `make down` and `make clean-data` run it. A line has
// Kafka and Redis, too.
//
// Everything it keeps is in .ringwatch/ of the checkout. What it starts outlives it; each process
// is written down in .ringwatch/run/ by its id and start time, and only those are ever signalled.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

type cli struct {
	Dir string `help:"The checkout." default:"." type:"existingdir"`

	Up        upCmd        `cmd:"" help:"Start what does not run yet and wait until the metrics can be queried."`
	Down      downCmd      `cmd:"" help:"Stop everything that up started."`
	CleanData cleanDataCmd `cmd:"" help:"Forget all data and logs; the API key stays."`
	Status    statusCmd    `cmd:"" help:"Say what runs."`
}

func main() {
	var args cli
	parsed := kong.Parse(&args, kong.Name("up"),
		kong.Description("Runs Ringwatch and a monitored Cassandra on this machine."),
		kong.UsageOnError())
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	// a second Ctrl-C ends this process at once; what runs stays written down
	context.AfterFunc(ctx, cancel)
	state, err := openState(args.Dir)
	if err == nil {
		parsed.BindTo(ctx, (*context.Context)(nil))
		err = parsed.Run(state)
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
