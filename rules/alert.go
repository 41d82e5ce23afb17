package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	promrules "github.com/prometheus/prometheus/rules"
)

// Alert is an alert to be told of: it fires (again and again while it does), or was resolved.
type Alert struct {
	promrules.Alert
	Account, Cluster  string
	File, Group, Rule string
	Expr              string
	GeneratorURL      string
}

// notify is Prometheus's way to tell of alerts of the rule that was just evaluated.
func (c *cluster) notify(ctx context.Context, expr string, alerts ...*promrules.Alert) {
	c.tell(ctx, c.evaluation.current, expr, alerts)
}

// tell tells of alerts of a group.
func (c *cluster) tell(ctx context.Context, g *group, expr string, alerts []*promrules.Alert) {
	if len(alerts) == 0 {
		return
	}
	list := make([]Alert, len(alerts))
	for i, a := range alerts {
		list[i] = c.alert(g, expr, a)
	}
	c.urgent = true
	c.role.deps.Notify(ctx, list)
}

// alert is an alert of a group as others are told of it.
func (c *cluster) alert(g *group, expr string, a *promrules.Alert) Alert {
	return Alert{Alert: *a, Account: c.account, Cluster: c.name, File: g.File(),
		Group: g.Name(), Rule: a.Labels.Get(model.AlertNameLabel), Expr: expr,
		GeneratorURL: c.role.link(expr, a)}
}

// How much of the time around an alert its link shows.
const (
	linkBefore = time.Hour
	linkAfter  = 10 * time.Minute
)

// link leads to the console's Explore, with what an alert is of, from an hour before it held until
// after it fired. It is "" where nobody has said where the console is.
func (r *Rules) link(expr string, a *promrules.Alert) string {
	if r.url.Host == "" {
		return ""
	}
	fired := a.FiredAt
	if fired.Before(a.ActiveAt) {
		fired = a.ActiveAt
	}
	query := url.Values{"expr": {expr},
		"from": {strconv.FormatInt(a.ActiveAt.Add(-linkBefore).Unix(), 10)},
		"to":   {strconv.FormatInt(fired.Add(linkAfter).Unix(), 10)}}
	return strings.TrimRight(r.url.String(), "/") + "/#/explore?" + query.Encode()
}

// Float is a number that JSON may not have: NaN and infinities are texts there.
type Float float64

// MarshalJSON implements json.Marshaler.
func (f Float) MarshalJSON() ([]byte, error) {
	if v := float64(f); math.IsNaN(v) || math.IsInf(v, 0) {
		return json.Marshal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *Float) UnmarshalJSON(b []byte) error {
	var text string
	if json.Unmarshal(b, &text) != nil {
		text = string(b)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("rules: %q is not a number", text)
	}
	*f = Float(v)
	return nil
}

// lostAlert is one that fired when its partition was lost.
type lostAlert struct {
	Alert
	delta time.Duration // it is said again so often
}

// Lose implements stream.Loser: what fires is said again until it is known who evaluates it.
func (r *Rules) Lose(id int32) {
	if p := r.partitions[id]; p != nil {
		var list []lostAlert
		for _, c := range p.clusters {
			for _, g := range c.groups {
				delta := max(g.Interval(), r.config.ResendDelay)
				for _, rule := range g.AlertingRules() {
					rule.ForEachActiveAlert(func(a *promrules.Alert) {
						if a.State == promrules.StateFiring {
							one := *a
							one.Labels = a.Labels.Copy()
							list = append(list, lostAlert{c.alert(g, rule.Query().String(), &one),
								delta})
						}
					})
				}
			}
		}
		r.lost[id] = list
	}
	r.Revoke(id)
}

// Joined implements stream.Loser: who has the other partitions speaks of them. Of those that are
// ours again there are no states yet.
func (r *Rules) Joined() {
	for id := range r.lost {
		if !r.assigned[id] {
			delete(r.lost, id)
		}
	}
}

// resendLost says alerts of lost partitions again when it is time.
func (r *Rules) resendLost(ctx context.Context, now time.Time) {
	var list []Alert
	for _, lost := range r.lost {
		for i := range lost {
			if a := &lost[i]; now.Sub(a.ValidUntil) > -2*a.delta {
				a.ValidUntil = now.Add(4 * a.delta)
				list = append(list, a.Alert)
			}
		}
	}
	if len(list) > 0 {
		r.deps.Notify(ctx, list)
	}
}

// resendFiring says firing alerts again while evaluation stands still, so that nobody takes them
// for resolved: an outage of the pipeline resolves nothing.
func (c *cluster) resendFiring(ctx context.Context, now time.Time) {
	for _, g := range c.groups {
		delta := max(g.Interval(), c.role.config.ResendDelay)
		for _, r := range g.AlertingRules() {
			var list []*promrules.Alert
			r.ForEachActiveAlert(func(a *promrules.Alert) {
				if a.State == promrules.StateFiring && now.Sub(a.ValidUntil) > -2*delta {
					a.ValidUntil = now.Add(4 * delta)
					one := *a
					one.Labels = a.Labels.Copy()
					list = append(list, &one)
				}
			})
			c.tell(ctx, g, r.Query().String(), list)
		}
	}
}
