package rules

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
)

// cluster is what is evaluated at one place: one cluster of an account, or all of them together
// (frame.EveryCluster). Its methods are called by one goroutine at a time.
type cluster struct {
	role          *Rules
	account, name string
	partition     int32
	log           *slog.Logger

	version    int // of files
	set        *set
	head       *head       // its series
	members    *members    // its nodes
	evaluation *evaluation // of its rules

	groups  []*group   // in the order of files
	out     []outgoing // to be published
	waiting bool       // it has been said that a cluster is awaited

	gone     bool // nothing is left of it: no node, or no rule
	changed  bool // there is more to be written down than was
	urgent   bool // of it something that must not be forgotten: an alert
	saved    int64
	savedLow int64 // low when the state was written down
}

// outgoing is a frame of recorded series on its way.
type outgoing struct {
	bytes   []byte
	stored  bool // goes into the stream
	forward bool // goes to rules over all clusters
}

// newCluster takes over the account's rules. It does so once: when rules change the consumer begins
// again where its state is.
func (r *Rules) newCluster(account, name string, partition int32) (*cluster, error) {
	c := &cluster{role: r, account: account, name: name, partition: partition,
		log: r.deps.Log.With("account", account, "cluster", name)}
	c.set, c.version = r.files.of(account)
	scope := c.set.cluster
	if r.deps.Every {
		scope = c.set.every
	}
	c.head = newHead(scope.clone(), r.deps.Budget, account)
	c.members = r.newMembers(account, name, c.set, c.head)
	c.evaluation = &evaluation{role: r, account: account, name: name, head: c.head,
		members: c.members}
	var err error
	c.groups, err = c.newGroups()
	return c, err
}

// clone returns a copy whose cache of names is its own.
func (p *ruleScope) clone() *ruleScope {
	of := *p
	of.named = nil
	return &of
}

// group is a group of rules in this cluster.
type group struct {
	*promrules.Group
	key       string
	next      int64 // ms: the instant of its next evaluation; 0: not known yet
	evaluated int64 // ms: of its last one
	took      time.Duration
	missed    int64
	recorder
}

// newGroups makes Prometheus's groups of the rules.
func (c *cluster) newGroups() ([]*group, error) {
	opts := &promrules.ManagerOptions{
		NameValidationScheme: labelNames, ExternalURL: c.role.url,
		QueryFunc: c.evaluation.query, NotifyFunc: c.notify, Context: context.Background(),
		Appendable: appendable{c.evaluation}, Queryable: c.evaluation, Logger: c.log,
		ResendDelay: c.role.config.ResendDelay, Metrics: c.role.groups, Parser: c.role.parser,
		GroupLoader:            loader{c.head.scope, c.role.parser, c.name},
		DefaultRuleQueryOffset: func() time.Duration { return 0 },
	}
	var names []string
	for _, f := range c.head.scope.files {
		names = append(names, f.name)
	}
	made, errs := promrules.NewManager(opts).LoadGroups(c.role.config.EvaluationInterval,
		c.role.externalLabels, c.role.url.String(), nil, false, names...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("rules: %w", errs[0])
	}
	var list []*group
	for _, f := range c.head.scope.files {
		for _, g := range f.groups {
			key := promrules.GroupKey(f.name, g.Name)
			one := &group{Group: made[key], key: key}
			for _, r := range one.AlertingRules() {
				r.SetRestored(true) // what there was is restored by ourselves
			}
			one.id = frame.RecorderID(c.account, c.name, key)
			one.feeds = !c.role.deps.Every && c.set.feeds(&g)
			list = append(list, one)
		}
	}
	return list, nil
}

// loader gives Prometheus the rules that have been read and checked. It implements
// promrules.GroupLoader.
type loader struct {
	*ruleScope
	parser.Parser
	cluster string
}

// Load implements promrules.GroupLoader. Rules about another cluster are left out.
func (l loader) Load(
	name string, _ bool, _ model.ValidationScheme,
) (*rulefmt.RuleGroups, []error) {
	for _, f := range l.files {
		if f.name != name {
			continue
		}
		groups := slices.Clone(f.groups)
		for i := range groups {
			groups[i].Rules = slices.DeleteFunc(slices.Clone(groups[i].Rules),
				func(r rulefmt.Rule) bool {
					of := l.pinnedTo(r.Expr)
					return of != "" && of != l.cluster
				})
		}
		return &rulefmt.RuleGroups{Groups: groups}, nil
	}
	return nil, []error{fmt.Errorf("there is no rule file %s", name)}
}

func (l loader) pinnedTo(text string) string {
	if len(l.pinned) == 0 {
		return ""
	}
	expr, err := l.ParseExpr(text)
	if err != nil {
		return ""
	}
	return l.pinned[expr.String()]
}

// Parse implements promrules.GroupLoader. Clusters share expressions: rules only print them.
func (l loader) Parse(expr string) (parser.Expr, error) {
	if known := l.parsed[expr]; known != nil {
		return known, nil
	}
	return l.ParseExpr(expr)
}

// takeFrame enters a frame.
func (c *cluster) takeFrame(rec *stream.Record) error {
	b := rec.Value
	h, _, err := frame.Parse(b)
	if err != nil {
		return err
	}
	recorded := frame.IsRecorder(h.Node) && !frame.IsProcess(h.Node)
	if recorded && (!c.role.deps.Every || h.Cluster == frame.EveryCluster) {
		for _, g := range c.groups {
			if g.id == h.Node {
				return c.recordedBefore(g, &h, b)
			}
		}
		return nil // of rules that are there no more
	}
	if recorded != c.role.deps.Every || len(c.groups) == 0 {
		return nil
	}
	c.gone = false
	return c.members.take(&h, b, heardAt(h.At, rec.Received))
}

// evaluateDue evaluates what is due by an instant in order of time, until ctx ends.
func (c *cluster) evaluateDue(ctx context.Context, until int64) {
	for ctx.Err() == nil {
		g := c.nextDue(until)
		if g == nil {
			return
		}
		at := g.next
		if behind := until - at; behind > c.role.config.CatchUp.Milliseconds() {
			step := g.Interval().Milliseconds()
			skip := (behind - c.role.config.CatchUp.Milliseconds()) / step
			g.missed += skip
			c.role.metrics.missed.Add(float64(skip))
			at += skip * step
			g.next = at
		}
		covers, whose := c.members.coverage(at)
		if covers == late {
			c.sayLate(whose, at, until)
			return
		}
		c.waiting = false
		if covers == gap || c.members.missesFrames(at) {
			// To leave it out harms no alert; to evaluate it would resolve what still fires.
			g.next = at + g.Interval().Milliseconds()
			g.missed++
			c.role.metrics.missed.Inc()
			continue
		}
		c.evaluate(ctx, g, at)
	}
}

// nextDue returns the group that is due first, if one is.
func (c *cluster) nextDue(until int64) *group {
	var found *group
	for _, g := range c.groups {
		if g.next == 0 {
			g.next = g.EvalTimestamp(until*int64(time.Millisecond)).UnixMilli() +
				g.Interval().Milliseconds()
		}
		if g.next <= until && (found == nil || g.next < found.next) {
			found = g
		}
	}
	return found
}

// evaluate evaluates a group at an instant.
func (c *cluster) evaluate(ctx context.Context, g *group, at int64) {
	began := time.Now()
	if c.members.observe(at) {
		c.gone = len(c.members.nodes) == 0
	}
	c.evaluation.current = g
	c.evaluation.forgetShared()
	g.begin(at - g.QueryOffset().Milliseconds())
	g.Eval(ctx, time.UnixMilli(at).UTC())
	if ctx.Err() != nil && !c.finished(g) && time.Since(began) < c.role.config.Timeout {
		return // it is evaluated again, unless that would take all time from the other groups
	}
	c.finish(g)
	if c.gone { // the other groups are not evaluated any more
		for _, other := range c.groups {
			if other != g {
				other.begin(at - other.QueryOffset().Milliseconds())
				c.finish(other)
			}
		}
	}
	g.series, g.reader = nil, nil
	c.evaluation.forgetShared()
	g.evaluated, g.next = at, at+g.Interval().Milliseconds()
	g.took = time.Since(began)
	c.role.metrics.evaluations.Inc()
	c.role.metrics.duration.Observe(g.took.Seconds())
	for _, r := range g.Rules() {
		if r.LastError() != nil {
			c.role.metrics.failures.Inc()
		}
	}
	c.changed = true
	c.head.horizon = c.earliest()
	if c.head.hasEnded && at-c.head.tidied > time.Minute.Milliseconds() {
		c.members.removeEnded(at)
	}
}

// finish publishes what a group recorded.
func (c *cluster) finish(g *group) {
	b, stored, err := g.recorder.finish(c, g)
	if err != nil {
		c.log.Error("the series that a group recorded do not fit into a frame", "group", g.Name(),
			"error", err)
	} else if b != nil {
		c.out = append(c.out, outgoing{b, stored, g.feeds})
	}
}

// earliest returns the first instant at which a group may be evaluated.
func (c *cluster) earliest() int64 {
	first := int64(0)
	for _, g := range c.groups {
		if g.next > 0 && (first == 0 || g.next < first) {
			first = g.next
		}
	}
	return first
}

// finished reports whether all rules of a group were evaluated though the context has ended.
func (c *cluster) finished(g *group) bool {
	return !slices.ContainsFunc(g.Rules(), func(r promrules.Rule) bool {
		return r.Health() == promrules.HealthBad
	})
}

// lowWater returns the oldest instant, in ms, of which frames would be needed after a restart.
func (c *cluster) lowWater() int64 {
	oldest := int64(0)
	for _, g := range c.groups {
		if g.evaluated > 0 && (oldest == 0 || g.evaluated < oldest) {
			oldest = g.evaluated
		}
	}
	if oldest == 0 {
		return 0
	}
	// The key frame of the oldest frame may be a window older.
	return oldest - c.head.scope.keep.Milliseconds() - frame.WindowMillis
}

// release gives back what the cluster's series take.
func (c *cluster) release() { c.head.lease.Release() }

// sayLate says once that rules over all clusters wait for a cluster.
func (c *cluster) sayLate(n *node, at, until int64) {
	if c.waiting || until-at < time.Minute.Milliseconds() {
		return
	}
	c.waiting = true
	c.log.Warn(
		"rules over all clusters wait until a cluster is evaluated: see that a process with "+
			"the role rules has it", "cluster_awaited", n.cluster, "since", timeOf(at))
}
