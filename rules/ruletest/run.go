package ruletest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	promrules "github.com/prometheus/prometheus/rules"
)

// maxSamples bounds what one expression of a test may hold.
const maxSamples = 1_000_000

// newParser returns the parser of queries and rules.
func newParser() parser.Parser {
	return parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
}

// running is a test that runs.
type running struct {
	*test
	file   *file
	parser parser.Parser
	suite  *promqltest.LazyLoader
	engine *promql.Engine
	groups []*promrules.Group
	failed []error
}

// runTest runs one test and returns what failed.
func (o Options) runTest(ctx context.Context, f *file, t *test) (failed []error) {
	suite, err := promqltest.NewLazyLoader(t.load(), promqltest.LazyLoaderOpts{
		EnableAtModifier: true, EnableNegativeOffset: true, StartTime: t.Start.Time,
	})
	if err != nil {
		return []error{fmt.Errorf("    name: %s,\n        input_series: %w", t.label, err)}
	}
	r := &running{test: t, file: f, parser: newParser(), suite: suite}
	r.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: maxSamples, Timeout: time.Minute, Parser: r.parser,
		EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 {
			return time.Duration(f.EvaluationInterval).Milliseconds()
		},
	})
	defer func() {
		for _, err := range []error{r.engine.Close(), suite.Close()} {
			if err != nil {
				failed = append(failed, err)
			}
		}
	}()
	if errs := r.load(ctx, o.ReadFile); len(errs) > 0 {
		return errs
	}
	if !r.evaluate(ctx) {
		return r.failed
	}
	for _, c := range t.Exprs {
		if err := r.checkExpr(ctx, &c); err != nil {
			r.failed = append(r.failed, err)
		}
	}
	return r.failed
}

// loader reads rule files through Options.ReadFile and keeps the order of their groups.
type loader struct {
	parser.Parser
	read  func(string) ([]byte, error)
	order map[string]int // by promrules.GroupKey
}

// Load implements promrules.GroupLoader.
func (l *loader) Load(
	name string, ignoreUnknown bool, scheme model.ValidationScheme,
) (*rulefmt.RuleGroups, []error) {
	text, err := l.read(name)
	if err != nil {
		return nil, []error{err}
	}
	groups, errs := rulefmt.Parse(text, ignoreUnknown, scheme, l.Parser,
		slog.New(slog.DiscardHandler))
	for i := range errs {
		errs[i] = fmt.Errorf("%s: %w", name, errs[i])
	}
	if len(errs) > 0 {
		return nil, errs
	}
	for _, g := range groups.Groups {
		l.order[promrules.GroupKey(name, g.Name)] = len(l.order)
	}
	return groups, nil
}

// Parse implements promrules.GroupLoader.
func (l *loader) Parse(text string) (parser.Expr, error) { return l.ParseExpr(text) }

// load reads the rules. Groups are evaluated in the order of group_eval_order, then of the files.
func (r *running) load(ctx context.Context, read func(string) ([]byte, error)) []error {
	from := &loader{Parser: r.parser, read: read, order: map[string]int{}}
	manager := promrules.NewManager(&promrules.ManagerOptions{
		QueryFunc:   promrules.EngineQueryFunc(r.engine, r.suite.Storage()),
		Appendable:  r.suite.Storage(),
		Context:     ctx,
		NotifyFunc:  func(context.Context, string, ...*promrules.Alert) {},
		Logger:      slog.New(slog.DiscardHandler),
		Parser:      r.parser,
		GroupLoader: from,
	})
	loaded, errs := manager.LoadGroups(time.Duration(r.Interval), labels.FromMap(r.ExternalLabels),
		r.ExternalURL, nil, false, r.file.RuleFiles...)
	if len(errs) > 0 {
		return errs
	}
	for _, g := range loaded {
		r.groups = append(r.groups, g)
		for _, rule := range g.Rules() {
			if a, ok := rule.(*promrules.AlertingRule); ok {
				a.SetRestored(true) // else there is no series ALERTS
			}
		}
	}
	slices.SortFunc(r.groups, func(a, b *promrules.Group) int {
		return cmp.Or(r.file.order[a.Name()]-r.file.order[b.Name()],
			from.order[promrules.GroupKey(a.File(), a.Name())]-
				from.order[promrules.GroupKey(b.File(), b.Name())])
	})
	return nil
}

// evaluate evaluates all rules from start to end and checks alerts on the way. It reports whether
// there is something to ask: a rule that fails ends the test.
func (r *running) evaluate(ctx context.Context) bool {
	due := slices.Clone(r.Alerts)
	slices.SortStableFunc(due, func(a, b alertCase) int { return cmp.Compare(a.At, b.At) })
	interval := time.Duration(r.file.EvaluationInterval)
	for at := r.start(); !at.After(r.end()) && ctx.Err() == nil; at = at.Add(interval) {
		ok := true
		r.suite.WithSamplesTill(at, func(err error) {
			if err != nil {
				r.failed = append(r.failed, err)
				return
			}
			for _, g := range r.groups {
				g.Eval(ctx, at)
				for _, rule := range g.Rules() {
					if err := rule.LastError(); err != nil {
						ok = false
						r.failed = append(r.failed, fmt.Errorf("    rule: %s, time: %s, err: %w",
							rule.Name(), at.Sub(time.Unix(0, 0).UTC()), err))
					}
				}
			}
		})
		if !ok {
			return false
		}
		for len(due) > 0 && r.start().Add(time.Duration(due[0].At)).Before(at.Add(interval)) {
			if err := r.checkAlerts(&due[0]); err != nil {
				r.failed = append(r.failed, err)
			}
			due = due[1:]
		}
	}
	return true
}
