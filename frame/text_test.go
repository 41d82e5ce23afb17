package frame

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// The text form of frames, in which testdata/vectors are written and which the agent's tests read
// too. One file holds frames in order, a key frame before its delta frames:
//
//	frame NAME
//	node UUID | cluster "q" | started N | sequence N | at N | interval N | key_age N | key NAME | cost N
//	event AGE KIND SEVERITY "text" "name" "value"…            (before all that follow)
//	datacenter "q" | rack "q" | fact "name" "value"
//	bounds EXPONENT UPPER…
//	template TYPE LABEL,LABEL|-
//	metric NAME KIND UNIT|- EXPONENT [bounds=I sum=0|1]     (of the template above)
//	entity TEMPLATE "value"…
//	removed TEMPLATE I…
//	presence TEMPLATE METRIC all|I…
//	value TEMPLATE METRIC all|I… : ENTRY ; ENTRY…
//	hex BYTES                                               (once or more)
//
// An entry is a difference in decimal (a counter's modulo 2^64), the 16 hex digits of a double's
// bits, a quoted text, or a histogram: sum=D (if it has one) and BUCKET:D for each bucket that
// differs.

type vector struct {
	name, key string
	frame     *Frame
	hex       []byte
}

func parseVectors(text []byte) ([]*vector, error) {
	var all []*vector
	byName := map[string]*vector{}
	var v *vector
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		words, err := splitWords(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if words[0] == "frame" {
			v = &vector{name: words[1], frame: &Frame{}}
			all = append(all, v)
			byName[v.name] = v
			continue
		}
		if err := v.line(words, byName); err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", n, line, err)
		}
	}
	return all, lines.Err()
}

// splitWords splits at blanks outside quotes and unquotes.
func splitWords(line string) ([]string, error) {
	var words []string
	for line != "" {
		if line[0] == '"' {
			q, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			w, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			words, line = append(words, w), strings.TrimLeft(line[len(q):], " ")
			continue
		}
		w, rest, _ := strings.Cut(line, " ")
		words, line = append(words, w), strings.TrimLeft(rest, " ")
	}
	return words, nil
}

// numbers parses decimal words; the first failure is kept.
type numbers struct{ err error }

func (n *numbers) int(w string) int64 {
	v, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		if u, uerr := strconv.ParseUint(w, 10, 64); uerr == nil {
			return int64(u)
		}
		n.err = err
	}
	return v
}

func (n *numbers) ints(words []string) []int {
	list := make([]int, 0, len(words))
	for _, w := range words {
		list = append(list, int(n.int(w)))
	}
	return list
}

func (v *vector) line(w []string, byName map[string]*vector) error {
	f := v.frame
	var n numbers
	switch w[0] {
	case "node":
		id, err := uuid.Parse(w[1])
		if err != nil {
			return err
		}
		f.Node = id
	case "cluster":
		f.Cluster = w[1]
	case "started":
		f.Started = uint64(n.int(w[1]))
	case "sequence":
		f.Sequence = uint64(n.int(w[1]))
	case "at":
		f.At = n.int(w[1])
	case "interval":
		f.Interval = n.int(w[1])
	case "key_age":
		f.KeyAge = n.int(w[1])
	case "key":
		v.key = w[1]
		if byName[w[1]] == nil {
			return fmt.Errorf("no key frame %q before it", w[1])
		}
	case "cost":
		f.Cost = uint64(n.int(w[1]))
	case "event":
		severity, _ := ParseSeverity(w[3])
		e := Event{At: f.At - n.int(w[1]), Kind: w[2], Severity: severity, Text: w[4]}
		for i := 5; i < len(w); i += 2 {
			e.Labels = append(e.Labels, Label{w[i], w[i+1]})
		}
		f.Events = append(f.Events, e)
	case "datacenter":
		f.Identity.Datacenter = w[1]
	case "rack":
		f.Identity.Rack = w[1]
	case "fact":
		f.Identity.Facts = append(f.Identity.Facts, Fact{w[1], w[2]})
	case "bounds":
		b := Bounds{Exponent: int(n.int(w[1]))}
		for _, x := range w[2:] {
			b.Upper = append(b.Upper, n.int(x))
		}
		f.Bounds = append(f.Bounds, b)
	case "template":
		t := Template{Type: w[1]}
		if w[2] != "-" {
			t.Labels = strings.Split(w[2], ",")
		}
		f.Templates = append(f.Templates, t)
	case "metric":
		m := Metric{Name: w[1], Unit: strings.Trim(w[3], "-"), Exponent: int(n.int(w[4]))}
		for k, name := range kindNames {
			if name == w[2] {
				m.Kind = Kind(k)
			}
		}
		for _, x := range w[5:] {
			if s, ok := strings.CutPrefix(x, "bounds="); ok {
				m.Bounds = int(n.int(s))
			}
			m.HasSum = m.HasSum || x == "sum=1"
		}
		t := &f.Templates[len(f.Templates)-1]
		t.Metrics = append(t.Metrics, m)
	case "entity":
		t := int(n.int(w[1]))
		if k := len(f.Added); k == 0 || f.Added[k-1].Template != t {
			f.Added = append(f.Added, Entities{Template: t})
		}
		g := &f.Added[len(f.Added)-1]
		g.Rows = append(g.Rows, w[2:])
	case "removed":
		f.Removed = append(f.Removed, Removed{int(n.int(w[1])), n.ints(w[2:])})
	case "presence":
		c := Column{Metric: int(n.int(w[2])), All: w[3] == "all"}
		if !c.All {
			c.Entities = n.ints(w[3:])
		}
		f.Presence = addColumn(f.Presence, int(n.int(w[1])), c)
	case "value":
		c := Column{Metric: int(n.int(w[2])), All: w[3] == "all"}
		rest := w[3:]
		colon := 0
		for rest[colon] != ":" {
			colon++
		}
		if !c.All {
			c.Entities = n.ints(rest[:colon])
		}
		var key *Frame
		if v.key != "" {
			key = byName[v.key].frame
		}
		t := int(n.int(w[1]))
		if err := c.entries(&f.Template(key, t).Metrics[c.Metric], rest[colon+1:], &n); err != nil {
			return err
		}
		f.Values = addColumn(f.Values, t, c)
	case "hex":
		b, err := hex.DecodeString(w[1])
		if err != nil {
			return err
		}
		v.hex = append(v.hex, b...)
	default:
		return fmt.Errorf("unknown word %q", w[0])
	}
	return n.err
}

func addColumn(groups []Group, template int, c Column) []Group {
	if k := len(groups); k == 0 || groups[k-1].Template != template {
		groups = append(groups, Group{Template: template})
	}
	g := &groups[len(groups)-1]
	g.Columns = append(g.Columns, c)
	return groups
}

func (c *Column) entries(m *Metric, words []string, n *numbers) error {
	var entry []string
	for i, w := range append(words, ";") {
		if w != ";" {
			entry = append(entry, w)
			continue
		}
		if len(entry) == 0 && i < len(words) {
			return fmt.Errorf("an entry is empty")
		}
		switch m.Kind {
		case Counter, Gauge:
			c.Ints = append(c.Ints, n.int(entry[0]))
		case GaugeDouble:
			bits, err := strconv.ParseUint(entry[0], 16, 64)
			if err != nil {
				return err
			}
			c.Doubles = append(c.Doubles, math.Float64frombits(bits))
		case String:
			c.Strings = append(c.Strings, entry[0])
		default:
			var b Buckets
			for _, w := range entry {
				if s, ok := strings.CutPrefix(w, "sum="); ok {
					b.Sum = n.int(s)
					continue
				}
				i, d, _ := strings.Cut(w, ":")
				b.Index = append(b.Index, int32(n.int(i)))
				b.Count = append(b.Count, n.int(d))
			}
			c.Histograms = append(c.Histograms, b)
		}
		entry = nil
	}
	return nil
}

// quote writes the escapes that both languages' readers know: \" \\ \n \t \uXXXX.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c < 0x10000 && !unicode.IsPrint(c):
			fmt.Fprintf(&b, `\u%04x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// formatVector is the inverse of parseVectors for one frame.
func formatVector(v *vector, key *Frame) string {
	f := v.frame
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("frame %s\nnode %s\ncluster %s\nstarted %d\nsequence %d\nat %d\ninterval %d\n", v.name,
		f.Node, quote(f.Cluster), f.Started, f.Sequence, f.At, f.Interval)
	if !f.IsKey() {
		p("key_age %d\nkey %s\n", f.KeyAge, v.key)
	}
	p("cost %d\n", f.Cost)
	for i := range f.Events {
		e := &f.Events[i]
		p("event %d %s %s %s", f.At-e.At, e.Kind, e.Severity, quote(e.Text))
		for _, l := range e.Labels {
			p(" %s %s", quote(l.Name), quote(l.Value))
		}
		p("\n")
	}
	if f.IsKey() {
		p("datacenter %s\nrack %s\n", quote(f.Identity.Datacenter), quote(f.Identity.Rack))
		for _, x := range f.Identity.Facts {
			p("fact %s %s\n", quote(x.Name), quote(x.Value))
		}
	}
	for _, x := range f.Bounds {
		p("bounds %d", x.Exponent)
		for _, u := range x.Upper {
			p(" %d", u)
		}
		p("\n")
	}
	for i := range f.Templates {
		t := &f.Templates[i]
		labels := strings.Join(t.Labels, ",")
		if labels == "" {
			labels = "-"
		}
		p("template %s %s\n", t.Type, labels)
		for _, m := range t.Metrics {
			unit := m.Unit
			if unit == "" {
				unit = "-"
			}
			p("metric %s %s %s %d", m.Name, m.Kind, unit, m.Exponent)
			if m.Kind.IsHistogram() {
				sum := 0
				if m.HasSum {
					sum = 1
				}
				p(" bounds=%d sum=%d", m.Bounds, sum)
			}
			p("\n")
		}
	}
	for _, g := range f.Added {
		for _, row := range g.Rows {
			p("entity %d", g.Template)
			for _, x := range row {
				p(" %s", quote(x))
			}
			p("\n")
		}
	}
	for _, g := range f.Removed {
		p("removed %d%s\n", g.Template, joinInts(g.Entities))
	}
	for _, g := range f.Presence {
		for i := range g.Columns {
			p("presence %d %d%s\n", g.Template, g.Columns[i].Metric, selectorText(&g.Columns[i]))
		}
	}
	for _, g := range f.Values {
		for i := range g.Columns {
			c := &g.Columns[i]
			m := &f.Template(key, g.Template).Metrics[c.Metric]
			p("value %d %d%s : %s\n", g.Template, c.Metric, selectorText(c),
				strings.Join(entriesText(c, m), " ; "))
		}
	}
	for h := hex.EncodeToString(v.hex); h != ""; {
		n := min(len(h), 120)
		p("hex %s\n", h[:n])
		h = h[n:]
	}
	return b.String()
}

func joinInts(list []int) string {
	var b strings.Builder
	for _, i := range list {
		fmt.Fprintf(&b, " %d", i)
	}
	return b.String()
}

func selectorText(c *Column) string {
	if c.All {
		return " all"
	}
	return joinInts(c.Entities)
}

func entriesText(c *Column, m *Metric) []string {
	var out []string
	for _, v := range c.Ints {
		if m.Kind == Counter {
			out = append(out, strconv.FormatUint(uint64(v), 10))
		} else {
			out = append(out, strconv.FormatInt(v, 10))
		}
	}
	for _, v := range c.Doubles {
		out = append(out, fmt.Sprintf("%016x", math.Float64bits(v)))
	}
	for _, v := range c.Strings {
		out = append(out, quote(v))
	}
	for _, h := range c.Histograms {
		var parts []string
		if m.HasSum {
			parts = append(parts, fmt.Sprintf("sum=%d", h.Sum))
		}
		for i, bucket := range h.Index {
			d := strconv.FormatInt(h.Count[i], 10)
			if m.Kind == Histogram {
				d = strconv.FormatUint(uint64(h.Count[i]), 10)
			}
			parts = append(parts, fmt.Sprintf("%d:%s", bucket, d))
		}
		out = append(out, strings.Join(parts, " "))
	}
	return out
}
