package profile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// statistic is what an attribute says of a metric: its value, its count, a quantile of it.
type statistic byte

const (
	statNone  statistic = iota
	statValue           // as Cassandra has it, without the exponent
	statPercent
	statCount
	statTotal // of a histogram, as Cassandra counts it: in microseconds
	statRate  // a second, lately
	statMean  // the others are a histogram's, lately
	statMax
	stat50
	stat75
	stat95
	stat98
	stat99
	stat999
)

// attributes are those of beans of metrics, without what frames do not tell.
var attributes = map[statistic]string{
	statValue: "Value", statPercent: "Value", statCount: "Count", statTotal: "Count",
	statRate: "OneMinuteRate", statMean: "Mean", statMax: "Max", stat50: "50thPercentile",
	stat75: "75thPercentile", stat95: "95thPercentile", stat98: "98thPercentile",
	stat99: "99thPercentile", stat999: "999thPercentile",
}

var quantiles = []statistic{statMean, statMax, stat50, stat75, stat95, stat98, stat99,
	stat999}

// kinds are which statistics a kind of metric has.
var kinds = map[string][]statistic{
	"gauge": {statValue}, "percent": {statPercent}, "counter": {statCount},
	"meter": {statCount, statRate}, "histogram": append([]statistic{statCount}, quantiles...),
	"timer":   append([]statistic{statCount, statRate}, quantiles...),
	"latency": append([]statistic{statCount, statRate}, quantiles...),
	// of an array: an exporter that makes statistics of it
	"buckets": {statMax, stat50, stat75, stat95, stat98, stat99},
}

// beanMetric is a line of beans.txt: a bean's name, and which statistics of a series its
// attributes are.
type beanMetric struct {
	entity, series string // the entity's type and the metric's name
	kind           string
	bean           string    // with {label}
	attribute      attribute // apart from statistics
	statistics     []statistic
	scope, how     string // of sums: keyspace or node; sum, largest or smallest
}

// beanTable is beans.txt.
type beanTable struct {
	sources   []beanMetric
	series    map[string]string          // TYPE/NAME of Cassandra → the metric's name
	cassandra map[string]cassandraMetric // TYPE/SERIES → Cassandra's metric
	labels    map[string][]string        // an entity's, in order, by its type
	sums      []beanMetric
}

// cassandraMetric is which of Cassandra's metrics a series is.
type cassandraMetric struct{ name, kind string }

// counts reports whether Cassandra counts there, and times whether it is a timer.
func (o cassandraMetric) counts() bool { return o.kind == "counter" || o.kind == "meter" }
func (o cassandraMetric) times() bool  { return o.kind == "timer" || o.kind == "latency" }

var loadBeans = sync.OnceValues(func() (*beanTable, error) {
	text, err := files.ReadFile("beans.txt")
	if err != nil {
		return nil, err
	}
	return newBeanTable(string(text))
})

func newBeanTable(file string) (*beanTable, error) {
	c := &beanTable{series: map[string]string{}, cassandra: map[string]cassandraMetric{},
		labels: maps.Clone(entityLabels)}
	c.labels["disk"], c.labels["network"] = []string{"device"}, []string{"device"}
	beans := map[string][]string{}
	aliases, renamed := map[string][]string{}, map[string]string{}
	for line := range strings.Lines(file) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		switch {
		case f[0] == "bean" && len(f) == 3:
			beans[f[1]] = append(beans[f[1]], f[2])
			c.labels[f[1]] = labelsOf(f[2])
		case f[0] == "alias" && len(f) == 3:
			aliases[f[2]] = append(aliases[f[2]], f[1])
		case f[0] == "rename" && len(f) == 3:
			renamed[f[2]] = f[1]
		case f[0] == "metric" && len(f) == 5:
			c.metric(beans, aliases, renamed, beanMetric{entity: f[1], series: f[2], kind: f[3]},
				f[4])
			c.cassandra[f[1]+"/"+f[2]] = cassandraMetric{f[4], f[3]}
			if series, ok := strings.CutPrefix(f[2], "cassandra_table_"); ok && f[1] == "table" {
				c.metric(beans, aliases, renamed,
					beanMetric{entity: "index_table", series: "cassandra_index_table_" + series,
						kind: f[3]}, f[4])
				c.cassandra["index_table/cassandra_index_table_"+series] = cassandraMetric{f[4],
					f[3]}
			}
			if f[1] == "dropped_message" {
				c.metric(beans, nil, nil, beanMetric{entity: f[1] + oldSuffix, series: f[2],
					kind: f[3]},
					f[4])
			}
		case len(f) >= 4 && (f[0] == "sum" || f[0] == "largest" || f[0] == "smallest"):
			s := beanMetric{entity: f[1] + sumSuffix, series: c.series["table/"+f[len(f)-1]],
				kind: f[2], scope: f[1], how: f[0]}
			if s.series == "" {
				return nil, fmt.Errorf("profile: beans.txt: no table has %s", f[3])
			}
			c.sums = append(c.sums, s)
			names := aliases
			if f[1] == "keyspace" {
				names = nil
			}
			c.metric(beans, names, nil, s, f[3])
		case f[0] == "attribute" && len(f) == 5:
			c.sources = append(c.sources, beanMetric{entity: f[1], series: f[2], bean: f[3],
				attribute: newAttribute(f[4])})
			// the meters that the agent counts to another type than Cassandra does
			if b := newBean(f[3]); b.domain+"." == mcacRegistry && f[4] == "Count" {
				c.cassandra[f[1]+"/"+f[2]] = cassandraMetric{b.property("name"), "meter"}
			}
		default:
			return nil, fmt.Errorf("profile: beans.txt: %q", line)
		}
	}
	return c, nil
}

// metric adds what a metric's beans say.
func (c *beanTable) metric(beans, aliases map[string][]string, renamed map[string]string,
	s beanMetric,
	name string) {
	c.series[s.entity+"/"+name] = s.series
	s.statistics = kinds[s.kind]
	for _, of := range beans[s.entity] {
		if s.kind == "latency" && strings.HasSuffix(s.entity, "table") &&
			strings.Contains(of, "ColumnFamily") {
			continue // the old type never had them
		}
		names := append([]string{name}, aliases[name]...)
		if old := renamed[name]; old != "" && strings.Contains(of, "ColumnFamily") {
			names = []string{old}
		}
		for _, name := range names {
			one := s
			one.bean = strings.ReplaceAll(of, "{name}", name)
			c.sources = append(c.sources, one)
		}
		if before, ok := strings.CutSuffix(name, "Latency"); ok && s.kind == "latency" {
			one := s
			one.kind, one.bean, one.statistics = "total", strings.ReplaceAll(of, "{name}",
				before+"TotalLatency"), []statistic{statTotal}
			c.sources = append(c.sources, one)
		}
	}
}

// mapping is one series that a profile makes of a series of ours.
type mapping struct {
	entity string
	labels []string // whose values stand in the names, in order
	peer   []bool   // of those, which are addresses that beans write otherwise
	system int      // index of the label that begins with system, or does not; −1: there is none
	is     bool     // whether it begins so
	words  bool     // no value may have blanks

	statistic statistic
	buckets   bool // of the distribution as it is, not as it was lately
	named     *named
}

var label = regexp.MustCompile(`\{([a-z_]+)\}`)

// labelsOf returns the labels of an entity that stand in its bean's name, in order.
func labelsOf(bean string) (names []string) {
	for _, m := range label.FindAllStringSubmatch(bean, -1) {
		if m[1] != "name" {
			names = append(names, m[1])
		}
	}
	return names
}

// compile names all that frames can have.
func (c *beanTable) compile(n namer) map[string][]mapping {
	all := map[string][]mapping{}
	_, figuresOfArrays := n.(*criteo)
	for i := range c.sources {
		s := &c.sources[i]
		if s.kind == "buckets" && !figuresOfArrays {
			continue
		}
		one := mapping{entity: s.entity, system: -1,
			words: strings.HasPrefix(s.bean, "org.apache.cassandra."), buckets: s.kind == "buckets"}
		for _, m := range label.FindAllStringSubmatch(s.bean, -1) {
			one.system = 0 // the first, which may be a keyspace
			one.labels = append(one.labels, m[1])
			one.peer = append(one.peer, m[1] == "peer")
		}
		for _, system := range []bool{false, true} {
			if system && one.system < 0 {
				break
			}
			one.is = system
			at := -1
			b := newBean(label.ReplaceAllStringFunc(s.bean, func(string) string {
				at++
				return token(at, system && at == one.system)
			}))
			for _, f := range s.statistics {
				one.statistic = f
				c.addMapping(all, n, s.series, one, &b, attribute{name: attributes[f]})
			}
			if s.statistics == nil {
				one.statistic = statValue
				c.addMapping(all, n, s.series, one, &b, s.attribute)
			}
		}
	}
	return all
}

func (c *beanTable) addMapping(all map[string][]mapping, n namer, series string, one mapping,
	b *bean,
	a attribute) {
	add := func() {
		if !slices.ContainsFunc(all[series], func(of mapping) bool { return of.same(&one) }) {
			all[series] = append(all[series], one)
		}
	}
	if one.named = n.name(b, a); one.named != nil {
		add()
		return
	}
	r, ok := n.(*rules)
	for i := range b.properties {
		t := newText(b.properties[i].value)
		if !ok || len(t.parts) != 2 || t.parts[0].plain != "" || t.parts[1].plain != "" {
			continue
		}
		for _, value := range r.values[b.properties[i].key] { // rules of one entity
			alone := bean{b.domain, slices.Clone(b.properties)}
			alone.properties[i].value = value
			if one.named = r.name(&alone, a); one.named != nil &&
				one.is == strings.HasPrefix(value, "system") {
				one.named.only = map[int]string{t.parts[0].label: value}
				add()
			}
		}
	}
}

// same reports whether another makes the same series: a metric has some beans of two names.
func (s *mapping) same(of *mapping) bool {
	return s.entity == of.entity && s.is == of.is && s.statistic == of.statistic &&
		fmt.Sprint(*s.named) == fmt.Sprint(*of.named)
}
