package querytest

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// ordered gives series in the order in which Ringwatch has them: node by node, and those of a node
// by labels, the buckets of a histogram by their bounds, texts by themselves. PromQL adds up in the
// order of what it is given, and so the last bits of sums depend on it; and of equal values topk
// takes the first.
type ordered struct{ storage.Queryable }

// Querier implements storage.Queryable.
func (o ordered) Querier(from, to int64) (storage.Querier, error) {
	q, err := o.Queryable.Querier(from, to)
	return orderedQuerier{q}, err
}

// text is the label of a text where the entity has a label value of its own.
const text = "exported_value"

// bound is the bound of a classic bucket.
func bound(l labels.Labels) float64 {
	v, _ := strconv.ParseFloat(l.Get(labels.BucketLabel), 64)
	return v
}

// stem are the labels of the stored series that a series is made of.
func stem(l labels.Labels) labels.Labels {
	return labels.NewBuilder(l).Del(labels.BucketLabel, text).Labels()
}

type orderedQuerier struct{ storage.Querier }

// Select implements storage.Querier.
func (q orderedQuerier) Select(ctx context.Context, sorted bool, h *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	found := q.Querier.Select(ctx, sorted, h, matchers...)
	if sorted {
		return found
	}
	var list []storage.Series
	for found.Next() {
		list = append(list, found.At())
	}
	if err := found.Err(); err != nil {
		return storage.ErrSeriesSet(err)
	}
	slices.SortStableFunc(list, func(a, b storage.Series) int {
		x, y := a.Labels(), b.Labels()
		for _, name := range place {
			if c := cmp.Compare(x.Get(name), y.Get(name)); c != 0 {
				return c
			}
		}
		if c := labels.Compare(stem(x), stem(y)); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(x.Get(text), y.Get(text)), cmp.Compare(bound(x), bound(y)))
	})
	return &set{list: list, at: -1, warnings: found.Warnings()}
}
