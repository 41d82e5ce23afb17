package promapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/series"
)

func TestParseQuery(t *testing.T) {
	f := newFixture(t)
	function := `"func":{"name":"rate","argTypes":["matrix"],"variadic":0,"returnType":"vector"}`
	m := `[{"name":"b","value":"x.*","type":"=~"},{"name":"__name__","value":"m","type":"="}]`
	for expr, want := range map[string]string{
		`"a"`:    `{"type":"stringLiteral","val":"a"}`,
		`-(1.5)`: `{"type":"unaryExpr","op":"-","expr":{"type":"parenExpr","expr":{"type":"numberLiteral","val":"1.5"}}}`,
		`sum without (a) (rate(m{b=~"x.*"}[5m] offset 1m))`: `{"type":"aggregation","op":"sum","param":null,
			"grouping":["a"],"without":true,"expr":{"type":"call",` + function +
			`,"args":[{"type":"matrixSelector",
			"name":"m","range":300000,"rangeExpr":null,"offset":60000,"offsetExpr":null,"matchers":` + m + `,
			"timestamp":null,"startOrEnd":null,"anchored":false,"smoothed":false}]}}`,
		`m{b=~"x.*"} @ 7 > bool on (c) group_left (d) m{b=~"x.*"} @ end()`: `{"type":"binaryExpr","op":">","bool":true,
			"matching":{"card":"many-to-one","labels":["c"],"on":true,"include":["d"],
			"fillValues":{"lhs":null,"rhs":null}},
			"lhs":{"type":"vectorSelector","name":"m","offset":0,"offsetExpr":null,"matchers":` +
			m + `,
			"timestamp":7000,"startOrEnd":null,"anchored":false,"smoothed":false},
			"rhs":{"type":"vectorSelector","name":"m","offset":0,"offsetExpr":null,"matchers":` +
			m + `,
			"timestamp":null,"startOrEnd":"end","anchored":false,"smoothed":false}}`,
		`max_over_time(m{b=~"x.*"}[5m:1m])`: `{"type":"call","func":{"name":"max_over_time","argTypes":["matrix"],
			"variadic":0,"returnType":"vector"},"args":[{"type":"subquery","range":300000,"rangeExpr":null,"step":60000,
			"stepExpr":null,"offset":0,"offsetExpr":null,"timestamp":null,"startOrEnd":null,"expr":{"type":"vectorSelector","name":"m","offset":0,
			"offsetExpr":null,"anchored":false,"smoothed":false,
			"matchers":` + m + `,"timestamp":null,"startOrEnd":null}}]}`,
	} {
		f.want(f.post("/api/v1/parse_query", "query", expr), want)
	}
}

func TestFormatQuery(t *testing.T) {
	f := newFixture(t)
	f.want(f.get("/api/v1/format_query", "query", "foo/bar"), `"foo / bar"`)
	long :=
		`sum by (cluster, datacenter) (rate(cassandra_table_read_latency_seconds_count{keyspace="shop"}[5m]))/2`
	f.want(f.post("/api/v1/format_query", "query", long), `"  sum by (cluster, datacenter) (rate(`+
		`cassandra_table_read_latency_seconds_count{keyspace=\"shop\"}[5m]))\n/\n  2"`)
}

// TestRefusals: every mistake has Prometheus's form and a status of its own.
func TestRefusals(t *testing.T) {
	f := newFixture(t, func(c *query.Config) {
		c.MaxSteps, c.MaxSeries, c.MaxSamples = 100, 40,
			2000
	})
	for _, c := range []struct {
		path, form string // pairs of the form, by spaces
		status     int
		kind, says string
	}{
		{"query", "", 400, "bad_data", `invalid parameter "query"`},
		{"query", "query=sum(", 400, "bad_data", `invalid parameter "query": 1:5: parse error`},
		{"query", `query=up{a=~"("}`, 400, "bad_data", "missing closing"},
		{"query", `query=up{a=~"` + strings.Repeat("a{0,1000}", 1600) + `"}`, 400, "bad_data",
			"bytes of one regular expression"},
		{"query", `query=label_replace(up,"a","b","c","` + strings.Repeat("a{0,1000}", 800) + `")`,
			400, "bad_data", "instructions"},
		{"query", "query=" + strings.Repeat("a{b=\"c\"}/", 2000) + "1", 400, "bad_data",
			"matchers in the selectors"},
		{"query", "query=1" + strings.Repeat("+1", 30_000), 400, "bad_data", "words and signs"},
		{"format_query", "query=" + strings.Repeat("abs(", 1000) + "a" + strings.Repeat(")", 1000),
			400, "bad_data", "levels"},
		{"query", "query=1" + strings.Repeat("\n", 70_000), 400, "bad_data",
			"bytes of an expression"},
		{"query", "query=up time=NaN", 400, "bad_data", `invalid parameter "time"`},
		{"query", "query=up time=9999-12-31T23:59:59Z", 400, "bad_data",
			"it is out of range"},
		{"query", "query=up time=Inf", 400, "bad_data", `invalid parameter "time"`},
		{"query", "query=up time=yesterday", 400, "bad_data",
			`cannot parse "yesterday" to a valid timestamp`},
		{"query", "query=up timeout=-1s", 400, "bad_data", `invalid parameter "timeout"`},
		{"query", "query=up lookback_delta=NaN", 400, "bad_data",
			`invalid parameter "lookback_delta"`},
		{"query", "query=up limit=-1", 400, "bad_data", "limit must be non-negative"},
		{"query", "query=up limit=99999999999999999999", 400, "bad_data",
			`invalid parameter "limit"`},
		{"query", "query=node_load1*on(cluster)node_load1", 422, "execution", "many-to-many"},
		{"query", `query={cluster="fleet"}`, 422, "execution", "max_series allows 40"},
		{"query", `query=sum_over_time(node_load1[2m:1s])+sum_over_time(node_load1[2m:100ms])`, 422,
			"execution", "max_samples"},
		{"query_range", "query=up end=1 step=1", 400, "bad_data", `invalid parameter "start"`},
		{"query_range", "query=up start=2 end=1 step=1", 400, "bad_data",
			"end timestamp must not be before start time"},
		{"query_range", "query=up start=1 end=2 step=-1", 400, "bad_data",
			"zero or negative query resolution"},
		{"query_range", "query=up start=1 end=2 step=0", 400, "bad_data",
			"zero or negative query resolution"},
		{"query_range", "query=up start=1 end=2 step=x", 400, "bad_data",
			`invalid parameter "step"`},
		{"query_range", "query=up start=1 end=2 step=1e300", 400, "bad_data", "overflows"},
		{"query_range", "query=up start=1451606400 end=1767225600 step=1ms", 400, "bad_data",
			"exceeded maximum resolution of 100 points"},
		{"query_range", `query="a" start=1 end=2 step=1`, 400, "bad_data",
			"invalid expression type"},
		{"query_exemplars", "query=(", 400, "bad_data", `invalid parameter "query"`},
		{"series", "", 400, "bad_data", "no match[] parameter provided"},
		{"series", "match[]={}", 400, "bad_data", `invalid parameter "match[]"`},
		{"series", `match[]={__name__=~".*"}`, 400, "bad_data", "at least one non-empty matcher"},
		{"series", "match[]=up start=2 end=1", 400, "bad_data", `invalid parameter "end"`},
	} {
		var pairs []string
		for name, value := range form(c.form) {
			pairs = append(pairs, name, value)
		}
		began := time.Now()
		r := f.post("/api/v1/"+c.path, pairs...)
		if r.code != c.status || r.Status != "error" || r.ErrorType != c.kind ||
			!strings.Contains(r.Error, c.says) {
			t.Errorf("%s %.200s: %d %s %s %.300s, want %d %s %q", c.path, c.form, r.code, r.Status,
				r.ErrorType, r.Error, c.status, c.kind, c.says)
		}
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("%s %.200s took %s", c.path, c.form, d)
		}
	}
}

// form reads name=value pairs of a test.
func form(text string) map[string]string {
	of := map[string]string{}
	for _, pair := range strings.Split(text, " ") {
		if name, value, found := strings.Cut(pair, "="); found {
			of[name] = value
		}
	}
	return of
}

func TestStoreAwayIsNoMistakeOfTheExpression(t *testing.T) {
	f := newFixture(t)
	f.store.SetDown(true)
	if r := f.get("/api/v1/query", "query", "node_load1"); r.code != 503 ||
		r.ErrorType != "unavailable" {
		t.Errorf("%+v", r)
	}
}

type result struct {
	ResultType string
	Result     []struct {
		Metric map[string]string
		Value  []any
		Values [][]any
	}
	Stats map[string]json.RawMessage
}

func (f *fixture) result(r reply) (of result) {
	f.Helper()
	if err := json.Unmarshal(r.Data, &of); err != nil || r.Status != "success" {
		f.Fatalf("%d %s %s: %v", r.code, r.Error, r.Data, err)
	}
	return of
}

func TestLimitWarns(t *testing.T) {
	f := newFixture(t)
	at := fmt.Sprint(f.now.Unix())
	for _, limit := range []string{"2", "3", "0", ""} {
		for _, r := range []reply{
			f.get("/api/v1/query", "query", "node_load1", "limit", limit),
			f.post("/api/v1/query_range", "query", "node_load1", "start", at, "end", at, "step",
				"1", "limit", limit),
		} {
			n, warned := len(f.result(r).Result), strings.Join(r.Warnings,
				"") == "results truncated due to limit"
			if limit == "2" && (n != 2 || !warned) || limit != "2" && (n != 3 || warned) {
				t.Errorf("limit=%s: %d series, %q", limit, n, r.Warnings)
			}
		}
	}
}

func TestStats(t *testing.T) {
	f := newFixture(t)
	for stats, has := range map[string]bool{"": false, "1": true, "all": true} {
		got := f.result(f.get("/api/v1/query", "query", "node_load1", "stats", stats))
		if (got.Stats["samples"] != nil) != has || (got.Stats["timings"] != nil) != has {
			t.Errorf("stats=%s: %s", stats, got.Stats)
		}
		steps := strings.Contains(string(got.Stats["samples"]), "totalQueryableSamplesPerStep")
		if steps != (stats == "all") {
			t.Errorf("stats=%s: %s", stats, got.Stats["samples"])
		}
	}
}

// TestLookbackDelta: a value counts for so long, but no series of a node that has fallen silent.
func TestLookbackDelta(t *testing.T) {
	f := newFixture(t)
	at := fmt.Sprint(f.now.Unix() + 4) // the next frame is due a second later
	for lookback, want := range map[string]int{"": 3, "5s": 3, "4.5": 3, "3s": 0, "3.9": 0} {
		got := f.result(f.get("/api/v1/query", "query", "node_load1", "time", at, "lookback_delta",
			lookback))
		if len(got.Result) != want {
			t.Errorf("lookback_delta=%s: %d series", lookback, len(got.Result))
		}
	}
}

func TestTimes(t *testing.T) {
	f := newFixture(t)
	for text, want := range map[string]string{
		"": fmt.Sprint(f.now.Unix()), "1767225600": "1767225600", "1767225600.5": "1767225600.5",
		"1767225600.0004": "1767225600", "2026-01-01T00:00:00Z": "1767225600", "-1.5": "-1.5",
		"2026-01-01T01:00:00.25+01:00": "1767225600.25", "1.7672256e9": "1767225600",
		"-9223372036854775.808": "0", "9223372036854775.807": "9000000000",
	} {
		f.want(f.get("/api/v1/query", "query", "1", "time", text),
			fmt.Sprintf(`{"resultType":"scalar","result":[%s,"1"]}`, want))
	}
}

// TestFederateIsClassic: a histogram has the buckets, as text and as values, that PromQL has under
// its classic names, each at the frame's own time.
func TestFederateIsClassic(t *testing.T) {
	f := newFixture(t)
	const name = "cassandra_table_read_latency_seconds"
	text := f.text(`/federate?match[]={__name__="` + name + `",table="table_1"}`)
	if !strings.Contains(text, "# TYPE "+name+" histogram\n") {
		t.Errorf("%.500s", text)
	}
	lines := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		end := strings.LastIndex(line, "}") + 1
		var value, at string
		if _, err := fmt.Sscan(line[end:], &value, &at); err != nil {
			t.Fatal(line, err)
		}
		if at != fmt.Sprint(f.now.UnixMilli()) {
			t.Errorf("%s is not of %d", line, f.now.UnixMilli())
		}
		of := f.result(f.get("/api/v1/query", "query", promLe(line[:end])))
		if len(of.Result) != 1 || number(of.Result[0].Value[1]) != number(value) {
			t.Errorf("%s is %v to PromQL", line, of.Result)
		}
	}
	if perNode := len(series.ExposedBuckets(len(f.nodes[0].Bounds[0].Upper))) +
		2; lines != 3*perNode {
		t.Errorf("%d lines where each node has %d", lines, perNode)
	}
	if text := f.text(
		"/federate?match[]=node_load1&match[]={cluster=\"fleet\",__name__=\"node_load1\"}"); strings.Count(text, "\nnode_load1{") != 3 {
		t.Errorf("series that are selected twice: %s", text)
	}
}

// promLe writes le as Prometheus 3 keeps it when it has scraped a whole number.
func promLe(series string) string {
	begin := strings.Index(series, labels.BucketLabel+`="`)
	if begin < 0 {
		return series
	}
	begin += len(labels.BucketLabel + `="`)
	end := begin + strings.Index(series[begin:], `"`)
	if le := series[begin:end]; !strings.ContainsAny(le, ".eI") {
		return series[:end] + ".0" + series[end:]
	}
	return series
}

func number(of any) float64 {
	var v float64
	_, _ = fmt.Sscan(fmt.Sprint(of), &v)
	return v
}

// TestRollupsWarn wants the sentence about rollups among the warnings, where Grafana shows it.
func TestRollupsWarn(t *testing.T) {
	f := newFixture(t, func(c *query.Config) { c.RawRetention = time.Second })
	at := fmt.Sprint(f.now.Unix())
	for expr, want := range map[string]string{
		"node_load1": "because samples of that time have expired",
		"max_over_time(node_load1[1m])": "because samples of that time have expired: a " +
			"window of 1m " +
			"cannot be had there, so use one of 5m or more",
	} {
		r := f.get("/api/v1/query_range", "query", expr, "start", at, "end", at, "step", "300")
		if len(r.Warnings) != 1 || !strings.HasSuffix(r.Warnings[0], want) ||
			!strings.Contains(r.Warnings[0], "values are rollups of 5m") || len(r.Infos) > 0 {
			t.Errorf("%s warns of %q and %q", expr, r.Warnings, r.Infos)
		}
	}
}
