package profile

import (
	"context"
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// askEvery is after how many bytes the lease is asked.
const askEvery = 256 << 10

// seriesBytes is what a series takes in Show beyond window.Series.Bytes: that it is known.
const seriesBytes = 32

// output is what a profile has made so far.
type output struct {
	ctx     context.Context
	profile string
	node    *window.Node
	shown   Shown
	metrics map[string]*window.Metric
	known   map[uint64]bool // labels that there are, hashed
	owed    int64
	err     error // the lease's

	builder labels.ScratchBuilder
	more    [][2]string    // labels of all that is added from now on
	own     []labels.Label // scratch: of the series being added
}

func newOutput(ctx context.Context, profile string, node *window.Node) *output {
	return &output{ctx: ctx, profile: profile, node: node, shown: Shown{Heads: map[string]Head{}},
		metrics: map[string]*window.Metric{}, known: map[uint64]bool{}}
}

// add adds one series. Of two with the same labels the first one is kept; a label without a value
// is none. A label of the node that the profile has too is the profile's.
func (o *output) add(of *window.Series, name, kind string, value float64,
	own func(label func(name, value string))) {
	if o.err != nil {
		return
	}
	o.own = o.own[:0]
	own(func(name, value string) { o.own = append(o.own, labels.Label{Name: name, Value: value}) })
	for _, l := range o.more {
		o.own = append(o.own, labels.Label{Name: l[0], Value: l[1]})
	}
	o.builder.Reset()
	o.builder.Add(labels.MetricName, name)
	for _, l := range o.own {
		if l.Value != "" {
			o.builder.Add(l.Name, l.Value)
		}
	}
	for _, l := range [...]labels.Label{{Name: "cluster", Value: o.node.Cluster},
		{Name: "datacenter", Value: o.node.Datacenter}, {Name: "rack", Value: o.node.Rack},
		{Name: "node", Value: o.node.ID.String()}} {
		if l.Value != "" && !slices.ContainsFunc(o.own, func(own labels.Label) bool {
			return own.Name == l.Name
		}) {
			o.builder.Add(l.Name, l.Value)
		}
	}
	o.builder.Sort()
	all := o.builder.Labels()
	hash := all.Hash()
	if o.known[hash] {
		return
	}
	o.known[hash] = true
	head, there := o.shown.Heads[name]
	switch {
	case !there:
		o.shown.Heads[name] = Head{kind, fmt.Sprintf("What profile %s makes of %s.", o.profile,
			of.Metric.Name)}
		o.metrics[name] = &window.Metric{Type: of.Metric.Type, Name: name, Kind: frame.GaugeDouble}
	case head.Type != kind:
		o.shown.Heads[name] = Head{"untyped", head.Help}
	}
	if o.ctx == sampling {
		o.shown.from = append(o.shown.from, of.Metric.Type+"/"+of.Metric.Name)
	}
	s := window.Series{Labels: all, Metric: o.metrics[name], At: of.At[len(of.At)-1:],
		Doubles: []float64{value}}
	o.shown.Series = append(o.shown.Series, s)
	if o.owed += s.Bytes() + seriesBytes; o.owed > askEvery {
		o.ask()
	}
}

func (o *output) ask() {
	if o.err = o.ctx.Err(); o.err == nil {
		o.err = memory.Of(o.ctx).Take(o.owed)
	}
	o.owed = 0
}

func (o *output) finish() (*Shown, error) {
	if o.ask(); o.err != nil {
		return nil, o.err
	}
	return &o.shown, nil
}
