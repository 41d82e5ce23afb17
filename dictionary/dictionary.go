// Package dictionary describes each metric: metrics.txt has those of agents and of Ringwatch's own
// rules, kafka.txt and redis.txt those that the role watch reads, processes.txt those of
// Ringwatch's processes. The agent's jar has the first file, too, so /metrics, the API and
// agent/METRICS.md say the same. Start with Find and Help.
//
// What it promises: every metric that an agent or a process gives is described; tests compare the
// files with both. Frames carry no descriptions: they would be the same for every node and every
// window.
//
// It imports none of our packages; dictionary/profile may import frame, window and memory.
package dictionary

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/prometheus/promql"
)

var (
	//go:embed metrics.txt
	metricsText string
	//go:embed kafka.txt
	kafkaText string
	//go:embed redis.txt
	redisText string
	//go:embed processes.txt
	processesText string
)

// Type is an entity type: what has metrics of its own.
type Type struct {
	Name   string
	Labels []string
	// Cassandra is the type in the names of Cassandra's beans, empty for what is not Cassandra's.
	Cassandra string
	Text      string // what such an entity is; empty where its name says it
	// Like is a type whose metrics it has, too, under its own prefix, with Text after what is said
	// of them.
	Like string
}

// Metric is what is known of one metric.
type Metric struct {
	Name string
	Type string // an entity type's name
	// as frame.Kind says it: counter, gauge, gauge_double, histogram, gauge_histogram, string
	Kind string
	Unit string // base unit; empty: a plain number
	// Versions of Cassandra: "4.1" is 4.1 and later, "4.0-4.1" those two; empty: it is not
	// Cassandra's.
	Versions string
	// Cassandra is its bean, without labels: type=Table,name=ReadLatency.
	Cassandra string
	Text      string // what it counts; where that is known, what a high value means
}

// Help returns the text that tools show.
func (m *Metric) Help() string {
	if m.Cassandra == "" {
		return m.Text
	}
	return m.Text + " Cassandra's " + m.Cassandra + rangeText(m.Versions) + "."
}

func rangeText(versions string) string {
	from, until, ends := strings.Cut(versions, "-")
	switch {
	case ends:
		return " (" + from + " to " + until + ")"
	case from == "4.0" || from == "": // all that the agent runs with
		return ""
	}
	return " (" + from + " and later)"
}

type entries struct {
	types   []Type // of metrics.txt
	metrics []Metric
	watched map[string]*entries // the types and metrics of the other files, by kind of software
	byName  map[string]*Metric
	likes   map[string]*Type // types that are like another, by the prefix of their metrics
	own     map[string]string
}

// read parses the files: they are part of the binary, and a test reads them.
var read = sync.OnceValue(func() *entries {
	b := &entries{byName: map[string]*Metric{}, likes: map[string]*Type{}, own: map[string]string{},
		watched: map[string]*entries{"kafka": {}, "redis": {}}}
	for _, err := range []error{b.parse("metrics.txt", metricsText),
		b.watched["kafka"].parse("kafka.txt", kafkaText),
		b.watched["redis"].parse("redis.txt", redisText)} {
		if err != nil {
			panic(err)
		}
	}
	for _, of := range append(slices.Collect(maps.Values(b.watched)), b) {
		for i := range of.metrics {
			b.byName[of.metrics[i].Name] = &of.metrics[i]
		}
	}
	for i := range b.types {
		if t := &b.types[i]; t.Like != "" {
			b.likes["cassandra_"+t.Name+"_"] = t
		}
	}
	for line := range strings.Lines(processesText) {
		if name, help, found := strings.Cut(strings.TrimSuffix(line, "\n"), " "); found &&
			name != "#" {
			b.own[name] = help
		}
	}
	return b
})

// parse adds the types and metrics of a file.
func (b *entries) parse(file, of string) error {
	var text *string
	for number, line := range strings.Split(of, "\n") {
		fail := func(why string) error {
			return fmt.Errorf("dictionary: %s:%d: %s: %q", file, number+1, why, line)
		}
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || line[0] == '#':
		case line[0] == ' ':
			if text == nil {
				return fail("a text of nothing")
			}
			*text = strings.TrimSpace(*text + " " + strings.TrimSpace(line))
		case fields[0] == "type":
			if len(fields) < 3 {
				return fail("a type has a name, Cassandra's type or -, and labels")
			}
			b.types = append(b.types, Type{Name: fields[1], Cassandra: known(fields[2]),
				Labels: fields[3:]})
			text = &b.types[len(b.types)-1].Text
		case len(b.types) == 0:
			return fail("a metric of no type")
		case fields[0] == "like" && len(fields) == 2:
			b.types[len(b.types)-1].Like = fields[1]
		case len(fields) < 5:
			return fail("a metric has a name, a kind, a unit, versions and Cassandra's name")
		default:
			t := &b.types[len(b.types)-1]
			m := Metric{Name: fields[0], Type: t.Name, Kind: fields[1], Unit: known(fields[2]),
				Versions: known(fields[3]), Cassandra: known(strings.Join(fields[4:], " "))}
			if m.Cassandra != "" && t.Cassandra != "" && !strings.Contains(m.Cassandra, "=") {
				m.Cassandra = "type=" + t.Cassandra + ",name=" + m.Cassandra
			}
			b.metrics = append(b.metrics, m)
			text = &b.metrics[len(b.metrics)-1].Text
		}
	}
	return nil
}

func known(field string) string {
	if field == "-" {
		return ""
	}
	return field
}

// Types returns the entity types of metrics.txt, in the file's order.
func Types() []Type { return slices.Clone(read().types) }

// All returns every metric of metrics.txt, in the file's order.
func All() []Metric { return slices.Clone(read().metrics) }

// Watched returns the entity types and metrics that the role watch reads of a kind of software,
// kafka or redis, in its file's order.
func Watched(kind string) ([]Type, []Metric) {
	of := read().watched[kind]
	if of == nil {
		return nil, nil
	}
	return slices.Clone(of.types), slices.Clone(of.metrics)
}

// Find returns what is known of a metric that an agent, the role watch or one of Ringwatch's rules
// gives.
func Find(name string) (Metric, bool) {
	b := read()
	if m := b.byName[name]; m != nil {
		return *m, true
	}
	for prefix, t := range b.likes {
		rest, found := strings.CutPrefix(name, prefix)
		if of := b.byName["cassandra_"+t.Like+"_"+rest]; found && of != nil {
			m := *of
			m.Name, m.Type, m.Text = name, t.Name, m.Text+" "+t.Text
			m.Cassandra = strings.Replace(m.Cassandra, "type="+b.cassandra(t.Like)+",",
				"type="+t.Cassandra+",", 1)
			return m, true
		}
	}
	return Metric{}, false
}

func (b *entries) cassandra(typ string) string {
	i := slices.IndexFunc(b.types, func(t Type) bool { return t.Name == typ })
	return b.types[i].Cassandra
}

// What is said of names that nobody could know beforehand.
const (
	notOurs = "Not described: neither Ringwatch nor an agent of this version gives it."
	ofOther = "Not described: Cassandra counts it, and Ringwatch does not know it."
	ofKafka = "Kafka's own: its documentation describes it under Monitoring, and Ringwatch's " +
		"page KAFKA.md says how it is named here."
	recorded = "Not described: recorded by a rule of the account."
)

// Help returns the text that tools show of a metric; byRule says that recording rules, or
// Ringwatch's own processes, gave it. Of a name that is not in the dictionary it says so.
func Help(name string, byRule bool) string {
	if m, found := Find(name); found {
		return m.Help()
	}
	if help := ofProcess(name); help != "" {
		return help
	}
	switch {
	case strings.HasPrefix(name, "ringwatch_"):
		return notOurs
	case byRule || strings.Contains(name, ":"):
		return recorded
	case strings.HasPrefix(name, "cassandra_"):
		return ofOther
	case strings.HasPrefix(name, "kafka_"):
		return ofKafka
	}
	return notOurs
}

// ofProcess returns what a process of Ringwatch says of a metric of its own: on /metrics, and as
// series of the account that the processes send theirs to.
func ofProcess(name string) string {
	for _, of := range []string{name, strings.TrimSuffix(name, "_sum"),
		strings.TrimSuffix(name, "_count")} {
		if help := read().own[of]; help != "" {
			return help
		}
		if help := library()[of]; help != "" {
			return help
		}
	}
	return ""
}

// EnginePrefix is what package query puts before the metrics of Prometheus's engine.
const EnginePrefix = "ringwatch_query_"

// library returns what client_golang says of the Go runtime's metrics, of a process's and of what
// it was built from, and what Prometheus says of its engine's.
var library = sync.OnceValue(func() map[string]string {
	helps := map[string]string{}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		version.NewCollector("ringwatch"))
	promql.NewEngine(promql.EngineOpts{Reg: prometheus.WrapRegistererWithPrefix(EnginePrefix, reg)})
	families, _ := reg.Gather() // of an error, the families that could be gathered are left
	for _, f := range families {
		helps[f.GetName()] = f.GetHelp()
	}
	return helps
})
