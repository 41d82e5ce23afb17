package query_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/metadata"
	"github.com/ringwatch/ringwatch/query/querytest"
)

// selected returns the label sets that selecting gives over a time range, in ms.
func (r *ruled) selected(t rapid.TB, from, to int64, matchers []*labels.Matcher) []labels.Labels {
	t.Helper()
	q, ctx, end, err := r.engine.Queryable(r.Context(), querytest.Principal(r, querytest.Account),
		5*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	querier, err := q.Querier(from, to)
	if err != nil {
		t.Fatal(err)
	}
	defer querier.Close()
	var list []labels.Labels
	found := querier.Select(ctx, true, nil, matchers...)
	for found.Next() {
		list = append(list, found.At().Labels().Copy())
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, labels.Compare)
	return list
}

// TestListsAgreeWithSelecting: for each name that is derived of a histogram, and for stored ones
// beside them, the lists of series, of labels' names and of their values are those of the series
// that selecting gives over the same time.
func TestListsAgreeWithSelecting(t *testing.T) {
	r := newRuled(t)
	who := querytest.Principal(t, querytest.Account)
	var names []string
	for _, of := range slices.Concat(querytest.Histograms, querytest.GaugeHistograms) {
		names = append(names, of, of+"_bucket", of+"_sum", of+"_count")
	}
	names = append(names, "node_load1_bucket", "node_load1", "node:y", "old_seconds_bucket",
		"cassandra_table_reads_total")
	pick := func(list ...string) *rapid.Generator[string] { return rapid.SampledFrom(list) }
	seen := map[string]int{}
	check := func(t rapid.TB, from, to int64, expr string) {
		t.Helper()
		matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(expr)
		if err != nil {
			t.Fatal(expr, err)
		}
		c := metadata.SeriesQuery{From: time.UnixMilli(from), To: time.UnixMilli(to),
			Selectors: [][]*labels.Matcher{matchers}}
		want := r.selected(t, from, to, matchers)
		for _, l := range want {
			seen[l.Get(labels.MetricName)]++
		}
		series, _, err := r.engine.Lists.Series(r.Context(), who, c, 0)
		if err != nil || fmt.Sprint(series) != fmt.Sprint(want) {
			t.Errorf("%s: %v\nseries %v\nwant   %v", expr, err, series, want)
		}
		values := map[string]map[string]bool{"le": {}, "node": {}, "nosuch": {}, "__name__": {}}
		for _, l := range want {
			l.Range(func(l labels.Label) {
				if values[l.Name] == nil {
					values[l.Name] = map[string]bool{}
				}
				values[l.Name][l.Value] = true
			})
		}
		got, _, err := r.engine.Lists.LabelNames(r.Context(), who, c)
		var labelled []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if len(values[name]) > 0 {
				labelled = append(labelled, name)
			}
		}
		if err != nil || !slices.Equal(got, labelled) {
			t.Errorf("%s: label names %q %v, want %q", expr, got, err, labelled)
		}
		for name, of := range values {
			got, _, err := r.engine.Lists.LabelValues(r.Context(), who, name, c)
			if strings.Contains(expr, "(_sum)?") && name == labels.MetricName {
				got = slices.DeleteFunc(got, func(name string) bool { // it helps who looks for it
					base, derived := strings.CutSuffix(name, "_sum")
					return derived && of[base]
				})
			}
			if want := slices.Sorted(maps.Keys(of)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: values of %s %q %v, want %q", expr, name, got, err, want)
			}
		}
	}
	for _, name := range names {
		check(t, r.fleet.From, r.now, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		expr := fmt.Sprintf("{__name__=%q", pick(names...).Draw(t, "name"))
		if rapid.Bool().Draw(t, "of several") {
			of := pick(querytest.Histograms...).Draw(t, "histogram")
			expr = fmt.Sprintf("{__name__=~%q", of+pick("_.*", "_(bucket|sum)", "_count|node:y",
				"(_sum)?").Draw(t, "suffixes"))
		}
		for range rapid.IntRange(0, 3).Draw(t, "matchers") {
			expr += "," + pick(`le="+Inf"`, `le=""`, `le!=""`, `le=~"0.*"`, `le="nosuch"`, `le="5"`,
				`le!="+Inf"`, `cluster="fleet-0"`, `cluster!="fleet-0"`, `cluster="nosuch"`,
				`table="t1"`, `table!~"t1|t2"`, `request="Read"`, `request=""`, `value=""`,
				`value="x"`, `node="`+r.nodes[0].String()+`"`,
				`node!="`+r.nodes[1].String()+`"`).Draw(t, "matcher")
		}
		to := r.now
		if rapid.Bool().Draw(t, "long ago") {
			to = r.fleet.From - 10*24*time.Hour.Milliseconds()
		}
		check(t, to-(r.now-r.fleet.From), to, expr+"}")
	})
	for _, name := range names {
		if has := name != "node_load1_bucket" &&
			name != "cassandra_client_request_latency_seconds_sum"; (seen[name] > 0) != has {
			t.Errorf("%d series of %s were selected", seen[name], name)
		}
	}
}

// TestListsOfAllHaveClassicNames: who asks for all names, and for all values of le, finds those of
// histograms' classic series, and no sum of a histogram that has none.
func TestListsOfAllHaveClassicNames(t *testing.T) {
	r := newRuled(t)
	who := querytest.Principal(t, querytest.Account)
	c := r.catalogue(nil)
	all, _, err := r.engine.Lists.LabelValues(t.Context(), who, labels.MetricName, c)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"cassandra_table_read_latency_seconds":            true,
		"cassandra_table_read_latency_seconds_bucket":     true,
		"cassandra_table_read_latency_seconds_sum":        true,
		"cassandra_client_request_latency_seconds_bucket": true,
		"cassandra_client_request_latency_seconds_sum":    false,
		"node_load1_bucket":                               false,
	} {
		if slices.Contains(all, name) != want {
			t.Errorf("%s is listed: %v", name, !want)
		}
	}
	les, _, err := r.engine.Lists.LabelValues(t.Context(), who, "le", c)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"5": true, "0.25": true} // stored as labels
	for _, l := range r.selected(t, r.fleet.From, r.now, []*labels.Matcher{labels.MustNewMatcher(
		labels.MatchRegexp, labels.MetricName, "cassandra_.*_bucket")}) {
		want[l.Get("le")] = true
	}
	if got := slices.Sorted(maps.Keys(want)); !slices.Equal(les, got) {
		t.Errorf("values of le: %q, want %q", les, got)
	}
	names, _, err := r.engine.Lists.LabelNames(t.Context(), who, c)
	if err != nil || !slices.Contains(names, "le") {
		t.Errorf("names of labels: %q %v", names, err)
	}
}

// TestListedBucketsAreCounted: max_series counts each bucket, whatever limit says.
func TestListedBucketsAreCounted(t *testing.T) {
	const most = 10
	r := newRuled(t, func(c *query.Config) { c.MaxSeries = most })
	who := querytest.Principal(t, querytest.Account)
	name := querytest.Histograms[0] + "_bucket"
	c := r.catalogue([]*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, labels.MetricName,
		name)})
	c.From = time.UnixMilli(r.fleet.From)
	_, _, err := r.engine.Lists.Series(t.Context(), who, c, 0)
	limit, is := errors.AsType[*limit.Error](err)
	if !is || limit.Needed <= most {
		t.Fatalf("without a limit: %v", err)
	}
	big := newRuled(t, func(c *query.Config) { c.MaxSeries = limit.Needed })
	if list, _, err := big.engine.Lists.Series(t.Context(), who, c, 0); err != nil ||
		int64(len(list)) != limit.Needed {
		t.Errorf("%d of %d series: %v", len(list), limit.Needed, err)
	}
	for asked, want := range map[int]int{3: 3, most: most, math.MaxInt: most} {
		list, warnings, err := r.engine.Lists.Series(t.Context(), who, c, asked)
		texts, _ := warnings.AsStrings("", 0, 0)
		if err != nil || len(list) != want || !strings.Contains(fmt.Sprint(texts), "truncated") {
			t.Errorf("limit=%d: %d series, %q, %v", asked, len(list), texts, err)
		}
	}
}
