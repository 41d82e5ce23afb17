package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// nodeSeries is one element of an answer.
type nodeSeries struct {
	node   *Node
	series []window.Series
	heads  map[string]profile.Head // what a profile's names are
	// missing says in words what is stored and cannot be read: with any, the answer is partial.
	missing []string
	err     error
}

// getMetrics answers /v1/{clusters,datacenters,nodes}/{…}/metrics:
// [{"id","cluster","datacenter","rack","payload":[…]}], one element per node that the path means.
// An element that lacks something which is stored has "partial":[…] before its payload, which
// says in words what; see stream.
func (s *Server) getMetrics(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	q, err := s.metricsQuery(r, p)
	if err != nil {
		return err
	}
	nodes, err := s.where(r, p)
	if err != nil {
		return err
	}
	named, lost, err := s.named(r.Context(), p, q, scope(r, nodes), nodes)
	if err != nil {
		return err
	}
	more := func(n *Node, e element) element { return q.withNamed(e, named[n.ID], lost) }
	if q.rollup.Millis > 0 {
		return s.getRollups(w, r, p, q, nodes, more)
	}
	size := budget{config: &s.config, field: "step",
		remedy: "ask for fewer metrics, less time or a wider step", fills: q.fills}
	if q.latest {
		size.field, size.remedy = "metrics", "ask for fewer metrics"
	}
	if q.text {
		return s.getMetricsText(w, r, p, q, nodes, &size)
	}
	if q.latest && len(q.selectors) == 0 && len(q.names) == 0 && !q.nan && s.answers.kept != nil {
		return s.getLatestAll(w, r, p, nodes, &size)
	}
	return s.stream(w, r, nodes, &size, nil, func(ctx context.Context, n *Node) element {
		series, lost, err := s.select1(ctx, p, n, q)
		return more(n, element{
			count: func(b *budget) error { return b.add(series) }, n: len(series), missing: lost,
			err:    err,
			append: func(b []byte, i int) []byte { return q.appendSeries(b, &series[i]) },
		})
	})
}

// getMetricsText is getMetrics for format=prometheus: lines of a metric stand together, so all
// nodes are read before the first byte.
func (s *Server) getMetricsText(w http.ResponseWriter, r *http.Request, p account.Principal,
	q *metricsQuery, nodes []Node, size *budget) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	next := share.InOrder(ctx, len(nodes), func(ctx context.Context, i int) nodeSeries {
		series, lost, err := s.select1(ctx, p, &nodes[i], q)
		return nodeSeries{node: &nodes[i], series: slices.DeleteFunc(series, neverCounted),
			missing: lost, err: err}
	})
	answers := make([]nodeSeries, len(nodes))
	missing := make([][]string, len(nodes))
	for i := range nodes {
		answers[i] = next(i)
		if err := cmp.Or(answers[i].err, size.addLines(answers[i].series)); err != nil {
			return err
		}
		missing[i] = answers[i].missing
	}
	s.notePartial(w, missing...)
	s.metrics.points.Add(float64(size.points))
	s.writeExposition(w, r, answers)
	return nil
}

// appendNode appends what stands before a node's payload.
func appendNode(b []byte, n *Node, missing []string, first bool) []byte {
	if first {
		b = append(b, '[')
	} else {
		b = append(b, ',')
	}
	b = append(b, `{"id":`...)
	b = appendString(b, n.ID.String())
	for _, f := range []struct{ name, value string }{{"cluster", n.Cluster},
		{"datacenter", n.Datacenter}, {"rack", n.Rack}} {
		b = append(append(append(b, `,"`...), f.name...), `":`...)
		b = appendString(b, f.value)
	}
	for i, text := range missing {
		if i == 0 {
			b = append(b, `,"partial":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendString(b, text)
	}
	if len(missing) > 0 {
		b = append(b, ']')
	}
	return append(b, `,"payload":[`...)
}

// select1 returns what a query asks of one node, and what is missing in it.
func (s *Server) select1(ctx context.Context, p account.Principal, n *Node,
	q *metricsQuery) ([]window.Series, []string, error) {
	if q.onlyNames() {
		return nil, nil, nil
	}
	if q.latest {
		state, err := s.deps.Reader.Latest(ctx, p.Account, n)
		if err != nil || state.Window == nil {
			return nil, state.Missing, err
		}
		series, err := read.Union(q.selectors, func(m []*labels.Matcher) ([]window.Series, error) {
			return selecting.LatestWithin(ctx, state.Window, memory.Of(ctx), m...)
		})
		return series, state.Missing, err
	}
	values, err := s.deps.Reader.Range(ctx, p.Account, n, q.from, q.to, q.selectors)
	if err != nil {
		return nil, nil, err
	}
	if q.step > 0 {
		for i := range values.Series {
			thin(&values.Series[i], q.to, q.step)
		}
	}
	return values.Series, values.Missing, nil
}

// PartialHeader tells how much of what is stored is missing in an answer because it cannot be
// read: damaged, or written by a newer program.
const PartialHeader = "Ringwatch-Partial"

// notePartial sets the header before an answer is begun, and counts the answer.
func (s *Server) notePartial(w http.ResponseWriter, missing ...[]string) {
	n := 0
	for _, m := range missing {
		n += len(m)
	}
	if n > 0 {
		w.Header().Set(PartialHeader, strconv.Itoa(n))
		s.metrics.partial.Inc()
	}
}

// thin keeps the last value of each step. Steps are counted back from to, so that the newest
// value stays and is a whole step's.
func thin(s *window.Series, to, step int64) {
	kept := window.Series{Labels: s.Labels, Metric: s.Metric}
	for i, at := range s.At {
		if i+1 < len(s.At) && (to-at)/step == (to-s.At[i+1])/step {
			continue
		}
		kept.At = append(kept.At, at)
		switch s.Metric.Kind {
		case frame.Counter, frame.Gauge:
			kept.Ints = append(kept.Ints, s.Ints[i])
		case frame.GaugeDouble:
			kept.Doubles = append(kept.Doubles, s.Doubles[i])
		case frame.String:
			kept.Strings = append(kept.Strings, s.Strings[i])
		default:
			kept.Histograms = append(kept.Histograms, s.Histograms[i])
		}
	}
	*s = kept
}
