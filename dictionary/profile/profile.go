// Package profile gives a node's values the names that other exporters give them, so that
// dashboards and alerts made for those exporters work with what the API answers. A profile is what
// users name in the agent's profiles and in /metrics?profile=. Start with Profile and its Show:
//
//	a node's series, now and Span before
//	  ─▶ derive        sums over tables, ratios, loads
//	  ─▶ renderer      a rule file or table of one exporter; beans.txt says which of our series
//	                   is which attribute of which bean
//	  ─▶ Shown         series under that exporter's names
//
// What it promises: the agent's names. What /metrics?profile= has on a node is what Show makes of
// the node's frames, with the same labels. The agent's jar and this package share the files beside
// this one.
//
// What bites: frames hold counts and no rates or percentiles. Those are computed from what was
// counted in the last two minutes, where Cassandra halves the weight of the past each minute, so
// they are near Cassandra's and not equal. Sums over a keyspace's tables are of the tables that
// exist, where Cassandra's include what dropped tables have counted.
//
// It may import frame, window and memory.
package profile

import (
	"context"
	"embed"
	"sync"

	"github.com/ringwatch/ringwatch/window"
)

//go:embed *.yaml *.txt
var files embed.FS

// Ringwatch is the profile of our own names. Its series are shown as they are.
const Ringwatch = "ringwatch"

// Span is how far back the state before is that Show takes, in ms.
const Span = 120_000

// Profile is a set of names. It is made when it is first used.
type Profile struct {
	Name string
	make func() (renderer, error)

	once sync.Once
	by   renderer
	err  error
}

// renderer adds a profile's series of a node's state to an output.
type renderer interface {
	render(o *output, s *state) error
	// needsBefore reports whether the profile shows of a metric what was counted lately, which
	// takes its value before.
	needsBefore(series string) bool
}

var profiles = []*Profile{
	{Name: "jmx_exporter", make: ofRules("jmx_exporter")},
	{Name: "grafana_mixin", make: ofRules("grafana_mixin")},
	{Name: "dashboard_5408", make: ofRules("dashboard_5408")},
	{Name: "criteo_exporter", make: ofCriteo},
	{Name: "opentelemetry", make: ofOpenTelemetry},
	{Name: "instaclustr_exporter", make: ofInstaclustr},
	{Name: "mcac", make: ofMcac},
	{Name: "management_api", make: ofManagementAPI},
}

// Names returns the profiles that there are, our own first.
func Names() []string {
	names := []string{Ringwatch}
	for _, p := range profiles {
		names = append(names, p.Name)
	}
	return names
}

// Named returns a profile other than our own; nil: there is none of that name.
func Named(name string) *Profile {
	for _, p := range profiles {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Shown is what a profile makes of a node's state.
type Shown struct {
	// Series have one value each, of kind frame.GaugeDouble, and are in no order.
	Series []window.Series
	// Heads say what each name is.
	Heads map[string]Head

	from []string // type and name of ours, by series; of a sample
}

// Head is what an exposition says of a name.
type Head struct {
	Type string // counter, gauge or untyped
	Help string
}

// NeedsBefore returns the metrics of which Show needs the values of Span before, too.
func (p *Profile) NeedsBefore(now []window.Series) ([]string, error) {
	by, err := p.renderer()
	if err != nil {
		return nil, err
	}
	var names []string
	known := map[string]bool{}
	for i := range now {
		m := now[i].Metric
		if moves := m.Kind.IsHistogram() && len(now[i].Histograms[0].Filled) > 0 ||
			now[i].Ints != nil && now[i].Ints[0] != 0; moves && !known[m.Name] &&
			by.needsBefore(m.Name) {
			known[m.Name] = true
			names = append(names, m.Name)
		}
	}
	return names, nil
}

// Show returns a node's newest values under the profile's names. Each series of now has one value,
// and each of before its value of Span earlier. A series that before lacks counts from when the
// JVM began. It takes memory of the context's lease as the answer grows.
func (p *Profile) Show(ctx context.Context, node *window.Node,
	now, before []window.Series) (*Shown, error) {
	by, err := p.renderer()
	if err != nil {
		return nil, err
	}
	o := newOutput(ctx, p.Name, node)
	if err := by.render(o, newState(node, now, before)); err != nil {
		return nil, err
	}
	return o.finish()
}

func (p *Profile) renderer() (renderer, error) {
	p.once.Do(func() { p.by, p.err = p.make() })
	return p.by, p.err
}
