package profile

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// namer gives attributes of beans another exporter's names. Values of labels are tokens there.
type namer interface {
	// name returns nil if the attribute is not shown.
	name(b *bean, a attribute) *named
}

// named is what an attribute is called.
type named struct {
	name   text
	kind   string // counter, gauge or untyped
	safe   bool   // what the name becomes is made safe once values are in it
	labels []namedLabel
	factor float64
	only   map[int]string // what values must be; nil: any
}

type namedLabel struct {
	name, value text
	path        bool // dots of the value are colons, and blanks underscores
}

var paths = strings.NewReplacer(".", ":", " ", "_")

// fill returns the label with an entity's values.
func (l *namedLabel) fill(values []string) (name, value string) {
	value = l.value.fill(values)
	if l.path {
		value = paths.Replace(value)
	}
	return l.name.fill(values), value
}

// fill returns the name with an entity's values.
func (n *named) fill(values []string) string {
	name := n.name.fill(values)
	if n.safe {
		name = withoutReserved(safe(name))
	}
	return name
}

// rules is a configuration of the JMX exporter, of which the shipped ones use what is here: the
// first rule whose pattern matches domain<properties><path>attribute names the attribute.
type rules struct {
	included, excluded []objectName
	lowerName          bool
	lowerLabels        bool
	list               []rule
	values             map[string][]string // that patterns name, by a property's key
}

type rule struct {
	pattern *regexp.Regexp
	name    string
	kind    string
	factor  float64
	labels  [][2]string // by name
}

// newRules reads a configuration. Its patterns are what Java's and Go's regular expressions both
// have, so that a match takes a time in proportion to its text.
func newRules(config string) (*rules, error) {
	var c struct {
		LowerName    bool     `yaml:"lowercaseOutputName"`
		LowerLabels  bool     `yaml:"lowercaseOutputLabelNames"`
		Included     []string `yaml:"includeObjectNames"`
		Excluded     []string `yaml:"excludeObjectNames"`
		WithoutOfJVM bool     `yaml:"excludeJvmMetrics"`
		Rules        []struct {
			Pattern string            `yaml:"pattern"`
			Name    string            `yaml:"name"`
			Type    string            `yaml:"type"`
			Factor  float64           `yaml:"valueFactor"`
			Labels  map[string]string `yaml:"labels"`
		} `yaml:"rules"`
	}
	if err := yaml.UnmarshalWithOptions([]byte(config), &c, yaml.Strict()); err != nil {
		return nil, err
	}
	r := &rules{lowerName: c.LowerName, lowerLabels: c.LowerLabels, values: map[string][]string{}}
	for _, name := range c.Included {
		r.included = append(r.included, newObjectName(name))
	}
	for _, name := range c.Excluded {
		r.excluded = append(r.excluded, newObjectName(name))
	}
	for _, of := range c.Rules {
		// anywhere: each begins with a domain's end, which is there once
		pattern, err := regexp.Compile(of.Pattern)
		if err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
		for _, m := range literal.FindAllStringSubmatch(of.Pattern, -1) {
			if !slices.Contains(r.values[m[1]], m[2]) {
				r.values[m[1]] = append(r.values[m[1]], m[2])
			}
		}
		one := rule{pattern: pattern, name: of.Name, kind: "untyped", factor: cmp.Or(of.Factor, 1)}
		if of.Type == "GAUGE" || of.Type == "COUNTER" {
			one.kind = strings.ToLower(of.Type)
		}
		for _, name := range slices.Sorted(maps.Keys(of.Labels)) {
			one.labels = append(one.labels, [2]string{name, of.Labels[name]})
		}
		r.list = append(r.list, one)
	}
	return r, nil
}

// literal is a property whose value a pattern names.
var literal = regexp.MustCompile(`([a-z]+)=([A-Za-z]+)[,>]`)

// group is a reference to what a pattern has caught.
var group = regexp.MustCompile(`\$(\d)`)

// wants reports whether a bean is shown at all, and which values of labels that hangs on.
func (r *rules) wants(b *bean) (only map[int]string, ok bool) {
	for i := range r.excluded {
		if only, ok := r.excluded[i].applies(b); ok && only == nil {
			return nil, false
		}
	}
	for i := range r.included {
		if with, applies := r.included[i].applies(b); applies && (!ok || with == nil) {
			only, ok = with, true
		}
	}
	return only, ok || len(r.included) == 0
}

// name implements namer.
func (r *rules) name(b *bean, a attribute) *named {
	only, wanted := r.wants(b)
	if !wanted {
		return nil
	}
	said := b.exporterText(a)
	for i := range r.list {
		of := &r.list[i]
		match := of.pattern.FindStringSubmatch(said)
		if match == nil {
			continue
		}
		expand := func(s string) string {
			return group.ReplaceAllStringFunc(s, func(ref string) string {
				return match[ref[1]-'0']
			})
		}
		n := &named{kind: of.kind, factor: of.factor, only: only}
		name := safe(expand(of.name))
		if name == "" {
			return nil
		}
		if r.lowerName {
			name = strings.ToLower(name)
		}
		n.name = newText(withoutReserved(name))
		n.safe = n.name.parts != nil
		for _, l := range of.labels {
			label, value := safe(expand(l[0])), expand(l[1])
			if label == "" || value == "" {
				continue
			}
			if r.lowerLabels {
				label = strings.ToLower(label)
			}
			n.labels = append(n.labels, namedLabel{name: newText(label), value: newText(value)})
		}
		return n
	}
	return nil
}
