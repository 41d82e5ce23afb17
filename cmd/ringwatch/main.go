// Command ringwatch asks the API.
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

// Exit codes: 0 done, 1 failed, 2 called or configured wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

type cli struct {
	Clusters clustersCmd `cmd:"" help:"List the clusters."`
	Nodes    nodesCmd    `cmd:"" help:"List the nodes with the age of their data."`
	Latest   latestCmd   `cmd:"" help:"Show a node's newest values."`
	Series   seriesCmd   `cmd:"" help:"Show one metric of a node over time, with a plot."`
	Top      topCmd      `cmd:"" help:"Watch the nodes, worst first."`
}

// usageError is the caller's mistake: exit code 2.
type usageError struct{ error }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	var c cli
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	exit := -1
	k, err := kong.New(&c, kong.Name("ringwatch"), kong.BindTo(ctx, (*context.Context)(nil)), kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic(err) // the structs above are wrong
	}
	parsed, err := k.Parse(args)
	if exit >= 0 { // --help has answered
		return exit
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ringwatch: %v; see ringwatch --help\n", err)
		return exitUsage
	}
	err = parsed.Run()
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "ringwatch: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "ringwatch: %v\n", err)
	return exitFailed
}
