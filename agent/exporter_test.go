package agent_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// exporterRules are the configurations that CassandraTest compares on 5.0, and how many series each
// has on a small node at least.
var exporterRules = []struct {
	file   string
	series int
}{
	{"../dictionary/profile/jmx_exporter.yaml", 10_000},
	{"src/test/resources/rules/every_key.yaml", 700},
	{"../dictionary/profile/grafana_mixin.yaml", 10_000},
}

// TestExporterOn41 holds the agent's profiles in a Cassandra 4.1 against the real JMX exporter: the
// same series, and the same values where the real one says the same before and after ours. The
// exporter runs in a JVM of its own and reads by remote JMX, since that node's Java lacks a module
// that it needs as an agent.
func TestExporterOn41(t *testing.T) {
	t.Parallel()
	listens := fmt.Sprintf("127.0.0.1:%d", engines.FreePorts(t, 1)[0])
	config := "listen: " + listens + "\nprofiles:\n  - ringwatch\n"
	var files []string
	for i, rules := range exporterRules {
		text, err := os.ReadFile(rules.file)
		if err != nil {
			t.Fatal(err)
		}
		// what the exporter says of its own JVM is that of another one
		file := filepath.Join(t.TempDir(), fmt.Sprintf("%d-%s", i, filepath.Base(rules.file)))
		text = append([]byte("excludeJvmMetrics: true\n"), text...)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		config += fmt.Sprintf("  - {jmx_exporter: %q}\n", file)
	}
	n := mustNodeWith(t, engines.Cassandra41, config)
	n.exec(t, "CREATE KEYSPACE watched"+replication)
	n.fill(t, "watched.t", 50)
	n.exec(t, "CREATE INDEX by_v ON watched.t (v)")
	n.flush(t, "watched")
	n.fill(t, "watched.t", 20)
	real := mustRealExporter(t)
	for i, file := range files {
		profile := "jmx_exporter"
		if i > 0 {
			profile = fmt.Sprintf("jmx_exporter_%d", i+1)
		}
		theirs := filepath.Join(t.TempDir(), "real.yaml")
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(theirs, append([]byte("jmxUrl: "+n.JMXURL()+"\n"), text...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(exporterRules[i].file), func(t *testing.T) {
			ours := "http://" + listens + "/metrics?profile=" + profile
			n.sameAsReal(t, real, theirs, ours, exporterRules[i].series)
		})
	}
	const costs, metrics = "ringwatch_agent_bean_cpu_seconds_total|",
		"org.apache.cassandra.metrics:"
	beans := 0
	for key := range n.next(t).series {
		if bean, ok := strings.CutPrefix(key, costs); ok {
			beans++
			if strings.HasPrefix(bean, metrics) {
				t.Errorf("%s is read through the MBean server", bean)
			}
		}
	}
	if t.Logf("%d beans are read through the MBean server", beans); beans == 0 {
		t.Error("no bean has a cost")
	}
}

// sameAsReal looks until nothing is left of what has differed in every round.
func (n *node) sameAsReal(t *testing.T, real *realExporter, theirs, ours string, least int) {
	var left map[string]string
	for deadline, rounds := time.Now().Add(2*patience), 1; ; rounds++ {
		before := real.samples(t, theirs)
		n.next(t)
		n.next(t) // a pass, and what it asked for in the next
		seen := mustSamples(t, ours)
		after := real.samples(t, theirs)
		now := exporterDifferences(before, seen, after)
		if left != nil {
			maps.DeleteFunc(now, func(series, _ string) bool { return left[series] == "" })
		}
		left = now
		if len(left) == 0 {
			t.Logf("the %d series of the real exporter, at round %d", len(after), rounds)
			if len(after) < least {
				t.Errorf("they are %d, not %d at least", len(after), least)
			}
			return
		}
		if time.Now().After(deadline) {
			for i, series := range slices.Sorted(maps.Keys(left)) {
				if i == 40 {
					break
				}
				t.Errorf("%s: %s", series, left[series])
			}
			t.Fatalf("%d of %d series differ in each of %d rounds", len(left), len(after), rounds)
		}
	}
}

// meantToMove are rates that fall all the time, figures of the JVM that are others at every look,
// and counts of threads, to which the reader's own connection adds some: they need only be there.
var meantToMove = regexp.MustCompile(
	`__name__="([^"]*minutehitrate|(jvm|process|jmx)_[^"]*|java_lang_threading_[^"]*)"`)

// exporterDifferences returns what differs, by series.
func exporterDifferences(before, ours, after map[string]float64) map[string]string {
	found := map[string]string{}
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
	for series, value := range after {
		our, there := ours[series]
		was, stood := before[series]
		moves := !stood || !same(was, value) || meantToMove.MatchString(series)
		if !there {
			found[series] = "only the real one has it"
		} else if !moves && !same(our, value) {
			found[series] = fmt.Sprintf("%g, ours %g", value, our)
		}
	}
	for series := range ours {
		if _, there := after[series]; !there {
			found[series] = "only ours"
		}
	}
	return found
}

// realExporter is the JMX exporter 1.0.1 in a JVM of its own.
type realExporter struct {
	in  io.Writer
	out *bufio.Reader
}

func mustRealExporter(t *testing.T) *realExporter {
	t.Helper()
	pom, err := os.ReadFile("../bench/node/jmx.pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	lock, err := os.ReadFile("../bench/node/jmx.lock")
	if err != nil {
		t.Fatal(err)
	}
	jar, err := engines.FetchJars(t.Context(), "jmx-exporter", "1.0.1", pom, string(lock), nil)
	if err != nil {
		t.Fatal(err)
	}
	classPath := "target/test-classes" + string(os.PathListSeparator) + jar
	in, out := mustJava(t, "-Xmx256m", classPath, "dev.ringwatch.agent.ExporterRead")
	return &realExporter{in, out}
}

// samples returns what it makes of the JVM that a configuration names.
func (e *realExporter) samples(t *testing.T, file string) map[string]float64 {
	t.Helper()
	if _, err := fmt.Fprintln(e.in, file); err != nil {
		t.Fatal(err)
	}
	var page []byte
	for {
		line, err := e.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the exporter: %v", err)
		}
		if string(line) == "# END\n" {
			return mustParse(t, file, page)
		}
		page = append(page, line...)
	}
}

// mustSamples returns the values of a page by series.
func mustSamples(t *testing.T, url string) map[string]float64 {
	t.Helper()
	client := http.Client{Timeout: patience}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s: %.200s %v", url, resp.Status, page, err)
	}
	return mustParse(t, url, page)
}

func mustParse(t *testing.T, from string, page []byte) map[string]float64 {
	t.Helper()
	samples := map[string]float64{}
	for p := textparse.NewPromParser(page, labels.NewSymbolTable(), false); ; {
		entry, err := p.Next()
		if err == io.EOF {
			return samples
		}
		if err != nil {
			t.Fatalf("%s: %v", from, err)
		}
		if entry == textparse.EntrySeries {
			var series labels.Labels
			_, _, value := p.Series()
			p.Labels(&series)
			samples[series.String()] = value
		}
	}
}
