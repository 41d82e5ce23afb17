package query

import (
	"regexp/syntax"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/series"
)

// DefaultMaxLabelBytes is how long a value that a query makes of labels may be. Nodes send values
// of at most 1 KiB.
const DefaultMaxLabelBytes = 16 << 10

const (
	// seriesLabels is how many of the longest values the labels of one series may take together.
	seriesLabels = 4
	// typicalLabel is how long a label's value is taken for before any is known: as a host id.
	typicalLabel = 36
	// numberText is how long a number is as the value of a label.
	numberText = 32
	// bucketText is how long a histogram is as the value of a label, for each of its buckets.
	bucketText = 64
	// labelRest is what a label takes beside its name and its value.
	labelRest = 4
)

// What making a label takes, in nanoseconds, measured on one slow core: for a series, for a byte
// of its labels, and for each byte that a regular expression reads and each of its instructions.
const (
	seriesWork      = 1500
	byteWork        = 2
	instructionWork = 20
)

// LabelGrowth follows the labels that an expression makes: those of label_join, label_replace,
// count_values, group_left, info and the like. Nested in each other they multiply, so that a line
// of text can ask for gigabytes. How long they can become follows from the expression and from the
// longest value of each label that is read, so it is known before anything is computed.
//
// A nil LabelGrowth is that of an expression that makes no labels, and allows everything.
type LabelGrowth struct {
	root     parser.Expr
	steps    float64 // at which the expression is evaluated
	span     time.Duration
	maxValue float64
	patterns map[*parser.Call]int // instructions of a label_replace's regular expression
}

// NewLabelGrowth returns the growth of an expression that is evaluated at so many steps over span;
// nil if it makes no labels. No value may become longer than maxValue bytes.
func NewLabelGrowth(expr parser.Expr, span time.Duration, steps float64,
	maxValue int) *LabelGrowth {
	g := &LabelGrowth{root: expr, steps: steps, span: span, maxValue: float64(maxValue),
		patterns: map[*parser.Call]int{}}
	makes := false
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.Call:
			switch n.Func.Name {
			case "label_replace":
				g.patterns[n] = instructionsOf(text(n.Args[4]))
				makes = true
			case "label_join", "info", "histogram_quantiles":
				makes = true
			}
		case *parser.AggregateExpr:
			makes = makes || n.Op == parser.COUNT_VALUES
		case *parser.BinaryExpr:
			makes = makes || n.VectorMatching != nil && len(n.VectorMatching.Include) > 0
		}
		return nil
	})
	if !makes {
		return nil
	}
	return g
}

// MayMakeLabels reports whether NewGrowth may return something for an expression of that text.
func MayMakeLabels(expr string) bool {
	expr = strings.ToLower(expr) // keywords may be in capitals
	for _, word := range []string{"label_", "count_values", "group_", "info",
		"histogram_quantiles"} {
		if strings.Contains(expr, word) {
			return true
		}
	}
	return false
}

// instructionsOf returns how many instructions a regular expression compiles to. Parse has bounded
// what that takes.
func instructionsOf(pattern string) int {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0 // the engine refuses it
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0
	}
	return len(program.Inst)
}

// Check refuses an expression whose labels become too long even if one series of usual labels is
// read. The error is a *LimitError.
func (g *LabelGrowth) Check() error {
	if g == nil {
		return nil
	}
	_, err := g.of(nil)
	return err
}

// estimate is what a part of an expression makes.
type estimate struct {
	series float64            // at most so many
	varies bool               // a step may have other series than the one before
	base   float64            // bytes of a series' labels as they were read
	made   map[string]float64 // how long the values are that were made, by label
	held   float64            // bytes of its series' labels
	peak   float64            // bytes that are held while it is computed, those among them
	work   float64            // ns that computing takes and no deadline ends
}

// of computes what the whole expression makes of what was read. With nil nothing was read yet, and
// each selector gives one series of usual labels.
func (g *LabelGrowth) of(read *selected) (estimate, error) {
	w := labelEstimator{LabelGrowth: g, read: read}
	e := w.expr(g.root, g.steps, g.span)
	return e, w.err
}

// selected are the labels that selectors gave so far.
type selected struct {
	longest map[string]float64 // bytes of the longest value of each label
	buckets float64            // of the widest histogram
	base    float64            // bytes of the longest labels of a series
	series  map[string]float64 // by selector
}

// LabelBudget is one evaluation of an expression whose labels grow. Its methods are for one
// goroutine.
type LabelBudget struct {
	*LabelGrowth
	selected selected
	lease    *memory.Lease
	limit    string // the name of the one on work
	work     time.Duration
	taken    int64
}

// Begin begins an evaluation, whose labels take their memory from a lease. What it computes of
// labels may take so much work at most, which is the limit of that name.
func (g *LabelGrowth) Begin(lease *memory.Lease, limit string, work time.Duration) *LabelBudget {
	if g == nil {
		return nil
	}
	return &LabelBudget{LabelGrowth: g, lease: lease, limit: limit, work: work,
		selected: selected{longest: map[string]float64{}, series: map[string]float64{}}}
}

// Read notes which series a selector gave, before anything is computed of them, and takes the
// memory of the labels that the expression can make of all that was selected so far. The error is
// a *LimitError, or package memory's.
func (g *LabelBudget) Read(matchers []*labels.Matcher, list []storage.Series) error {
	if g == nil {
		return nil
	}
	for _, s := range list {
		g.selected.add(s.Labels())
		if of, is := s.(*series.Series); is {
			g.selected.buckets = max(g.selected.buckets, float64(of.Buckets()))
		}
	}
	return g.grow(matchers, len(list))
}

// read is Read of a list of our own.
func (g *LabelBudget) read(matchers []*labels.Matcher, list []*series.Series) error {
	if g == nil {
		return nil
	}
	for _, s := range list {
		g.selected.add(s.Metric)
		g.selected.buckets = max(g.selected.buckets, float64(s.Buckets()))
	}
	return g.grow(matchers, len(list))
}

func (s *selected) add(l labels.Labels) {
	bytes := 0
	l.Range(func(l labels.Label) {
		bytes += len(l.Name) + len(l.Value) + labelRest
		if n := float64(len(l.Value)); n > s.longest[l.Name] {
			s.longest[l.Name] = n
		}
	})
	s.base = max(s.base, float64(bytes))
}

// grow takes what the expression can make now.
func (g *LabelBudget) grow(matchers []*labels.Matcher, series int) error {
	key := keyOf(matchers)
	g.selected.series[key] = max(g.selected.series[key], float64(series))
	e, err := g.of(&g.selected)
	if err != nil {
		return err
	}
	if e.work > float64(g.work) {
		return &limit.Error{Limit: g.limit, Value: g.work.Milliseconds(),
			Needed: whole(e.work / 1e6), Unit: "ms of making labels",
			Remedy: "select fewer series, or nest fewer functions that make labels"}
	}
	more := whole(e.peak) - g.taken
	if more <= 0 {
		return nil
	}
	if err := g.lease.Take(more); err != nil {
		return err
	}
	g.taken += more
	return nil
}

// End gives the memory back.
func (g *LabelBudget) End() {
	if g == nil {
		return
	}
	g.lease.Give(g.taken)
	g.taken = 0
}

// whole returns a number of bytes, or one that nobody has.
func whole(n float64) int64 { return int64(min(n, 1<<50)) }

// keyOf names a selector by its matchers.
func keyOf(matchers []*labels.Matcher) string {
	var key strings.Builder
	for _, m := range matchers {
		key.WriteString(m.String())
		key.WriteByte('/')
	}
	return key.String()
}
