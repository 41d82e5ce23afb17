package query

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/account"
)

// The names of series that are of no frame: what Ringwatch itself knows of a node.
const (
	MetricUp   = "up"
	MetricSeen = "ringwatch_node_last_seen_timestamp_seconds"
	MetricInfo = "ringwatch_node_info"
)

// virtualMetrics are all of them.
var virtualMetrics = []string{MetricUp, MetricSeen, MetricInfo}

// NodeLabels returns a node's labels with a metric's name and more.
func NodeLabels(n *Node, name string, more ...labels.Label) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	for _, l := range append([]labels.Label{{Name: labels.MetricName, Value: name},
		{Name: "cluster", Value: n.Cluster}, {Name: "datacenter", Value: n.Datacenter},
		{Name: "rack", Value: n.Rack}, {Name: "node", Value: n.ID.String()}}, more...) {
		b.Set(l.Name, l.Value)
	}
	return b.Labels()
}

// InfoLabels returns a node's facts as labels, and as name what people call it.
func InfoLabels(n *Node) labels.Labels {
	var facts []labels.Label
	for _, f := range n.Facts {
		facts = append(facts, labels.Label{Name: labelName(f.Name), Value: f.Value})
	}
	if name := n.Name(); name != "" { // behind the facts: it stands for one of the same name
		facts = append(facts, labels.Label{Name: "name", Value: name})
	}
	return NodeLabels(n, MetricInfo, facts...)
}

// labelName makes a label's name of a fact's.
func labelName(fact string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, fact)
}

// virtualSeries returns the label sets of those of nodes' own series that any of the plans asks for;
// of all, if there are no plans.
func (e *Engine) virtualSeries(
	ctx context.Context, who account.Principal, plans []*plan,
) []labels.Labels {
	nodes, err := e.reader.Nodes(ctx, who, e.config.NodesTTL)
	if err != nil {
		return nil
	}
	var list []labels.Labels
	for i := range nodes {
		for _, l := range []labels.Labels{NodeLabels(&nodes[i], MetricUp),
			NodeLabels(&nodes[i], MetricSeen), InfoLabels(&nodes[i])} {
			if len(plans) == 0 || slices.ContainsFunc(plans, func(p *plan) bool { return p.means(l) }) {
				list = append(list, l)
			}
		}
	}
	return list
}

// beat is how often nodes' own series have a sample, in ms, in a range: they change seldom, and no
// query looks back less.
const beat = 60_000

// virtual returns the nodes' own series that are asked for: what is known now, for instants up to a
// minute old; and what frames say for earlier ones, see collector.presence.
func (s *selection) virtual(ctx context.Context, nodes []Node) []*oneSeries {
	wanted := map[string]bool{}
	for _, name := range virtualMetrics {
		wanted[name] = s.plan.named(name)
	}
	if !wanted[MetricUp] && !wanted[MetricSeen] && !wanted[MetricInfo] {
		return nil
	}
	var chosen []Node
	for i := range nodes {
		if s.plan.at(&nodes[i], nodes[i].ID.String()) {
			chosen = append(chosen, nodes[i])
		}
	}
	seen, missing, err := s.reader.LastSeen(ctx, s.who.Account, chosen)
	s.lacks(missing)
	if err != nil {
		s.lacks([]string{"when nodes were last heard of: the store does not answer now"})
		return nil
	}
	times := s.beats()
	var list []*oneSeries
	take := func(l labels.Labels, of points) {
		if len(of.times) > 0 && s.plan.means(l) {
			list = append(list, &oneSeries{labels: l, parts: []part{{samples: &of}}})
		}
	}
	heards := make([][]int64, len(chosen))
	if wanted[MetricUp] || wanted[MetricSeen] {
		var g errgroup.Group
		g.SetLimit(rangesAtOnce)
		for i := range chosen {
			if at := seen[chosen[i].ID]; at > 0 {
				g.Go(func() error {
					heards[i] = s.heard(ctx, &chosen[i], at)
					return nil
				})
			}
		}
		_ = g.Wait() // what fails is among what is missing
	}
	for i := range chosen {
		n := &chosen[i]
		if seen[n.ID] == 0 {
			continue
		}
		times, end := s.untilLeft(n, times)
		if wanted[MetricInfo] {
			take(InfoLabels(n), end(points{times: slices.Clip(times),
				values: fill(times, func(int64) float64 { return 1 })}))
		}
		if !wanted[MetricUp] && !wanted[MetricSeen] {
			continue
		}
		heard := heards[i]
		var of points
		for _, t := range times {
			j, found := slices.BinarySearch(heard, t)
			if !found {
				j--
			}
			if j >= 0 {
				of.times = append(of.times, t)
				of.values = append(of.values, float64(heard[j])/1000)
			}
		}
		if wanted[MetricSeen] {
			take(NodeLabels(n, MetricSeen), end(of))
		}
		if wanted[MetricUp] {
			up := points{times: slices.Clip(of.times)}
			for j, t := range of.times {
				v := 1.0
				if StateOf(t-int64(of.values[j]*1000), n.Interval) == StateDown {
					v = 0
				}
				up.values = append(up.values, v)
			}
			take(NodeLabels(n, MetricUp), end(up))
		}
	}
	return list
}

// untilLeft returns those of the instants at which a node had not left, and what ends a series of
// those: it is stale from when the node left.
func (s *selection) untilLeft(n *Node, times []int64) ([]int64, func(points) points) {
	left := s.reader.Left(s.who.Account, n)
	if left == nil {
		return times, func(of points) points { return of }
	}
	k, _ := slices.BinarySearch(times, left.At)
	ends := k < len(times)
	return times[:k], func(of points) points {
		if ends && len(of.times) > 0 {
			of.times = append(of.times, left.At)
			of.values = append(of.values, math.Float64frombits(value.StaleNaN))
		}
		return of
	}
}

func fill(times []int64, of func(int64) float64) []float64 {
	list := make([]float64, len(times))
	for i, t := range times {
		list[i] = of(t)
	}
	return list
}

// beats are the instants at which nodes' own series have samples: the end, and every minute, or every
// step if that is longer.
func (s *selection) beats() []int64 {
	every := int64(beat)
	end := min(s.hints.End, s.now)
	if s.hints.Range == 0 && s.windows.step > every { // then where they are looked at
		every = s.windows.step
		end -= mod(end-s.windows.end, every)
	}
	start := max(s.hints.Start, s.now-s.config.RawRetention.Milliseconds()) // nobody knows before that
	var list []int64
	for t := start + (end-start)%every; t <= end; t += every {
		if s.windows.step == 0 && s.hints.Range == 0 && t < end {
			continue
		}
		list = append(list, t)
	}
	return list
}

// heard returns instants, ascending, at which a node was heard of: its frames' within the time that
// is asked for, if that is not only now, and the last one of all.
func (s *selection) heard(ctx context.Context, n *Node, last int64) []int64 {
	if s.isInstant() && s.hints.End >= last {
		return []int64{last}
	}
	none := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, "")
	values, err := s.reader.Windows(ctx, s.who.Account, n, s.hints.Start-beat, s.hints.End, nil,
		[][]*labels.Matcher{{none}})
	if err != nil {
		s.lacks([]string{"when a node was heard of: " + err.Error()})
		return []int64{last}
	}
	s.lacks(values.Missing)
	list := values.Instants
	if len(list) == 0 || last > list[len(list)-1] {
		list = append(slices.Clone(list), last)
	}
	return list
}
