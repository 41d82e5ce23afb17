package rules

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// sharing has rules of one group that have much in common. a:x is read before and after it is
// recorded.
const sharing = `
groups:
- name: of
  rules:
  - record: x:p50
    expr: histogram_quantile(0.5, SUM (rate(cassandra_client_request_latency_seconds[2m]))) >= 0
  - record: x:p99
    expr: histogram_quantile(0.99, SUM (rate(cassandra_client_request_latency_seconds[2m]))) >= 0
  - record: x:count
    expr: histogram_count(SUM (rate(cassandra_client_request_latency_seconds[2m])))
  - record: x:part
    expr: |
      histogram_fraction(0, 0.001, SUM (rate(cassandra_client_request_latency_seconds[2m])))
      * histogram_count(SUM (rate(cassandra_client_request_latency_seconds[2m])))
  - record: x:load
    expr: MEAN (node_load1) / ALL (up)
  - record: x:loads
    expr: MEAN (node_load1) + max_over_time(MEAN (node_load1)[1m:30s])
  - {record: "x:before", expr: 'MEAN (a:x)'}
  - {record: "a:x", expr: 'up * 0 + time()'}
  - {record: "x:after", expr: 'MEAN (a:x)'}
  - {alert: Many, expr: 'ALL (up) > 1'}
`

// TestShared: rules that share what they evaluate record the same, to the last bit, as rules that
// cannot, because they write it in another order.
func TestShared(t *testing.T) {
	// the instants of a group depend on its file's name
	path := filepath.Join(t.TempDir(), "shared.yaml")
	recorded := func(text string) (map[string]map[int64]float64, int) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w := newTownOf(t, 3, path)
		random := rand.New(rand.NewPCG(1, 2))
		w.pass(6*time.Minute, func() {
			for _, c := range w.nodes {
				c.load = random.Float64()
				for _, e := range c.Entities[2] {
					for range 20 {
						e.Cells[0].Counts[random.IntN(len(e.Cells[0].Counts))] += random.Int64N(100)
					}
				}
			}
		})
		c := w.cluster("", "north")
		for _, r := range c.groups[0].Rules() {
			if err := r.LastError(); err != nil {
				t.Errorf("%s: %v", r.Name(), err)
			}
		}
		return w.line.recorded(), len(c.head.scope.shared)
	}
	of := func(sum, mean, all string) string {
		return strings.NewReplacer("SUM", sum, "MEAN", mean, "ALL", all).Replace(sharing)
	}
	got, shared := recorded(of("sum by (cluster, request)", "avg by (cluster)",
		"count by (cluster)"))
	if shared != 3 {
		t.Errorf("%d aggregations are shared, want 3", shared)
	}
	// Each place has an order or repetitions of its own.
	n := 0
	text := of("sum by (cluster, request§)", "avg by (cluster§)", "count by (cluster§)")
	for strings.Contains(text, "§") {
		n++
		text = strings.Replace(text, "§", strings.Repeat(", none", n), 1)
	}
	want, shared := recorded(text)
	if shared != 0 {
		t.Errorf("%d aggregations are shared, want none", shared)
	}
	if len(got) < 12 || !slices.Equal(slices.Sorted(maps.Keys(got)),
		slices.Sorted(maps.Keys(want))) {
		t.Fatalf("%d series are recorded, want %d", len(got), len(want))
	}
	for key, values := range want {
		if len(values) < 10 || !maps.Equal(values, got[key]) {
			t.Errorf("%s has %d values, of which not all are those of %d", key, len(got[key]),
				len(values))
		}
	}
	lag := func(list map[string]map[int64]float64, name string) map[float64]bool {
		late := map[float64]bool{}
		for key, values := range list {
			if strings.HasPrefix(key, `{__name__="`+name+`"`) {
				for at, v := range values {
					late[float64(at)/1000-v] = true
				}
			}
		}
		return late
	}
	if before, after := lag(got, "x:before"), lag(got, "x:after"); !maps.Equal(before,
		map[float64]bool{15: true}) || !maps.Equal(after, map[float64]bool{0: true}) {
		t.Errorf("a:x is read %v s late before it is recorded, %v s after", before, after)
	}
}

// TestVolumes: relabelling for rules tells what a disk holds, and the shipped rules record it by
// that.
func TestVolumes(t *testing.T) {
	text, err := Shipped.ReadFile("cassandra.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// A table takes the place of a disk: it has a size.
	w := newTown(t, 2, strings.NewReplacer(
		"os_filesystem_size_bytes", "cassandra_table_live_disk_space_bytes",
		"os_disk_reads_total", "cassandra_table_memtable_switches_total").Replace(string(text)))
	w.set = func(_ *Config, d *Deps) {
		d.Relabel = func(l labels.Labels) (labels.Labels, bool) {
			b := labels.NewBuilder(l)
			if l.Get("table") == "table_0" {
				b.Set("volume", "data")
			}
			return b.Labels(), true
		}
	}
	for i, c := range w.nodes {
		c.Entities[1][0].Cells[0].Int = int64(i + 1)
	}
	w.pass(7*time.Minute, func() {
		for _, c := range w.nodes {
			c.Entities[1][0].Cells[1].Int += 10 // every 5 s
		}
	})
	got := w.line.recorded()
	for i, c := range w.nodes {
		for name, want := range map[string]float64{
			"volume:cassandra_table_live_disk_space_bytes:sum": float64(i + 1),
			"volume:os_disk_reads:rate5m":                      2,
		} {
			key := labels.FromStrings("__name__", name, "cluster", "north", "datacenter", "dc1",
				"node", c.ID.String(), "volume", "data").String()
			last := int64(0)
			for at := range got[key] {
				last = max(last, at)
			}
			if v := got[key][last]; last == 0 || v < want*0.99 || v > want*1.01 {
				t.Errorf("%s is %v, want %v", key, v, want)
			}
		}
	}
	for key := range got {
		if strings.Contains(key, "volume:") && !strings.Contains(key, `volume="data"`) {
			t.Errorf("%s has no volume", key)
		}
	}
}
