package spans

import (
	"context"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Plan is what of a span is to be read.
type Plan struct {
	Span   *Entry // nil: nothing of it is kept
	Types  []int
	Parts  []blobs.StoredPart
	Damage []error

	// also what is kept; the type itself (metric −1) has no parts
	need map[Column][]blobs.PartID
	read bool // something is not kept
}

// NewPlan returns a plan that wants nothing.
func NewPlan(span *Entry) *Plan {
	return &Plan{Span: span, need: map[Column][]blobs.PartID{}}
}

// NeedParts adds parts of a column to what is needed, and reports whether they are to be read.
func (c *Plan) NeedParts(ids []blobs.PartID) bool {
	column := Column{ids[0].Type, ids[0].Metric}
	c.need[column] = ids
	if c.Span.holds(column, ids) {
		return false
	}
	c.read = true
	return true
}

// NeedTypes adds types to what is needed.
func (c *Plan) NeedTypes(types []int) {
	c.Types = types
	for _, t := range types {
		column := Column{Type: t, Metric: -1}
		c.need[column] = nil
		c.read = c.read || !c.Span.holds(column, nil)
	}
}

// Columns joins what was read of a span, which open decodes, with what is kept of it. known says
// that nothing was read, so that open was not called. The columns are nil if nothing matches and
// nothing was read.
func (c *Plan) Columns(k *Cached, start, length int64,
	open func() (Columns, []error, error)) (of Columns, damage []error, known bool,
	err error) {
	if c.Span != nil && !c.read {
		k.answers(start, length, c.Span)
		return c.Span.columns(), nil, true, nil
	}
	if of, damage, err = open(); err != nil {
		return nil, nil, false, err
	}
	damage = append(damage, c.Damage...)
	switch {
	case c.Span == nil:
	case len(damage) == 0 && !k.HeadsOnly:
		of = k.add(start, length, c.Span, of, c.need)
		k.answers(start, length, c.Span)
	default:
		if had := c.Span.columns(); had != nil {
			of = had.And(of)
		}
	}
	return of, damage, false, nil
}

// Window is columns of a window or an hour.
func (c *Plan) Window(
	ctx context.Context, k *Cached, q *Query, start, length int64, head *blobs.Head,
	find window.Dictionaries,
) (w *window.Window, damage []error, known bool, err error) {
	of, damage, known, err := c.Columns(k, start, length, func() (Columns, []error, error) {
		w, damage, err := blobs.FromPartsContext(ctx, q.Account, head, c.Types, find, c.Parts)
		if err != nil {
			return nil, nil, err
		}
		w.Node.ID = q.Node
		return WindowColumns{w}, damage, nil
	})
	if of != nil {
		w = of.(WindowColumns).Window
	} else {
		w = HeadWindow(q, start, length, head)
	}
	return w, damage, known, err
}

// HeadWindow is a window or an hour without columns.
func HeadWindow(q *Query, start, length int64, head *blobs.Head) *window.Window {
	w := &window.Window{Node: head.Node, Start: start, Length: length, Times: head.Times}
	w.Node.Account, w.Node.ID = q.Account, q.Node
	return w
}
