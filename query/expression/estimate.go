package expression

import (
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/query/limit"
)

// bytes returns what the labels of a series take.
func (e *estimate) bytes() float64 {
	n := e.base
	for label, value := range e.made {
		n += float64(len(label)) + value + labelRest
	}
	return n
}

func tooLongLabel(unit string, needed, allowed float64, in parser.Node) error {
	what := "this expression"
	switch in := in.(type) {
	case *parser.Call:
		what = in.Func.Name
	case *parser.AggregateExpr:
		what = in.Op.String()
	case *parser.BinaryExpr:
		what = "group_left or group_right"
	}
	return &limit.Error{Limit: "max_label_bytes", Value: int64(allowed), Needed: whole(needed),
		Unit: unit, Remedy: "let " + what + " join or repeat less"}
}

// remade counts the labels of a part's series as new ones, made beside those of what it is made
// of. Where nothing was made, the series' own labels are all there is, and were counted as they
// were read.
func (e *estimate) remade(of ...estimate) {
	held := 0.0
	for i := range of {
		e.work += of[i].work
		e.peak = max(e.peak, held+of[i].peak)
		held += of[i].held
	}
	if len(e.made) > 0 {
		e.held = e.series * e.bytes()
	}
	e.peak = max(e.peak, held+e.held)
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

// whole returns a number of bytes, or one that nobody has.
func whole(n float64) int64 { return int64(min(n, 1<<50)) }
