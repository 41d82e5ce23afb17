// Command ringwatch is the whole of Ringwatch but the agent: six roles that run as one process
// or as many, and the commands that ask them.
//
// This package has flags and wiring; what does the work is in the packages that it wires. Begin
// with role_all.go, which draws how they hang together. Then, by file:
//
//	main.go           the commands, and how one is run
//	role_NAME.go      a role: its drawing, its flags, its parts, its run
//	part_NAME.go      what one or more roles are made of; a part runs until its process ends
//	process.go        what the roles of one process share, and how its parts run together
//	config.go         the configuration file: all sections, their defaults, their checks
//	yaml.go           how it is read, with the place of each mistake
//	reach.go          waiting for Kafka, Cassandra and Redis at the start
//	memory.go         what each kind of thing may take of the process's memory
//	stream.go         Kafka, or files in its place; topics.go: the topics beside that of frames
//	priority.go       roles that yield to others; repeats.go: log lines that are said once a minute
//	first.go          the words of the first start; first_key.go: the key that it makes
//
//	NAME.go           the command NAME, and NAME_PART.go where it has more: nodes.go, query_table.go
//	client.go         asking the API, as most commands do; payload.go: its values
//	version.go        which version this is
//	live.go           a command that shows the same again and again; plot.go, plain.go: what it shows
//	completion*.go    for shells; man.go, roff.go: man pages
//	data*.go          ringwatch data; part_socket.go: asking the process that has the directory
//
// The folder sizing has the arithmetic of ringwatch size.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes: 0 done, 1 failed, 2 called or configured wrongly, 3 rules that are odd but not wrong.
const (
	exitFailed = 1
	exitUsage  = 2
	exitLint   = 3
)

type cli struct {
	All    allCmd    `cmd:"" group:"Roles" help:"Run every role in one process."`
	Ingest ingestCmd `cmd:"" group:"Roles" help:"Take frames from agents and put them into Kafka."`
	Store  storeCmd  `cmd:"" group:"Roles" help:"Write frames from Kafka to Cassandra."`
	Recent recentCmd `cmd:"" group:"Roles" help:"Write the last 15 minutes from Kafka to Redis."`
	Rules  rulesCmd  `cmd:"" group:"Roles" help:"Evaluate rules on the stream of frames and send alerts, or work with rule files."`
	Watch  watchCmd  `cmd:"" group:"Roles" help:"Read Kafka, Redis and whatever Prometheus can scrape, and send it as frames."`
	API    apiCmd    `cmd:"" name:"api" group:"Roles" help:"Answer queries: JSON, Prometheus and the console."`

	Clusters clustersCmd `cmd:"" group:"Questions" help:"List the clusters."`
	Nodes    nodesCmd    `cmd:"" group:"Questions" help:"List the nodes with the age of their data."`
	Latest   latestCmd   `cmd:"" group:"Questions" help:"Show a node's newest values."`
	Series   seriesCmd   `cmd:"" group:"Questions" help:"Show one metric of a node over time, with a plot."`
	Query    queryCmd    `cmd:"" group:"Questions" help:"Ask in PromQL, at one instant or over time."`
	Catalog  catalogCmd  `cmd:"" group:"Questions" help:"List the names that can be asked for, with units and healthy ranges."`
	Report   reportCmd   `cmd:"" group:"Questions" help:"Report on a day of a cluster."`
	Safe     safeCmd     `cmd:"" group:"Questions" help:"Say whether it is safe to go on with maintenance: exit code 0 or 1."`
	Tasks    tasksCmd    `cmd:"" group:"Questions" help:"List what nodes are doing: compactions, streams and the like."`
	Repairs  repairsCmd  `cmd:"" group:"Questions" help:"List when tables were repaired last, the worst first."`
	Clients  clientsCmd  `cmd:"" group:"Questions" help:"List who is connected, with which driver."`
	Lookup   lookupCmd   `cmd:"" group:"Questions" help:"Look up rows of a table by key."`
	QPS      qpsCmd      `cmd:"" name:"qps" group:"Questions" help:"Watch who uses how much of Cassandra."`
	Top      topCmd      `cmd:"" group:"Questions" help:"Watch the nodes, worst first."`
	Alerts   alertsCmd   `cmd:"" group:"Questions" help:"Show what fires, worst first."`
	Events   eventsCmd   `cmd:"" group:"Questions" help:"List what happened on the nodes, or follow it."`

	SlowQueries slowQueriesCmd `cmd:"" group:"Questions" help:"List the statements that were slow, the slowest first."`

	Size   sizeCmd   `cmd:"" group:"Set-up" help:"Say what a fleet needs: processes, cores, memory, disk."`
	Doctor doctorCmd `cmd:"" group:"Set-up" help:"Check a node before you restart it with the agent."`
	Key    keyCmd    `cmd:"" group:"Set-up" help:"Make API keys."`
	Node   nodeCmd   `cmd:"" group:"Set-up" help:"Say that a node has left for good."`
	Schema schemaCmd `cmd:"" group:"Set-up" help:"Create and change the tables in Cassandra."`

	Data     dataCmd     `cmd:"" group:"Set-up" help:"Look after the directory of ringwatch all."`
	Backfill backfillCmd `cmd:"" group:"Set-up" help:"Load recorded frames into Cassandra."`
	Tail     tailCmd     `cmd:"" group:"Set-up" help:"Print the frames as they come into Kafka."`

	AgentJar agentJarCmd `cmd:"" name:"agent-jar" group:"Set-up" help:"Copy the agent's jar out of the image."`

	Completion completionCmd `cmd:"" group:"Set-up" help:"Print the script that completes these commands in a shell."`
	Man        manCmd        `cmd:"" group:"Set-up" help:"Write the man pages of these commands into a folder."`
	Complete   completeCmd   `cmd:"" name:"__complete" hidden:"" passthrough:""`

	Version     versionCmd       `cmd:"" group:"Set-up" help:"Say which version this is."`
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version in a line and exit."`
}

// usageError is the caller's mistake: exit code 2.
type usageError struct{ error }

// exitError has an exit code of its own.
type exitError struct {
	error
	code int
}

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, firstWords())
		return exitUsage
	}
	var c cli
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer repeatedLines.flush()
	exit := -1
	k := commands(&c, kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Exit(func(code int) { exit = code }), kong.UsageOnError())
	parsed, err := k.Parse(args)
	if exit >= 0 { // --help and --version have answered
		return exit
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ringwatch: %v; see ringwatch --help\n", err)
		return exitUsage
	}
	err = parsed.Run()
	var usage usageError
	switch {
	case err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 0
	case errors.As(err, &usage) || wronglyAsked(err):
		fmt.Fprintf(os.Stderr, "ringwatch: %s\n", plainLines(err.Error()))
		return exitUsage
	}
	fmt.Fprintf(os.Stderr, "ringwatch: %s\n", plainLines(err.Error()))
	if own := (exitError{}); errors.As(err, &own) {
		return own.code
	}
	return exitFailed
}

// wronglyAsked reports whether the API refused what a command asks for: a name that does not exist,
// or a word that it does not take.
func wronglyAsked(err error) bool {
	refused, is := errors.AsType[refusedError](err)
	return is && (refused.status == http.StatusBadRequest ||
		refused.status == http.StatusNotFound && strings.HasPrefix(refused.reason, "unknown_"))
}

// commands makes a parser of the structs above.
func commands(c *cli, options ...kong.Option) *kong.Kong {
	options = append(options, paths()...)
	k, err := kong.New(c, append(options, kong.Name("ringwatch"),
		kong.Description("Fleet monitoring for Apache Cassandra that costs the nodes "+
			"almost nothing."),
		kong.Vars{"version": versionLine()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))...)
	if err != nil {
		panic(err) // the structs are wrong
	}
	return k
}

// repeatedLines is of the one standard error that a process has.
var repeatedLines = newRepeats()

// logger writes to stderr; roles run under a supervisor that keeps it. Warnings and errors that
// are repeated are counted and said once a minute.
func logger(c logConfig) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // validated with the configuration
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(repeatedLines.wrap(slog.NewJSONHandler(os.Stderr, options)))
	}
	return slog.New(repeatedLines.wrap(slog.NewTextHandler(os.Stderr, options)))
}
