package profile

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// sumSuffix ends the entity types of sums over other entities.
const sumSuffix = "_sum"

// oldSuffix ends the entity type of what has an old name, too.
const oldSuffix = "_old"

// oldMessages are what messages were called before 4.0, and are still counted as.
var oldMessages = map[string]string{
	"BATCH_REMOVE_REQ": "BATCH_REMOVE", "BATCH_STORE_REQ": "BATCH_STORE",
	"COUNTER_MUTATION_REQ": "COUNTER_MUTATION", "HINT_REQ": "HINT",
	"MUTATION_REQ": "MUTATION", "RANGE_REQ": "RANGE_SLICE", "READ_REPAIR_REQ": "READ_REPAIR",
	"READ_REQ": "READ", "REQUEST_RSP": "REQUEST_RESPONSE",
}

// derive adds to a state what Cassandra and the JVM have and frames lack, because it follows from
// other values: sums over tables, ratios, and how many nodes are up.
func derive(list []window.Series) []window.Series {
	c, err := loadBeans()
	if err != nil || len(list) == 0 {
		return list
	}
	d := derivation{sums: map[string]*window.Series{}, wanted: map[string][]*beanMetric{},
		metrics: map[*beanMetric]*window.Metric{}, renamed: map[string]*window.Metric{}}
	for i := range c.sums {
		d.wanted[c.sums[i].series] = append(d.wanted[c.sums[i].series], &c.sums[i])
	}
	for i := range list {
		d.take(&list[i])
	}
	out := slices.Clone(list)
	for _, s := range d.order {
		out = append(out, *s)
	}
	return out
}

type derivation struct {
	wanted  map[string][]*beanMetric
	metrics map[*beanMetric]*window.Metric
	renamed map[string]*window.Metric // of old names
	sums    map[string]*window.Series
	order   []*window.Series
}

func (d *derivation) take(s *window.Series) {
	name := s.Metric.Name
	rest, ofIndex := strings.CutPrefix(name, "cassandra_index_table_")
	if ofIndex {
		name = "cassandra_table_" + rest
	}
	for _, of := range d.wanted[name] {
		// An index's own table counts for the node, and in its keyspace for histograms only.
		if !ofIndex || of.scope == "node" || s.Metric.Kind == frame.Histogram {
			d.sum(of, s)
		}
	}
	if old := oldMessages[s.Labels.Get("message")]; old != "" &&
		s.Metric.Type == "dropped_message" {
		d.old(s, old)
	}
	switch name {
	case "cassandra_node_peers_up":
		d.number("node"+sumSuffix, "cassandra_node_endpoints_up", "", s, scaled(s)+1)
	case "jvm_memory_pool_used_bytes", "jvm_memory_pool_committed_bytes":
		if heap(s.Labels.Get("pool")) {
			return
		}
		d.number("node"+sumSuffix, strings.Replace(name, "memory_pool", "non_heap", 1), "", s,
			scaled(s))
	case "cassandra_cache_hits_total":
		d.ratio("cache", "cassandra_cache_hit_ratio", "cache", s, true)
	case "cassandra_cache_requests_total":
		d.ratio("cache", "cassandra_cache_hit_ratio", "cache", s, false)
	case "cassandra_cql_prepared_statements_executed_total":
		d.ratio("cql", "cassandra_cql_prepared_statements_ratio", "", s, true)
		d.ratio("cql", "cassandra_cql_prepared_statements_ratio", "", s, false)
	case "cassandra_cql_regular_statements_executed_total":
		d.ratio("cql", "cassandra_cql_prepared_statements_ratio", "", s, false)
	}
}

// heap reports whether a memory pool of that name is a part of the heap, as HotSpot calls them.
func heap(pool string) bool {
	return !strings.HasPrefix(pool, "Code") && pool != "Metaspace" &&
		pool != "Compressed Class Space"
}

// sum adds a table's value to its keyspace's or the node's.
func (d *derivation) sum(of *beanMetric, s *window.Series) {
	key, keyspace := of.entity+"/"+of.series, ""
	if of.scope == "keyspace" {
		keyspace = s.Labels.Get("keyspace")
		key += "/" + keyspace
	}
	to := d.sums[key]
	if to == nil {
		m := d.metrics[of]
		if m == nil {
			copied := *s.Metric
			copied.Type, copied.Name = of.entity, of.series
			m = &copied
			d.metrics[of] = m
		}
		to = d.add(key, m, s, "keyspace", keyspace)
		to.Ints, to.Doubles, to.Histograms = slices.Clone(last(s.Ints)),
			slices.Clone(last(s.Doubles)), slices.Clone(last(s.Histograms))
		return
	}
	switch {
	case len(to.Ints) > 0 && len(s.Ints) > 0:
		to.Ints[0] = of.together(to.Ints[0], last(s.Ints)[0])
	case len(to.Doubles) > 0 && len(s.Doubles) > 0:
		to.Doubles[0] += last(s.Doubles)[0]
	case len(to.Histograms) > 0 && len(s.Histograms) > 0 && sameBounds(to.Metric, s.Metric):
		to.Histograms[0] = added(&to.Histograms[0], &last(s.Histograms)[0])
	}
}

func (of *beanMetric) together(a, b int64) int64 {
	switch {
	case of.how == "largest":
		return max(a, b)
	case of.how == "smallest":
		return min(a, b)
	}
	return a + b
}

func sameBounds(a, b *window.Metric) bool {
	return a.Bounds == b.Bounds ||
		a.Bounds != nil && b.Bounds != nil && a.Bounds.Exponent == b.Bounds.Exponent &&
			slices.Equal(a.Bounds.Upper, b.Bounds.Upper)
}

func last[T any](list []T) []T { return list[max(0, len(list)-1):] }

// added returns the sum of two histograms, whose lists may be shared.
func added(a, b *window.Histogram) window.Histogram {
	h := window.Histogram{Size: a.Size, Sum: a.Sum + b.Sum}
	for i, j := 0, 0; i < len(a.Filled) || j < len(b.Filled); {
		switch {
		case j == len(b.Filled) || i < len(a.Filled) && a.Filled[i] < b.Filled[j]:
			h.Filled, h.Counts = append(h.Filled, a.Filled[i]), append(h.Counts, a.Counts[i])
			i++
		case i == len(a.Filled) || b.Filled[j] < a.Filled[i]:
			h.Filled, h.Counts = append(h.Filled, b.Filled[j]), append(h.Counts, b.Counts[j])
			j++
		default:
			h.Filled, h.Counts = append(h.Filled, a.Filled[i]), append(h.Counts,
				a.Counts[i]+b.Counts[j])
			i, j = i+1, j+1
		}
	}
	return h
}

// add adds a series at the time of another.
func (d *derivation) add(key string, m *window.Metric, at *window.Series,
	label, value string) *window.Series {
	s := &window.Series{Metric: m, At: last(at.At), Labels: labels.FromStrings(labels.MetricName,
		m.Type+"/"+m.Name)}
	if value != "" {
		s.Labels = labels.FromStrings(labels.MetricName, m.Type+"/"+m.Name, label, value)
	}
	d.sums[key] = s
	d.order = append(d.order, s)
	return s
}

// number adds a value to a derived series that is one number.
func (d *derivation) number(entity, name, of string, s *window.Series, value float64) {
	key := entity + "/" + name + "/" + of
	to := d.sums[key]
	if to == nil {
		to = d.add(key, &window.Metric{Type: entity, Name: name, Kind: frame.GaugeDouble},
			s, "", "")
		to.Doubles = []float64{0}
	}
	to.Doubles[0] += value
}

// old adds a dropped message's series under the message's old name.
func (d *derivation) old(s *window.Series, message string) {
	m := d.renamed[s.Metric.Name]
	if m == nil {
		copied := *s.Metric
		m = &copied
		m.Type += oldSuffix
		d.renamed[m.Name] = m
	}
	of := *s
	of.Metric, of.Labels = m, labels.FromStrings(labels.MetricName, m.Type+"/"+m.Name, "message",
		message)
	d.order = append(d.order, &of)
}

// ratio adds a count to a ratio's numerator (Ints[0]) or to its denominator (Ints[1]). The ratio
// itself is Doubles[0].
func (d *derivation) ratio(entity, name, label string, s *window.Series, numerator bool) {
	value := s.Labels.Get(label)
	key := entity + "/" + name + "/" + value
	to := d.sums[key]
	if to == nil {
		to = d.add(key, &window.Metric{Type: entity, Name: name, Kind: frame.GaugeDouble}, s,
			label, value)
		to.Ints, to.Doubles = []int64{0, 0}, []float64{0}
	}
	if numerator {
		to.Ints[0] += last(s.Ints)[0]
	} else {
		to.Ints[1] += last(s.Ints)[0]
	}
	to.Doubles[0] = float64(to.Ints[0]) / float64(to.Ints[1])
}
