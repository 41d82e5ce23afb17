// Command ringwatch is the whole of Ringwatch but the agent: six roles that run as one process
// or as many, and the commands that ask them.
//
// This package has the commands and how one is run: main.go, and a file for each role, with its
// flags and its run. all.go draws how the roles hang together. What a command needs is below, from
// the top down:
//
//	cli       what people type, in rooms by what it is about
//	wire      what a role is made of: parts that run until their process ends
//	settings  the configuration file: all sections, their defaults, their checks
//	program   which version this is, and how it came to this machine
//	clock     the time
//	exit      the exit codes, and the errors that have one
//
// The folder sizing has the arithmetic of ringwatch size.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/activity"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/daily"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/data"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/events"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/examine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/help"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/keys"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/lookup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/notices"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/promql"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/setup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/silences"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/tail"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
)

// release is what make dist and make build stamp on what they build: the version, the commit and
// its time.
var release string

func init() { program.Stamp(release) }

type cli struct {
	All    allCmd    `cmd:"" group:"Roles" help:"Run every role in one process."`
	Ingest ingestCmd `cmd:"" group:"Roles" help:"Take frames from agents and put them into Kafka."`
	Store  storeCmd  `cmd:"" group:"Roles" help:"Write frames from Kafka to Cassandra."`
	Recent recentCmd `cmd:"" group:"Roles" help:"Write the last 15 minutes from Kafka to Redis."`
	Rules  rulesCmd  `cmd:"" group:"Roles" help:"Evaluate rules on the stream of frames and send alerts, or work with rule files."`
	Watch  watchCmd  `cmd:"" group:"Roles" help:"Read Kafka, Redis and whatever Prometheus can scrape, and send it as frames."`
	API    apiCmd    `cmd:"" name:"api" group:"Roles" help:"Answer queries: JSON, Prometheus and the console."`

	Clusters fleet.ClustersCmd   `cmd:"" group:"Questions" help:"List the clusters."`
	Nodes    fleet.NodesCmd      `cmd:"" group:"Questions" help:"List the nodes with the age of their data."`
	Latest   fleet.LatestCmd     `cmd:"" group:"Questions" help:"Show a node's newest values."`
	Series   fleet.SeriesCmd     `cmd:"" group:"Questions" help:"Show one metric of a node over time, with a plot."`
	Query    promql.QueryCmd     `cmd:"" group:"Questions" help:"Ask in PromQL, at one instant or over time."`
	Catalog  promql.CatalogCmd   `cmd:"" group:"Questions" help:"List the names that can be asked for, with units and healthy ranges."`
	Report   daily.ReportCmd     `cmd:"" group:"Questions" help:"Report on a day of a cluster."`
	Safe     fleet.SafeCmd       `cmd:"" group:"Questions" help:"Say whether it is safe to go on with maintenance: exit code 0 or 1."`
	Tasks    activity.TasksCmd   `cmd:"" group:"Questions" help:"List what nodes are doing: compactions, streams and the like."`
	Repairs  activity.RepairsCmd `cmd:"" group:"Questions" help:"List when tables were repaired last, the worst first."`
	Clients  activity.ClientsCmd `cmd:"" group:"Questions" help:"List who is connected, with which driver."`
	Lookup   lookup.LookupCmd    `cmd:"" group:"Questions" help:"Look up rows of a table by key."`
	QPS      activity.QPSCmd     `cmd:"" name:"qps" group:"Questions" help:"Watch who uses how much of Cassandra."`
	Top      fleet.TopCmd        `cmd:"" group:"Questions" help:"Watch the nodes, worst first."`
	Alerts   alerts.AlertsCmd    `cmd:"" group:"Questions" help:"Show what fires, worst first."`
	Events   events.EventsCmd    `cmd:"" group:"Questions" help:"List what happened on the nodes, or follow it."`

	Silence     silences.SilenceCmd     `cmd:"" group:"Questions" help:"Keep alerts quiet for a time, and list what is quiet."`
	Maintenance silences.MaintenanceCmd `cmd:"" group:"Questions" help:"Work on a node: ask whether it is safe, and keep its alerts quiet meanwhile."`

	SlowQueries events.SlowQueriesCmd `cmd:"" group:"Questions" help:"List the statements that were slow, the slowest first."`

	Size   setup.SizeCmd     `cmd:"" group:"Set-up" help:"Say what a fleet needs: processes, cores, memory, disk."`
	Doctor examine.DoctorCmd `cmd:"" group:"Set-up" help:"Check a node before you restart it with the agent."`
	Key    keys.KeyCmd       `cmd:"" group:"Set-up" help:"Make API keys."`
	Notify notices.NotifyCmd `cmd:"" group:"Set-up" help:"Test receivers of alerts, and show what they are told."`
	Node   fleet.NodeCmd     `cmd:"" group:"Set-up" help:"Say that a node has left for good."`
	Schema setup.SchemaCmd   `cmd:"" group:"Set-up" help:"Create and change the tables in Cassandra."`

	Data     data.DataCmd      `cmd:"" group:"Set-up" help:"Look after the directory of ringwatch all."`
	Backfill setup.BackfillCmd `cmd:"" group:"Set-up" help:"Load recorded frames into Cassandra."`
	Tail     tail.TailCmd      `cmd:"" group:"Set-up" help:"Print the frames as they come into Kafka."`

	AgentJar setup.AgentJarCmd `cmd:"" name:"agent-jar" group:"Set-up" help:"Copy the agent's jar out of the image."`

	Completion help.CompletionCmd `cmd:"" group:"Set-up" help:"Print the script that completes these commands in a shell."`
	Man        help.ManCmd        `cmd:"" group:"Set-up" help:"Write the man pages of these commands into a folder."`
	Complete   help.CompleteCmd   `cmd:"" name:"__complete" hidden:"" passthrough:""`

	Version     setup.VersionCmd `cmd:"" group:"Set-up" help:"Say which version this is."`
	VersionFlag kong.VersionFlag `name:"version" help:"Print the version in a line and exit."`
}

func main() {
	os.Exit(run(os.Args[1:]))
}

// asked names the command that could not be parsed, as far as it is known.
func asked(err error) string {
	name := ""
	var failed *kong.ParseError
	if errors.As(err, &failed) && failed.Context != nil {
		for n := failed.Context.Selected(); n != nil && n.Type == kong.CommandNode; n = n.Parent {
			name = " " + n.Name + name
		}
	}
	return "ringwatch" + name
}

func run(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, client.FirstWords())
		return exit.Misused
	}
	var c cli
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer logs.Repeated.Flush()
	status := -1
	k := commands(&c, kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Exit(func(code int) { status = code }), kong.UsageOnError())
	parsed, err := k.Parse(args)
	if status >= 0 { // --help and --version have answered
		return status
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "ringwatch: %v; see %s --help\n", err, asked(err))
		return exit.Misused
	}
	err = parsed.Run()
	var usage exit.UsageError
	switch {
	case err == nil || errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 0
	case errors.As(err, &usage) || wronglyAsked(err):
		fmt.Fprintf(os.Stderr, "ringwatch: %s\n", screen.PlainLines(err.Error()))
		return exit.Misused
	}
	fmt.Fprintf(os.Stderr, "ringwatch: %s\n", screen.PlainLines(err.Error()))
	if own := (exit.CodeError{}); errors.As(err, &own) {
		return own.Code
	}
	return exit.Failed
}

// wronglyAsked reports whether the API refused what a command asks for: a name that does not exist,
// or a word that it does not take.
func wronglyAsked(err error) bool {
	refused, is := errors.AsType[client.RefusedError](err)
	return is && (refused.Status == http.StatusBadRequest ||
		refused.Status == http.StatusNotFound && strings.HasPrefix(refused.Reason, "unknown_"))
}

// commands makes a parser of the structs above.
func commands(c *cli, options ...kong.Option) *kong.Kong {
	options = append(options, settings.PathFlags()...)
	k, err := kong.New(c, append(options, kong.Name("ringwatch"),
		kong.Description("Fleet monitoring for Apache Cassandra that costs the nodes "+
			"almost nothing."),
		kong.Vars{"version": program.Version()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))...)
	if err != nil {
		panic(err) // the structs are wrong
	}
	return k
}
