package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/promql"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// fixed is one answer of a server that plays Prometheus's endpoints.
type fixed struct {
	status int // 0: 200
	body   string
	path   string     // of the last request
	form   url.Values // of it
}

// play serves a fixed answer, and points the environment to it.
func play(t *testing.T, body string) *fixed {
	t.Helper()
	f := &fixed{body: body}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s with %q", r.Method, r.Header.Get("Authorization"))
		}
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		f.path, f.form = r.URL.Path, r.PostForm
		w.Header().Set("Content-Type", "application/json")
		if f.status != 0 {
			w.WriteHeader(f.status)
		}
		_, _ = io.WriteString(w, f.body)
	}))
	t.Cleanup(server.Close)
	t.Setenv("RINGWATCH_API", server.URL)
	t.Setenv("RINGWATCH_KEY", testKey)
	return f
}

// success is an answer with a result.
func success(kind, result string) string {
	return fmt.Sprintf(`{"status":"success","data":{"resultType":%q,"result":%s}}`, kind, result)
}

// queried runs the command and returns what it printed.
func queried(t *testing.T, c promql.QueryCmd, in string) (out, errs string, err error) {
	t.Helper()
	c.Flags = flags()
	if c.PromQL == "" {
		c.PromQL = "up"
	}
	var stdout, stderr bytes.Buffer
	err = c.RunTo(t.Context(), strings.NewReader(in), &stdout, &stderr)
	return stdout.String(), stderr.String(), err
}

const twoSeries = `[
	{"metric":{"__name__":"m","node":"b","cluster":"prod","table":"x,\"y\""},
		"value":[1763799000.5,"2.125"]},
	{"metric":{"__name__":"m","node":"a","cluster":"prod","value":"text"},
		"value":[1763799000.5,"NaN"]},
	{"metric":{"__name__":"m","node":"c","cluster":"prod"},"value":[1763799000.5,"+Inf"]}]`

// histogramText is a native histogram, of Prometheus's own example.
const histogramText = `{"count":"42","sum":"34593.34","buckets":[
	[3,"-0.25","0.25","3"],[0,"0.25","0.5","12"],[0,"0.5","1","21"],[0,"2","4","6"]]}`

const longNumbers = `[{"metric":{"a":"1"},"value":[0,"0.002041911249999999"]},
	{"metric":{"a":"2"},"value":[0,"12.34"]},
	{"metric":{"a":"3"},"value":[0,"1763799000.123"]},
	{"metric":{"a":"4"},"value":[0,"1764288000000"]},
	{"metric":{"a":"5"},"value":[0,"1.234567891e-07"]},
	{"metric":{"a":"6"},"value":[0,"-2037035555555555.5"]}]`

func TestQueryInstant(t *testing.T) {
	series := func(labels string) string {
		return fmt.Sprintf(`[{"metric":{%s},"histogram":[1763799000,%s]}]`, labels, histogramText)
	}
	for name, c := range map[string]struct {
		cmd  promql.QueryCmd
		body string
		want string
	}{
		"the server's order, common labels once": {promql.QueryCmd{}, success("vector", twoSeries),
			`m{cluster="prod"}

node  table  value  VALUE
b     x,"y"         2.125
a            text     NaN
c                    +Inf
`},
		"CSV": {promql.QueryCmd{CSV: true}, success("vector", twoSeries),
			`__name__,cluster,node,table,exported_value,value
m,prod,b,"x,""y""",,2.125
m,prod,a,,text,NaN
m,prod,c,,,+Inf
`},
		"metrics differ": {promql.QueryCmd{}, success("vector",
			`[{"metric":{"__name__":"m","A":"1"},"value":[0,"1"]},
			{"metric":{"__name__":"n","A":"1"},"value":[0,"10"]}]`), `{A="1"}

METRIC  VALUE
m           1
n          10
`},
		"no labels": {promql.QueryCmd{}, success("vector", `[{"metric":{},"value":[0,"1"]}]`),
			"VALUE\n    1\n"},
		"scalar":        {promql.QueryCmd{}, success("scalar", `[1763799000.5,"7.5"]`), "7.5\n"},
		"string":        {promql.QueryCmd{}, success("string", `[1763799000.5,"a\nb"]`), `a\u000ab` + "\n"},
		"a long scalar": {promql.QueryCmd{}, success("scalar", `[1,"0.30000000000000004"]`), "0.3\n"},
		"a string that is a number": {promql.QueryCmd{}, success("string", `[1,"4.10000000"]`),
			"4.10000000\n"},
		"six digits": {promql.QueryCmd{}, success("vector", longNumbers), `a          VALUE
1     0.00204191
2          12.34
3     1763799000
4  1764288000000
5    1.23457e-07
6   -2.03704e+15
`},
		"all digits in CSV": {promql.QueryCmd{CSV: true}, success("vector",
			`[{"metric":{},"value":[0,"0.002041911249999999"]}]`), "value\n0.002041911249999999\n"},
		"all digits in JSON": {promql.QueryCmd{JSON: true}, success("scalar",
			`[1,"0.002041911249999999"]`), success("scalar", `[1,"0.002041911249999999"]`) + "\n"},
		"scalar CSV": {promql.QueryCmd{CSV: true}, success("scalar", `[1763799000.5,"7.5"]`),
			"value\n7.5\n"},
		"empty CSV": {promql.QueryCmd{CSV: true}, success("vector", `[]`), "value\n"},
		"JSON": {promql.QueryCmd{JSON: true}, success("scalar", `[1, "\u001b"]`), success("scalar",
			`[1, "\u001b"]`) + "\n"},
		"histogram": {promql.QueryCmd{}, success("vector", series(`"node":"a"`)), `{node="a"}

COUNT      SUM    P50  P90   P99
   42  34593.3  0.643  2.6  3.86
`},
		"buckets": {promql.QueryCmd{Buckets: true}, success("vector", series("")),
			`COUNT      SUM    P50  P90   P99
   42  34593.3  0.643  2.6  3.86

{}
BUCKET         COUNT
[-0.25, 0.25]      3
(0.25, 0.5]       12
(0.5, 1]          21
(2, 4]             6
`},
		"both CSV": {promql.QueryCmd{CSV: true}, success("vector", `[{"metric":{"a":"1"},"value":[0,"1"]},
			{"metric":{"count":"2"},"histogram":[0,{"count":"4","sum":"8","buckets":[[0,"1","3","4"]]}]}]`),
			"a,exported_count,value,count,sum,p50,p90,p99\n1,,1,,,,,\n,2,,4,8,2,2.8,2.98\n"},
	} {
		play(t, c.body)
		out, errs, err := queried(t, c.cmd, "")
		if err != nil || errs != "" || out != c.want {
			t.Errorf("%s: %v, stderr %q, got\n%s\nwant\n%s", name, err, errs, out, c.want)
		}
	}
}

func TestQuerySaysWarningsAndNothing(t *testing.T) {
	play(t, `{"status":"success","data":{"resultType":"vector","result":[]},`+
		`"warnings":["some\u001b[2J data is missing"],"infos":["PromQL info: no counter"]}`)
	out, errs, err := queried(t, promql.QueryCmd{}, "")
	if err != nil || out != "" {
		t.Errorf("%q %v", out, err)
	}
	want := `warning: some\u001b[2J data is missing` +
		"\nwarning: PromQL info: no counter\nno series: "
	if !strings.HasPrefix(errs, want) || strings.Count(errs, "\n") != 3 {
		t.Errorf("%q", errs)
	}
}

// matrix is a result of n series, each with so many steps of 15 s but for those in the gap.
func matrix(start time.Time, n, steps, gapFrom, gapTo int) string {
	var all []string
	for i := range n {
		var values []string
		for s := range steps {
			if s < gapFrom || s >= gapTo {
				at := start.Add(time.Duration(s) * 15 * time.Second).Unix()
				values = append(values, fmt.Sprintf(`[%d,"%d"]`, at, 1000*i+s))
			}
		}
		all = append(all, fmt.Sprintf(
			`{"metric":{"__name__":"m","cluster":"prod","node":"n%d"},"values":[%s]}`,
			i, strings.Join(values, ",")))
	}
	return success("matrix", "["+strings.Join(all, ",")+"]")
}

var aRange = promql.QueryCmd{From: "2025-11-22T08:00:00Z", To: "2025-11-22T09:00:00Z", Step: "15s"}

func TestQueryRange(t *testing.T) {
	start := time.Date(2025, 11, 22, 8, 0, 0, 0, time.UTC)
	f := play(t, matrix(start, 9, 241, 241, 241))
	out, errs, err := queried(t, aRange, "")
	if err != nil || errs != "" {
		t.Fatal(err, errs)
	}
	if f.path != "/api/v1/query_range" || !reflect.DeepEqual(f.form, url.Values{"query": {"up"},
		"start": {"1763798400"}, "end": {"1763802000"}, "step": {"15"}}) {
		t.Errorf("%s %v", f.path, f.form)
	}
	expect(t, out, `^m\{cluster="prod"\}\n\n`, `┤`, `└┬─+┬─`,
		start.Local().Format("15:04")+` +`+start.Add(15*time.Minute).Local().Format("15:04"),
		regexp.QuoteMeta(start.Local().Format(time.DateTime)+" to "+
			start.Add(time.Hour).Local().Format(time.DateTime)+", step 15s"),
		`^node  LAST   MIN   MAX\nn8    8240  8000  8240\nn7 `,
		`^and 3 more series, none larger than these, such as \{node="n2"\} and `+
			`\{node="n1"\}: topk\(6, …\) .* --csv prints all$`)
	if n := len(regexp.MustCompile(`(?m)^n\d `).FindAllString(out, -1)); n != promql.MaxPlotted {
		t.Errorf("%d lines in the legend", n)
	}

	// Half of the hour is a gap: so is half of the picture.
	play(t, matrix(start, 1, 241, 60, 180))
	out, _, err = queried(t, aRange, "")
	if err != nil || !strings.HasPrefix(out, "m{cluster=\"prod\",node=\"n0\"}\n\n") ||
		strings.Contains(out, "\x1b") {
		t.Fatal(err, out)
	}
	if drawn := strings.Count(out[:strings.Index(out, "└")], "─"); drawn > screen.PlotWidth*6/10 ||
		drawn < screen.PlotWidth*2/10 {
		t.Errorf("%d places are drawn:\n%s", drawn, out)
	}

	// A single step has no line, and numbers beyond all measure have no place: the legend has both.
	for _, values := range []string{`[1763798400,"3"]`, `[1763798400,"+Inf"],[1763798415,"3"]`,
		`[1763798400,"-1.7e308"],[1763798415,"1.7e308"]`, `[1763798400,"NaN"]`,
		`[1763798400,"5e-324"],[1763798415,"0"]`,
		`[1763798400,"1e300"],[1763798415,"1e300"]`} {
		play(t, success("matrix", `[{"metric":{},"values":[`+values+`]}]`))
		if out, _, err = queried(t, aRange, ""); err != nil || !strings.Contains(out, "LAST") {
			t.Errorf("%s: %v\n%s", values, err, out)
		}
	}

	play(t, success("matrix",
		`[{"metric":{"node":"a"},"values":[[1763798400,"1"]],"histograms":[[1763798430.25,`+
			histogramText+`]]}]`))
	out, _, err = queried(t, aRange, "")
	expect(t, out, `^SHOWN  LAST  MIN   MAX\np99    3.86    1  3.86$`)
	if err != nil {
		t.Error(err)
	}
	csvCmd := aRange
	csvCmd.CSV = true
	out, _, err = queried(t, csvCmd, "")
	records, readErr := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || readErr != nil || len(records) != 3 ||
		strings.Join(records[0], " ") != "time node value count sum p50 p90 p99" ||
		strings.Join(records[1], " ") != "2025-11-22T08:00:00.000Z a 1     " ||
		!strings.HasPrefix(strings.Join(records[2], " "),
			"2025-11-22T08:00:30.250Z a  42 34593.34 0.64") {
		t.Errorf("%v %v\n%s", err, readErr, out)
	}
	play(t, success("matrix", "[]"))
	if out, _, err = queried(t, csvCmd, ""); err != nil || out != "time,value\n" {
		t.Errorf("%q %v", out, err)
	}
}

func TestQueryPointsAtTheMistake(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, c := range []struct{ expression, place, want string }{
		{"sum(rate(", "1:8", "the expression has a mistake here:\n  sum(rate(\n         ^\nparse " +
			"error: why"},
		{"sum(\n\tü + )", "2:7",
			"line 2 of the expression has a mistake here:\n  \\u0009ü + )\n            ^\nparse " +
				"error: why"},
		{"up{", "1:4", "the expression has a mistake here:\n  up{\n     ^\nparse error: why"},
		{long + "}" + long, "1:201", "the expression has a mistake here:\n  …" +
			strings.Repeat("a", 60) +
			"}" +
			strings.Repeat("a", 29) + "…\n  " + strings.Repeat(" ", 61) + "^\nparse error: why"},
		{"up", "9:1", `invalid parameter "query": 9:1: parse error: why`},
		{"up", "1:99999999999999999999",
			`invalid parameter "query": 1:99999999999999999999: parse error: why`},
	} {
		f := play(t,
			`{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": `+
				c.place+`: parse error: why"}`)
		f.status = 400
		out, _, err := queried(t, promql.QueryCmd{PromQL: "-"}, c.expression+"\n")
		if err == nil || err.Error() != c.want || out != "" {
			t.Errorf("%q at %s: %q %v", c.expression, c.place, out, err)
		}
		if f.form.Get("query") != c.expression {
			t.Errorf("sent %q", f.form.Get("query"))
		}
	}
}

// TestQueryExitCodes checks what people see who call it wrongly or are refused.
func TestQueryExitCodes(t *testing.T) {
	f := play(t, "")
	for _, c := range []struct {
		args   string
		status int
		body   string
		code   int
		want   string
	}{
		{"up", 200, success("scalar", `[0,"1"]`), 0, ""},
		{"--help", 200, "", 0, ""},
		{"up --from=-1h --to now --limit 5 --timeout 30s", 200, success("matrix", "[]"), 0,
			"no series"},
		{"up --at now-1h", 200, success("vector", "[]"), 0, "no series"},
		{"up", 401, `{"status":"error","errorType":"unauthorized","error":"unknown API key"}`, 1,
			"unknown API key"},
		{"up", 404, `{"error":{"code":"not_found","message":"there is no such path"}}`, 1,
			"no such path"},
		{"up", 502, `<html>`, 1, "not a Ringwatch API"},
		{"up", 200, `{"status":"error","errorType":"timeout","error":"query timed out"}`, 1,
			"query timed out"},
		{"up", 200, success("vector", `[{"metric":{}}]`), 1, "cannot be read"},
		{"up", 200, success("vector", `[{"metric":{},"value":[1]}]`), 1, "cannot be read"},
		{"up", 200, success("vector", `[{"metric":{},"histogram":[1,{"buckets":[[1]]}]}]`), 1,
			"cannot be read"},
		{"up", 200, success("tensor", `[]`), 1, "tensor"},
		{"up --at now --from now-1h", 0, "", 2, "leave out one or the other"},
		{"up --at now --step 5s", 0, "", 2, "leave out one or the other"},
		{"up --from now-1h --period 1h", 0, "", 2, "leave one out"},
		{"up --to now", 0, "", 2, "add --from or --period"},
		{"up --step 1m", 0, "", 2, "add --period or --from"},
		{"up --from now --to now-1h", 0, "", 2, "--from is after --to"},
		{"up --at soon", 0, "", 2, "not a time"},
		{"up --at 1e400", 0, "", 2, "not a time"},
		{"up --period soon", 0, "", 2, "not a duration"},
		{"up --period 1h --step 0s", 0, "", 2, "not a duration"},
		{"up --json --csv", 0, "", 2, "leave one out"},
		{"up --period 1h --buckets", 0, "", 2, "--buckets"},
		{"up --limit=-1", 0, "", 2, "--limit"},
		{" ", 0, "", 2, "the expression is empty"},
		{"", 0, "", 2, "see ringwatch query --help"},
	} {
		f.status, f.body, f.form = c.status, c.body, nil
		args := append([]string{"query"}, strings.Fields(c.args)...)
		if c.args == " " {
			args = append(args, " ")
		}
		code, stderr := capture(t, func() int { return run(args) })
		if code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, want %d %q:\n%s", c.args, code, c.code, c.want, stderr)
		}
		if c.status == 0 && f.form != nil {
			t.Errorf("%q is sent: %v", c.args, f.form)
		}
	}
}

// TestQueryDoesNotSteerTheTerminal has every output print names, labels and texts of an attacker.
func TestQueryDoesNotSteerTheTerminal(t *testing.T) {
	const evil = `\u001b]0;mine\u0007\u202e\u009b2J\r\n`
	metric := `{"metric":{"__name__":"m` + evil + `","a` + evil + `":"` + evil + `",` +
		`"b":"%d` + evil + `"},`
	vector := success("vector", "["+fmt.Sprintf(metric, 1)+`"value":[1,"`+evil+`"]},`+
		fmt.Sprintf(metric,
			2)+`"histogram":[1,{"count":"`+evil+`","sum":"`+
		evil+`","buckets":[[0,"`+evil+`","1","`+evil+`"]]}]}]`)
	matrix := success("matrix", "["+fmt.Sprintf(metric,
		1)+`"values":[[1763798400,"1"],[1763798460,"2"]]},`+
		fmt.Sprintf(metric, 2)+`"values":[[1763798400,"`+evil+`"]]}]`)
	colours := regexp.MustCompile(`\x1b\[[\d;]*m`)
	ranged, rangedCSV := aRange, aRange
	rangedCSV.CSV = true
	for _, c := range []struct {
		cmd  promql.QueryCmd
		body string
	}{
		{promql.QueryCmd{Buckets: true}, vector}, {promql.QueryCmd{CSV: true}, vector},
		{promql.QueryCmd{JSON: true}, vector},
		{ranged, matrix}, {rangedCSV, matrix}, {promql.QueryCmd{}, success("string", `[1,"`+evil+`"]`)},
		{promql.QueryCmd{}, success(`x`+evil, "[]")},
		{promql.QueryCmd{}, `{"status":"error","error":"invalid parameter \"query\": 1:1: ` + evil + `"}`},
	} {
		play(t, c.body)
		out, errs, err := queried(t, c.cmd, "")
		if err != nil {
			out = screen.PlainLines(err.Error()) // as main prints it
		}
		out = colours.ReplaceAllString(out, "") + errs
		if i := strings.IndexFunc(out, func(r rune) bool {
			return r != '\n' &&
				screen.Hidden(r)
		}); i >=
			0 {
			t.Errorf("%+v prints %q", c.cmd, out[max(0, i-40):min(len(out), i+40)])
		}
		if !strings.Contains(out, `\u`) {
			t.Errorf("%+v prints nothing that was made up:\n%s", c.cmd, out)
		}
	}
}
