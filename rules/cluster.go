package rules

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
)

// cluster is what is evaluated at one place: one cluster of an account, or all of them together
// (frame.EveryCluster). Its methods are called by one goroutine at a time.
type cluster struct {
	*Rules
	account, name string
	partition     int32
	log           *slog.Logger
	lease         *memory.Lease

	version           int // of files
	set               *set
	scope             *ruleScope
	wanted            *frame.Wanted
	nodes             map[uuid.UUID]*node
	seen              map[*selector][]*seriesView
	ordered           map[*selector]int           // how many of seen have been put in order
	metrics           map[string][]*window.Metric // by name, for shared
	count             int                         // series in memory
	lackingMemory     int                         // series that there was no memory for
	unread            int                         // nodes whose frames there was no memory to read
	lackingBySelector map[*selector]int           // how many of them a selector means
	hasEnded          bool                        // there are series that nobody needs
	waiting           bool                        // it has been said that a cluster is awaited
	tidied            int64

	groups        []*group // in the order of files
	current       *group   // that is being evaluated
	rule          promrules.RuleDetail
	grown         *expression.LabelBudget // the labels that the expression under evaluation makes
	sharedOf      map[int]promql.Vector   // what rules of the current group share, at sharedAt
	sharedAt      time.Time
	sharedBytes   int64                 // of the lease
	engineUse     *countingLease        // of the lease, by the expression that is being evaluated
	recorded      map[string]*memSeries // by their labels
	records       []roster.Record       // of the roster, to be published
	rosterVersion uint64                // changes of the roster that are known
	newest        int64                 // ms: when the node came that came last
	listening     read.Listening        // when somebody could hear of nodes
	horizon       int64                 // ms: no group will be evaluated at an instant before it
	out           []outgoing            // to be published

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

func (r *Rules) newCluster(account, name string, partition int32) *cluster {
	return &cluster{Rules: r, account: account, name: name, partition: partition,
		log: r.deps.Log.With("account", account, "cluster", name), nodes: map[uuid.UUID]*node{}}
}

// load takes over the account's rules. It is called once: when rules change the consumer begins
// again where its state is.
func (c *cluster) load() error {
	c.set, c.version = c.files.of(c.account)
	c.scope = c.set.cluster
	if c.deps.Every {
		c.scope = c.set.every
	}
	c.scope = c.scope.clone()
	c.lease = c.deps.Budget.Open(c.account)
	c.seen, c.metrics = map[*selector][]*seriesView{}, map[string][]*window.Metric{}
	c.recorded, c.ordered = map[string]*memSeries{}, map[*selector]int{}
	c.lackingBySelector = map[*selector]int{}
	c.wanted = frame.NewWanted(func(metric string) bool {
		return metric == modeMetric && !c.deps.Every || c.scope.candidatesOf(metric) != nil
	}, frame.NewDictionaries(dictionaryBytes))
	var err error
	c.groups, err = c.newGroups()
	return err
}

// dictionaryBytes bounds what is kept of dictionaries that a cluster's nodes share.
const dictionaryBytes = 1 << 20

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
		NameValidationScheme: labelNames, ExternalURL: c.url,
		QueryFunc: c.query, NotifyFunc: c.notify, Context: context.Background(),
		Appendable: appendable{c}, Queryable: c, Logger: c.log, ResendDelay: c.config.ResendDelay,
		GroupLoader: loader{c.scope, c.parser, c.name}, Metrics: c.Rules.groups, Parser: c.parser,
		DefaultRuleQueryOffset: func() time.Duration { return 0 },
	}
	var names []string
	for _, f := range c.scope.files {
		names = append(names, f.name)
	}
	made, errs := promrules.NewManager(opts).LoadGroups(c.config.EvaluationInterval,
		c.externalLabels, c.url.String(), nil, false, names...)
	if len(errs) > 0 {
		return nil, fmt.Errorf("rules: %w", errs[0])
	}
	var list []*group
	for _, f := range c.scope.files {
		for _, g := range f.groups {
			key := promrules.GroupKey(f.name, g.Name)
			one := &group{Group: made[key], key: key}
			for _, r := range one.AlertingRules() {
				r.SetRestored(true) // what there was is restored by ourselves
			}
			one.id = frame.RecorderID(c.account, c.name, key)
			one.feeds = !c.deps.Every && c.set.feeds(&g)
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
	if recorded && (!c.deps.Every || h.Cluster == frame.EveryCluster) {
		for _, g := range c.groups {
			if g.id == h.Node {
				return c.recordedBefore(g, &h, b)
			}
		}
		return nil // of rules that are there no more
	}
	if recorded != c.deps.Every || len(c.groups) == 0 {
		return nil
	}
	c.gone = false
	n, heard := c.nodes[h.Node], heardAt(h.At, rec.Received)
	if n == nil {
		n = &node{id: h.Node, interval: h.Interval}
		c.nodes[h.Node] = n
		c.addNode(n, heard)
	}
	if c.deps.Every && n.cluster != h.Cluster {
		n.cluster, n.span = h.Cluster, nil
	}
	return c.frame(n, &h, b, heard)
}

// evaluateDue evaluates what is due by an instant in order of time, until ctx ends.
func (c *cluster) evaluateDue(ctx context.Context, until int64) {
	for ctx.Err() == nil {
		g := c.nextDue(until)
		if g == nil {
			return
		}
		at := g.next
		if behind := until - at; behind > c.config.CatchUp.Milliseconds() {
			step := g.Interval().Milliseconds()
			skip := (behind - c.config.CatchUp.Milliseconds()) / step
			g.missed += skip
			c.Rules.metrics.missed.Add(float64(skip))
			at += skip * step
			g.next = at
		}
		covers, whose := c.coverage(at)
		if covers == late {
			c.sayLate(whose, at, until)
			return
		}
		c.waiting = false
		if covers == gap || c.missesFrames(at) {
			// To leave it out harms no alert; to evaluate it would resolve what still fires.
			g.next = at + g.Interval().Milliseconds()
			g.missed++
			c.Rules.metrics.missed.Inc()
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
	began, unread := time.Now(), 0
	c.readRoster()
	for id, n := range c.nodes {
		if at-max(n.last, n.before) > c.config.Absent.Milliseconds() {
			delete(c.nodes, id)
			c.forgetNode(n)
			c.unenroll(n)
			c.gone = len(c.nodes) == 0
			continue
		}
		if n.unread {
			unread++
		}
		c.addOwnSamples(n, at)
	}
	c.unread = unread
	c.current = g
	c.forgetShared()
	g.begin(at - g.QueryOffset().Milliseconds())
	g.Eval(ctx, time.UnixMilli(at).UTC())
	if ctx.Err() != nil && !c.finished(g) && time.Since(began) < c.config.Timeout {
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
	c.forgetShared()
	g.evaluated, g.next = at, at+g.Interval().Milliseconds()
	g.took = time.Since(began)
	c.Rules.metrics.evaluations.Inc()
	c.Rules.metrics.duration.Observe(g.took.Seconds())
	for _, r := range g.Rules() {
		if r.LastError() != nil {
			c.Rules.metrics.failures.Inc()
		}
	}
	c.changed = true
	c.horizon = c.earliest()
	if c.hasEnded && at-c.tidied > time.Minute.Milliseconds() {
		c.removeEnded(at)
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

// forgetNode forgets a node.
func (c *cluster) forgetNode(n *node) {
	c.lease.Return(n.forget())
	for _, of := range n.list {
		of.ends, of.At = of.ends[:0], nil
	}
	for _, of := range n.own {
		if of != noSeries {
			of.end(of.At[len(of.At)-1] + 1)
		}
	}
	c.hasEnded = true
}

// removeEnded drops the series of which nothing is left that rules look back to.
func (c *cluster) removeEnded(at int64) {
	c.hasEnded, c.tidied = false, at
	gone := func(of *memSeries) bool {
		n := len(of.At)
		return n == 0 || of.over() && of.At[n-1] < at-of.keep
	}
	for s, list := range c.seen {
		c.seen[s] = slices.DeleteFunc(list, func(v *seriesView) bool { return gone(v.memSeries) })
		delete(c.ordered, s)
	}
	for _, n := range c.nodes {
		for name, of := range n.own {
			if of == noSeries || !gone(of) {
				continue
			}
			delete(n.own, name)
			n.renamed = true // they are made anew if it comes back
			c.count--
			c.lease.Return(costOf(of.Metric.Kind, of.keep,
				c.config.EvaluationInterval.Milliseconds()))
		}
		kept := n.list[:0]
		dead := map[*memSeries]bool{}
		for _, of := range n.list {
			if gone(of) {
				dead[of] = true
				delete(n.mapped, of.Labels.Hash())
				c.count--
				c.lease.Return(costOf(of.Metric.Kind, of.keep, n.interval))
			} else {
				kept = append(kept, of)
				c.hasEnded = c.hasEnded || of.over()
			}
		}
		clear(n.list[len(kept):])
		n.list = kept
		if len(dead) == 0 {
			continue
		}
		for _, byMetric := range n.series {
			for _, rows := range byMetric {
				for i, of := range rows {
					if dead[of] {
						rows[i] = nil // it may come back
					}
				}
			}
		}
	}
	maps.DeleteFunc(c.recorded, func(_ string, of *memSeries) bool { return gone(of) })
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
	return oldest - c.scope.keep.Milliseconds() - frame.WindowMillis
}

// release gives back what the cluster's series take.
func (c *cluster) release() { c.lease.Release() }
