package kernel

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/util/kahansum"
)

// Operation aggregates rows. NewOperation makes one.
type Operation struct {
	name  string
	param float64
	// Columns is how many numbers it holds for each step of a group, beside Ranks.
	Columns int
}

// NewOperation returns an aggregation by its name in PromQL and its parameter, which is 0 where it
// has none; false if it is not known, or if only the engine knows what to say of the parameter.
func NewOperation(name string, param float64) (Operation, bool) {
	columns := map[string]int{"sum": 2, "avg": 3, "min": 1, "max": 1, "count": 1, "group": 1,
		"stddev": 3, "stdvar": 3, "quantile": 1, "topk": 0, "bottomk": 0}
	n, is := columns[name]
	switch name {
	case "topk", "bottomk":
		is = param >= 1 && param < math.MaxInt64
	case "quantile":
		is = param >= 0 && param <= 1
	}
	return Operation{name, param, n}, is
}

// KeepsRows reports whether a group keeps the rows that are added to it.
func (o Operation) KeepsRows() bool { return o.name == "quantile" }

// Group is what has come so far of the series of one group.
type Group struct {
	op Operation
	// value is Missing at steps that no series has had a value at. rest is what rounding has lost
	// of a sum, or the mean of a deviation; n is how many values there were.
	value, rest, n []float64
	rows           [][]float64 // those of an operation that keeps them
}

// NewGroup returns a group of nothing.
func (o Operation) NewGroup(steps int) *Group {
	all := make([]float64, o.Columns*steps)
	g := &Group{op: o, value: all[:steps:steps]}
	for i := range g.value {
		g.value[i] = Missing
	}
	if o.Columns > 1 {
		g.rest = all[steps : 2*steps : 2*steps]
	}
	if o.Columns > 2 {
		g.n = all[2*steps:]
	}
	return g
}

// Add adds a series' row. It is false if only the engine knows how to go on; the group is then good
// for nothing.
func (g *Group) Add(row []float64) bool {
	switch g.op.name {
	case "sum":
		return g.add(row)
	case "avg":
		return g.average(row)
	case "stddev", "stdvar":
		g.deviate(row)
	case "quantile":
		g.rows = append(g.rows, row)
	default:
		g.pick(row)
	}
	return true
}

func (g *Group) add(row []float64) bool {
	for i, v := range row {
		switch {
		case IsMissing(v):
		case IsMissing(g.value[i]):
			g.value[i] = v
		default:
			g.value[i], g.rest[i] = kahansum.Inc(v, g.value[i], g.rest[i])
		}
	}
	return true
}

func (g *Group) average(row []float64) bool {
	for i, v := range row {
		if IsMissing(v) {
			continue
		}
		if g.n[i]++; g.n[i] == 1 {
			g.value[i] = v
			continue
		}
		total, rest := kahansum.Inc(v, g.value[i], g.rest[i])
		if math.IsInf(total, 0) {
			return false // the engine goes on with means
		}
		g.value[i], g.rest[i] = total, rest
	}
	return true
}

func (g *Group) deviate(row []float64) {
	for i, v := range row {
		if IsMissing(v) {
			continue
		}
		if g.n[i]++; g.n[i] == 1 {
			g.value[i], g.rest[i] = 0, v
			if math.IsNaN(v) || math.IsInf(v, 0) {
				g.value[i] = math.NaN()
			}
			continue
		}
		delta := v - g.rest[i]
		g.rest[i] += delta / g.n[i]
		g.value[i] += delta * (v - g.rest[i])
	}
}

func (g *Group) pick(row []float64) {
	for i, v := range row {
		if IsMissing(v) {
			continue
		}
		has, first := g.value[i], IsMissing(g.value[i])
		switch g.op.name {
		case "min":
			if first || has > v || math.IsNaN(has) {
				g.value[i] = v
			}
		case "max":
			if first || has < v || math.IsNaN(has) {
				g.value[i] = v
			}
		case "count":
			if first {
				has = 0
			}
			g.value[i] = has + 1
		default:
			g.value[i] = 1
		}
	}
}

// Row returns the group's own row. Nothing is added to the group afterwards. The error is the
// context's.
func (g *Group) Row(ctx context.Context) ([]float64, error) {
	if g.op.KeepsRows() {
		return g.value, g.quantiles(ctx)
	}
	for i, v := range g.value {
		if IsMissing(v) {
			continue
		}
		switch g.op.name {
		case "sum":
			g.value[i] += g.rest[i]
		case "avg":
			g.value[i] = v/g.n[i] + g.rest[i]/g.n[i]
		case "stdvar":
			g.value[i] /= g.n[i]
		case "stddev":
			g.value[i] = math.Sqrt(v / g.n[i])
		}
	}
	return g.value, nil
}

// quantiles writes the quantile of each step's values.
func (g *Group) quantiles(ctx context.Context) error {
	values := make([]float64, 0, len(g.rows))
	for i := range g.value {
		if err := ctx.Err(); err != nil {
			return err
		}
		values = values[:0]
		plain := true
		for _, row := range g.rows {
			if v := row[i]; !IsMissing(v) {
				values = append(values, v)
				plain = plain && (v > 0 || v < 0 || v == 0 && !math.Signbit(v))
			}
		}
		if len(values) > 0 {
			g.value[i] = quantile(g.op.param, values, plain)
		}
	}
	return nil
}

// quantile sorts values. Unless they are plain, NaN or -0 may be among them, and their order is
// what the engine's way of sorting makes of it.
func quantile(q float64, values []float64, plain bool) float64 {
	if plain {
		slices.Sort(values)
	} else {
		sort.Sort(numbers(values))
	}
	last := float64(len(values) - 1)
	rank := q * last
	lower := max(0, math.Floor(rank))
	upper := min(last, lower+1)
	weight := rank - math.Floor(rank)
	return values[int(lower)]*(1-weight) + values[int(upper)]*weight
}
