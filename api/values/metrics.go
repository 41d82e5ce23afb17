package values

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/exposition"
	"github.com/ringwatch/ringwatch/api/latest"
	"github.com/ringwatch/ringwatch/api/payload"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// answer writes the answer, in the way that fits the question.
func (a *asking) answer() error {
	q := a.question
	entries, err := a.entries()
	if err != nil {
		return err
	}
	switch {
	case q.level.Millis > 0:
		return a.writeRollups(entries)
	case q.text:
		return a.writeText()
	case q.isNewestWhole() && a.config.Encodings.Keeps():
		return a.writeEncoded()
	}
	options := q.options()
	return a.stream(a.budget(), nil, func(ctx context.Context, n *window.Node) element {
		series, missing, err := a.read(ctx, n)
		return entries.addTo(n, element{
			size: options.Size(series), series: len(series), missing: missing, err: err,
			append: func(b []byte, i int) []byte { return options.AppendSeries(b, &series[i]) },
		})
	})
}

// budget is what the answer may have.
func (a *asking) budget() *budget.Budget {
	if a.question.time.Latest {
		return budget.New(a.config.Limits, "metrics", "ask for fewer metrics")
	}
	return budget.New(a.config.Limits, "step",
		"ask for fewer metrics, less time or a wider step")
}

// writeText is answer for format=prometheus: lines of a metric stand together, so all
// nodes are read before the first byte.
func (a *asking) writeText() error {
	ctx, cancel := context.WithCancel(a.r.Context())
	defer cancel()
	type reading struct {
		series  []window.Series
		missing []string
		err     error
	}
	next := share.InOrder(ctx, len(a.nodes), func(ctx context.Context, i int) reading {
		series, missing, err := a.read(ctx, &a.nodes[i])
		return reading{slices.DeleteFunc(series, exposition.NeverCounted), missing, err}
	})
	size := a.budget()
	nodes := make([]exposition.Node, len(a.nodes))
	missing := make([][]string, len(a.nodes))
	for i := range a.nodes {
		got := next(i)
		if got.err != nil {
			return got.err
		}
		if err := size.Take(exposition.Size(got.series)); err != nil {
			return err
		}
		nodes[i].Series, missing[i] = got.series, got.missing
	}
	a.config.Metrics.NotePartial(a.w, missing...)
	a.config.Metrics.AddValues(size.Values())
	exposition.Write(a.w, a.r, nodes)
	return nil
}

// writeEncoded answers for everything newest. One question to the recent source, of all
// nodes, tells whose newest frame is another than the one that was encoded; only those are read
// and encoded again, once for all who ask for them at the same time.
func (a *asking) writeEncoded() error {
	c := a.config
	known := make([]element, len(a.nodes))
	for i, e := range c.Encodings.Current(a.r, a.who, a.nodes, latest.JSON, nil) {
		if e != nil {
			known[i] = encodedElement(e)
		}
	}
	return a.stream(a.budget(), known, func(ctx context.Context, n *window.Node) element {
		e, err := c.Encodings.Encode(ctx, a.who.Account, n, latest.JSON, nil)
		if err != nil {
			return element{err: err}
		}
		if e == nil { // nothing is known of it
			return element{missing: c.InFlight(ctx, a.who.Account, n.Cluster,
				c.Clock().UnixMilli())}
		}
		return encodedElement(e)
	})
}

func encodedElement(e *latest.Encoded) element {
	return element{payload: e.Payload, missing: e.Missing, size: e.Size}
}

// read returns what the question asks of one node, and what is missing in it.
func (a *asking) read(ctx context.Context, n *window.Node) ([]window.Series, []string, error) {
	q, reader := a.question, a.config.Reader
	if !q.hasSeries() {
		return nil, nil, nil
	}
	if q.time.Latest {
		state, err := reader.Latest(ctx, a.who.Account, n)
		if err != nil || state.Window == nil {
			return nil, state.Missing, err
		}
		series, err := read.Union(q.selectors, func(m []*labels.Matcher) ([]window.Series, error) {
			return selecting.LatestWithin(ctx, state.Window, memory.Of(ctx), m...)
		})
		return series, state.Missing, err
	}
	values, err := reader.Range(ctx, a.who.Account, n, q.time.From, q.time.To, q.selectors)
	if err != nil {
		return nil, nil, err
	}
	if q.time.Step > 0 {
		for i := range values.Series {
			thin(&values.Series[i], q.time.To, q.time.Step)
		}
	}
	return values.Series, values.Missing, nil
}

// thin keeps the last value of each step. Steps are counted back from to, so that the newest
// value stays and is a whole step's.
func thin(s *window.Series, to, step int64) {
	thinned := window.Series{Labels: s.Labels, Metric: s.Metric}
	for i, at := range s.At {
		if i+1 < len(s.At) && (to-at)/step == (to-s.At[i+1])/step {
			continue
		}
		thinned.At = append(thinned.At, at)
		switch s.Metric.Kind {
		case frame.Counter, frame.Gauge:
			thinned.Ints = append(thinned.Ints, s.Ints[i])
		case frame.GaugeDouble:
			thinned.Doubles = append(thinned.Doubles, s.Doubles[i])
		case frame.String:
			thinned.Strings = append(thinned.Strings, s.Strings[i])
		default:
			thinned.Histograms = append(thinned.Histograms, s.Histograms[i])
		}
	}
	*s = thinned
}

// RollupHeader names the level of an answer's rollups: step= chooses it where rollup= does not.
const RollupHeader = "Ringwatch-Rollup"

// writeRollups answers a question for rollups.
func (a *asking) writeRollups(entries *entries) error {
	q := a.question
	size := budget.New(a.config.Limits, "rollup",
		"ask for fewer metrics, less time or a coarser rollup")
	a.w.Header().Set(RollupHeader, q.level.Name)
	err := a.stream(size, nil, func(ctx context.Context, n *window.Node) element {
		if !q.hasSeries() {
			return entries.addTo(n, element{})
		}
		list, missing, err := a.config.Rollups.Rollups(ctx, a.who.Account, n, q.level, q.time.From,
			q.time.To, read.AllFacets(q.selectors))
		if q.time.Step > 0 {
			for i := range list {
				list[i].Widen(q.time.Step)
			}
		}
		return entries.addTo(n, element{
			size: payload.RollupsSize(list), series: len(list), missing: missing, err: err,
			append: func(b []byte, i int) []byte { return payload.AppendRollup(b, &list[i]) },
		})
	})
	if err != nil {
		a.w.Header().Del(RollupHeader)
	}
	return err
}
