// Command drills stages incidents on a real cluster and scores what people are told of them: of
// each drill's file what must be told and was (recall), what was told and had to be (precision),
// after how many seconds, in how many messages.
//
// Three Cassandras in two racks, with the agent in each, keep three replicas of a table that is
// read and written at QUORUM all the time. A ringwatch all without engines hears them, by a way of
// its own for each that can be cut. Its rules and its grouping are the shipped ones; its one
// receiver is a webhook of this program, which notes what people would be told, and when.
//
// A drill is a file in incidents/: steps, how long to watch, how to undo them, and what must be so.
// It ends when all is well again. What is told in between, and stands neither under must nor under
// may, is false. Seconds count from the end of the last step.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/bench"
)

//go:embed incidents/*.yaml
var incidents embed.FS

type options struct {
	binary, jar, heap string
	only              []string
	short             bool
	runs              int
	rate              int
	interval          time.Duration
}

func main() {
	var o options
	bench.Binary(&o.binary)
	bench.Agent(&o.jar)
	bench.Heap(&o.heap, "512M")
	bench.Work()
	bench.List(&o.only, "only", "", "only these drills, separated by commas")
	flag.BoolVar(&o.short, "short", false, "only the drills that make test runs, too")
	flag.IntVar(&o.runs, "runs", 1, "how often each drill is run")
	flag.DurationVar(&o.interval, "interval", 0,
		"after how long more of an incident is told, and its end; 0: what is shipped")
	flag.IntVar(&o.rate, "rate", 40, "reads a second, and as many writes")
	bench.Main("drills", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, &o, r)
	})
}

func run(ctx context.Context, o *options, r *bench.Result) error {
	list, err := readDrills(incidents)
	if err != nil {
		return err
	}
	if list, err = chosen(list, o); err != nil {
		return err
	}
	s, err := begin(ctx, o, r.Dir)
	defer s.end()
	if err != nil {
		return err
	}
	var found []*outcome
	for range o.runs {
		for _, d := range list {
			f, err := s.drill(ctx, d)
			if err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			bench.Progress("%s", f)
			found = append(found, f)
		}
	}
	addTo(r, found)
	return nil
}

// chosen are the drills that the flags name.
func chosen(list []*drill, o *options) ([]*drill, error) {
	var names []string
	for _, d := range list {
		names = append(names, d.Name)
	}
	for _, name := range o.only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("-only: there is no drill %q: give some of %s", name,
				strings.Join(names, ", "))
		}
	}
	list = slices.DeleteFunc(list, func(d *drill) bool {
		return len(o.only) > 0 && !slices.Contains(o.only, d.Name) || o.short && !d.Short
	})
	if len(list) == 0 {
		return nil, errors.New("no drill is left: leave -short out, or name others by -only")
	}
	return list, nil
}

// addTo adds up what came of all drills.
func addTo(r *bench.Result, found []*outcome) {
	var t totals
	for _, f := range found {
		t.add(f)
	}
	fmt.Println(table(found))
	r.Detail = found
	r.Notes = "Real incidents on three Cassandras under load; what one webhook was told by the " +
		"shipped rules and grouping. Seconds from the end of the last step."
	r.Add("drills", len(found))
	r.Add("recall", share(t.told, t.told+t.missed))
	r.Add("precision", share(t.told, t.told+t.wrong))
	r.Add("told_median_s", bench.Median(t.seconds))
	r.Add("told_worst_s", bench.Quantile(t.seconds, 1))
	r.Add("messages_per_incident", share(t.messages, t.incidents))
	r.Add("otherwise_wrong", t.otherwise)
}

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// seconds are those of a time, rounded for people.
func seconds(d time.Duration) float64 { return float64(d.Round(100*time.Millisecond)) / 1e9 }
