package selecting

import (
	"iter"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// Line is one series over several windows, by where it stands in each of them. It has no values
// before they are read, so many lines take little.
type Line struct {
	Labels labels.Labels // __name__, cluster, datacenter, rack, node and the entity's own
	Metric *window.Metric

	search    *searched
	ranges    []windowRange
	unordered bool // its instants do not ascend from range to range
}

// windowRange is some successive windows of which one dictionary says where the line is.
type windowRange struct {
	from, to   int // windows
	dictionary int // the type's number among searched.types
	metric     int
	row        int32
}

// searched are the windows in which lines were searched, which all these lines share.
type searched struct {
	windows  []*window.Window
	types    [][]*window.Type // by dictionary and by window; nil where the window has none
	disjoint bool             // no window begins before the one before it has ended
}

// Read reads the values at instants from ≤ at ≤ to (milliseconds since the Unix epoch), of
// histograms with their buckets if they are wanted.
func (l *Line) Read(v *Samples, from, to int64, buckets bool) {
	v.reset(l.Metric, buckets)
	if l.unordered || !l.search.disjoint {
		v.series(l.Series(from, to))
		return
	}
	for w, at := range l.places() {
		v.window(w, at, from, to)
	}
	if v.NoBuckets {
		v.BucketEnd, v.Bucket, v.Delta = v.BucketEnd[:0], v.Bucket[:0], v.Delta[:0]
	}
}

// places are the windows that have the line, and where each has it.
func (l *Line) places() iter.Seq2[*window.Window, place] {
	return func(yield func(*window.Window, place) bool) {
		for i := range l.ranges {
			r := &l.ranges[i]
			for n := r.from; n < r.to; n++ {
				w := l.search.windows[n]
				if len(w.Times) > 0 &&
					!yield(w, place{l.search.types[r.dictionary][n], r.metric, r.row}) {
					return
				}
			}
		}
	}
}

// Series returns the line with its values at instants from ≤ at ≤ to (milliseconds since the Unix
// epoch). Where two windows know an instant the earlier one counts.
func (l *Line) Series(from, to int64) *window.Series {
	all := &window.Series{Labels: l.Labels, Metric: l.Metric}
	for w, at := range l.places() {
		if at.in.Columns[at.metric] == columns.Unread {
			continue
		}
		one := window.Series{Labels: l.Labels, Metric: l.Metric}
		first, _ := slices.BinarySearch(w.Times, from)
		end, _ := slices.BinarySearch(w.Times, to+1)
		c := newCursor(at.in, at.metric, int32(len(w.Times)))
		for c.row(at.row); c.next(int32(first), int32(end)); {
			c.appendTo(&one, w.Times[c.instant])
		}
		joined := all.Union(&one)
		all = &joined
	}
	return all
}
