package expression

import (
	"regexp/syntax"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
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
				g.patterns[n] = instructionsOf(literal(n.Args[4]))
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

// MayMakeLabels reports whether NewLabelGrowth may return something for an expression of that text.
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
	_, err := g.estimate(nil)
	return err
}

// estimate computes what the whole expression makes of what was read. With nil nothing was read
// yet, and each selector gives one series of usual labels.
func (g *LabelGrowth) estimate(read *selected) (estimate, error) {
	w := labelEstimator{growth: g, read: read}
	e := w.expr(g.root, g.steps, g.span)
	return e, w.err
}
