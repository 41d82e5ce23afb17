package rules

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/ringwatch/ringwatch/frame"
)

// State is what has to be known of a cluster's rules beside the stream: after a restart by the
// process that goes on, and by the API, which shows it. Times are in ms since the Unix epoch, 0 if
// there was none.
type State struct {
	Account string       `json:"account"`
	Cluster string       `json:"cluster"` // frame.EveryCluster: rules over all clusters
	Groups  []GroupState `json:"groups"`  // none: the cluster is gone
	Nodes   []NodeState  `json:"nodes,omitempty"`
}

// GroupState is one group of rules.
type GroupState struct {
	File      string      `json:"file"`
	Name      string      `json:"name"`
	Next      int64       `json:"next"`
	Evaluated int64       `json:"evaluated"`
	Took      float64     `json:"took"` // seconds
	Missed    int64       `json:"missed,omitempty"`
	Rules     []RuleState `json:"rules"`
}

// RuleState is one rule.
type RuleState struct {
	Name   string       `json:"name"`
	Labels string       `json:"labels,omitempty"`
	Health string       `json:"health"`
	Error  string       `json:"error,omitempty"`
	Took   float64      `json:"took"`
	Alerts []AlertState `json:"alerts,omitempty"`
}

// AlertState is one alert of a rule, also for a while after it was resolved.
type AlertState struct {
	State       string            `json:"state"` // inactive, pending or firing
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Value       Float             `json:"value"`
	ActiveAt    int64             `json:"activeAt"`
	FiredAt     int64             `json:"firedAt,omitempty"`
	ResolvedAt  int64             `json:"resolvedAt,omitempty"`
	LastSentAt  int64             `json:"lastSentAt,omitempty"`
	ValidUntil  int64             `json:"validUntil,omitempty"`
	KeepFiring  int64             `json:"keepFiringSince,omitempty"`
}

// NodeState is a node that may be silent for longer than memory goes back.
type NodeState struct {
	ID         uuid.UUID    `json:"id"`
	Datacenter string       `json:"datacenter,omitempty"`
	Rack       string       `json:"rack,omitempty"`
	Facts      []frame.Fact `json:"facts,omitempty"`
	Interval   int64        `json:"interval"`
	Last       int64        `json:"last"`
	Down       bool         `json:"down,omitempty"` // its up is 0
	// Cluster is that of a recorder that rules over all clusters look at.
	Cluster string `json:"cluster,omitempty"`
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// state returns the cluster's state.
func (c *cluster) state() State {
	s := State{Account: c.account, Cluster: c.name}
	for _, g := range c.groups {
		of := GroupState{File: g.File(), Name: g.Name(), Next: g.next, Evaluated: g.evaluated,
			Took: g.took.Seconds(), Missed: g.missed}
		for _, r := range g.Rules() {
			one := RuleState{Name: r.Name(), Labels: r.Labels().String(),
				Health: string(r.Health()), Took: r.GetEvaluationDuration().Seconds()}
			if err := r.LastError(); err != nil {
				one.Error = err.Error()
			}
			if a, is := r.(*promrules.AlertingRule); is {
				a.ForEachActiveAlert(func(a *promrules.Alert) {
					one.Alerts = append(one.Alerts, AlertState{
						State: a.State.String(), Labels: a.Labels.Map(),
						Annotations: a.Annotations.Map(),
						Value:       Float(a.Value), ActiveAt: millis(a.ActiveAt),
						FiredAt:    millis(a.FiredAt),
						ResolvedAt: millis(a.ResolvedAt), LastSentAt: millis(a.LastSentAt),
						ValidUntil: millis(a.ValidUntil), KeepFiring: millis(a.KeepFiringSince),
					})
				})
				slices.SortFunc(one.Alerts, func(a, b AlertState) int {
					return labels.Compare(labels.FromMap(a.Labels), labels.FromMap(b.Labels))
				})
			}
			of.Rules = append(of.Rules, one)
		}
		s.Groups = append(s.Groups, of)
	}
	for _, n := range c.members.nodes {
		s.Nodes = append(s.Nodes, NodeState{ID: n.id, Datacenter: n.identity.Datacenter,
			Rack: n.identity.Rack, Facts: n.identity.Facts, Interval: n.interval,
			Last: max(n.last, n.before), Down: n.down != 0 && n.down == max(n.last, n.before),
			Cluster: n.cluster})
	}
	slices.SortFunc(s.Nodes, func(a, b NodeState) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return s
}

// restore takes over a state that was written down, of those groups and rules that are still there.
func (c *cluster) restore(s *State) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if c.members.nodes[n.ID] == nil {
			one := &node{id: n.ID, interval: n.Interval, before: n.Last, cluster: n.Cluster,
				identity: frame.Identity{Datacenter: n.Datacenter, Rack: n.Rack, Facts: n.Facts}}
			if n.Down {
				one.down = n.Last
			}
			c.members.nodes[n.ID] = one
			if c.members.add(one, 0); one.end == nil || !one.end.Said() {
				one.spoke = n.Last
			}
		}
	}
	c.gone = len(c.groups) == 0
	c.changed, c.urgent = true, len(s.Groups) != len(c.groups)
	for i := range s.Groups {
		of := &s.Groups[i]
		j := slices.IndexFunc(c.groups, func(g *group) bool {
			return g.File() == of.File && g.Name() == of.Name
		})
		if j < 0 {
			c.resolveRemoved(of, nil)
			continue
		}
		g := c.groups[j]
		g.evaluated, g.missed = of.Evaluated, of.Missed
		if of.Evaluated > 0 { // the interval may be another now
			g.next = g.EvalTimestamp((of.Evaluated+1)*int64(time.Millisecond)).UnixMilli() +
				g.Interval().Milliseconds()
		}
		g.recorder.had, g.recorder.until = true, g.evaluated
		used := map[int]bool{}
		for _, r := range g.Rules() {
			a, is := r.(*promrules.AlertingRule)
			if !is {
				continue
			}
			k := -1
			for m := range of.Rules {
				if !used[m] && of.Rules[m].Name == r.Name() &&
					of.Rules[m].Labels == r.Labels().String() {
					k = m
					break
				}
			}
			if k < 0 {
				continue
			}
			used[k] = true
			c.restoreAlerts(a, of.Rules[k].Alerts)
		}
		c.resolveRemoved(of, used)
	}
	c.savedLow, c.head.horizon = c.lowWater(), c.earliest()
}

// resolveRemoved ends what fired of a group's rules that are there no more: nobody would say so
// otherwise.
func (c *cluster) resolveRemoved(of *GroupState, kept map[int]bool) {
	var list []Alert
	for i := range of.Rules {
		if kept[i] {
			continue
		}
		for j := range of.Rules[i].Alerts {
			a := &of.Rules[i].Alerts[j]
			c.changed, c.urgent = true, true
			if a.State != promrules.StateFiring.String() {
				continue
			}
			list = append(list, Alert{Account: c.account, Cluster: c.name, File: of.File,
				Group: of.Name,
				Rule:  of.Rules[i].Name, Alert: promrules.Alert{State: promrules.StateInactive,
					Labels: labels.FromMap(a.Labels), Annotations: labels.FromMap(a.Annotations),
					Value: float64(a.Value), ActiveAt: timeOf(a.ActiveAt),
					FiredAt:    timeOf(a.FiredAt),
					ResolvedAt: timeOf(of.Evaluated), LastSentAt: timeOf(of.Evaluated)}})
		}
	}
	if len(list) > 0 {
		c.role.deps.Notify(context.Background(), list)
	}
}

// restoreAlerts makes a rule's alerts what they were. The rule is evaluated over the alerts
// themselves, which makes them anew, and then they are given their times.
func (c *cluster) restoreAlerts(r *promrules.AlertingRule, list []AlertState) {
	if len(list) == 0 {
		return
	}
	at := timeOf(list[0].ActiveAt)
	of := func(context.Context, string, time.Time) (promql.Vector, error) {
		var v promql.Vector
		for i := range list {
			b := labels.NewBuilder(labels.FromMap(list[i].Labels))
			b.Del(labels.AlertName)
			v = append(v, promql.Sample{Metric: b.Labels(), T: millis(at),
				F: float64(list[i].Value)})
		}
		return v, nil
	}
	if _, err := r.Eval(context.Background(), 0, at, of, c.role.url, 0); err != nil {
		c.log.Error("the alerts of a rule differ from those before; they begin anew",
			"rule", r.Name(), "error", err)
		return
	}
	byLabels := map[string]*AlertState{}
	for i := range list {
		byLabels[labels.FromMap(list[i].Labels).String()] = &list[i]
	}
	r.ForEachActiveAlert(func(a *promrules.Alert) {
		was := byLabels[a.Labels.String()]
		if was == nil { // its labels follow from its value: it begins anew
			a.State = promrules.StatePending
			a.FiredAt = time.Time{}
			return
		}
		a.State = promrules.StatePending
		switch was.State {
		case promrules.StateFiring.String():
			a.State = promrules.StateFiring
		case promrules.StateInactive.String():
			a.State = promrules.StateInactive
		}
		a.Annotations, a.Value = labels.FromMap(was.Annotations), float64(was.Value)
		a.ActiveAt, a.FiredAt = timeOf(was.ActiveAt), timeOf(was.FiredAt)
		a.ResolvedAt, a.LastSentAt = timeOf(was.ResolvedAt), timeOf(was.LastSentAt)
		a.ValidUntil, a.KeepFiringSince = timeOf(was.ValidUntil), timeOf(was.KeepFiring)
	})
}
