package dictionary_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/frame"
)

var update = flag.Bool("update", false,
	"make processes.txt and the lists of agent/METRICS.md again: go test ./dictionary -update")

// kinds are those of frames, by their names.
var kinds = map[string]frame.Kind{"counter": frame.Counter, "gauge": frame.Gauge,
	"gauge_double": frame.GaugeDouble, "histogram": frame.Histogram,
	"gauge_histogram": frame.GaugeHistogram, "string": frame.String}

var (
	sentence = regexp.MustCompile(`^[A-Z0-9][^"\\|\n]+[.]$`)
	versions = regexp.MustCompile(`^(4\.0|4\.1|5\.0|6\.0)(-(4\.1|5\.0))?$`)
	snake    = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// TestEntries holds each entry to the form that help texts need.
func TestEntries(t *testing.T) {
	allTypes, all := dictionary.Types(), dictionary.All()
	for _, kind := range []string{"kafka", "redis"} {
		types, metrics := dictionary.Watched(kind)
		allTypes, all = append(allTypes, types...), append(all, metrics...)
		for _, m := range metrics {
			if m.Cassandra != "" || m.Versions != "" {
				t.Errorf("%s of %s: it is none of Cassandra's", m.Name, kind)
			}
		}
	}
	types := map[string]dictionary.Type{}
	for _, typ := range allTypes {
		if _, twice := types[typ.Name]; twice {
			t.Errorf("type %s has two entries", typ.Name)
		}
		types[typ.Name] = typ
	}
	names, texts := map[string]bool{}, map[string]string{}
	for _, m := range all {
		if names[m.Name] {
			t.Errorf("%s has two entries", m.Name)
		}
		names[m.Name] = true
		if _, known := kinds[m.Kind]; !known {
			t.Errorf("%s: %q is no kind", m.Name, m.Kind)
		}
		if m.Unit != "" && m.Unit != "seconds" && m.Unit != "bytes" && m.Unit != "ratio" {
			t.Errorf("%s: %q is no unit", m.Name, m.Unit)
		}
		if !sentence.MatchString(m.Text) || len(m.Text) < 15 || len(m.Text) > 300 {
			t.Errorf("%s: its text is no sentence for a help line: %q", m.Name, m.Text)
		}
		if other := texts[m.Type+m.Text]; other != "" {
			t.Errorf("%s and %s have one text", m.Name, other)
		}
		texts[m.Type+m.Text] = m.Name
		if (m.Cassandra == "") != (m.Versions == "") ||
			m.Versions != "" && !versions.MatchString(m.Versions) {
			t.Errorf("%s: versions %q of %q", m.Name, m.Versions, m.Cassandra)
		}
		if (m.Cassandra == "") != (types[m.Type].Cassandra == "") {
			t.Errorf("%s: Cassandra calls it %q, and its type %q", m.Name, m.Cassandra,
				types[m.Type].Cassandra)
		}
		if m.Type != "recorded" && !snake.MatchString(m.Name) {
			t.Errorf("%s is no name", m.Name)
		}
		if said := dictionary.Help(m.Name, false); said != m.Help() {
			t.Errorf("%s: %q", m.Name, said)
		}
	}
	if len(names) < 600 {
		t.Errorf("only %d entries", len(names))
	}
}

// TestHelp says what each sort of name is told of.
func TestHelp(t *testing.T) {
	for _, c := range []struct {
		name   string
		byRule bool
		says   string
	}{
		{"cassandra_table_live_sstables", false, "type=Table,name=LiveSSTableCount."},
		{"cassandra_index_table_live_sstables", false,
			"secondary index. Cassandra's type=IndexTable,"},
		{"cassandra_table_max_sstable_size_bytes", false, "(5.0 and later)."},
		{"cassandra_table_dropped_mutations_total", false, "(4.0 to 4.1)."},
		{"cassandra_messaging_timeouts_total", false, "type=Connection,name=TotalTimeouts."},
		{"up", false, "1 while frames of this node come"},
		{"ringwatch_ingest_frames_accepted_total", true,
			"Requests that brought a frame, good or not."},
		{"ringwatch_api_request_seconds", true, "Time from a request's header"},
		{"ringwatch_stream_log_read_total", true, "Entries read, marks of readers included."},
		{"go_goroutines", true, "Number of goroutines"},
		{"go_gc_duration_seconds_sum", true, "garbage collection"},
		{"ringwatch_query_prometheus_engine_queries", true, "queries"},
		{"ringwatch_query_prometheus_engine_query_duration_seconds_sum", true, "timings"},
		{"ringwatch_query_prometheus_engine_query_duration_histogram_seconds", true, "PromQL"},
		{"ringwatch_query_prometheus_engine_query_samples_total", true, "samples"},
		{"process_cpu_seconds_total", true, "CPU time"},
		{"ringwatch_build_info", true, "version"},
		{"redis_memory_used_bytes", false, "Memory that the server has allocated."},
		{"cluster:my_own:sum", true, "Not described: recorded by a rule of the account."},
		{"my_own", true, "Not described: recorded by a rule of the account."},
		{"cassandra_other_new_things", false, "Not described: Cassandra counts it"},
		{"ringwatch_ingest_of_tomorrow", true, "Not described: neither"},
		{"my_own", false, "Not described: neither"},
	} {
		if help := dictionary.Help(c.name, c.byRule); !strings.Contains(help, c.says) {
			t.Errorf("%s: %q, want %q", c.name, help, c.says)
		}
	}
}

// notBeans are metrics that come with a use of their own, of types that
// dictionary/profile/beans.txt has.
var notBeans = []string{"cassandra_streaming_peer_entire_sstables_streamed_in_total",
	"cassandra_streaming_peer_partial_sstables_streamed_in_total"}

// TestBeans holds what Cassandra calls metrics to what dictionary/profile/beans.txt has found in
// its registry, both ways.
func TestBeans(t *testing.T) {
	checked := 0
	scopes, there := map[string]string{},
		map[string]bool{"cassandra_messaging_timeouts_total": true}
	for _, line := range strings.Split(mustRead(t, "../dictionary/profile/beans.txt"), "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 3 && f[0] == "bean":
			if of := regexp.MustCompile(`metrics:type=(\w+)`).FindStringSubmatch(f[2]); of != nil &&
				scopes[f[1]] == "" {
				scopes[f[1]] = of[1]
			}
		case len(f) == 5 && f[0] == "metric":
			m, found := dictionary.Find(f[2])
			if !found { // other exporters show what frames leave out
				continue
			}
			checked++
			there[m.Name] = true
			if want := "type=" + scopes[f[1]] + ",name=" + f[4]; m.Cassandra != want ||
				m.Type != f[1] {
				t.Errorf("%s of %s: %q, and beans.txt has %q of %s", m.Name, m.Type, m.Cassandra,
					want, f[1])
			}
		}
	}
	for _, m := range dictionary.All() {
		if scopes[m.Type] != "" && !there[m.Name] && !slices.Contains(notBeans, m.Name) {
			t.Errorf("%s is described, and beans.txt has found no such metric", m.Name)
		}
	}
	if checked < 380 {
		t.Errorf("only %d metrics of beans.txt are described", checked)
	}
}

// TestRecordedSeries: what the shipped rules record is described, and nothing else is.
func TestRecordedSeries(t *testing.T) {
	recorded := map[string]bool{"ALERTS": true, "ALERTS_FOR_STATE": true}
	files, err := filepath.Glob("../rules/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	for _, file := range files {
		var rules struct {
			Groups []struct {
				Rules []struct {
					Record string `yaml:"record"`
				} `yaml:"rules"`
			} `yaml:"groups"`
		}
		if err := yaml.Unmarshal([]byte(mustRead(t, file)), &rules); err != nil {
			t.Fatal(err)
		}
		for _, g := range rules.Groups {
			for _, r := range g.Rules {
				if r.Record != "" {
					recorded[r.Record] = true
				}
			}
		}
	}
	for _, m := range dictionary.All() {
		if m.Type == "recorded" && !recorded[m.Name] {
			t.Errorf("no shipped rule records %s", m.Name)
		}
		delete(recorded, m.Name)
	}
	for name := range recorded {
		t.Errorf("%s is recorded, and not described", name)
	}
}

// TestRecordings holds a real node's frames to the dictionary: names, types, kinds, units, labels.
func TestRecordings(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range []string{"../bench/recordings/busy.rwf", "../bench/recordings/idle.rwf"} {
		for _, template := range mustTemplates(t, file) {
			check(t, template, seen)
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d metrics were recorded", len(seen))
	}
}

// renamed are names that the agent had when it was recorded.
var renamed = []string{"ringwatch_agent_gauge_errors_total",
	"cassandra_table_index_summary_off_heap_memory_used_bytes",
	"cassandra_compaction_index_summary_redistribution_time_seconds"}

func check(t *testing.T, template frame.Template, seen map[string]bool) {
	for _, m := range template.Metrics {
		if seen[m.Name] || slices.Contains(renamed, m.Name) {
			continue
		}
		seen[m.Name] = true
		of, found := dictionary.Find(m.Name)
		if !found || of.Type != template.Type || kinds[of.Kind] != m.Kind || of.Unit != m.Unit {
			t.Errorf("%s of %s is a %s in %q; the dictionary has %s %s %s %q", m.Name,
				template.Type, m.Kind, m.Unit, of.Name, of.Type, of.Kind, of.Unit)
		}
	}
	i := slices.IndexFunc(dictionary.Types(),
		func(of dictionary.Type) bool { return of.Name == template.Type })
	if i < 0 || !slices.Equal(dictionary.Types()[i].Labels, template.Labels) {
		t.Errorf("type %s has the labels %q", template.Type, template.Labels)
	}
}

func mustRead(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// mustHold compares what a file has with what it should, and writes that with -update.
func mustHold(t *testing.T, file, want string) {
	t.Helper()
	if mustRead(t, file) == want {
		return
	}
	if !*update {
		t.Errorf("%s is not what the sources say: go test ./dictionary -update", file)
		return
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	listBegins = "<!-- The list is made of dictionary/metrics.txt: go test ./dictionary " +
		"-update -->\n"
	listEnds = "<!-- Here the list ends. -->\n"
)

// TestMetricsPage holds the list in agent/METRICS.md to the dictionary.
func TestMetricsPage(t *testing.T) {
	const file = "../agent/METRICS.md"
	page := mustRead(t, file)
	before, rest, found := strings.Cut(page, listBegins)
	_, after, ends := strings.Cut(rest, listEnds)
	if !found || !ends {
		t.Fatalf("%s has no place for the list", file)
	}
	mustHold(t, file, before+listBegins+list()+listEnds+after)
}

func list() string {
	var b bytes.Buffer
	for _, typ := range dictionary.Types() {
		labels := ""
		if len(typ.Labels) > 0 {
			labels = " {" + strings.Join(typ.Labels, ", ") + "}"
		}
		fmt.Fprintf(&b, "\n### `%s`%s\n", typ.Name, labels)
		if typ.Like != "" {
			b.WriteString(paragraph(fmt.Sprintf("The metrics of `%s`, under names that begin with "+
				"`cassandra_%s_`. %s", typ.Like, typ.Name, typ.Text)))
			continue
		}
		if typ.Text != "" {
			b.WriteString(paragraph(typ.Text))
		}
		if typ.Cassandra != "" {
			fmt.Fprintf(&b, "\n| metric | kind | unit | what it says | Cassandra %s | versions |\n"+
				"|---|---|---|---|---|---|\n", typ.Cassandra)
		} else {
			b.WriteString("\n| metric | kind | unit | what it says |\n|---|---|---|---|\n")
		}
		for _, m := range dictionary.All() {
			if m.Type != typ.Name {
				continue
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |", m.Name, m.Kind, m.Unit, m.Text)
			if typ.Cassandra != "" {
				name := strings.TrimPrefix(m.Cassandra, "type="+typ.Cassandra+",name=")
				fmt.Fprintf(&b, " `%s` | %s |", name, m.Versions)
			}
			b.WriteByte('\n')
		}
	}
	return b.String() + "\n"
}

// paragraph breaks a text into lines of a hundred columns, after an empty one.
func paragraph(text string) string {
	b, columns := strings.Builder{}, 100
	for _, word := range strings.Fields(text) {
		if columns += 1 + len(word); columns > 100 {
			columns = len(word)
			b.WriteString("\n" + word)
			continue
		}
		b.WriteString(" " + word)
	}
	return "\n" + strings.TrimPrefix(b.String(), "\n") + "\n"
}

// mustTemplates returns the templates of the first key frame of a recording.
func mustTemplates(t *testing.T, file string) []frame.Template {
	t.Helper()
	frames, err := bench.Recording(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := frame.Decode(frames[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Templates
}
