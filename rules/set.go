package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/expression"
	"github.com/ringwatch/ringwatch/query/live"
	"github.com/ringwatch/ringwatch/query/series"
)

// set is the rules of one account, sorted by who evaluates them.
type set struct {
	all            []file
	cluster, every *ruleScope
}

// ruleScope is the rules that are evaluated at one place: in each cluster, or over all clusters.
type ruleScope struct {
	files        []file // groups without rules are left out
	selectors    []*selector
	byKey        map[string]*selector
	byName       map[string][]*selector // by the stored metrics that may be meant; "": of any name
	emptyOnEmpty map[string][]*selector // those of expressions that are so, by text
	parsed       map[string]parser.Expr // all expressions, by the text of the file
	pinned       map[string]string      // the cluster that an expression is about, by its text
	shared       []string               // what rules of a group have in common, by number
	rewritten    map[string]*rewritten  // by rewriteKey
	named        map[string]*candidates // by the metric's stored name, made when first asked for
	keep         time.Duration          // the longest any selector in memory looks back
}

// selector is one selector of any rules.
type selector struct {
	*live.Selector
	key      string
	matchers []*labels.Matcher
	keep     time.Duration
	past     bool // it looks back further than memory does
}

// keyOf names a selector by its matchers.
func keyOf(matchers []*labels.Matcher) string {
	texts := make([]string, len(matchers))
	for i, m := range matchers {
		texts[i] = m.String()
	}
	slices.Sort(texts)
	return strings.Join(texts, ",")
}

// newSet sorts rules by their form. An error names each rule that nobody can evaluate.
func newSet(list []file, p parser.Parser, c *Config) (*set, error) {
	s := &set{all: list, cluster: &ruleScope{}, every: &ruleScope{}}
	type parsed struct {
		rulefmt.Rule
		expr   parser.Expr
		number int
	}
	var all [][][]parsed
	var wrong []error
	where := make([]*places, len(list))
	for i, f := range list {
		where[i] = &places{file: f.name, text: f.text}
		var groups [][]parsed
		for j, g := range f.groups {
			var rules []parsed
			for k, r := range g.Rules {
				expr, err := p.ParseExpr(r.Expr)
				if err != nil {
					wrong = append(wrong, where[i].of(j, k, g.Name, &r, err))
					continue
				}
				rules = append(rules, parsed{r, expr, k})
			}
			groups = append(groups, rules)
		}
		all = append(all, groups)
	}
	// Where series are recorded decides what may be asked of them, and is settled first.
	var recordings []Recording
	for _, groups := range all {
		for _, rules := range groups {
			for _, r := range rules {
				if r.Record != "" {
					recordings = append(recordings, Recording{r.Record, r.expr})
				}
			}
		}
	}
	recorded := RecordedBy(recordings)
	for i, f := range list {
		here, there := file{name: f.name}, file{name: f.name}
		for j, g := range f.groups {
			one, other := g, g
			one.Rules, other.Rules = nil, nil
			for _, r := range all[i][j] {
				fault := func(err error) {
					wrong = append(wrong, where[i].of(j, r.number, g.Name, &r.Rule, err))
				}
				form, err := FormOf(r.expr, recorded)
				if err != nil {
					fault(err)
					continue
				}
				to, rules := s.cluster, &one.Rules
				if form == Account {
					to, rules = s.every, &other.Rules
				}
				*rules = append(*rules, r.Rule)
				for _, asked := range templateSelectors(r.Rule, p) {
					to.addSelector(asked, max(c.Lookback, DefaultLookback)+slack, c)
				}
				if to.parsed == nil {
					to.parsed = map[string]parser.Expr{}
				}
				to.parsed[r.Expr] = r.expr
				if err := to.add(r.expr, g.QueryOffset, c); err != nil {
					fault(err)
				}
			}
			if len(one.Rules) > 0 {
				here.groups = append(here.groups, one)
				s.cluster.share(f.name, &one, p)
			}
			if len(other.Rules) > 0 {
				there.groups = append(there.groups, other)
				s.every.share(f.name, &other, p)
			}
		}
		if len(here.groups) > 0 {
			s.cluster.files = append(s.cluster.files, here)
		}
		if len(there.groups) > 0 {
			s.every.files = append(s.every.files, there)
		}
	}
	return s, errors.Join(wrong...)
}

// alertSeries reports whether a name is one that alerts are recorded under.
func alertSeries(name string) bool { return name == "ALERTS" || name == "ALERTS_FOR_STATE" }

// maxSteps is how often a subquery may evaluate its expression, as Prometheus bounds a query of a
// range. The engine does not look at the time within a subquery, so without a bound one rule of
// some milliseconds' step holds up all others for minutes.
const maxSteps = 11_000

// bounded returns an error if a subquery has too many steps.
func bounded(expr parser.Expr, c *Config) (err error) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		s, ok := node.(*parser.SubqueryExpr)
		if !ok {
			return nil
		}
		step := s.Step
		if step == 0 {
			step = c.EvaluationInterval
		}
		if s.Range/step > maxSteps {
			err = fmt.Errorf("the subquery %s has %d steps: use a longer step, so that it "+
				"has at most %d",
				s, s.Range/step, maxSteps)
		}
		return nil
	})
	return err
}

// add adds the selectors of an expression.
func (p *ruleScope) add(expr parser.Expr, offset *model.Duration, c *Config) error {
	if err := bounded(expr, c); err != nil {
		return err
	}
	if err := expression.NewLabelGrowth(expr, 0, 1, c.MaxLabelBytes).Check(); err != nil {
		return err
	}
	keep, err := Lookback(expr)
	if err != nil {
		return err
	}
	if of := PinnedTo(expr); of != "" {
		if p.pinned == nil {
			p.pinned = map[string]string{}
		}
		p.pinned[expr.String()] = of
	}
	if offset != nil {
		keep += time.Duration(*offset)
	}
	keep = max(keep, c.Lookback) + slack
	var used []*selector
	for _, v := range selectorsOf(expr) {
		used = append(used, p.addSelector(v.LabelMatchers, keep, c))
	}
	if emptyOnEmpty(expr) {
		if p.emptyOnEmpty == nil {
			p.emptyOnEmpty = map[string][]*selector{}
		}
		p.emptyOnEmpty[expr.String()] = used
	}
	return nil
}

// addSelector adds a selector, or lets the one that is there keep more.
func (p *ruleScope) addSelector(
	matchers []*labels.Matcher, keep time.Duration, c *Config,
) *selector {
	key := keyOf(matchers)
	s := p.byKey[key]
	if s == nil {
		s = &selector{Selector: live.NewSelector(matchers), key: key, matchers: matchers}
		if p.byKey == nil {
			p.byKey = map[string]*selector{}
		}
		p.byKey[key] = s
		p.selectors = append(p.selectors, s)
		p.name(s)
	}
	if keep > c.MaxLookback+slack {
		s.past = true
		return s
	}
	s.keep, p.keep = max(s.keep, keep), max(p.keep, keep)
	return s
}

// quoted are the texts in a template, of which some are queries.
var quoted = regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`")

// templateSelectors returns what the templates of a rule may ask for by query: their texts that are
// PromQL, without the matchers that a template fills in.
func templateSelectors(r rulefmt.Rule, p parser.Parser) (list [][]*labels.Matcher) {
	for _, of := range []map[string]string{r.Labels, r.Annotations} {
		for _, text := range of {
			if !strings.Contains(text, "query") {
				continue
			}
			for _, literal := range quoted.FindAllString(text, maxLiterals) {
				literal, err := strconv.Unquote(literal)
				if err != nil {
					continue
				}
				expr, err := p.ParseExpr(printfVerb.ReplaceAllStringFunc(literal,
					func(v string) string {
						if strings.HasSuffix(v, "q") {
							return `"%"`
						}
						return "%"
					}))
				if err != nil {
					continue
				}
				for _, v := range selectorsOf(expr) {
					list = append(list, slices.DeleteFunc(slices.Clone(v.LabelMatchers),
						func(m *labels.Matcher) bool { return strings.Contains(m.Value, "%") }))
				}
			}
		}
	}
	return list
}

// printfVerb is where printf puts a value in: with %q it brings the quotes.
var printfVerb = regexp.MustCompile(`%[#+ -]*[0-9.]*[a-zA-Z]`)

const maxLiterals = 100

// name enters a selector by the stored metrics that it may mean.
func (p *ruleScope) name(s *selector) {
	if p.byName == nil {
		p.byName = map[string][]*selector{}
	}
	for _, stored := range s.stored() {
		p.byName[stored] = append(p.byName[stored], s)
	}
}

// stored returns the names of the stored metrics that a selector may mean, "" if they are not
// known: a histogram's classic series have its name and a suffix.
func (s *selector) stored() []string {
	for _, m := range s.matchers {
		if m.Name != labels.MetricName || m.Type != labels.MatchEqual || m.Value == "" {
			continue
		}
		list := []string{m.Value}
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			if base, is := strings.CutSuffix(m.Value, suffix); is {
				list = append(list, base)
			}
		}
		return list
	}
	return []string{""}
}

// slack is how much longer samples are kept than rules look back: evaluations are a little late.
const slack = 30 * time.Second

// candidates are the selectors that may mean series of one stored metric, by a label's value that
// they want, so that of thousands of one shape few are looked at.
type candidates struct {
	of   map[string]map[string][]*selector // label → value → selectors
	rest []*selector
}

// candidatesOf returns the selectors of a stored metric; nil: there are none. The caller holds the
// cluster.
func (p *ruleScope) candidatesOf(metric string) *candidates {
	if c, known := p.named[metric]; known {
		return c
	}
	var c *candidates
	for _, s := range slices.Concat(p.byName[metric], p.byName[""]) {
		if s.keep == 0 || !s.Wants(metric) {
			continue
		}
		if c == nil {
			c = &candidates{of: map[string]map[string][]*selector{}}
		}
		i := slices.IndexFunc(s.matchers, func(m *labels.Matcher) bool {
			return m.Type == labels.MatchEqual && m.Value != "" && m.Name != labels.MetricName &&
				m.Name != labels.BucketLabel && m.Name != series.ValueLabel
		})
		if i < 0 {
			c.rest = append(c.rest, s)
			continue
		}
		m := s.matchers[i]
		if c.of[m.Name] == nil {
			c.of[m.Name] = map[string][]*selector{}
		}
		c.of[m.Name][m.Value] = append(c.of[m.Name][m.Value], s)
	}
	if p.named == nil {
		p.named = map[string]*candidates{}
	}
	if len(p.named) < maxNames {
		p.named[metric] = c
	}
	return c
}

// maxNames bounds the names of metrics that are remembered: agents choose them.
const maxNames = 20_000

// each calls visit with each selector that may mean a series.
func (c *candidates) each(l labels.Labels, visit func(*selector)) {
	for name, values := range c.of {
		for _, s := range values[l.Get(name)] {
			visit(s)
		}
	}
	for _, s := range c.rest {
		visit(s)
	}
}
