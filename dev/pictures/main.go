// Command pictures runs ringwatch's commands against a running API and draws what they print, each
// as two SVG files: NAME-light.svg and NAME-dark.svg. make pictures calls it; the API is that of
// make up, unless RINGWATCH_API and RINGWATCH_KEY name another.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

type options struct {
	Program string `help:"The ringwatch to run." default:"bin/ringwatch" type:"path"`
	Out     string `help:"The folder for the pictures." default:"docs/pictures" type:"path"`
}

// picture is a command and how many of its lines are shown; 0 are all.
type picture struct {
	name  string
	args  []string
	lines int
}

// pictures are of a node that has some load: make pictures says how to give it some.
func pictures(node string) []picture {
	return []picture{
		{"top", []string{"top", "--once"}, 12},
		{"series", []string{
			"series", node, `cassandra_client_request_latency_seconds{request="Read"}`,
			"--period", "5m", "--rows", "4",
		}, 0},
		{"query", []string{
			"query",
			`sum by (request) (histogram_count(rate(cassandra_client_request_latency_seconds[30s])))`,
			"--period", "5m",
		}, 0},
	}
}

func main() {
	var o options
	kong.Parse(&o, kong.Description("Draws what ringwatch's commands print."), kong.UsageOnError())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintf(os.Stderr, "pictures: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	nodes, err := o.say(ctx, "nodes", "--json")
	if err != nil {
		return err
	}
	var list []struct{ ID, Address string }
	if err := json.Unmarshal([]byte(nodes), &list); err != nil || len(list) == 0 {
		return errors.New("the API has no nodes yet: run make up and give its Cassandra some load")
	}
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return err
	}
	for _, p := range pictures(list[0].Address) {
		text, err := o.say(ctx, p.args...)
		if err != nil {
			return err
		}
		lines := append([]string{typed(p.args)}, strings.Split(strings.TrimRight(text, "\n"),
			"\n")...)
		if p.lines > 0 {
			lines = lines[:min(len(lines), p.lines)]
		}
		for name, colors := range themes {
			file := filepath.Join(o.Out, p.name+"-"+name+".svg")
			if err := os.WriteFile(file, []byte(draw(lines, colors)), 0o644); err != nil {
				return err
			}
			fmt.Println(file)
		}
	}
	return nil
}

// say returns what a command prints on its standard output.
func (o *options) say(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, o.Program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", typed(args), err)
	}
	return string(out), nil
}

// typed is a command as a person types it, after the prompt.
func typed(args []string) string {
	words := []string{prompt + "ringwatch"}
	for _, a := range args {
		if strings.ContainsAny(a, " {}()*\"|") {
			a = "'" + a + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
