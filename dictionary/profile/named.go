package profile

import (
	"regexp"
	"strings"

	"github.com/ringwatch/ringwatch/window"
)

// byRules shows what rules make of beans, and the JVM as the JMX exporter itself does.
type byRules struct {
	series map[string][]mapping
	jvm    map[string][]plain // by series
}

func ofRules(name string) func() (renderer, error) {
	return func() (renderer, error) {
		file, err := files.ReadFile(name + ".yaml")
		if err != nil {
			return nil, err
		}
		r, err := newRules(string(file))
		if err != nil {
			return nil, err
		}
		jvm, err := newPlain("jvm.txt")
		if err != nil {
			return nil, err
		}
		return newByRules(r, jvm)
	}
}

// ofOpenTelemetry is without what the JMX exporter says of the JVM.
func ofOpenTelemetry() (renderer, error) {
	file, err := files.ReadFile("opentelemetry.yaml")
	if err != nil {
		return nil, err
	}
	r, err := newRules(string(file))
	if err != nil {
		return nil, err
	}
	return newByRules(r, nil)
}

func ofCriteo() (renderer, error) {
	file, err := files.ReadFile("criteo_exporter.yaml")
	if err != nil {
		return nil, err
	}
	c, err := newCriteo(string(file))
	if err != nil {
		return nil, err
	}
	return newByRules(c, nil)
}

func newByRules(n namer, jvm map[string][]plain) (*byRules, error) {
	c, err := loadBeans()
	if err != nil {
		return nil, err
	}
	return &byRules{c.compile(n), jvm}, nil
}

// needsBefore implements renderer.
func (b *byRules) needsBefore(series string) bool {
	if load := loadOf[series]; load != "" && len(b.series[load]) > 0 {
		return true
	}
	for _, s := range b.series[series] {
		if s.statistic >= statRate && !s.buckets {
			return true
		}
	}
	return false
}

// What no value of a bean's name may have here: it would have to be quoted there, or patterns would
// not take it for one.
var (
	odd   = regexp.MustCompile(`[,=<>"*?\\\x00-\x1f]`)
	blank = regexp.MustCompile(`\s`)
	ports = strings.NewReplacer(":", "_", "[", "_", "]", "_")
)

// render implements renderer.
func (b *byRules) render(o *output, s *state) error {
	var values []string
	for i := range s.now {
		of := &s.now[i]
		for j := range b.jvm[of.Metric.Name] {
			b.jvm[of.Metric.Name][j].addTo(o, of)
		}
		list := b.series[of.Metric.Name]
		for j := range list {
			if list[j].entity == of.Metric.Type && list[j].values(&values, of) {
				list[j].addTo(o, s, of, values)
			}
		}
	}
	return o.err
}

// values puts the entity's values into to; false: they are not those that are meant.
func (s *mapping) values(to *[]string, of *window.Series) bool {
	*to = (*to)[:0]
	for i, name := range s.labels {
		value := of.Labels.Get(name)
		if s.peer[i] {
			value = ports.Replace(value)
		}
		if value == "" || odd.MatchString(value) || s.words && blank.MatchString(value) {
			return false
		}
		if s.system == i && s.is != strings.HasPrefix(value, "system") {
			return false
		}
		if only, there := s.named.only[i]; there && value != only {
			return false
		}
		*to = append(*to, value)
	}
	return true
}

func (s *mapping) addTo(o *output, st *state, of *window.Series, values []string) {
	v, ok := st.value(of, s.statistic, s.buckets)
	if !ok {
		return
	}
	name := s.named.fill(values)
	if s.named.kind == "counter" {
		name += "_total"
	}
	o.add(of, name, s.named.kind, v*s.named.factor, func(label func(name, value string)) {
		for i := range s.named.labels {
			label(s.named.labels[i].fill(values))
		}
	})
}
