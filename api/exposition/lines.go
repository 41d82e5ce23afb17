package exposition

import (
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// Lines is text that is made of one series at a time.
type Lines struct {
	open    bool            // OpenMetrics
	metrics map[string]bool // names of all that there are
	text    []byte

	counts []int64 // scratch: a histogram's, by bucket
}

// NewLines returns an empty text, of OpenMetrics or of 0.0.4. metrics are the names of all metrics
// that the answer has; only Head asks for them.
func NewLines(open bool, metrics map[string]bool) *Lines {
	return &Lines{open: open, metrics: metrics}
}

// Text is what was appended since Reset.
func (e *Lines) Text() []byte { return e.text }

// Reset empties the text.
func (e *Lines) Reset() { e.text = e.text[:0] }

// Head appends what is said of a metric before its first line: what a profile says of it, if it
// is one's.
func (e *Lines) Head(m *window.Metric, by profile.Head) {
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
		if base, ok := strings.CutSuffix(name, "_total"); ok && e.open && !e.metrics[base] {
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
	e.comment("# HELP ", name, help)
	e.comment("# TYPE ", name, kind)
	// OpenMetrics demands that a unit is the name's last part; in text 0.0.4 the line is a comment.
	if m.Unit != "" && (!e.open || strings.HasSuffix(name, "_"+m.Unit)) {
		e.comment("# UNIT ", name, m.Unit)
	}
}

// comment appends a line about a metric.
func (e *Lines) comment(about, name, text string) {
	e.text = append(append(append(e.text, about...), name...), ' ')
	e.text = append(append(e.text, text...), '\n')
}

// Series appends the lines of a series, of its first value.
func (e *Lines) Series(s *window.Series) {
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
		e.line(s, "", "", nil, func(dst []byte) []byte { return literal.AppendNumber(dst, s, 0) })
	}
}

func (e *Lines) histogram(s *window.Series) {
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
			return literal.AppendDecimal(dst, h.Sum, m.Exponent)
		})
	}
	e.line(s, count, "", nil, func(dst []byte) []byte { return strconv.AppendInt(dst, total, 10) })
}

// bound appends a bucket's bound; OpenMetrics wants it to look like a float.
func (e *Lines) bound(dst []byte, v int64, exponent int) []byte {
	start := len(dst)
	dst = literal.AppendDecimal(dst, v, exponent)
	if e.open && !strings.Contains(string(dst[start:]), ".") {
		dst = append(dst, ".0"...)
	}
	return dst
}

// line appends one sample with the time it was taken. extra, if it has a name, is one more label.
func (e *Lines) line(s *window.Series, suffix, extra string, extraValue []byte,
	value func([]byte) []byte) {
	e.text = append(append(e.text, s.Metric.Name...), suffix...)
	open := byte('{')
	s.Labels.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			e.text = append(append(append(e.text, open), l.Name...), `="`...)
			e.text = append(appendEscaped(e.text, l.Value), '"')
			open = ','
		}
	})
	if extra != "" {
		e.text = append(append(append(e.text, open), extra...), `="`...)
		e.text = append(appendEscaped(e.text, string(extraValue)), '"')
	}
	e.text = append(value(append(e.text, "} "...)), ' ')
	if e.open {
		e.text = literal.AppendDecimal(e.text, s.At[0], -3)
	} else {
		e.text = strconv.AppendInt(e.text, s.At[0], 10)
	}
	e.text = append(e.text, '\n')
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
