package store

import (
	"context"
	"math"

	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// spanPlan is what of a span is to be read.
type spanPlan struct {
	types []int
	// also what is kept; the type itself (metric −1) has no parts
	need   map[keptColumn][]blobs.PartID
	parts  []blobs.StoredPart
	damage []error

	span *keptSpan // nil: nothing of it is kept
	read bool      // something is not
}

func newSpanPlan(span *keptSpan) *spanPlan {
	return &spanPlan{span: span, need: map[keptColumn][]blobs.PartID{}}
}

// needParts adds parts of a column to what is needed, and reports whether they are to be read.
func (c *spanPlan) needParts(ids []blobs.PartID) bool {
	column := keptColumn{ids[0].Type, ids[0].Metric}
	c.need[column] = ids
	if c.span.holds(column, ids) {
		return false
	}
	c.read = true
	return true
}

// needTypes adds types to what is needed.
func (c *spanPlan) needTypes(types []int) {
	c.types = types
	for _, t := range types {
		column := keptColumn{kind: t, metric: -1}
		c.need[column] = nil
		c.read = c.read || !c.span.holds(column, nil)
	}
}

// columns joins what was read of a span, which open decodes, with what is kept of it. known says
// that nothing was read, so that open was not called. The columns are nil if nothing matches and
// nothing was read.
func (c *spanPlan) columns(k *keptSpans, start, length int64,
	open func() (keptColumns, []error, error)) (of keptColumns, damage []error, known bool,
	err error) {
	if c.span != nil && !c.read {
		k.answers(start, length, c.span)
		return c.span.columns(), nil, true, nil
	}
	if of, damage, err = open(); err != nil {
		return nil, nil, false, err
	}
	damage = append(damage, c.damage...)
	switch {
	case c.span == nil:
	case len(damage) == 0 && !k.only:
		of = k.add(start, length, c.span, of, c.need)
		k.answers(start, length, c.span)
	default:
		if had := c.span.columns(); had != nil {
			of = had.and(of)
		}
	}
	return of, damage, false, nil
}

// window is columns of a window or an hour.
func (c *spanPlan) window(
	ctx context.Context, k *keptSpans, q *Query, start, length int64, head *blobs.Head,
	find window.Dictionaries,
) (w *window.Window, damage []error, known bool, err error) {
	of, damage, known, err := c.columns(k, start, length, func() (keptColumns, []error, error) {
		w, damage, err := blobs.FromPartsContext(ctx, q.Account, head, c.types, find, c.parts)
		if err != nil {
			return nil, nil, err
		}
		w.Node.ID = q.Node
		return windowColumns{w}, damage, nil
	})
	if of != nil {
		w = of.(windowColumns).Window
	} else {
		w = headWindow(q, start, length, head)
	}
	return w, damage, known, err
}

// headWindow is a window or an hour without columns.
func headWindow(q *Query, start, length int64, head *blobs.Head) *window.Window {
	w := &window.Window{Node: head.Node, Start: start, Length: length, Times: head.Times}
	w.Node.Account, w.Node.ID = q.Account, q.Node
	return w
}

// columnType is a type of entities in a span's head, which says what is stored of its metrics.
type columnType interface {
	Stored(metric int) bool
	Small(metric int) bool
}

// spanType is such a type.
type spanType struct {
	columnType
	key  string
	hash window.Hash
}

// spanTypes are the types of a span. parts returns the parts of a metric's column of type number t
// that hold these rows (nil: all), of these facets.
type spanTypes struct {
	list  []spanType
	parts func(t int, d *window.Dictionary, metric int, rows []int32,
		facets ...blobs.Facet) []blobs.PartID
}

// headTypes are those of a window or an hour.
func headTypes(head *blobs.Head) spanTypes {
	list := make([]spanType, len(head.Types))
	for i := range list {
		t := &head.Types[i]
		list[i] = spanType{t, t.Key, t.Hash}
	}
	return spanTypes{list, head.PartsOf}
}

// runTypes are those of a run of rollups.
func runTypes(head *rollup.RunHead) spanTypes {
	list := make([]spanType, len(head.Types))
	for i := range list {
		t := &head.Types[i]
		list[i] = spanType{t, t.Key, t.Hash}
	}
	return spanTypes{list, head.PartsOf}
}

// choose calls want for the parts of a span that can match, and returns which types those are of.
func choose(
	types spanTypes, find window.Dictionaries, m *matches, facets []blobs.Facet,
	want func(key, metric string, small bool, ids []blobs.PartID),
) []int {
	chosen := []int{} // not nil, which is all
	for i := range types.list {
		t := &types.list[i]
		d, err := find(t.key, t.hash)
		if err != nil {
			chosen = append(chosen, i) // who opens the span will say so
			continue
		}
		match := m.of(d)
		if len(match.metrics) == 0 {
			continue
		}
		chosen = append(chosen, i)
		for j, metric := range match.metrics {
			if t.Stored(metric) {
				want(t.key, match.keys[j], t.Small(metric),
					types.parts(i, d, metric, match.rows, facets...))
			}
		}
	}
	return chosen
}

// plannedSpan is a span of a partition that is to be read.
type plannedSpan struct {
	*storedHead
	types  spanTypes
	finder *dictionaries.Finder
	plan   *spanPlan
}

// readPlanned reads the spans of one partition into their plans: what of them can match and is not
// kept. cost is as spanParts has it.
func (s task) readPlanned(ctx context.Context, k *keptSpans, spans []plannedSpan, m *matches,
	facets []blobs.Facet, cost int64) error {
	var want layout.Wanted
	byRows := map[int64]*spanPlan{} // by where their rows are
	from, to := int64(math.MaxInt64), int64(math.MinInt64)
	for _, h := range spans {
		byRows[h.at()] = h.plan
		if k.answered(h.plan.span) {
			continue
		}
		h.plan.needTypes(choose(h.types, h.finder.Find, m, facets,
			func(key, metric string, small bool, ids []blobs.PartID) {
				if h.plan.needParts(ids) {
					want.Add(h.at(), key, metric, small, ids...)
					from, to = min(from, h.start), max(to, h.start)
				}
			}))
		if h.finder.Err != nil {
			return h.finder.Err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // not all were matched
	}
	return s.spanParts(ctx, spans[0].spanPartition, from, to, &want, cost,
		func(at int64, part blobs.StoredPart) {
			byRows[at].parts = append(byRows[at].parts, part)
		}, func(at int64, err error) { byRows[at].damage = append(byRows[at].damage, err) })
}
