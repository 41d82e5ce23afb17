package fleet

import (
	"strconv"

	"github.com/ringwatch/ringwatch/frame"
)

// Text appends what the agent's /metrics says in the node's present state: text 0.0.4 without
// times. A histogram lists the buckets up to its last count, +Inf, the sum and the count.
func (n *Node) Text(dst []byte) []byte {
	t := text{b: dst}
	for ti := range n.shape.types {
		of := &n.shape.types[ti]
		for m := range of.Metrics {
			t.metric, t.of = &of.Metrics[m], of
			t.named = false
			for r := range of.rows {
				c := &n.now[ti][m*len(of.rows)+r]
				if !c.absent {
					t.row = of.rows[r]
					t.cell(c, n.shape.bounds)
				}
			}
		}
	}
	return t.b
}

// text appends lines of one metric's entities.
type text struct {
	b      []byte
	of     *shapeType
	metric *frame.Metric
	row    []string
	named  bool // its # TYPE is there
}

func (t *text) cell(c *cell, bounds []frame.Bounds) {
	if !t.named {
		t.named = true
		kind := " gauge\n"
		switch {
		case t.metric.Kind.IsHistogram():
			kind = " histogram\n"
		case t.metric.Kind == frame.Counter:
			kind = " counter\n"
		}
		t.b = append(append(append(t.b, "# TYPE "...), t.metric.Name...), kind...)
	}
	switch {
	case t.metric.Kind.IsHistogram():
		t.histogram(c, &bounds[t.metric.Bounds])
	case t.metric.Kind == frame.String:
		t.line("", "value", c.text)
		t.b = append(t.b, "1\n"...)
	case t.metric.Kind == frame.GaugeDouble:
		t.line("", "", "")
		t.number(c.double)
	default:
		t.line("", "", "")
		t.number(frame.Scale(c.word, t.metric.Exponent))
	}
}

func (t *text) histogram(c *cell, bounds *frame.Bounds) {
	last := -1
	for b, count := range c.counts {
		if count != 0 {
			last = b
		}
	}
	total := int64(0)
	for b := 0; b <= last; b++ {
		if total += c.counts[b]; b < len(bounds.Upper) {
			le := strconv.FormatFloat(frame.Scale(bounds.Upper[b], bounds.Exponent), 'g', -1, 64)
			t.line("_bucket", "le", le)
			t.number(float64(total))
		}
	}
	t.line("_bucket", "le", "+Inf")
	t.number(float64(total))
	if t.metric.HasSum {
		t.line("_sum", "", "")
		t.number(frame.Scale(c.word, t.metric.Exponent))
	}
	t.line("_count", "", "")
	t.number(float64(total))
}

// line appends a line up to its value. extra, if it has a name, is one more label.
func (t *text) line(suffix, extra, value string) {
	t.b = append(append(t.b, t.metric.Name...), suffix...)
	open := byte('{')
	label := func(name, value string) {
		t.b = append(append(append(t.b, open), name...), '=')
		t.b = strconv.AppendQuote(t.b, value) // recordings have plain ASCII only
		open = ','
	}
	for i, v := range t.row {
		label(t.of.Labels[i], v)
	}
	if extra != "" {
		label(extra, value)
	}
	if open == ',' {
		t.b = append(t.b, '}')
	}
	t.b = append(t.b, ' ')
}

func (t *text) number(v float64) {
	t.b = append(strconv.AppendFloat(t.b, v, 'g', -1, 64), '\n')
}
