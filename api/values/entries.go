package values

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/payload"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// The JSON of a catalogue's value has the shape of a series. type and unit are the catalogue's, the
// unit in the notation of Instaclustr's monitoring API; metric is the name's last part.
//
//	{"metric":"cpuUtilization","type":"percentage","unit":"1","labels":{},"values":[{"value":"1.6","time":…}]}

// entry is one value of the catalogue for one node, and of a keyspace or a table if it is of one.
type entry struct {
	metric, kind, unit string
	labels             labels.Labels
	at                 []int64 // ms
	values             []float64
}

// entries are what a question asks by name.
type entries struct {
	nan     bool // say NaN at each step without a value
	steps   steps
	nodes   map[uuid.UUID][]entry
	values  int
	missing []string // what is stored and could not be read, in words
}

// steps are the instants of values over a time range, all in ms.
type steps struct {
	first, last int64
	width       int64 // 0: the newest values alone
}

func (s steps) duration() time.Duration { return time.Duration(s.width) * time.Millisecond }

func (s steps) count() int { return int((s.last-s.first)/s.width) + 1 }

// Of a time range without step= there are so many values at most, and none closer than 20 s.
const (
	maxSteps     = 500
	minStepWidth = 20_000
)

// stepsOf returns those of a question. The last one is the range's end; of steps of five minutes or
// more, it is where a step ends by the clock, for rollups cover such windows.
func stepsOf(q *question) steps {
	if q.time.Latest {
		return steps{}
	}
	from, to := q.time.From, q.time.To
	width := max(q.time.Step, q.level.Millis)
	if width == 0 {
		width = stepWidth(to - from)
	}
	if by := to - to%width; width >= rollup.FiveMinutes.Millis && by >= from {
		to = by
	}
	return steps{to - (to-from)/width*width, to, width}
}

// stepWidth returns the distance of values over a time range without step=, in ms: of wide ones
// whole periods of rollups.
func stepWidth(span int64) int64 {
	width := max(minStepWidth, span/maxSteps)
	if period := rollup.FiveMinutes.Millis; width >= period {
		width = (width + period - 1) / period * period
	}
	return width
}

// append appends one element of a payload. NaN is left out unless reportNaN=true asks for it;
// then each step without a value is there, too.
func (all *entries) append(dst []byte, e *entry) []byte {
	dst = payload.AppendHead(dst, e.metric, e.kind, e.unit, e.labels)
	written := false
	add := func(at int64, v float64) {
		if math.IsNaN(v) && !all.nan {
			return
		}
		if written {
			dst = append(dst, ',')
		}
		written = true
		dst = append(dst, `{"value":"`...)
		dst = literal.AppendDouble(dst, v)
		dst = append(dst, `","time":"`...)
		dst = time.UnixMilli(at).UTC().AppendFormat(dst, literal.TimeFormat)
		dst = append(dst, `"}`...)
	}
	if !all.nan || all.steps.width == 0 {
		for i, at := range e.at {
			add(at, e.values[i])
		}
		return append(dst, "]}"...)
	}
	i := 0
	for at := all.steps.first; at <= all.steps.last; at += all.steps.width {
		v := math.NaN()
		if i < len(e.at) && e.at[i] == at {
			v = e.values[i]
			i++
		}
		add(at, v)
	}
	return append(dst, "]}"...)
}

// addTo adds to the element of a node its values of the catalogue.
func (all *entries) addTo(n *window.Node, e element) element {
	if e.err != nil || all == nil {
		return e
	}
	list, first, appendSeries := all.nodes[n.ID], e.series, e.append
	e.series += len(list)
	e.append = func(b []byte, i int) []byte {
		if i < first {
			return appendSeries(b, i)
		}
		return all.append(b, &list[i-first])
	}
	for i := range list {
		values := len(list[i].at)
		if all.nan && all.steps.width > 0 {
			values = all.steps.count()
		}
		e.size.Add(payload.NumbersSize(list[i].labels, values))
	}
	e.missing = append(slices.Clone(e.missing), all.missing...)
	return e
}
