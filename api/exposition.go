package api

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// getPrometheus answers /v1/nodes/{id}/prometheus: everything newest, as exposition text, under
// the names of a profile.
func (s *Server) getPrometheus(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	as, err := profileOf(r)
	if err != nil {
		return err
	}
	nodes, err := s.where(r, p)
	if err != nil {
		return err
	}
	return s.exposeAll(w, r, p, nodes, as, "this node")
}

// getClusterPrometheus answers /v1/clusters/{cluster}/prometheus: the same of all nodes of a
// cluster that are not silent.
func (s *Server) getClusterPrometheus(w http.ResponseWriter, r *http.Request,
	p account.Principal) error {
	as, err := profileOf(r)
	if err != nil {
		return err
	}
	nodes, err := s.where(r, p)
	if err != nil {
		return err
	}
	return s.exposeAll(w, r, p, nodes, as, "no node of this cluster")
}

// exposeAll writes the newest values of the nodes that are up or late. Values of a silent node
// are not the present's, and a scrape must not look as if they were; if all nodes are silent it
// fails, so that Prometheus's up is 0. as is whose names they have; nil: ours.
func (s *Server) exposeAll(w http.ResponseWriter, r *http.Request, p account.Principal,
	nodes []Node, as *profile.Profile, who string) error {
	size := budget{config: &s.config, field: "metrics",
		remedy: "ask for one node at a time, or for chosen metrics at /v1/nodes/{id}/metrics " +
			"with format=prometheus"}
	// a single node's text is mostly asked for once per frame, by a Prometheus
	if len(nodes) > 1 && s.answers.kept != nil {
		return s.getLatestText(w, r, p, nodes, as, &size, who)
	}
	now := s.config.Clock().UnixMilli()
	var answers []nodeSeries
	var missing []string
	newest := int64(0)
	for i := range nodes {
		w, err := s.deps.Reader.Latest(r.Context(), p.Account, &nodes[i])
		if err != nil {
			return err
		}
		missing = read.AppendMissing(missing, w.Missing)
		if w.Window == nil {
			continue
		}
		newest = max(newest, w.Seen)
		if s.deps.Reader.StateAt(now, w.Seen, w.Node.Interval) == query.StateDown {
			continue
		}
		series, err := selecting.LatestWithin(r.Context(), w.Window, memory.Of(r.Context()))
		if err != nil {
			return err
		}
		answer := nodeSeries{node: &nodes[i], series: series}
		if as == nil {
			answer.series = slices.DeleteFunc(series, neverCounted)
		} else {
			if answer.series, answer.heads, err = s.show(r.Context(), p.Account, &nodes[i],
				w.Window, series, as); err != nil {
				return err
			}
		}
		if err := size.addLines(answer.series); err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	if len(answers) == 0 {
		return silent(who, newest, missing)
	}
	s.notePartial(w, missing)
	s.metrics.points.Add(float64(size.points))
	s.writeExposition(w, r, answers)
	return nil
}

// silent is the refusal where no node has newest values; newest is when one had, in ms, 0 for
// never, and missing why that may not be so.
func silent(who string, newest int64, missing []string) error {
	e := &Error{Status: http.StatusNotFound, Reason: "silent", Field: "id",
		Message: who + " has not sent anything yet"}
	if newest > 0 {
		e.Message = fmt.Sprintf("%s has sent nothing since %s: look at its agent; "+
			"/v1/nodes/{id}/metrics has the old values", who, formatTime(newest))
		if who != "this node" {
			e.Message = fmt.Sprintf("%s has sent anything since %s: look at the agents; "+
				"/v1/nodes/{id}/metrics has the old values", who, formatTime(newest))
		}
	}
	if len(missing) > 0 {
		e.Message += "; or " + strings.Join(missing, "; ")
	}
	return e
}

// neverCounted reports whether a series is a histogram without an observation. Such a one is not
// written in a scrape, not even its count: most of a node's histograms are that. All its lines
// begin with the first observation together, so that in each scrape the buckets and +Inf tell of
// the same observations. With a +Inf of 0 before, the first observations would be in the rate of
// +Inf and not of the other buckets, and quantiles would be the highest bound there is.
func neverCounted(s window.Series) bool {
	return s.Metric.Kind.IsHistogram() && len(s.Histograms[0].Filled) == 0
}

// writeExposition writes the first value of every series as text 0.0.4, or as OpenMetrics if the
// client prefers that. A metric's lines stand together, whatever node they are of.
func (s *Server) writeExposition(w http.ResponseWriter, r *http.Request, answers []nodeSeries) {
	var all []*window.Series
	for i := range answers {
		for j := range answers[i].series {
			all = append(all, &answers[i].series[j])
		}
	}
	slices.SortStableFunc(all, func(a, b *window.Series) int {
		return strings.Compare(a.Metric.Name, b.Metric.Name)
	})
	e := exposition{open: opens(r), names: make(map[string]bool, len(all))}
	heads := map[string]profile.Head{}
	for i := range answers {
		maps.Copy(heads, answers[i].heads)
	}
	for _, series := range all {
		e.names[series.Metric.Name] = true
	}
	out := answer(w, r, textType(e.open))
	defer out.end()
	for i, series := range all {
		e.b = e.b[:0]
		if i == 0 || all[i-1].Metric.Name != series.Metric.Name {
			e.family(series.Metric, heads[series.Metric.Name])
		}
		e.series(series)
		if _, err := out.Write(e.b); err != nil {
			return // the client went away
		}
	}
	if e.open {
		_, _ = out.WriteString("# EOF\n")
	}
}

// exposition appends the lines of one series at a time.
type exposition struct {
	open  bool            // OpenMetrics
	names map[string]bool // of all metrics there are
	b     []byte

	counts []int64 // scratch: a histogram's, by bucket
}

// family appends what is said of a metric before its first line: what a profile says of it, if it
// is one's.
func (e *exposition) family(m *window.Metric, by profile.Head) {
	name, kind, help := m.Name, "gauge", by.Help
	if help == "" {
		help = dictionary.Help(m.Name, false)
	}
	switch {
	case by.Type == "untyped" && e.open:
		kind = "unknown"
	case by.Type == "untyped":
		kind = "untyped"
	case m.Kind == frame.Counter || by.Type == "counter":
		kind = "counter"
		if base, ok := strings.CutSuffix(name, "_total"); ok && e.open && !e.names[base] {
			name = base
		} else if e.open {
			// OpenMetrics has no counter without _total, and no two families of one name
			kind = "unknown"
		}
	case m.Kind == frame.Histogram:
		kind = "histogram"
	case m.Kind == frame.GaugeHistogram:
		if kind = "gaugehistogram"; !e.open {
			// text 0.0.4 has no such type; quantiles of its buckets are right all the same, and
			// rates are not asked of it
			kind = "histogram"
		}
	}
	e.b = append(append(append(append(append(e.b, "# HELP "...), name...), ' '), help...), '\n')
	e.b = append(append(append(append(append(e.b, "# TYPE "...), name...), ' '), kind...), '\n')
	// OpenMetrics demands that a unit is the name's last part; in text 0.0.4 the line is a comment.
	if m.Unit != "" && (!e.open || strings.HasSuffix(name, "_"+m.Unit)) {
		e.b = append(append(append(append(append(e.b, "# UNIT "...), name...), ' '), m.Unit...),
			'\n')
	}
}

func (e *exposition) series(s *window.Series) {
	m := s.Metric
	switch m.Kind {
	case frame.String:
		name := "value"
		// an entity's own label of that name keeps it; as Prometheus makes room, the agent's
		// /metrics does the same
		for s.Labels.Has(name) {
			name = "exported_" + name
		}
		e.line(s, "", name, []byte(s.Strings[0]), func(dst []byte) []byte {
			return append(dst, '1')
		})
	case frame.Histogram, frame.GaugeHistogram:
		e.histogram(s)
	default:
		e.line(s, "", "", nil, func(dst []byte) []byte { return appendNumber(dst, s, 0) })
	}
}

func (e *exposition) histogram(s *window.Series) {
	m, h := s.Metric, &s.Histograms[0]
	var total int64
	var le []byte
	e.counts = h.Dense(e.counts[:0])
	next := 0
	for _, b := range series.ExposedBuckets(h.Size - 1) {
		for ; next <= b; next++ {
			total += e.counts[next]
		}
		if b == h.Size-1 {
			le = append(le[:0], "+Inf"...)
		} else {
			le = e.bound(le[:0], m.Bounds.Upper[b], m.Bounds.Exponent)
		}
		e.line(s, "_bucket", "le", le, func(dst []byte) []byte {
			return strconv.AppendInt(dst, total, 10)
		})
	}
	sum, count := "_sum", "_count"
	if m.Kind == frame.GaugeHistogram && e.open {
		sum, count = "_gsum", "_gcount"
	}
	if m.HasSum {
		e.line(s, sum, "", nil, func(dst []byte) []byte {
			return appendDecimal(dst, h.Sum, m.Exponent)
		})
	}
	e.line(s, count, "", nil, func(dst []byte) []byte { return strconv.AppendInt(dst, total, 10) })
}

// bound appends a bucket's bound; OpenMetrics wants it to look like a float.
func (e *exposition) bound(dst []byte, v int64, exponent int) []byte {
	start := len(dst)
	dst = appendDecimal(dst, v, exponent)
	if e.open && !strings.Contains(string(dst[start:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// line appends one sample with the time it was taken. extra, if it has a name, is one more label.
func (e *exposition) line(s *window.Series, suffix, extra string, extraValue []byte,
	value func([]byte) []byte) {
	e.b = append(append(e.b, s.Metric.Name...), suffix...)
	open := byte('{')
	s.Labels.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			e.b = append(append(append(e.b, open), l.Name...), `="`...)
			e.b = append(appendEscaped(e.b, l.Value), '"')
			open = ','
		}
	})
	if extra != "" {
		e.b = append(append(append(e.b, open), extra...), `="`...)
		e.b = append(appendEscaped(e.b, string(extraValue)), '"')
	}
	e.b = append(value(append(e.b, "} "...)), ' ')
	if e.open {
		e.b = appendDecimal(e.b, s.At[0], -3)
	} else {
		e.b = strconv.AppendInt(e.b, s.At[0], 10)
	}
	e.b = append(e.b, '\n')
}

// appendEscaped appends a label's value as both text formats want it.
func appendEscaped(dst []byte, value string) []byte {
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
