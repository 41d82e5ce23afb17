package rules

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// DefaultLookback is how long before an instant a series' newest value counts, as in Prometheus.
const DefaultLookback = 5 * time.Minute

// ErrFixedTime is returned for an expression with the modifier @: no bounded past holds its data.
var ErrFixedTime = errors.New("rules may not use the modifier @")

// Lookback returns how far before an evaluation the data of expr must reach: its ranges, offsets
// and subqueries, and DefaultLookback where the newest value counts. 0: it needs no data. An
// expression with @ has no bound, which is an error that wraps ErrFixedTime.
func Lookback(expr parser.Expr) (time.Duration, error) {
	var back time.Duration
	var err error
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		if s.Timestamp != nil || s.StartOrEnd != 0 {
			err = fixedTime(s)
		}
		reach := s.OriginalOffset
		ranged := false
		for _, parent := range path {
			switch p := parent.(type) {
			case *parser.MatrixSelector:
				ranged = true
				reach += p.Range
			case *parser.SubqueryExpr:
				if p.Timestamp != nil || p.StartOrEnd != 0 {
					err = fixedTime(p)
				}
				reach += p.Range + p.OriginalOffset
			}
		}
		if !ranged || s.Anchored || s.Smoothed {
			reach += DefaultLookback
		}
		back = max(back, reach)
		return nil
	})
	return back, err
}

func fixedTime(part parser.Node) error {
	return fmt.Errorf("%w: %s; write an offset instead", ErrFixedTime, part)
}
