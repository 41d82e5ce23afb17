package profile

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// management is the metrics collector in K8ssandra's management API: names of Cassandra's registry,
// of what frames have as it is.
type management struct {
	named map[string]managementNamed // by entity's type, or type/name
	raw   map[string][2]string       // registry's type and shape, by entity's type
	mcac  *mcac                      // whose bounds and forms are the same
}

type managementNamed struct {
	registry string
	labels   [][2]string // name and form of its value
}

const managementPrefix = "org_apache_cassandra_metrics_"

func ofManagementAPI() (renderer, error) {
	made, err := ofMcac()
	if err != nil {
		return nil, err
	}
	file, err := files.ReadFile("management_api.txt")
	if err != nil {
		return nil, err
	}
	n := &management{named: map[string]managementNamed{}, raw: map[string][2]string{},
		mcac: made.(*mcac)}
	n.mcac.others, n.mcac.without = map[string][]mcacOther{}, nil
	for line := range strings.Lines(string(file)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(line, "#"):
		case f[0] == "named" && len(f) >= 3:
			n.named[f[1]] = managementNamed{f[2], mcacLabels(f[3:])}
		case f[0] == "raw" && len(f) == 4:
			n.raw[f[1]] = [2]string{f[2], f[3]}
		case f[0] == "other" && n.mcac.line(f):
		default:
			return nil, fmt.Errorf("profile: management_api.txt: %q", line)
		}
	}
	return n, nil
}

// needsBefore implements renderer: quantiles are of lately.
func (n *management) needsBefore(series string) bool {
	for key, by := range n.mcac.cassandra {
		if by.kind == "histogram" && strings.HasSuffix(key, "/"+series) {
			return true
		}
	}
	return false
}

// render implements renderer.
func (n *management) render(o *output, s *state) error {
	o.more = [][2]string{{"host", s.node.ID.String()},
		{"instance", hostOf(s.node.Fact("address"))}, {"cluster", s.node.Cluster},
		{"datacenter", s.node.Datacenter}, {"rack", s.node.Rack}}
	for i := range s.now {
		of := &s.now[i]
		key := of.Metric.Type + "/" + of.Metric.Name
		if by, there := n.mcac.cassandra[key]; there && i < s.given {
			n.metric(o, s, of, by)
		}
		for j := range n.mcac.others[key] {
			n.mcac.other(o, of, &n.mcac.others[key][j])
		}
	}
	return o.err
}

// metric adds one of Cassandra's metrics.
func (n *management) metric(o *output, s *state, of *window.Series, by cassandraMetric) {
	if of.Metric.Kind == frame.String {
		return
	}
	order := n.mcac.order[of.Metric.Type]
	named, known := n.named[of.Metric.Type+"/"+by.name]
	if !known {
		named, known = n.named[of.Metric.Type]
	}
	registered := func(name string) string { return named.registry + "." + name }
	if !known {
		registered = func(name string) string { return n.registered(of, order, name) }
	}
	labels := func(label func(name, value string)) {
		for i, l := range named.labels {
			value := of.Labels.Get(order[i])
			if l[1] == "JMX" {
				value = ports.Replace(value)
			}
			label(l[0], value)
		}
	}
	name := managementPrefix + managementClean(registered(by.name))
	switch {
	case !of.Metric.Kind.IsHistogram() && of.Doubles != nil:
		value := last(of.Doubles)[0]
		if by.name == "PercentRepaired" {
			value *= 100
		}
		o.add(of, name, "gauge", value, labels)
	case !of.Metric.Kind.IsHistogram() && by.kind == "meter":
		o.add(of, name+"_total", "counter", float64(last(of.Ints)[0]), labels)
	case !of.Metric.Kind.IsHistogram():
		o.add(of, name, "gauge", float64(last(of.Ints)[0]), labels)
	case by.times():
		h := last(of.Histograms)[0]
		n.mcac.buckets(o, of, name+"_bucket", labels)
		o.add(of, name+"_count", "untyped", float64(h.Count()), labels)
		if of.Metric.HasSum {
			sum := shifted(float64(h.Sum), of.Metric.Exponent+6)
			o.add(of, name+"_sum", "untyped", sum, labels)
			o.add(of, managementPrefix+managementClean(totalLatency(registered(by.name))), "gauge",
				sum, labels)
		}
	default:
		n.quantiles(o, s, of, name, labels)
	}
}

// quantiles adds what a histogram that is no timer counted lately. What describes the present and
// has nothing has none that are numbers.
func (n *management) quantiles(o *output, s *state, of *window.Series, name string,
	labels labelling) {
	d := newDistribution(of, s.was(of))
	for _, f := range []statistic{stat50, stat75, stat95, stat98, stat99, stat999} {
		v, ok := d.statistic(f)
		if !ok || d.total == 0 && of.Metric.Kind != frame.Histogram {
			break
		}
		o.add(of, name, "gauge", v, func(label func(name, value string)) {
			labels(label)
			label("quantile", strconv.FormatFloat(fraction[f], 'g', -1, 64))
		})
	}
	o.add(of, name+"_count", "untyped", float64(last(of.Histograms)[0].Count()), labels)
}

// registered returns a metric's name in Cassandra's registry where the relabelling knows no labels.
func (n *management) registered(of *window.Series, order []string, name string) string {
	kind := strings.TrimPrefix(of.Metric.Type, "other_")
	raw, there := n.raw[of.Metric.Type]
	if !there {
		raw = [2]string{kind, "NAME"}
		if len(order) > 0 {
			raw[1] = "NAME.VALUES"
		}
	}
	var values []string
	for _, l := range order {
		value := of.Labels.Get(l)
		if l == "peer" {
			value = ports.Replace(value)
		}
		if value != "" {
			values = append(values, value)
		}
	}
	shape := strings.Replace(raw[1], "VALUES", strings.Join(values, "."), 1)
	return raw[0] + "." + strings.Replace(shape, "NAME", name, 1)
}

var managementOdd = regexp.MustCompile(`[^a-zA-Z0-9:]+`)

func managementClean(registered string) string {
	return managementOdd.ReplaceAllString(mcacClean(registered), "_")
}
