package frame

import (
	"strings"
	"unicode"
)

// This file reads the dictionary of FORMAT.md §4.2: bounds, templates and what their names may be.

func (d *decoder) exponent() int {
	e := d.svarint()
	if e < -maxExponent || e > maxExponent {
		d.fail(ErrMalformed, "an exponent is %d: it must lie between -18 and 18", e)
	}
	return int(e)
}

func (d *decoder) dictionary() {
	if d.key != nil {
		d.readDictionary()
		d.chooseAdded()
		return
	}
	raw := d.b
	if known := d.known.find(raw); known != nil {
		d.b = d.b[len(known.raw):]
		d.f.Bounds, d.f.Templates, d.f.shared = known.bounds, known.templates, known
		d.bounds = len(known.bounds)
		for i := range known.templates {
			d.templates = append(d.templates,
				tpl{Template: &known.templates[i], sizes: known.sizes[i]})
		}
		d.chooseKnown(known)
		return
	}
	if d.readDictionary(); d.err == nil {
		d.known.keep(raw[:len(raw)-len(d.b)], d)
	}
	d.chooseAdded()
}

// chooseKnown finds what is wanted of the templates of a dictionary that was read before.
func (d *decoder) chooseKnown(known *dictionary) {
	if d.want == nil {
		return
	}
	for i, wanted := range d.want.chooseOf(known) {
		d.templates[i].wanted = wanted
	}
}

// chooseAdded finds what is wanted of the templates that the frame itself brings.
func (d *decoder) chooseAdded() {
	if d.want == nil || d.err != nil {
		return
	}
	for i := len(d.templates) - len(d.f.Templates); i < len(d.templates); i++ {
		d.templates[i].wanted = d.want.choose(d.templates[i].Template)
	}
}

func (d *decoder) readDictionary() {
	n := d.count("bounds sets", MaxBoundsSets-d.bounds, 3)
	for i := 0; i < n && d.err == nil; i++ {
		b := Bounds{Exponent: d.exponent()}
		size := d.count("bounds", MaxBounds, 1)
		if size == 0 {
			d.fail(ErrMalformed, "a bounds set is empty")
			return
		}
		if d.take(int64(size) * boundSize); d.err != nil {
			return
		}
		b.Upper = make([]int64, size)
		b.Upper[0] = d.svarint()
		for j := 1; j < size && d.err == nil; j++ {
			step := d.uvarint()
			b.Upper[j] = b.Upper[j-1] + int64(step)
			if b.Upper[j] <= b.Upper[j-1] || step > 1<<63 {
				d.fail(ErrMalformed, "bounds do not rise")
			}
		}
		d.f.Bounds = append(d.f.Bounds, b)
	}
	d.bounds += n
	n = d.count("templates", MaxTemplates-len(d.templates), 5)
	types, names := map[string]bool{}, map[string]bool{}
	if n > 0 {
		for i := range d.templates {
			types[d.templates[i].Type] = true
			for _, m := range d.templates[i].Metrics {
				names[m.Name] = true
			}
		}
		d.f.Templates = make([]Template, 0, n) // tpl points into it
	}
	for i := 0; i < n && d.err == nil; i++ {
		t := d.template(names)
		if types[t.Type] {
			d.fail(ErrMalformed, "type %q is defined twice", t.Type)
		}
		types[t.Type] = true
		if d.err != nil {
			return
		}
		d.f.Templates = append(d.f.Templates, t)
		p := &d.f.Templates[i]
		d.templates = append(d.templates, tpl{Template: p, sizes: d.sizes(p)})
	}
}

func (d *decoder) template(names map[string]bool) Template {
	t := Template{Type: d.text("a type", MaxNameBytes)}
	if !isType(t.Type) {
		d.fail(ErrMalformed, "%q is not an entity type", t.Type)
	}
	n := d.count("labels", MaxLabels, 1)
	for i := 0; i < n && d.err == nil; i++ {
		l := d.text("a label", MaxNameBytes)
		if !isLabel(l) {
			d.fail(ErrMalformed, "%q is not a label name, or is reserved", l)
		}
		for _, other := range t.Labels {
			if l == other {
				d.fail(ErrMalformed, "label %q is defined twice", l)
			}
		}
		t.Labels = append(t.Labels, l)
	}
	n = d.count("metrics", MaxMetrics, 4)
	if n == 0 {
		d.fail(ErrMalformed, "type %q has no metrics", t.Type)
	}
	if d.take(int64(n) * metricSize); d.err != nil {
		return t
	}
	t.Metrics = make([]Metric, 0, n)
	for i := 0; i < n && d.err == nil; i++ {
		m := Metric{Name: d.text("a metric's name", MaxNameBytes), Kind: Kind(d.u8()),
			Unit: d.text("a unit", MaxNameBytes), Exponent: d.exponent()}
		switch {
		case m.Kind >= kinds:
			d.fail(ErrMalformed, "metric %q has unknown kind %d", m.Name, m.Kind)
		case !isMetric(m.Name) || names[m.Name]:
			d.fail(ErrMalformed, "metric name %q is wrong or used twice", m.Name)
		case strings.Trim(m.Unit, "abcdefghijklmnopqrstuvwxyz_") != "":
			d.fail(ErrMalformed, "%q is not a unit", m.Unit)
		case m.Exponent != 0 && (m.Kind == GaugeDouble || m.Kind == String):
			d.fail(ErrMalformed, "metric %q has an exponent, its kind is %s", m.Name, m.Kind)
		case m.Kind.IsHistogram():
			set, sum := d.uvarint(), d.u8()
			if set >= uint64(d.bounds) || sum > 1 {
				d.fail(ErrMalformed, "metric %q has no such bounds or a wrong has_sum", m.Name)
				break
			}
			m.Bounds, m.HasSum = int(set), sum == 1
		}
		names[m.Name] = true
		t.Metrics = append(t.Metrics, m)
	}
	return t
}

func isType(s string) bool {
	for i, c := range s {
		if !(c >= 'a' && c <= 'z' || i > 0 && (c == '_' || c >= '0' && c <= '9')) {
			return false
		}
	}
	return s != ""
}

func isMetric(s string) bool { return isName(s, true) }

func isLabel(s string) bool {
	switch s {
	case "cluster", "datacenter", "rack", "node", "le", "quantile":
		return false
	}
	return isName(s, false) && !strings.HasPrefix(s, "__")
}

func isName(s string, colon bool) bool {
	for i, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', colon && c == ':':
		case c < unicode.MaxASCII && c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}
