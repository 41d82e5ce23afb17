package rules

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/ringwatch/ringwatch/query/querytest"
)

// differential is rules of all kinds over a querytest.Fleet.
const differential = `
groups:
- name: recording
  interval: 15s
  rules:
  - record: node:reads:rate1m
    expr: sum by (cluster, node) (rate(cassandra_table_reads_total[1m]))
  - record: cluster:reads:rate1m
    expr: sum by (cluster) (node:reads:rate1m)
    labels: {of: "{{ braces are kept }}"}
  - record: cluster:read_latency:p99_2m
    expr: >
      histogram_quantile(0.99, sum by (cluster) (rate(cassandra_table_read_latency_seconds[2m])))
  - record: cluster:read_latency:p50_2m_classic
    expr: >
      histogram_quantile(0.5, sum by (cluster, le)
        (rate(cassandra_table_read_latency_seconds_bucket[2m])))
  - record: table:reads:increase5m
    expr: sum by (cluster, datacenter, keyspace, table) (increase(cassandra_table_reads_total[5m]))
  - record: cluster:requests:mean5m
    expr: >
      sum by (cluster, request) (rate(cassandra_client_request_latency_seconds_count[5m]))
  - record: cluster:texts:count
    expr: count by (cluster, value) (cassandra_node_schema_version)
  - record: cluster:sizes:p90
    expr: histogram_quantile(0.9, sum by (cluster) (cassandra_table_sstables_per_size))
  - record: node:load:changes
    expr: changes(node_load1[3m]) + resets(node_cpu_seconds_total[3m])
- name: alerts
  interval: 20s
  labels: {team: storage}
  rules:
  - alert: Load
    expr: node_load1 > 1
    for: 40s
    labels: {severity: warning}
    annotations:
      summary: '{{ $labels.node }} has a load of {{ $value | printf "%.3f" }}'
      others: '{{ with printf "node_load1{node=%q}" .Labels.node | query }}{{ . | first | value }}{{ end }}'
  - alert: Kept
    expr: node_load1 > 1.5
    keep_firing_for: 1m
    labels: {severity: '{{ if gt $value 2.0 }}critical{{ else }}warning{{ end }}'}
  - alert: Temperature
    expr: avg_over_time(node_temperature_celsius[2m]) > 20
    for: 1m
    keep_firing_for: 90s
  - alert: Reads
    expr: node:reads:rate1m > 0.5 and on (cluster, node) node_cpu_seconds_total
  - alert: Same
    expr: node_load1 * 0 + 1 unless on (cluster) (cluster:reads:rate1m > 1e9)
- name: late
  interval: 30s
  query_offset: 45s
  limit: 40
  rules:
  - record: node:pending:max
    expr: max by (cluster, node) (max_over_time(cassandra_compaction_pending_tasks[2m]))
  - alert: Pending
    expr: delta(cassandra_compaction_pending_tasks[5m]) > 0
  - record: cluster:subquery:max
    expr: max by (cluster) (max_over_time(rate(node_cpu_seconds_total[1m])[3m:30s]))
  - record: offset:load
    expr: node_load1 - node_load1 offset 2m
- name: broken
  rules:
  - record: node:twice
    expr: label_replace(node_load1, "node", "one", "", "")
  - record: node:after_broken
    expr: node_load1 > bool 1
`

// theirs is Prometheus with the fleet's samples and the same rules.
type theirs struct {
	t      *testing.T
	tsdb   *tsdbBoth
	groups map[string]*promrules.Group
	next   map[string]time.Time
	alerts []string
}

// tsdbBoth is two storages of Prometheus: one of samples, and one that takes what rules record.
type tsdbBoth struct {
	samples storage.Queryable
	*teststorage.TestStorage
}

// Querier implements storage.Queryable. It gives series in the order in which rules have them,
// since the last bits of sums depend on it.
func (b *tsdbBoth) Querier(from, to int64) (storage.Querier, error) {
	one, err := b.samples.Querier(from, to)
	if err != nil {
		return nil, err
	}
	other, err := b.TestStorage.Querier(from, to)
	return inOrder{storage.NewMergeQuerier([]storage.Querier{one, other}, nil,
		storage.ChainedSeriesMerge)}, err
}

type inOrder struct{ storage.Querier }

// Select implements storage.Querier.
func (q inOrder) Select(ctx context.Context, _ bool, h *storage.SelectHints,
	matchers ...*labels.Matcher) storage.SeriesSet {
	found := q.Querier.Select(ctx, true, h, matchers...)
	var list []storage.Series
	for found.Next() {
		list = append(list, found.At())
	}
	if err := found.Err(); err != nil {
		return storage.ErrSeriesSet(err)
	}
	bound := func(s storage.Series) float64 {
		v, _ := strconv.ParseFloat(s.Labels().Get(labels.BucketLabel), 64)
		return v
	}
	slices.SortStableFunc(list, func(a, b storage.Series) int {
		return cmp.Or(labels.Compare(labels.NewBuilder(a.Labels()).Del(labels.BucketLabel).Labels(),
			labels.NewBuilder(b.Labels()).Del(labels.BucketLabel).Labels()),
			cmp.Compare(bound(a), bound(b)))
	})
	return &seriesSet{list: list, at: -1}
}

func newTheirs(t *testing.T, fleet *querytest.Fleet, c *Config, files ...string) *theirs {
	t.Helper()
	db := fleet.TSDB(t)
	of := &theirs{t: t, tsdb: &tsdbBoth{db, teststorage.New(t)}, next: map[string]time.Time{}}
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: c.MaxSamples, Timeout: time.Minute,
		LookbackDelta:            c.Lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return c.EvaluationInterval.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: p})
	m := promrules.NewManager(&promrules.ManagerOptions{
		NameValidationScheme: labelNames, ExternalURL: &url.URL{}, Context: t.Context(),
		QueryFunc: promrules.EngineQueryFunc(engine, of.tsdb), Appendable: of.tsdb,
		Queryable: of.tsdb, Logger: promslog.NewNopLogger(), ResendDelay: c.ResendDelay, Parser: p,
		DefaultRuleQueryOffset: func() time.Duration { return 0 },
		NotifyFunc: func(_ context.Context, expr string, list ...*promrules.Alert) {
			for _, a := range list {
				of.alerts = append(of.alerts, said(&Alert{Alert: *a}))
			}
		},
	})
	var errs []error
	of.groups, errs = m.LoadGroups(c.EvaluationInterval, labels.EmptyLabels(), "", nil, false,
		files...)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range of.groups {
		for _, r := range g.AlertingRules() {
			r.SetRestored(true)
		}
	}
	return of
}

// until evaluates what is due from an instant to another, in ms.
func (of *theirs) until(from, to int64) {
	for {
		var found *promrules.Group
		for _, key := range slices.Sorted(maps.Keys(of.groups)) {
			g := of.groups[key]
			if of.next[key].IsZero() {
				of.next[key] = g.EvalTimestamp(from * int64(time.Millisecond)).Add(g.Interval())
			}
			at := of.next[key]
			if at.UnixMilli() <= to &&
				(found == nil || at.Before(of.next[promrules.GroupKey(found.File(),
					found.Name())])) {
				found = g
			}
		}
		if found == nil {
			return
		}
		key := promrules.GroupKey(found.File(), found.Name())
		found.Eval(of.t.Context(), of.next[key].Truncate(time.Millisecond))
		of.next[key] = of.next[key].Add(found.Interval())
	}
}

// recorded returns the samples of what rules recorded, by series and instant.
func (of *theirs) recorded(names *labels.Matcher) map[string]map[int64]float64 {
	of.t.Helper()
	q, err := of.tsdb.Querier(0, math.MaxInt64)
	if err != nil {
		of.t.Fatal(err)
	}
	defer q.Close()
	all := map[string]map[int64]float64{}
	set := q.Select(of.t.Context(), false, nil, names)
	for set.Next() {
		key := set.At().Labels().String()
		all[key] = map[int64]float64{}
		it := set.At().Iterator(nil)
		for it.Next() == chunkenc.ValFloat {
			if at, v := it.At(); !math.IsNaN(v) { // which no frame can hold
				all[key][at] = v
			}
		}
	}
	if set.Err() != nil {
		of.t.Fatal(set.Err())
	}
	maps.DeleteFunc(all, func(_ string, v map[int64]float64) bool { return len(v) == 0 })
	return all
}

var ofRules = labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName,
	"ALERTS.*|[a-z]+:.*")

// fleetOf is an hour of a fleet, or 20 minutes with -short.
func fleetOf(seed uint64, calm bool) *querytest.Fleet {
	span := time.Hour
	if testing.Short() {
		span = 20 * time.Minute
	}
	return fleetOfSpan(seed, calm, span)
}

func fleetOfSpan(seed uint64, calm bool, span time.Duration) *querytest.Fleet {
	return querytest.NewFleet(querytest.FleetConfig{Seed: seed, From: 1_790_000_000_000,
		Span: span, Interval: 20 * time.Second, Jitter: 2 * time.Second, Nodes: 6, Tables: 3,
		Calm: calm, Classic: true})
}

// TestDifferential lets Prometheus and the role evaluate the same rules over an hour of the same
// samples (20 minutes with -short), with gaps, restarts and resets, and wants the same recorded
// values, and the same alerts at the same times.
func TestDifferential(t *testing.T) {
	for _, calm := range []bool{true, false} {
		t.Run(fmt.Sprintf("calm %v", calm), func(t *testing.T) {
			fleet := fleetOf(20261122, calm)
			file := write(t, differential)
			l := newLine(t)
			r := l.role(file)
			of := newTheirs(t, fleet, &r.config, file)
			run(l, r, fleet, nil)
			of.until(fleet.From-r.config.Delay.Milliseconds(),
				fleet.End()-r.config.Delay.Milliseconds())
			compare(t, l, of)
		})
	}
}

// run plays a fleet's hour. between is called before each step of some seconds; it may return
// another role.
func run(l *line, r *Rules, fleet *querytest.Fleet, between func(now int64, r *Rules) *Rules) {
	frames := framesOf(l.t, fleet)
	for i := range 2 { // both clusters are there from the start
		j := slices.IndexFunc(frames, func(s sent) bool {
			return s.cluster == fmt.Sprintf("fleet-%d", i)
		})
		first := frames[j]
		first.at = fleet.From
		if _, err := r.partition(l.t.Context(), 0); err != nil {
			l.t.Fatal(err)
		}
		if _, err := r.cluster(r.partitions[0], querytest.Account, first.cluster); err != nil {
			l.t.Fatal(err)
		}
	}
	l.deliver(r, fleet.From)
	for now := fleet.From; now <= fleet.End(); now += 5000 {
		if between != nil {
			r = between(now, r)
		}
		n := 0
		for n < len(frames) && frames[n].at <= now {
			n++
		}
		l.deliver(r, now, frames[:n]...)
		frames = frames[n:]
	}
	l.deliver(r, fleet.End(), frames...)
}

// compare wants the same of both.
func compare(t *testing.T, l *line, of *theirs) {
	t.Helper()
	got, want := l.recorded(), of.recorded(ofRules)
	n := 0
	for series, values := range want {
		for at, v := range values {
			n++
			if g, found := got[series][at]; !found {
				t.Errorf("not recorded: %s at %d = %v", series, at, v)
			} else if math.Float64bits(g) != math.Float64bits(v) {
				t.Errorf("%s at %d is %v, Prometheus has %v", series, at, g, v)
			}
		}
	}
	for series, values := range got {
		for at, v := range values {
			if _, found := want[series][at]; !found {
				t.Errorf("recorded, but not by Prometheus: %s at %d = %v", series, at, v)
			}
		}
	}
	ours := make([]string, len(l.alerts))
	for i := range l.alerts {
		ours[i] = said(&l.alerts[i])
	}
	theirs := slices.Clone(of.alerts)
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		t.Errorf("alerts differ:\n%s", strings.Join(difference(ours, theirs), "\n"))
	}
	if n < 1000 || len(theirs) < 100 {
		t.Errorf("only %d samples were recorded and %d alerts said", n, len(theirs))
	}
	t.Logf("%d samples of %d series, %d notifications", n, len(want), len(theirs))
}

func difference(ours, theirs []string) (list []string) {
	for _, s := range ours {
		if !slices.Contains(theirs, s) {
			list = append(list, "ours:   "+s)
		}
	}
	for _, s := range theirs {
		if !slices.Contains(ours, s) {
			list = append(list, "theirs: "+s)
		}
	}
	return list[:min(len(list), 20)]
}
