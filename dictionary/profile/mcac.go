package profile

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// mcac is DataStax's metric collector: names of Cassandra's registry, of what frames have as it is.
type mcac struct {
	named     map[string]mcacNamed // by entity's type
	types     map[string]string    // of the registry, by entity's type, or type/name
	old       map[string]string    // a metric's name before 4.0
	others    map[string][]mcacOther
	without   []string
	bounds    []int64
	cassandra map[string]cassandraMetric
	// Cassandra's names in snake case: a node has 100,000 series of 400
	cleaned map[string]string
	order   map[string][]string // an entity's labels, by its type
}

type mcacNamed struct {
	prefix string
	labels [][2]string // name and form of its value
}

type mcacOther struct {
	name, kind string
	powers     int
	labels     [][2]string // name and form; a form that begins with = is the value
}

// labelling calls label with each of a series' own labels.
type labelling func(label func(name, value string))

// mcacRegistry begins the names of Cassandra's metrics.
const mcacRegistry = "org.apache.cassandra.metrics."

func ofMcac() (renderer, error) {
	c, err := loadBeans()
	if err != nil {
		return nil, err
	}
	file, err := files.ReadFile("mcac.txt")
	if err != nil {
		return nil, err
	}
	n := &mcac{named: map[string]mcacNamed{}, types: map[string]string{}, old: map[string]string{},
		others: map[string][]mcacOther{}, cassandra: c.cassandra, order: c.labels}
	for line := range strings.Lines(string(file)) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if !n.line(f) {
			return nil, fmt.Errorf("profile: mcac.txt: %q", line)
		}
	}
	n.cleaned = map[string]string{}
	for _, by := range c.cassandra {
		for _, name := range []string{by.name, n.old[by.name], totalLatency(by.name)} {
			n.cleaned[name] = mcacClean(name)
		}
	}
	return n, nil
}

// totalLatency is what Cassandra calls the sum of a latency.
func totalLatency(name string) string { return strings.ReplaceAll(name, "Latency", "TotalLatency") }

// clean is mcacClean of one of Cassandra's names.
func (n *mcac) clean(name string) string {
	if cleaned, there := n.cleaned[name]; there {
		return cleaned
	}
	return mcacClean(name)
}

// line takes in one line of the file.
func (n *mcac) line(f []string) bool {
	switch {
	case f[0] == "named" && len(f) >= 3:
		n.named[f[1]] = mcacNamed{f[2], mcacLabels(f[3:])}
	case f[0] == "type" && len(f) == 3:
		n.types[f[1]] = f[2]
	case f[0] == "old" && len(f) == 3:
		n.old[f[1]] = f[2]
	case (f[0] == "other" || f[0] == "frame") && len(f) >= 5:
		powers, err := strconv.Atoi(f[4])
		if err != nil || plainKinds[f[1]] == "" {
			return false
		}
		one := mcacOther{f[2], plainKinds[f[1]], powers, mcacLabels(f[5:])}
		n.others[f[3]] = append(n.others[f[3]], one)
	case f[0] == "without":
		n.without = append(n.without, f[1:]...)
	case f[0] == "bounds":
		for _, s := range f[1:] {
			bound, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return false
			}
			n.bounds = append(n.bounds, bound)
		}
	default:
		return false
	}
	return true
}

func mcacLabels(fields []string) (list [][2]string) {
	for _, f := range fields {
		if name, value, ok := strings.Cut(f, "="); ok {
			list = append(list, [2]string{name, "=" + value})
			continue
		}
		name, form, _ := strings.Cut(f, "/")
		list = append(list, [2]string{name, form})
	}
	return list
}

// needsBefore implements renderer: everything is as it was counted.
func (n *mcac) needsBefore(string) bool { return false }

// render implements renderer.
func (n *mcac) render(o *output, s *state) error {
	o.more = [][2]string{{"cluster", s.node.Cluster}, {"dc", s.node.Datacenter},
		{"rack", s.node.Rack}, {"instance", hostOf(s.node.Fact("address"))}}
	var memory mcacMemory
	for i := range s.now {
		of := &s.now[i]
		key := of.Metric.Type + "/" + of.Metric.Name
		if by, there := n.cassandra[key]; there && i < s.given { // what is derived MCAC has not
			n.metric(o, of, by)
		}
		for j := range n.others[key] {
			n.other(o, of, &n.others[key][j])
		}
		memory.take(of)
		if of.Metric.Name == "os_filesystem_size_bytes" {
			filesystem(o, s, of)
		}
	}
	memory.show(o)
	if len(s.now) > 0 { // dashboards find their nodes by it
		o.add(&s.now[0], "collectd_collectd_queue_length", "gauge", 0,
			func(label func(name, value string)) { label("collectd", "write_queue") })
	}
	return o.err
}

// metric adds one of Cassandra's metrics.
func (n *mcac) metric(o *output, of *window.Series, by cassandraMetric) {
	if of.Metric.Kind == frame.String || of.Metric.Kind == frame.GaugeHistogram {
		return
	}
	named, known := n.named[of.Metric.Type]
	if !known {
		n.raw(o, of, by)
		return
	}
	names := []string{by.name}
	if old := n.old[by.name]; old != "" {
		names = append(names, old)
	}
	end := ""
	if of.Metric.Type == "client_request_by_consistency" {
		end = "_cl"
	}
	labels := func(label func(name, value string)) {
		for i, l := range named.labels {
			label(l[0], mcacValue(l[1], of.Labels.Get(n.order[of.Metric.Type][i])))
		}
		if of.Metric.Type == "thread_pool" { // two pools may have one name there
			label("mcac", n.registryName(of, by.name))
		}
	}
	for _, as := range names {
		name := named.prefix + n.clean(as) + end
		if of.Metric.Kind != frame.Histogram {
			number(o, of, by, name, labels)
			continue
		}
		h := last(of.Histograms)[0]
		o.add(of, name+"_total", "counter", float64(h.Count()), labels)
		if by.times() {
			n.buckets(o, of, name+"_bucket", labels)
		}
		if of.Metric.HasSum {
			sum := shifted(float64(h.Sum), of.Metric.Exponent+6)
			total := named.prefix + n.clean(totalLatency(as)) + end + "_total"
			o.add(of, name+"_sum", "untyped", sum, labels)
			o.add(of, total, "counter", sum, labels)
		}
	}
}

// raw adds what the relabelling has no rule for.
func (n *mcac) raw(o *output, of *window.Series, by cassandraMetric) {
	labels := func(label func(name, value string)) { label("mcac", n.registryName(of, by.name)) }
	if of.Metric.Kind != frame.Histogram {
		name := "collectd_mcac_gauge"
		if by.counts() {
			name = "collectd_mcac_counter"
		}
		number(o, of, by, name, labels)
		return
	}
	h := last(of.Histograms)[0]
	if !by.times() {
		o.add(of, "collectd_mcac_histogram_count_total", "counter", float64(h.Count()), labels)
		return
	}
	o.add(of, "collectd_mcac_micros_count_total", "counter", float64(h.Count()), labels)
	if of.Metric.HasSum {
		sum := shifted(float64(h.Sum), of.Metric.Exponent+6)
		o.add(of, "collectd_mcac_micros_sum", "untyped", sum, labels)
	}
}

// number adds a number in Cassandra's own unit.
func number(o *output, of *window.Series, by cassandraMetric, name string, labels labelling) {
	kind := "gauge"
	if by.counts() {
		name, kind = name+"_total", "counter"
	}
	if of.Metric.Kind != frame.GaugeDouble {
		o.add(of, name, kind, float64(last(of.Ints)[0]), labels)
		return
	}
	value := last(of.Doubles)[0]
	if by.name == "PercentRepaired" {
		value *= 100
	}
	o.add(of, name, kind, value, labels)
}

// buckets adds what has been counted up to each of MCAC's bounds. A histogram that never counted
// has none.
func (n *mcac) buckets(o *output, of *window.Series, name string, labels labelling) {
	h := last(of.Histograms)[0]
	if len(h.Filled) == 0 {
		return
	}
	unit := math.Pow(10, float64(of.Metric.Bounds.Exponent+6))
	total, next := int64(0), 0
	for _, bound := range n.bounds {
		for ; next < len(h.Filled) && int(h.Filled[next]) < len(of.Metric.Bounds.Upper) &&
			float64(of.Metric.Bounds.Upper[h.Filled[next]])*unit < float64(bound)+0.5; next++ {
			total += h.Counts[next]
		}
		bucket(o, of, name, strconv.FormatInt(bound, 10), total, labels)
	}
	bucket(o, of, name, "+Inf", h.Count(), labels)
}

func bucket(o *output, of *window.Series, name, le string, total int64, labels labelling) {
	o.add(of, name, "untyped", float64(total), func(label func(name, value string)) {
		labels(label)
		label("le", le)
	})
}

// other adds a number of the JVM or the machine.
func (n *mcac) other(o *output, of *window.Series, as *mcacOther) {
	order := n.order[of.Metric.Type]
	leftOut := func(pattern string) bool {
		ok, err := path.Match(pattern, of.Labels.Get("device"))
		return err == nil && ok
	}
	if of.Metric.Type == "network" && slices.ContainsFunc(n.without, leftOut) || !isNumber(of) {
		return
	}
	value := 0.0
	if of.Metric.Kind == frame.GaugeDouble {
		value = last(of.Doubles)[0]
	} else {
		value = shifted(float64(last(of.Ints)[0]), of.Metric.Exponent+as.powers)
	}
	o.add(of, as.name, as.kind, value, func(label func(name, value string)) {
		for i, l := range as.labels {
			if constant, ok := strings.CutPrefix(l[1], "="); ok {
				label(l[0], constant)
				continue
			}
			label(l[0], mcacValue(l[1], of.Labels.Get(order[i])))
		}
	})
}

// mcacMemory adds up the heap and what is beside it, and what there is of the machine's memory:
// dashboards divide by the sum over all kinds, so the kinds make it up together.
type mcacMemory struct {
	jvm, os         *window.Series
	used, committed float64
	memory, swap    float64 // that are used
}

func (m *mcacMemory) take(of *window.Series) {
	switch of.Metric.Name {
	case "jvm_heap_used_bytes", "jvm_non_heap_used_bytes":
		m.jvm, m.used = of, m.used+scaled(of)
	case "jvm_heap_committed_bytes", "jvm_non_heap_committed_bytes":
		m.committed += scaled(of)
	case "os_memory_total_bytes":
		m.os, m.memory = of, m.memory+scaled(of)
	case "os_memory_free_bytes", "os_memory_buffers_bytes", "os_memory_cached_bytes":
		m.memory -= scaled(of)
	case "os_memory_swap_total_bytes":
		m.swap += scaled(of)
	case "os_memory_swap_free_bytes":
		m.swap -= scaled(of)
	}
}

func (m *mcacMemory) show(o *output) {
	add := func(of *window.Series, name string, value float64, key, kind string) {
		o.add(of, name, "gauge", value, func(label func(name, value string)) { label(key, kind) })
	}
	if m.jvm != nil {
		add(m.jvm, "mcac_jvm_memory_used", m.used, "memory_type", "total")
		add(m.jvm, "mcac_jvm_memory_committed", m.committed, "memory_type", "total")
	}
	if m.os != nil {
		add(m.os, "collectd_memory", m.memory, "memory", "used")
		add(m.os, "collectd_swap", m.swap, "swap", "used")
	}
}

// filesystem adds what collectd's plugin df says of a filesystem.
func filesystem(o *output, s *state, size *window.Series) {
	mount := size.Labels.Get("mount")
	value := func(name string) (float64, bool) {
		for i := range s.now {
			of := &s.now[i]
			if of.Metric.Name == name && of.Labels.Get("mount") == mount {
				return scaled(of), true
			}
		}
		return 0, false
	}
	free, ok := value("os_filesystem_free_bytes")
	available, there := value("os_filesystem_available_bytes")
	if !ok || !there {
		return
	}
	df := strings.ReplaceAll(strings.TrimPrefix(mount, "/"), "/", "-")
	if df == "" {
		df = "root"
	}
	for _, of := range []struct {
		kind  string
		bytes float64
	}{{"free", available}, {"reserved", free - available}, {"used", scaled(size) - free}} {
		labels := func(label func(name, value string)) {
			label("df", df)
			label("type", of.kind)
		}
		o.add(size, "collectd_df_df_complex", "gauge", of.bytes, labels)
	}
}

// registryName returns the metric's name in Cassandra's registry, as MCAC writes it.
func (n *mcac) registryName(of *window.Series, name string) string {
	kind := of.Metric.Type
	if is, there := n.types[kind+"/"+name]; there {
		kind = is
	} else if is, there := n.types[kind]; there {
		kind = is
	}
	full := mcacRegistry + kind + "." + n.clean(name)
	var values []string
	for _, l := range n.order[of.Metric.Type] {
		values = append(values, of.Labels.Get(l))
	}
	if values == nil {
		return full
	}
	return full + "." + mcacClean(strings.Join(values, "."))
}

var notWord = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// mcacValue returns an entity's value as MCAC writes it.
func mcacValue(form, value string) string {
	switch form {
	case "CLEAN":
		return mcacClean(value)
	case "FIRST":
		first, _, _ := strings.Cut(mcacClean(value), ".")
		return first
	case "HOST":
		return hostOf(value)
	case "GC":
		return strings.ToLower(notWord.ReplaceAllString(value, "_"))
	}
	return value
}

var (
	mcacBlank = regexp.MustCompile(`[\s\\/]+`)
	mcacOdd   = regexp.MustCompile(`[^a-zA-Z0-9._]+`)
	mcacDots  = regexp.MustCompile(`\.+`)
	mcacLines = regexp.MustCompile(`_+`)
)

// mcacClean returns a name in MCAC's snake case: LiveSSTableCount is live_ss_table_count. A capital
// begins a word unless it follows one and no small letter comes.
func mcacClean(name string) string {
	plain := mcacOdd.ReplaceAllString(mcacBlank.ReplaceAllString(name, "_"), ".")
	capital := func(i int) bool { return plain[i] >= 'A' && plain[i] <= 'Z' }
	small := func(i int) bool { return i < len(plain) && plain[i] >= 'a' && plain[i] <= 'z' }
	var b strings.Builder
	for i := range len(plain) {
		if i > 0 && capital(i) && (!capital(i-1) || small(i+1)) {
			b.WriteByte('_')
		}
		b.WriteByte(plain[i])
	}
	snake := strings.ReplaceAll(mcacDots.ReplaceAllString(b.String(), "."), "._", ".")
	return strings.ToLower(mcacLines.ReplaceAllString(snake, "_"))
}
