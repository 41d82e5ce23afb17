package read

import (
	"context"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Range returns a node's values from from to to, both inclusive and in ms, of what any of the
// selectors selects; no selectors select everything. They are Windows' as series. The list is the
// caller's, what it points to is shared.
func (r *Reader) Range(
	ctx context.Context, account string, n *window.Node, from, to int64,
	selectors [][]*labels.Matcher,
) (Values, error) {
	v, err := share.Read(ctx, r.Shared, account,
		readingKey("values", account, n, rangeRead{from, to, nil, selectors}),
		func(ctx context.Context) (Values, error) {
			w, err := r.ranges.read(ctx, account, n, rangeRead{from, to, nil, selectors})
			if err != nil {
				return Values{}, err
			}
			list, err := w.Series(ctx, from, to, selectors)
			return Values{Series: list, Instants: w.Instants, Missing: w.Missing}, err
		})
	v.Series = slices.Clone(v.Series)
	return v, err
}

// readingKey names a reading of a node.
func readingKey(what, account string, n *window.Node, q rangeRead) string {
	b := make([]byte, 0, 256)
	b = append(append(append(b, what...), '/'), account...)
	b = append(append(b, '/'), n.ID[:]...)
	b = strconv.AppendInt(append(b, '/'), q.from, 10)
	b = strconv.AppendInt(append(b, '/'), q.to, 10)
	for _, f := range q.facets {
		b = append(b, '/', '0'+byte(f))
	}
	for _, matchers := range q.selectors {
		b = append(b, '/')
		for _, m := range matchers {
			b = window.AppendMatcher(b, m)
		}
	}
	return string(b)
}

// Windows returns windows that have at least what any of the selectors selects from from to to,
// both inclusive and in ms (no selectors: everything), of histograms these facets (none: all). A
// range that the recent source surely has whole is its, the older part of another is the store's.
func (r *Reader) Windows(ctx context.Context, account string, n *window.Node, from, to int64,
	facets []blobs.Facet, selectors [][]*labels.Matcher) (Windows, error) {
	q := rangeRead{from, to, facets, selectors}
	return share.Read(ctx, r.Shared, account, readingKey("range", account, n, q),
		func(ctx context.Context) (Windows, error) { return r.ranges.read(ctx, account, n, q) })
}

// Series returns the values from from to to of what any of the selectors selects (none:
// everything), as series sorted by labels, each of them once.
func (w *Windows) Series(ctx context.Context, from, to int64,
	selectors [][]*labels.Matcher) ([]window.Series, error) {
	from = max(from, w.From)
	return Union(selectors, func(m []*labels.Matcher) ([]window.Series, error) {
		parts := make([][]window.Series, 0, len(w.List))
		for _, of := range w.List {
			list, err := selecting.SelectWithin(ctx, of, memory.Of(ctx), from, to, m...)
			if err != nil {
				return nil, err
			}
			parts = append(parts, list)
		}
		return selecting.Join(parts...), nil
	})
}

// Union returns what any of the selectors selects, where one returns what the matchers of one
// select, sorted by labels; no selectors select everything.
func Union(
	selectors [][]*labels.Matcher, one func([]*labels.Matcher) ([]window.Series, error),
) ([]window.Series, error) {
	if len(selectors) == 0 {
		return one(nil)
	}
	parts := make([][]window.Series, len(selectors))
	for i, m := range selectors {
		var err error
		if parts[i], err = one(m); err != nil {
			return nil, err
		}
	}
	return selecting.Join(slices.DeleteFunc(parts,
		func(p []window.Series) bool { return len(p) == 0 })...), nil
}
