package profile

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// instaclustr is Instaclustr's cassandra-exporter: a table of names, and rules for the rest.
type instaclustr struct {
	series map[string][]instaclustrName // by entity's type and ours
	labels map[string][]string          // by entity's type
	rest   *byRules
}

type instaclustrName struct {
	name    string
	summary bool
	kind    string
	labels  [][2]string
}

func ofInstaclustr() (renderer, error) {
	c, err := loadBeans()
	if err != nil {
		return nil, err
	}
	rules, err := ofRules("instaclustr_exporter")()
	if err != nil {
		return nil, err
	}
	n := &instaclustr{series: map[string][]instaclustrName{}, labels: map[string][]string{},
		rest: rules.(*byRules)}
	n.rest.jvm = nil // the exporter has names of its own for that
	file, err := files.ReadFile("instaclustr_exporter.txt")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(file)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(line, "#"):
		case f[0] == "label" && len(f) > 2:
			n.labels[f[1]] = f[2:]
		case len(f) < 3:
			return nil, fmt.Errorf("profile: instaclustr_exporter.txt: %q", line)
		default:
			n.row(c, f)
		}
	}
	return n, nil
}

// row adds one line of the table.
func (n *instaclustr) row(c *beanTable, f []string) {
	one := instaclustrName{name: "cassandra_" + f[1], summary: f[0] == "s", kind: plainKinds[f[0]]}
	for _, l := range f[3:] {
		name, value, _ := strings.Cut(l, "=")
		one.labels = append(one.labels, [2]string{name, value})
	}
	entity, name, _ := strings.Cut(f[2], "/")
	types := []string{entity}
	if entity == "table" {
		types = append(types, "index_table")
	}
	if prefix, ok := strings.CutSuffix(entity, "*"); ok {
		types = []string{prefix, prefix + "_by_consistency"}
	}
	for _, entity := range types {
		series := c.series[entity+"/"+name]
		if series == "" {
			series = name // ours
		}
		key := entity + "/" + series
		n.series[key] = append(n.series[key], one)
	}
}

// needsBefore implements renderer.
func (n *instaclustr) needsBefore(series string) bool {
	for key, names := range n.series {
		if strings.HasSuffix(key, "/"+series) &&
			slices.ContainsFunc(names, func(of instaclustrName) bool { return of.summary }) {
			return true
		}
	}
	return n.rest.needsBefore(series)
}

// render implements renderer.
func (n *instaclustr) render(o *output, s *state) error {
	host := hostOf(s.node.Fact("address"))
	all := [][2]string{{"cassandra_cluster", s.node.Cluster},
		{"cassandra_datacenter", s.node.Datacenter}, {"cassandra_node", host},
		{"cassandra_rack", s.node.Rack}}
	for i := range s.now {
		of := &s.now[i]
		// the exporter counts the node among its endpoints
		if of.Metric.Name == "cassandra_node_gossip_running" {
			o.add(of, "cassandra_endpoint_active", "gauge", scaled(of),
				func(label func(name, value string)) {
					each(label, all,
						[][2]string{{"endpoint", host}, {"endpoint_datacenter", s.node.Datacenter},
							{"endpoint_rack", s.node.Rack}})
				})
		}
		// by consistency these are there too, and sums would count them twice
		if request := of.Labels.Get("request"); of.Metric.Type == "client_request" &&
			(request == "Read" || request == "Write") {
			continue
		}
		names := n.series[of.Metric.Type+"/"+of.Metric.Name]
		for j := range names {
			own := n.own(of, &names[j])
			if names[j].summary {
				summary(o, s, of, names[j].name, own, all)
			} else if isNumber(of) {
				o.add(of, names[j].name, names[j].kind, scaled(of),
					func(label func(name, value string)) { each(label, own, all) })
			}
		}
	}
	o.more = all
	return n.rest.render(o, s)
}

// own returns an entity's labels as the exporter has them.
func (n *instaclustr) own(of *window.Series, name *instaclustrName) [][2]string {
	var own [][2]string
	ours, known := entityLabels[of.Metric.Type]
	named := n.labels[of.Metric.Type]
	if named == nil && !known {
		return slices.Clone(name.labels)
	}
	if named == nil {
		named = ours
	}
	for i, l := range named {
		as, form, _ := strings.Cut(l, "/")
		value := of.Labels.Get(ours[min(i, len(ours)-1)])
		switch form {
		case "LOWER":
			value = strings.ToLower(value)
		case "CACHE":
			value = strings.ToLower(strings.ReplaceAll(value, "Cache", ""))
		case "HOST":
			value = hostOf(value)
		}
		own = append(own, [2]string{as, value})
	}
	own = append(own, name.labels...)
	switch of.Metric.Type {
	case "table":
		own = append(own, [2]string{"table_type", "table"})
	case "index_table":
		own = append(own, [2]string{"table_type", "index"})
	case "memory_pool":
		kind := "NON_HEAP"
		if heap(of.Labels.Get("pool")) {
			kind = "HEAP"
		}
		own = append(own, [2]string{"type", kind})
	}
	return own
}

// entityLabels are an entity's labels in our order, of the types that the table names.
var entityLabels = map[string][]string{
	"table": {"keyspace", "table"}, "index_table": {"keyspace", "table", "index"},
	"thread_pool":    {"path", "pool"},
	"client_request": {"request"}, "client_request_by_consistency": {"request", "consistency"},
	"cache":           {"cache"},
	"dropped_message": {"message"}, "messaging_datacenter": {"from_datacenter"}, "peer": {"peer"},
	"gc":         {"gc"},
	"filesystem": {"device", "mount"}, "memory_pool": {"pool"}, "jvm_buffer_pool": {"pool"},
	"buffer_pool": {"pool"},
}

func each(label func(name, value string), lists ...[][2]string) {
	for _, list := range lists {
		for _, l := range list {
			label(l[0], l[1])
		}
	}
}

// summary adds a histogram as the exporter has it. What has counted nothing lately has quantiles
// of 0, and what describes the present and has nothing (partition sizes without SSTables) has
// none that are numbers.
func summary(o *output, s *state, of *window.Series, name string, own, all [][2]string) {
	if !of.Metric.Kind.IsHistogram() {
		return
	}
	d := newDistribution(of, s.was(of))
	for _, q := range []struct {
		name string
		f    statistic
	}{{"0.5", stat50}, {"0.75", stat75}, {"0.95", stat95}, {"0.98", stat98},
		{"0.99", stat99}, {"0.999", stat999}} {
		v, ok := d.statistic(q.f)
		if !ok || d.total == 0 && of.Metric.Kind != frame.Histogram {
			break
		}
		o.add(of, name, "gauge", shifted(v, of.Metric.Bounds.Exponent),
			func(label func(name, value string)) {
				each(label, own, all, [][2]string{{"quantile", q.name}})
			})
	}
	last := len(of.At) - 1
	labels := func(label func(name, value string)) { each(label, own, all) }
	if of.Metric.HasSum {
		o.add(of, name+"_sum", "untyped", shifted(float64(of.Histograms[last].Sum),
			of.Metric.Exponent), labels)
	}
	o.add(of, name+"_count", "untyped", float64(of.Histograms[last].Count()), labels)
}

// hostOf is an address without its port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return address
}
