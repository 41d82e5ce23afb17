package scrape

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// changing is a target whose text a test changes.
func changing(t *testing.T) (address string, say func(lines ...string)) {
	var text atomic.Value
	text.Store("")
	return serve(t, plain(func(w io.Writer) { _, _ = io.WriteString(w, text.Load().(string)) })),
		func(lines ...string) { text.Store(strings.Join(lines, "\n") + "\n") }
}

// TestKinds: what frames have of each kind, and what sticks.
func TestKinds(t *testing.T) {
	address, say := changing(t)
	r := start(t, job(address))
	column := func(what, name string, holds func(reading.Column) bool) {
		t.Helper()
		r.drop()
		r.next(what, func(x taken) bool {
			table, there := find(x.Reading, name)
			return there && holds(table.Columns[0])
		})
	}
	is := func(kind frame.Kind, exponent int) func(reading.Column) bool {
		return func(c reading.Column) bool { return c.Kind == kind && c.Exponent == exponent }
	}
	with := func(lines ...string) {
		var all []string
		last := ""
		for _, line := range lines {
			name, kind := line[:strings.IndexAny(line, " {")], "gauge"
			switch {
			case strings.HasSuffix(name, "_total"):
				kind = "counter"
			case strings.HasPrefix(name, "h_seconds_"):
				name, kind = "h_seconds", "histogram"
			}
			if name != last && name != "untyped" {
				all = append(all, "# TYPE "+name+" "+kind)
			}
			last = name
			all = append(all, line)
		}
		say(all...)
	}

	with("c_total 5", "cpu_seconds_total 1.25", "sent_bytes_total 1e15", "f_total 0.5", "g 7",
		"untyped 3", `h_seconds_bucket{le="0.005"} 1`, `h_seconds_bucket{le="2.5"} 3`,
		`h_seconds_bucket{le="+Inf"} 4`, "h_seconds_sum 10.5", "h_seconds_count 4")
	column("a counter", "c_total", is(frame.Counter, 0))
	column("seconds", "cpu_seconds_total", is(frame.Counter, -9))
	column("bytes", "sent_bytes_total", is(frame.Counter, 0))
	column("halves", "f_total", is(frame.Counter, -1))
	column("a gauge", "g", is(frame.GaugeDouble, 0))
	column("without type", "untyped", is(frame.GaugeDouble, 0))
	column("a histogram", "h_seconds", func(c reading.Column) bool {
		return c.Kind == frame.Histogram && c.HasSum && c.Unit == "seconds" &&
			slices.Equal(c.Histograms[0].Counts, []int64{1, 2, 1}) &&
			slices.Equal(c.Bounds.Upper, []int64{5, 2500}) && c.Bounds.Exponent == -3 &&
			c.Histograms[0].Sum == 10_500_000_000 && c.Exponent == -9
	})
	with("c_total 5.125", "f_total 2")
	column("a counter that got finer", "c_total", func(c reading.Column) bool {
		return is(frame.Counter, -3)(c) && c.Ints[0] == 5125
	})
	column("an exponent that sticks", "f_total", is(frame.Counter, -1))
	with("c_total 6", "f_total 0.12345678901")
	column("a finer one sticks, too", "c_total", func(c reading.Column) bool {
		return is(frame.Counter, -3)(c) && c.Ints[0] == 6000
	})
	column("what no integer holds", "f_total", is(frame.GaugeDouble, 0))
	with("f_total 3", "h_seconds 1")
	column("and stays so", "f_total", is(frame.GaugeDouble, 0))
	column("no histogram any more", "h_seconds", is(frame.GaugeDouble, 0))

	// Two histograms with different bounds: one of them is left out, the same one each time.
	with(`h_seconds_bucket{a="1",le="1"} 1`, `h_seconds_bucket{a="1",le="+Inf"} 1`,
		`h_seconds_sum{a="1"} NaN`, `h_seconds_count{a="1"} 1`,
		`h_seconds_bucket{a="2",le="2"} 1`, `h_seconds_bucket{a="2",le="+Inf"} 1`,
		`h_seconds_sum{a="2"} 1`, `h_seconds_count{a="2"} 1`)
	column("without a sum", "h_seconds", func(c reading.Column) bool {
		return c.Kind == frame.Histogram && !c.HasSum && len(c.Histograms) == 1
	})
	eventually.True(t, "the other one is counted", func() bool {
		return r.Targets()[0].Left[leftBounds] == 1
	})
}

// TestRows: equal label values share memory from one reading to the next, and a label more changes
// the table.
func TestRows(t *testing.T) {
	address, say := changing(t)
	r := start(t, job(address))
	say(`a{x="1"} 1`, `a{y="2"} 2`)
	two := func() (list []reading.Table) {
		r.drop()
		r.next("two readings", func(taken) bool {
			list = list[:0]
			for _, x := range r.taken() {
				if table, there := find(x.Reading, "a"); there {
					list = append(list, table)
				}
			}
			return len(list) > 1
		})
		return list
	}
	list := two()
	if a, b := list[0], list[1]; &a.Rows[0][0] != &b.Rows[0][0] || &a.Labels[0] != &b.Labels[0] ||
		strings.Join(a.Labels, " ") != "instance job x y" || a.Rows[1][2] != "" {
		t.Errorf("%+v, then %+v", a, b)
	}
	say(`a{x="1"} 1`, `a{z="2"} 2`)
	r.next("another label", func(x taken) bool {
		table, _ := find(x.Reading, "a")
		return strings.Join(table.Labels, " ") == "instance job x y z"
	})
}

// TestPlace: where a target is and what it is come from its labels, after relabelling.
func TestPlace(t *testing.T) {
	address := says(t, "Mixed:Name 1", "mixed_name 2", "_x 3", `b{kind="redis"} 4`)
	r := start(t, `
- job_name: t
  static_configs:
  - targets: ['`+address+`']
    labels: {job: other, cluster: c1, datacenter: d1, rack: r1, kind: redis, node: n1, team: ops}
  relabel_configs:
  - {source_labels: [rack], regex: 'r(.*)', target_label: rack, replacement: 'R$1'}
  - {target_label: instance, replacement: one}`)
	x := r.next("a reading", isUp)
	want := reading.Target{Kind: reading.Redis, Cluster: "c1", Datacenter: "d1", Rack: "R1",
		Job:      "other",
		Instance: "one", Interval: 100 * time.Millisecond, Labelled: true}
	if x.target != want {
		t.Errorf("the target is %+v", x.target)
	}
	of := valuesWith(x.Reading)
	place := `{exported_node="n1",instance="one",job="other",team="ops"}`
	for _, name := range []string{"Mixed:Name", "mixed_name", "_x", "up"} {
		if _, there := of[name+place]; !there {
			t.Errorf("%s%s is not there: %v", name, place, of)
		}
	}
	types := map[string]string{}
	for _, table := range x.Tables {
		types[table.Columns[0].Name] = table.Type
	}
	if types["Mixed:Name"] != "mixed_name" || types["mixed_name"] != "mixed_name_2" ||
		types["_x"] != "m_x" {
		t.Errorf("types are %v", types)
	}
	other := start(t, job(address)).next("a reading", isUp)
	if other.target.Cluster != "other" || other.target.Kind != reading.Other {
		t.Errorf("the target is %+v", other.target)
	}
}

// TestRefused: targets that nobody can read are named.
func TestRefused(t *testing.T) {
	address := says(t, "a 1")
	r := start(t, `
- job_name: twice
  static_configs: [{targets: ['`+address+`'], labels: {__metrics_path__: /a}},
                   {targets: ['`+address+`'], labels: {__metrics_path__: /b}}]
- job_name: slow
  static_configs: [{targets: ['`+address+`'], labels: {__scrape_interval__: 2m}}]
- job_name: star
  static_configs: [{targets: ['`+address+`'], labels: {cluster: '*'}}]
- job_name: long
  static_configs: [{targets: ['`+address+`'], labels: {x: `+strings.Repeat("x", 2000)+`}}]`)
	r.next("a reading", isUp)
	said := map[string]string{}
	for _, target := range r.Targets() {
		said[target.Job] += target.Error
	}
	for job, want := range map[string]string{
		"twice": "The target is not read: another target has the same cluster, job and instance: " +
			"tell them apart by the label instance.",
		"slow": `The target is not read: its label __scrape_interval__ is "2m": use 50ms to 1m.`,
		"star": `The target is not read: its label cluster is "*": * stands for all clusters: ` +
			`use another name.`,
		"long": "The target is not read: its label x has 2000 bytes, and may have 1024.",
	} {
		if said[job] != want {
			t.Errorf("%s: %q", job, said[job])
		}
	}
}

// TestNative: native histograms of protobuf have bounds that stay, and counts that are right.
func TestNative(t *testing.T) {
	reg := prometheus.NewRegistry()
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "n_seconds", Help: "h",
		NativeHistogramBucketFactor: 1.01, NativeHistogramMaxBucketNumber: 1000}, []string{"of"})
	reg.MustRegister(h)
	var mu sync.Mutex
	seen := map[string][]float64{}
	observe := func(of string, v float64) {
		mu.Lock()
		defer mu.Unlock()
		seen[of] = append(seen[of], v)
		h.WithLabelValues(of).Observe(v)
	}
	server := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	defer server.Close()
	r := start(t, job(strings.TrimPrefix(server.URL, "http://"), "scrape_native_histograms: true"))
	// The bounds are those of schema 3, rounded; observations keep away from them.
	random := rand.New(rand.NewPCG(1, 2))
	between := func(power int, sign float64) float64 {
		return sign * math.Exp2((float64(power)+0.2+0.6*random.Float64())/8)
	}
	var before frame.Bounds
	for round, of := range []func() (string, float64){
		func() (string, float64) { return "a", between(random.IntN(40), 1) },
		func() (string, float64) { return "b", between(-60+random.IntN(30), 1) },
		func() (string, float64) { return "a", between(-20+random.IntN(60), -1) },
		func() (string, float64) { return "b", 0 },
		func() (string, float64) { return "a", between(-1000+random.IntN(2000), 1) },
	} {
		for range 300 {
			observe(of())
		}
		r.drop()
		x := r.next("all counts", func(x taken) bool {
			return values(x.Reading)[`n_seconds_count{of="a"}`] == float64(len(seen["a"])) &&
				values(x.Reading)[`n_seconds_count{of="b"}`] == float64(len(seen["b"]))
		})
		table, _ := find(x.Reading, "n_seconds")
		c := table.Columns[0]
		if c.Kind != frame.Histogram || len(c.Bounds.Upper) > 500 || !c.HasSum != (round == 4) {
			t.Errorf("round %d: %v, %d bounds, sum %v", round, c.Kind, len(c.Bounds.Upper),
				c.HasSum)
		}
		for i, row := range table.Rows {
			of := row[slices.Index(table.Labels, "of")]
			total := int64(0)
			for k, upper := range c.Bounds.Upper {
				total += c.Histograms[i].Counts[k]
				le, want := frame.Scale(upper, c.Bounds.Exponent), int64(0)
				for _, v := range seen[of] {
					if v <= le {
						want++
					}
				}
				if total != want {
					t.Fatalf("round %d: %s has %d up to %v, not %d", round, of, total, le, want)
				}
			}
		}
		if round == 3 && fmt.Sprint(c.Bounds) != fmt.Sprint(before) {
			t.Errorf("the bounds changed without need: %v, then %v", before, c.Bounds)
		}
		before = c.Bounds
	}
}

// TestRounding: a bucket has one bound, whatever others there are.
func TestRounding(t *testing.T) {
	all := map[string]bool{}
	for last := int32(16); last <= 160; last += 16 {
		s := shape{schema: 3, pos: span{first: last - 31, last: last, any: true}}
		b, values := s.exponential(nil)
		if len(values) != 34 || len(b.Upper) != 34 {
			t.Errorf("%d bounds of 33 buckets and zero", len(values))
		}
		for i, v := range values {
			if got := frame.Scale(b.Upper[i], b.Exponent); got != v {
				t.Errorf("a bound is %v, and compared as %v", got, v)
			}
			all[number(v)] = true
		}
	}
	if len(all) != 160+16+2 {
		t.Errorf("%d different bounds", len(all))
	}
}

// TestOpenMetrics: the other text form, with what only it has.
func TestOpenMetrics(t *testing.T) {
	r := start(t, job(serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
		_, _ = io.WriteString(w, `# TYPE a counter
# UNIT a_seconds seconds
a_total{x="1"} 5.0 # {trace_id="abc"} 0.5 1.0
a_created{x="1"} 1700000000.5
# TYPE h histogram
h_bucket{le="1.0"} 1 # {trace_id="abc"} 0.5
h_bucket{le="+Inf"} 2
h_count 2
h_sum 3.5
# TYPE g gaugehistogram
g_bucket{le="1.0"} 1
g_bucket{le="+Inf"} 2
g_gcount 2
g_gsum 3.5
# TYPE s summary
s{quantile="0.5"} 1
s_sum 2.5
s_count 2
# TYPE i info
i_info{version="1.2"} 1
# TYPE p stateset
p{p="on"} 1
# EOF
`)
	})))
	of := values(r.next("a reading", isUp).Reading)
	for name, want := range map[string]float64{`a_total{x="1"}`: 5,
		`a_created{x="1"}`: 1700000000.5,
		`h_bucket{le="1"}`: 1, "h_count": 2, "h_sum": 3.5, `s{quantile="0.5"}`: 1, "s_sum": 2.5,
		"s_count": 2, `i_info{version="1.2"}`: 1, `p{p="on"}`: 1} {
		if v, there := of[name]; !there || v != want {
			t.Errorf("%s is %v (%v), not %v: %v", name, v, there, want, of)
		}
	}
}

// TestSharing: two processes read each target once while their shares change.
func TestSharing(t *testing.T) {
	var list []string
	for range 12 {
		list = append(list, "'"+says(t, "a 1")+"'")
	}
	section := "[{job_name: t, static_configs: [{targets: [" + strings.Join(list, ", ") + "]}]}]"
	var mu sync.RWMutex
	owner := map[uuid.UUID]int{} // 0 and 1; -1: nobody's
	of := func(id uuid.UUID) int {
		mu.RLock()
		defer mu.RUnlock()
		if who, there := owner[id]; there {
			return who
		}
		return int(id[15]) % 2
	}
	var rigs [2]*rig
	var wrong atomic.Int64
	for i := range rigs {
		rigs[i] = start(t, section, func(_ *Config, d *Deps) {
			d.Mine = func(id uuid.UUID) bool { return of(id) == i }
			take := d.Take
			d.Take = func(target reading.Target, at time.Time, x *reading.Reading, err error) {
				if who := of(target.ID()); who == 1-i { // -1: Reshare waits for us
					wrong.Add(1)
				}
				take(target, at, x, err)
			}
		})
	}
	all := func(what string) map[uuid.UUID]int {
		by := map[uuid.UUID]int{}
		eventually.True(t, what, func() bool {
			for i, r := range rigs {
				for _, x := range r.taken() {
					by[x.target.ID()] = i
				}
			}
			return len(by) == len(list)
		})
		return by
	}
	ids := all("all targets at the start")
	for round := range 6 {
		for id := range ids {
			from := of(id)
			if (int(id[14])+round)%2 == 0 {
				continue
			}
			mu.Lock()
			owner[id] = -1
			mu.Unlock()
			rigs[from].Reshare()
			rigs[from].drop()
			mu.Lock()
			owner[id] = 1 - from
			mu.Unlock()
			rigs[1-from].Reshare()
		}
		for _, r := range rigs {
			r.drop()
		}
		for id, i := range all("all targets after a change") {
			if of(id) != i {
				t.Errorf("round %d: process %d read a target of process %d", round, i, of(id))
			}
		}
		// Who lost a target asks it no more, and does not name it.
		eventually.True(t, "targets are named once", func() bool {
			return len(rigs[0].Targets())+len(rigs[1].Targets()) == len(list)
		})
	}
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d readings came from a process that did not own the target", n)
	}
}

// TestDiscovery: files and HTTP name targets, which come and go.
func TestDiscovery(t *testing.T) {
	one, two := says(t, "a 1"), says(t, "a 2")
	file := filepath.Join(t.TempDir(), "targets.json")
	write := func(targets string) {
		text := `[{"targets": [` + targets + `], "labels": {"cluster": "file"}}]`
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(`"` + one + `"`)
	found := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `[{"targets": ["`+two+`"], "labels": {"cluster": "http"}}]`)
	})
	var named atomic.Pointer[[]string] // what Found had last, if that was all
	r := start(t, `
- job_name: f
  file_sd_configs: [{files: ['`+file+`'], refresh_interval: 200ms}]
- job_name: h
  http_sd_configs: [{url: 'http://`+found+`/'}]`, func(_ *Config, d *Deps) {
		d.Found = func(list []reading.Target, all bool) {
			names := []string{}
			for _, of := range list {
				names = append(names, of.Cluster+" "+of.Instance)
			}
			slices.Sort(names)
			if named.Store(nil); all {
				named.Store(&names)
			}
		}
	})
	are := func(want ...string) {
		t.Helper()
		eventually.True(t, fmt.Sprintf("%v are found", want), func() bool {
			got := named.Load()
			return got != nil && slices.Equal(*got, want)
		})
	}
	of := func(cluster, instance string) func(taken) bool {
		return func(x taken) bool {
			return x.target.Cluster == cluster && x.target.Instance == instance && isUp(x)
		}
	}
	r.next("the file's target", of("file", one))
	r.next("the answer's target", of("http", two))
	are("file "+one, "http "+two)
	write(`"` + two + `"`)
	r.next("the file's other target", of("file", two))
	are("file "+two, "http "+two)
	eventually.True(t, "the first one is gone", func() bool {
		for _, target := range r.Targets() {
			if target.Instance == one {
				return false
			}
		}
		return true
	})
	time.Sleep(time.Second) // Prometheus writes that it ended; that is no reading
	r.drop()
	time.Sleep(300 * time.Millisecond)
	for _, x := range r.taken() {
		if x.target.Instance == one || !isUp(x) {
			t.Errorf("a reading of %+v", x.target)
		}
	}
}
