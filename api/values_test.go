package api_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dictionary"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// element is the answer of /v1/nodes/{id}/metrics as clients read it.
type element struct {
	ID, Cluster, Datacenter, Rack string
	Payload                       []struct {
		Metric, Type, Unit string
		Labels             map[string]string
		Values             []struct {
			Value, Count, Sum, P50, P99, Max string
			Time                             time.Time
			Buckets                          []struct{ Le, Count string }
			Interval                         *struct{ Count, P99 string }
		}
	}
}

// flat makes one line per value, without its quantiles: series, time, value.
func (e *element) flat(t *testing.T) []string {
	t.Helper()
	var lines []string
	for _, p := range e.Payload {
		var names []string
		for n := range p.Labels {
			names = append(names, n+"="+p.Labels[n])
		}
		sort.Strings(names)
		for _, v := range p.Values {
			text := v.Value
			if strings.HasSuffix(p.Type, "histogram") {
				text = fmt.Sprint(v.Count, " ", v.Sum)
				for _, b := range v.Buckets {
					text += " " + b.Le + ":" + b.Count
				}
			}
			lines = append(lines, fmt.Sprintf("%s%v %d %s %s %q", p.Metric, names,
				v.Time.UnixMilli(), p.Type, p.Unit, text))
		}
	}
	sort.Strings(lines)
	return lines
}

// want is what flat must be, from what went into the node's frames.
func want(n *frametest.Node, history map[int64][][]frametest.Entity, keep func(metric string) bool,
	keepTime func(at int64) bool, tables ...string) []string {
	var lines []string
	for at, templates := range history {
		if !keepTime(at) {
			continue
		}
		for t, entities := range templates {
			for _, e := range entities {
				if len(tables) > 0 && n.Templates[t].Type == "table" && e.Labels[1] != tables[0] {
					continue
				}
				var names []string
				for i, l := range n.Templates[t].Labels {
					names = append(names, l+"="+e.Labels[i])
				}
				sort.Strings(names)
				for i, m := range n.Templates[t].Metrics {
					c := e.Cells[i]
					if c.Absent || !keep(m.Name) {
						continue
					}
					kind, text := m.Kind.String(), ""
					switch m.Kind {
					case frame.GaugeDouble:
						kind, text = "gauge", strconv.FormatFloat(c.Double, 'f', -1, 64)
					case frame.String:
						text = c.Text
					case frame.Counter, frame.Gauge:
						text = decimal(c.Int, m.Exponent)
					default:
						total, buckets := int64(0), ""
						for b, k := range c.Counts {
							total += k
							if b == len(c.Counts)-1 {
								buckets += fmt.Sprintf(" +Inf:%d", total)
							} else if k != 0 {
								buckets += fmt.Sprintf(" %s:%d",
									decimal(n.Bounds[m.Bounds].Upper[b],
										n.Bounds[m.Bounds].Exponent), total)
							}
						}
						text = strconv.FormatInt(total, 10) + " "
						if m.HasSum {
							text += decimal(c.Sum, m.Exponent)
						}
						text += buckets
					}
					lines = append(lines, fmt.Sprintf("%s%v %d %s %s %q", m.Name, names, at, kind,
						m.Unit, text))
				}
			}
		}
	}
	sort.Strings(lines)
	return lines
}

// decimal is another way to the digits than the API's: the frame's scale is 0, -3 or -6 and
// values are small enough for a double to hold them.
func decimal(v int64, exponent int) string {
	return strconv.FormatFloat(float64(v)/math.Pow10(-exponent), 'f', -1, 64)
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if reflect.DeepEqual(got, want) && len(want) > 0 {
		return
	}
	t.Errorf("%s: %d values, want %d", what, len(got), len(want))
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
			return
		}
	}
}

func everything(string) bool { return true }

func (f *fixture) newest(node int) int64 {
	var newest int64
	for at := range f.history[node] {
		newest = max(newest, at)
	}
	return newest
}

func (f *fixture) metricsOf(node int, query url.Values) *element {
	f.Helper()
	var answer []element
	f.get(f.metricsPath(node), query, &answer)
	n := f.nodes[node]
	if len(answer) != 1 || answer[0].ID != n.ID.String() || answer[0].Cluster != n.Cluster ||
		answer[0].Datacenter != "dc1" || answer[0].Rack != n.Identity.Rack {
		f.Fatalf("%+v", answer)
	}
	return &answer[0]
}

func TestLatest(t *testing.T) {
	redis := engines.MustRedis(t)
	f := newFixture(t, redis.Addr(), 2, 5, 7*time.Minute)
	check := func(source string) {
		t.Helper()
		before := f.count("ringwatch_api_reads_total", "latest", source)
		for i, n := range f.nodes {
			at := f.newest(i)
			compare(t, "all from "+source, f.metricsOf(i, nil).flat(t),
				want(n, f.history[i], everything, func(a int64) bool { return a == at }))
			compare(t, "some from "+source,
				f.metricsOf(i,
					url.Values{"metrics": {`{__name__=~"cassandra_table_.*",table="table_3"}`,
						"node_load1", "node_load1"}}).flat(t),
				want(n, f.history[i], func(m string) bool {
					return m == "node_load1" || strings.HasPrefix(m, "cassandra_table_")
				}, func(a int64) bool { return a == at }, "table_3"))
		}
		if f.count("ringwatch_api_reads_total", "latest", source) !=
			before+float64(2*len(f.nodes)) {
			t.Error("not all came from", source)
		}
	}
	check("recent")
	if f.store.Reads() != 0 {
		t.Error("the store was asked")
	}
	if e := f.metricsOf(0, url.Values{"metrics": {"no_such_metric"}}); e.Payload == nil ||
		len(e.Payload) != 0 {
		t.Errorf("no such metric: %+v", e)
	}
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	check("store")
	if f.count("ringwatch_api_fallbacks_total", "away") == 0 {
		t.Error("the fallbacks are not counted")
	}
	// Redis comes back empty: a miss, and right again.
	if err := redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("store")
	if f.count("ringwatch_api_fallbacks_total", "miss") == 0 {
		t.Error("the misses are not counted")
	}
}

// TestStale: the writer of Redis stands still while the store goes on.
func TestStale(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, time.Minute)
	n := f.nodes[0]
	f.now.Add(20_000)
	n.Step()
	at := f.now.Load()
	f.history[0][at] = n.Copy()
	f.store.Put(f.account("acme"), n.Frame(at))
	compare(t, "newer in the store", f.metricsOf(0, nil).flat(t),
		want(n, f.history[0], everything, func(a int64) bool { return a == at }))
	if f.count("ringwatch_api_fallbacks_total", "stale") == 0 {
		t.Error("not counted")
	}
}

func TestRange(t *testing.T) {
	redis := engines.MustRedis(t)
	f := newFixture(t, redis.Addr(), 1, 3, 40*time.Minute)
	n, now := f.nodes[0], f.now.Load()
	minute := int64(60_000)
	check := func(source string, from, to int64) {
		t.Helper()
		before := f.count("ringwatch_api_reads_total", "range", source)
		for _, form := range []url.Values{
			{"from": {time.UnixMilli(from).UTC().Format(time.RFC3339Nano)},
				"to": {strconv.FormatInt(to, 10)}},
			{"from": {fmt.Sprintf("%d.%03d", from/1000, from%1000)},
				"to": {time.UnixMilli(to).Format(time.RFC3339Nano)}},
			{"period": {fmt.Sprintf("%dms", to-from)}, "to": {strconv.FormatInt(to, 10)}},
		} {
			form["metrics"] = []string{`{__name__=~".+"}`, "node_load1"}
			compare(t, fmt.Sprint(form, " from ", source), f.metricsOf(0, form).flat(t),
				want(n, f.history[0], everything, func(at int64) bool {
					return at >= from && at <= to
				}))
		}
		if f.count("ringwatch_api_reads_total", "range", source) != before+3 {
			t.Error("not all came from", source)
		}
	}
	check("recent", now-9*minute, now)
	check("recent", now-9*minute-1234, now-3*minute)
	check("store", now-35*minute, now-20*minute)
	check("store", now-39*minute, now-15*minute-1)
	// else the frame before the join has expired, and all is the store's
	if left := now - 15*minute - frame.WindowOf(now-15*minute); left > 10_000 {
		check("both", now-39*minute, now)
		check("both", now-16*minute, now-14*minute)
	}
	if err := redis.Kill(); err != nil {
		t.Fatal(err)
	}
	check("store", now-9*minute, now)
	check("store", now-39*minute, now)
}

func TestStepAndIntervals(t *testing.T) {
	f := newFixture(t, inMemory, 1, 1, 10*time.Minute)
	const metric = "cassandra_client_request_latency_seconds"
	raw := f.metricsOf(0, url.Values{"metrics": {metric + `{request="Read"}`}, "period": {"8m"}})
	thin := f.metricsOf(0, url.Values{"metrics": {metric + `{request="Read"}`}, "period": {"8m"},
		"step": {"1m"}})
	all, kept := raw.Payload[0].Values, thin.Payload[0].Values
	if len(all) < 90 || len(kept) < 8 || len(kept) > 9 ||
		!kept[len(kept)-1].Time.Equal(all[len(all)-1].Time) {
		t.Fatal(len(all), len(kept))
	}
	if kept[0].Interval != nil {
		t.Error("the first value has an interval")
	}
	for i := 1; i < len(kept); i++ {
		if d := kept[i].Time.Sub(kept[i-1].Time); d != time.Minute {
			t.Error("a step of", d)
		}
		before, _ := strconv.Atoi(kept[i-1].Count)
		now, _ := strconv.Atoi(kept[i].Count)
		if kept[i].Interval == nil || kept[i].Interval.Count != strconv.Itoa(now-before) {
			t.Errorf("an interval of %+v from %d to %d", kept[i].Interval, before, now)
		}
	}
}

func TestPrometheusText(t *testing.T) {
	f := newFixture(t, inMemory, 1, 4, 2*time.Minute)
	n, at := f.nodes[0], f.newest(0)
	for _, accept := range []string{"",
		"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"} {
		r := f.ask(acmeKey, "/v1/nodes/"+n.ID.String()+"/prometheus", nil, "Accept", accept)
		if r.status != http.StatusOK {
			t.Fatal(r.status)
		}
		open := strings.HasPrefix(r.header.Get("Content-Type"), "application/openmetrics-text")
		if open != (accept != "") {
			t.Fatal(r.header.Get("Content-Type"))
		}
		got, err := parseText(string(r.body), open, at)
		if err != nil {
			t.Fatalf("%v in %.2000s", err, r.body)
		}
		wanted := exposed(n, f.history[0][at], open)
		for k, v := range wanted {
			if g, ok := got[k]; !ok || g != v {
				t.Errorf("%s is %v %v, want %v", k, g, ok, v)
			}
		}
		if len(got) != len(wanted) {
			t.Errorf("%d samples, want %d", len(got), len(wanted))
		}
		byFormat := f.ask(acmeKey, f.metricsPath(0), url.Values{"format": {"prometheus"}},
			"Accept", accept)
		if !bytes.Equal(byFormat.body, r.body) {
			t.Error("format=prometheus is another answer")
		}
	}
}

var (
	sampleLine = regexp.MustCompile(
		`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+) (\S+)$`)
	labelText = regexp.MustCompile(`([a-z_]+)=("(?:[^"\\]|\\.)*")`)
	typeLine  = regexp.MustCompile(
		`^# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|untyped|gaugehistogram|unknown)$`)
	helpLine = regexp.MustCompile(`^# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ([A-Z0-9][^\\"]*\.)$`)
	unitLine = regexp.MustCompile(`^# UNIT ([a-zA-Z_:][a-zA-Z0-9_:]*) ([a-z]+)$`)
)

// parseText reads exposition text strictly and returns the samples, all of which must be of one
// time, without the labels of the node.
func parseText(text string, open bool, at int64) (map[string]float64, error) {
	text, ended := strings.CutSuffix(text, "# EOF\n")
	if ended != open || !strings.HasSuffix(text, "\n") {
		return nil, errors.New("a wrong end")
	}
	samples, families, family := map[string]float64{}, map[string]bool{}, ""
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if m := helpLine.FindStringSubmatch(line); m != nil {
			if family = m[1]; families[family] {
				return nil, fmt.Errorf("two families %s", family)
			}
			if m[2] != dictionary.Help(family, false) &&
				m[2] != dictionary.Help(family+"_total", false) {
				return nil, fmt.Errorf("of %s the dictionary says something else: %s", family, m[2])
			}
			families[family] = true
			continue
		}
		if m := typeLine.FindStringSubmatch(line); m != nil {
			if m[1] != family {
				return nil, fmt.Errorf("a type without help: %s", line)
			}
			continue
		}
		if m := unitLine.FindStringSubmatch(line); m != nil {
			if m[1] != family || open && !strings.HasSuffix(family, "_"+m[2]) {
				return nil, fmt.Errorf("a wrong unit: %s", line)
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[1], family) {
			return nil, fmt.Errorf("a wrong line: %s", line)
		}
		b := labels.NewBuilder(labels.FromStrings(labels.MetricName, m[1]))
		for _, l := range labelText.FindAllStringSubmatch(m[2], -1) {
			value, err := strconv.Unquote(l[2])
			if err != nil {
				return nil, err
			}
			// 1.0 and 1 are one bound
			if bound, err := strconv.ParseFloat(value, 64); err == nil && l[1] == "le" {
				value = strconv.FormatFloat(bound, 'g', -1, 64)
			}
			b.Set(l[1], value)
		}
		for _, l := range []string{"node", "cluster", "datacenter", "rack"} {
			if b.Get(l) == "" {
				return nil, fmt.Errorf("no %s: %s", l, line)
			}
		}
		v, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return nil, err
		}
		taken, err := strconv.ParseFloat(m[4], 64)
		if open {
			taken *= 1000
		}
		if err != nil || int64(math.Round(taken)) != at {
			return nil, fmt.Errorf("a wrong time: %s", line)
		}
		key := b.Del("node", "cluster", "datacenter", "rack").Labels().String()
		if _, twice := samples[key]; twice {
			return nil, fmt.Errorf("twice: %s", key)
		}
		samples[key] = v
	}
	return samples, nil
}

// exposed is what exposition text must say of a node, from what went into its frame.
func exposed(n *frametest.Node, state [][]frametest.Entity, open bool) map[string]float64 {
	all := map[string]float64{}
	for t, entities := range state {
		for _, e := range entities {
			for i, m := range n.Templates[t].Metrics {
				c := e.Cells[i]
				if c.Absent {
					continue
				}
				put := func(suffix string, v float64, more ...string) {
					b := labels.NewBuilder(
						labels.FromStrings(append([]string{"__name__", m.Name + suffix},
							more...)...))
					for j, l := range n.Templates[t].Labels {
						b.Set(l, e.Labels[j])
					}
					all[b.Labels().String()] = v
				}
				switch m.Kind {
				case frame.String:
					put("", 1, "value", c.Text)
				case frame.GaugeDouble:
					put("", c.Double)
				case frame.Counter, frame.Gauge:
					put("", frame.Scale(c.Int, m.Exponent))
				default:
					if !slices.ContainsFunc(c.Counts, func(n int64) bool { return n != 0 }) {
						continue // not written at all
					}
					total, bounds := int64(0), n.Bounds[m.Bounds]
					for b, k := range c.Counts {
						total += k
						if b == len(c.Counts)-1 {
							put("_bucket", float64(total), "le", "+Inf")
						} else if len(bounds.Upper) <= 32 || b%8 == 7 || b == len(bounds.Upper)-1 {
							put("_bucket", float64(total), "le",
								strconv.FormatFloat(frame.Scale(bounds.Upper[b], bounds.Exponent),
									'g', -1, 64))
						}
					}
					if m.HasSum {
						put("_sum", frame.Scale(c.Sum, m.Exponent))
					}
					if m.Kind == frame.GaugeHistogram && open {
						put("_gcount", float64(total))
					} else {
						put("_count", float64(total))
					}
				}
			}
		}
	}
	return all
}

func TestManyAtOnce(t *testing.T) {
	f := newFixture(t, inMemory, 4, 3, 3*time.Minute)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 10 {
				node := (worker + i) % len(f.nodes)
				for _, query := range []url.Values{nil,
					{"period": {"2m"}, "metrics": {`{__name__=~".+"}`}}} {
					r := f.ask(acmeKey, f.metricsPath(node), query)
					var e []element
					if err := json.Unmarshal(r.body, &e); err != nil || r.status != 200 ||
						len(e) != 1 || e[0].ID != f.nodes[node].ID.String() ||
						len(e[0].Payload) == 0 {
						t.Errorf("%d %.200s %v", r.status, r.body, err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n := f.count("ringwatch_api_requests_total", "GET /v1/nodes/{id}/metrics", "200"); n != 160 {
		t.Error(n, "requests counted")
	}
}
