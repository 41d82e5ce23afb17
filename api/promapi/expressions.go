package promapi

import (
	"net/http"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/ringwatch/ringwatch/access/account"
)

func (a *API) exemplars(r *http.Request, _ account.Principal) (answer, error) {
	if _, err := a.Engine.Expressions.Parse(r.Context(), r.FormValue("query")); err != nil {
		return answer{}, invalid("query", err)
	}
	return answer{data: []string{}}, nil
}

func (a *API) formatQuery(r *http.Request, _ account.Principal) (answer, error) {
	expr, err := a.Engine.Expressions.Parse(r.Context(), r.FormValue("query"))
	if err != nil {
		return answer{}, invalid("query", err)
	}
	return answer{data: expr.Pretty(0)}, nil
}

func (a *API) parseQuery(r *http.Request, _ account.Principal) (answer, error) {
	expr, err := a.Engine.Expressions.Parse(r.Context(), r.FormValue("query"))
	if err != nil {
		return answer{}, invalid("query", err)
	}
	return answer{data: tree(expr)}, nil
}

// object is a node of an expression's tree as Prometheus's parse_query has it.
type object = map[string]any

// tree returns an expression's tree for JSON. Durations are no expressions here, as in a Prometheus
// that was not told to allow it, so rangeExpr, offsetExpr and stepExpr are null.
func tree(expr parser.Expr) any {
	switch e := expr.(type) {
	case nil:
		return nil
	case *parser.AggregateExpr:
		return object{"type": "aggregation", "op": e.Op.String(), "expr": tree(e.Expr),
			"param": tree(e.Param), "grouping": orNone(e.Grouping), "without": e.Without}
	case *parser.BinaryExpr:
		return object{"type": "binaryExpr", "op": e.Op.String(), "lhs": tree(e.LHS),
			"rhs": tree(e.RHS), "matching": matching(e.VectorMatching), "bool": e.ReturnBool}
	case *parser.Call:
		args := make([]any, len(e.Args))
		for i, arg := range e.Args {
			args[i] = tree(arg)
		}
		function := object{"name": e.Func.Name, "argTypes": e.Func.ArgTypes,
			"variadic": e.Func.Variadic, "returnType": e.Func.ReturnType}
		return object{"type": "call", "func": function, "args": args}
	case *parser.MatrixSelector:
		o := selectorTree("matrixSelector", e.VectorSelector.(*parser.VectorSelector))
		o["range"], o["rangeExpr"] = e.Range.Milliseconds(), nil
		return o
	case *parser.VectorSelector:
		return selectorTree("vectorSelector", e)
	case *parser.SubqueryExpr:
		return object{"type": "subquery", "expr": tree(e.Expr), "range": e.Range.Milliseconds(),
			"rangeExpr": nil, "offset": e.OriginalOffset.Milliseconds(), "offsetExpr": nil,
			"step": e.Step.Milliseconds(), "stepExpr": nil, "timestamp": e.Timestamp,
			"startOrEnd": edge(e.StartOrEnd)}
	case *parser.NumberLiteral:
		return object{"type": "numberLiteral", "val": strconv.FormatFloat(e.Val, 'f', -1, 64)}
	case *parser.ParenExpr:
		return object{"type": "parenExpr", "expr": tree(e.Expr)}
	case *parser.StringLiteral:
		return object{"type": "stringLiteral", "val": e.Val}
	case *parser.UnaryExpr:
		return object{"type": "unaryExpr", "op": e.Op.String(), "expr": tree(e.Expr)}
	}
	return object{"type": "unknown", "text": expr.String()}
}

func selectorTree(kind string, s *parser.VectorSelector) object {
	return object{"type": kind, "name": s.Name, "offset": s.OriginalOffset.Milliseconds(),
		"offsetExpr": nil, "matchers": matchers(s.LabelMatchers), "timestamp": s.Timestamp,
		"startOrEnd": edge(s.StartOrEnd), "anchored": s.Anchored, "smoothed": s.Smoothed}
}

func matching(m *parser.VectorMatching) any {
	if m == nil {
		return nil
	}
	return object{"card": m.Card.String(), "labels": orNone(m.MatchingLabels), "on": m.On,
		"include": orNone(m.Include), "fillValues": object{"lhs": m.FillValues.LHS,
			"rhs": m.FillValues.RHS}}
}

func matchers(list []*labels.Matcher) []object {
	out := make([]object, len(list))
	for i, m := range list {
		out[i] = object{"name": m.Name, "value": m.Value, "type": m.Type.String()}
	}
	return out
}

func edge(end parser.ItemType) any {
	if end == 0 {
		return nil
	}
	return end.String()
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
