package rulefiles

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/rules/relabel"
)

// RulesRelabelCmd is ringwatch rules relabel.
type RulesRelabelCmd struct {
	client.Flags
	Node string `required:"" help:"The node: its id, an unambiguous beginning of it, or its address."`
	File string `help:"Prometheus's relabelling rules. Without it: the shipped ones, of disks." type:"path" placeholder:"F"`
	JSON bool   `help:"Print JSON." name:"json"`
}

// Help implements kong.HelpProvider.
func (*RulesRelabelCmd) Help() string {
	return "Shows what a mapping would do to a node's newest series, and changes nothing: which " +
		"labels " +
		"they would have, which would be dropped, and which would become the same. The file is a " +
		"list of " +
		"relabel_config as Prometheus has it.\n\n" +
		"Example: ringwatch rules relabel --node 127.0.0.1 --file mounts.yaml"
}

// Run implements the command.
func (c *RulesRelabelCmd) Run(ctx context.Context) error {
	return c.RunTo(ctx, os.Stdout, os.Stderr)
}

// RunTo is Run for another output than the process has.
func (c *RulesRelabelCmd) RunTo(ctx context.Context, out, errs io.Writer) error {
	mapping, err := relabel.Mounts()
	if c.File != "" {
		mapping, err = relabel.LoadFile(c.File, selector.DefaultConfig())
	}
	if err != nil {
		return exit.Usage(err)
	}
	api, err := c.Client()
	if err != nil {
		return err
	}
	node, err := fleet.FindNode(ctx, api, c.Node)
	if err != nil {
		return err
	}
	series, partial, err := fleet.AskMetrics(ctx, api, node.ID, nil)
	if err != nil {
		return err
	}
	fleet.WarnPartial(errs, partial)
	if len(series) == 0 {
		return fmt.Errorf(
			"%s has no series: ringwatch nodes says when it was last heard of",
			screen.Plain(node.Name()),
		)
	}
	effect := relabelled(mapping, node, series)
	if c.JSON {
		body, err := json.MarshalIndent(effect, "", "  ")
		if err != nil {
			return err
		}
		_, err = out.Write(append(screen.PlainJSON(body), '\n'))
		return err
	}
	return effect.print(out)
}

// Relabelling is what a mapping does to a node's series.
type Relabelling struct {
	Changed   []relabelled1 `json:"changed"`
	Dropped   []relabelled1 `json:"dropped"`
	Unchanged int           `json:"unchanged"` // series
	// Same are label sets that several series would have.
	Same []string `json:"same"`
}

// relabelled1 is what happens alike to the series of an entity.
type relabelled1 struct {
	Before string `json:"before"`          // labels without the metric's name
	After  string `json:"after,omitempty"` // empty if they are dropped
	Series int    `json:"series"`
	Metric string `json:"metric"` // one of them
}

// relabelled applies a mapping to a node's series.
func relabelled(m *relabel.Mapping, node *fleet.NodeInfo, series []fleet.Payload) Relabelling {
	effect := Relabelling{Changed: []relabelled1{}, Dropped: []relabelled1{}, Same: []string{}}
	type key struct{ before, after string }
	changed := map[key]*relabelled1{}
	dropped := map[string]*relabelled1{}
	after := map[string]int{}
	for i := range series {
		of := maps.Clone(series[i].Labels)
		if of == nil {
			of = map[string]string{}
		}
		of[labels.MetricName], of["node"], of["cluster"] = series[i].Metric, node.ID, node.Cluster
		of["datacenter"], of["rack"] = node.Datacenter, node.Rack
		l := labels.FromMap(of)
		before := ownLabels(l)
		count := func(e *relabelled1, to string) *relabelled1 {
			if e == nil {
				e = &relabelled1{Before: before, After: to, Metric: series[i].Metric}
			}
			e.Series++
			return e
		}
		to, keep := m.Labels(l)
		if !keep {
			dropped[before] = count(dropped[before], "")
			continue
		}
		after[to.Get(labels.MetricName)+ownLabels(to)]++
		if labels.Equal(l, to) {
			effect.Unchanged++
			continue
		}
		k := key{before, ownLabels(to)}
		changed[k] = count(changed[k], k.after)
	}
	for _, e := range changed {
		effect.Changed = append(effect.Changed, *e)
	}
	for _, e := range dropped {
		effect.Dropped = append(effect.Dropped, *e)
	}
	for l, n := range after {
		if n > 1 {
			effect.Same = append(effect.Same, l)
		}
	}
	slices.Sort(effect.Same)
	order := func(a, b relabelled1) int {
		return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Before, b.Before))
	}
	slices.SortFunc(effect.Changed, order)
	slices.SortFunc(effect.Dropped, order)
	return effect
}

// ownLabels writes the labels that say no place: {device="sda", mount="/"}.
func ownLabels(l labels.Labels) string {
	b := labels.NewBuilder(l)
	b.Del(relabel.Fixed...)
	return b.Labels().String()
}

// maxSame is how many of the series are named that would become the same.
const maxSame = 10

func (r *Relabelling) print(out io.Writer) error {
	var b strings.Builder
	what := func(e *relabelled1) string {
		if e.Series == 1 {
			return screen.Plain(e.Metric)
		}
		return fmt.Sprintf("%s and %d more", screen.Plain(e.Metric), e.Series-1)
	}
	for i := range r.Changed {
		e := &r.Changed[i]
		fmt.Fprintf(&b, "%s\n  %s\n  -> %s\n", what(e), screen.Plain(e.Before),
			screen.Plain(e.After))
	}
	for i := range r.Dropped {
		e := &r.Dropped[i]
		fmt.Fprintf(&b, "%s\n  %s\n  dropped\n", what(e), screen.Plain(e.Before))
	}
	changed, dropped := 0, 0
	for _, e := range r.Changed {
		changed += e.Series
	}
	for _, e := range r.Dropped {
		dropped += e.Series
	}
	fmt.Fprintf(&b, "%d series changed, %d dropped, %d unchanged\n", changed, dropped, r.Unchanged)
	for i, l := range r.Same {
		if i == maxSame {
			fmt.Fprintf(&b, "and %d more\n", len(r.Same)-i)
			break
		}
		fmt.Fprintf(&b, "several series would become the same: %s\n", screen.Plain(l))
	}
	_, err := io.WriteString(out, b.String())
	return err
}
