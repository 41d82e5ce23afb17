package query_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// TestKernels asks for aggregations of functions, and for what may stand around them, with kernels
// and of Prometheus's engine alone, over the same source. Values, labels, warnings and errors are
// the same, to the last bit.
func TestKernels(t *testing.T) {
	n := seed(t)
	f := querytest.NewFleet(querytest.FleetConfig{Seed: n, From: origin, Span: 2 * time.Hour,
		Interval: 20 * time.Second, Jitter: 400 * time.Millisecond, Nodes: 6, Tables: 4,
		Classic: true})
	store := querytest.NewMemory(t, f.Frames)
	now := f.End() + time.Minute.Milliseconds()
	p := kernelled{T: t, who: querytest.Principal(t, querytest.Account)}
	// With samples alone, with rollups, and with samples of the last hour and rollups.
	for i, retention := range []time.Duration{14 * 24 * time.Hour, 14 * 24 * time.Hour, time.Hour} {
		p.with = newStoredEngine(t, store, now, retention, nil, i > 0)
		p.alone = newStoredEngine(t, store, now, retention, nil, i > 0)
		p.alone.Alone()
		e := querytest.NewExpressions(f, n+uint64(i))
		for range 700 {
			expr := e.Kernel()
			s := instant(e.Time())
			if e.IntN(6) > 0 {
				s.step = []time.Duration{time.Second, 7 * time.Second, 20 * time.Second,
					time.Minute, 2*time.Minute + 13*time.Millisecond, 5 * time.Minute,
					11 * time.Minute}[e.IntN(7)]
				s.from = time.UnixMilli(e.Time())
				if e.IntN(2) == 0 {
					s.from = s.from.Truncate(5 * time.Minute)
				}
				s.to = s.from.Add(time.Duration(e.IntN(60)) * s.step)
			}
			p.ask(expr, s)
		}
		for range 6 { // the same at all steps, beside what is not, and histograms of the present
			for _, expr := range []string{"sum(rate(%[1]s[5m])) / sum(rate(%[1]s[5m] @ end()))",
				"%[1]s > on (node, table) group_left avg by (node, table) (%[1]s @ " +
					"start() offset 3m)",
				"topk(2, %[1]s @ end())", "histogram_avg(sum(rate(%[2]s[5m] @ %[3]d.5)))",
				"count by (node) (%[2]s @ end()) - count by (node) (%[2]s)",
				"timestamp(sum(%[1]s @ end()))", "rate(%[1]s[2m] @ start())",
				"histogram_quantile(0.9, sum by (node) (%[4]s @ %[3]d))", "sum by (table) (%[4]s)",
				"histogram_count(avg(%[4]s offset 1m))", "avg by (cluster) (%[4]s)", "sum(%[4]s)",
				"histogram_quantile(0.9, sum(%[2]s))"} {
				expr = fmt.Sprintf(expr, "cassandra_table_reads_total",
					"cassandra_table_read_latency_seconds",
					e.Time()/1000, querytest.GaugeHistograms[0])
				from := time.UnixMilli(e.Time())
				p.ask(expr, span{from, from.Add(20 * time.Minute), time.Minute})
				p.ask(expr, instant(e.Time()))
			}
		}
		// windows that begin at each sample around them
		for _, at := range f.Resets[:min(len(f.Resets), 6)] {
			from := time.UnixMilli(at - 60_000)
			for _, expr := range []string{"sum(rate(cassandra_table_read_latency_seconds[1m]))",
				"avg by (node) (increase(cassandra_client_request_latency_seconds[45s]))",
				"histogram_avg(sum by (cluster) (rate(cassandra_table_read_latency_seconds[2m])))",
				"sum(increase(cassandra_table_reads_total[90s]))"} {
				p.ask(expr, span{from, from.Add(4 * time.Minute), 7 * time.Second})
			}
		}
		t.Logf("kernels answered %d parts, the engine alone %d", p.with.Kernels(),
			p.alone.Kernels())
		if p.with.Kernels() < 350 || p.alone.Kernels() > 0 {
			t.Error("these are too few, or too many")
		}
	}
	t.Logf("%d questions, %d answers that are not empty, %d refused", p.asked, p.full, p.refused)
	if p.full < p.asked/2 {
		t.Error("too few answers have anything in them")
	}
}

// kernelled asks an engine with kernels and one without the same.
type kernelled struct {
	*testing.T
	with, alone                 *query.Engine
	who                         account.Principal
	asked, full, refused, wrong int
}

func (p *kernelled) ask(expr string, s span) {
	p.Helper()
	p.asked++
	of := func(e *query.Engine) (*query.Answer, error) {
		o := query.Options{}
		if p.asked%5 == 0 {
			o.Lookback = 90 * time.Second
		}
		if s.step == 0 {
			return e.Instant(p.Context(), p.who, expr, s.from, o)
		}
		return e.Range(p.Context(), p.who, expr, s.from, s.to, s.step, o)
	}
	got, gotErr := of(p.with)
	want, wantErr := of(p.alone)
	say := func(format string, args ...any) {
		p.Helper()
		if p.wrong++; p.wrong <= maxWrong {
			p.Errorf("%s\n   %s\n   %s", expr, s, fmt.Sprintf(format, args...))
		}
	}
	if gotErr == nil {
		defer got.Close()
	}
	if wantErr == nil {
		defer want.Close()
	}
	if gotErr != nil || wantErr != nil {
		p.refused++
		if gotErr == nil || wantErr == nil || gotErr.Error() != wantErr.Error() {
			say("refused: %v, want %v", gotErr, wantErr)
		}
		return
	}
	if rows(want.Value) > 0 {
		p.full++
	}
	if d := querytest.Diff(got.Value, want.Value, 0, strings.HasPrefix(expr, "sort")); d != "" {
		say("%s", d)
	}
	if ranked := strings.HasPrefix(expr, "topk") || strings.HasPrefix(expr, "bottomk"); ranked &&
		s.step == 0 {
		if g, w := got.Value.String(), want.Value.String(); g != w {
			say("the order is\n%s\nwant\n%s", g, w)
		}
	}
	if g, w := texts(got.Warnings, expr), texts(want.Warnings, expr); !slices.Equal(g, w) {
		say("warnings %q, want %q", g, w)
	}
}

// texts are all annotations as users see them, with their places.
func texts(list annotations.Annotations, expr string) []string {
	warnings, infos := list.AsStrings(expr, 0, 0)
	all := slices.Concat(warnings, infos)
	slices.Sort(all)
	return all
}

// TestKernelsNow asks for the newest values of a fleet, as they are read and as they are kept:
// kernels answer what Prometheus's engine alone does, in its order.
func TestKernelsNow(t *testing.T) {
	f := newBenchFleet(t, 66, 1, 3) // more nodes than are read at once
	p := kernelled{T: t, who: querytest.Principal(t, querytest.Account)}
	p.alone = f.engine(t, 0)
	p.alone.Alone()
	for _, kept := range []int64{0, 64 << 20} {
		p.with = f.engine(t, kept)
		list := []string{
			"sum by (cluster, datacenter) (cassandra_compaction_pending_tasks)",
			"topk(7, os_load1)", "bottomk by (datacenter) (3, os_load1)", "quantile(0.3, os_load1)",
			`count({__name__=~"cassandra_table.*"})`,
			`count by (__name__) ({__name__=~"cassandra_c.*"})`,
			`avg by (__name__) ({__name__=~"os_.*",__name__!~".*_seconds"})`,
			"group by (request) (cassandra_client_request_latency_seconds)",
			"sum by (request) (cassandra_client_request_latency_seconds_count)",
			"max by (le) (cassandra_client_request_latency_seconds_bucket)",
			`count by (__name__, value) ({__name__=~"cassandra_node_.*"})`,
			"histogram_quantile(0.9, sum by (request) (cassandra_client_request_latency_seconds))",
			"histogram_count(avg(cassandra_table_estimated_partition_size_bytes))",
			"sum by (table) (cassandra_table_estimated_partition_size_bytes)",
			`stddev by (table) (cassandra_table_live_sstables offset -1s)`,
		}
		for i := range int64(2) {
			for _, expr := range list {
				p.ask(expr, instant(f.at+1000*i))
			}
		}
		if n := p.with.Kernels(); n != int64(2*len(list)) {
			t.Errorf("kernels answered %d of %d questions", n, 2*len(list))
		}
	}
	if p.full != p.asked {
		t.Errorf("%d of %d answers are empty", p.asked-p.full, p.asked)
	}
}

// TestKernelsHold asks for more series than a query may hold: what adds them up is answered, and
// what has them all in its answer is refused.
func TestKernelsHold(t *testing.T) {
	c := newColumns(t, 3, 7)
	from, to := time.UnixMilli(origin+3_600_000), time.UnixMilli(origin+3*3_600_000)
	ask := func(expr string, alone bool) error {
		e := c.engine(t, func(c *query.Config) { c.MaxSeries, c.MaxSamples = 20, 20_000 })
		if alone {
			e.Alone()
		}
		a, err := e.Range(t.Context(), querytest.Principal(t, querytest.Account), expr, from, to,
			time.Minute, query.Options{})
		if err == nil {
			a.Close()
		}
		return err
	}
	for _, expr := range []string{"sum by (cluster) (rate(reads_total[1m]))", "max(reads_total)",
		"histogram_count(sum by (node) (rate(latency_seconds[5m])))", "topk(3, reads_total)",
		"bottomk by (node) (2, rate(reads_total[1m]))", "quantile(0.9, rate(reads_total[1m]))",
		`count({__name__=~".+"})`, "group by (node) (last_over_time(latency_seconds[1m]))",
		"sum(count_over_time(latency_seconds[1m]))"} {
		if err := ask(expr, false); err != nil {
			t.Errorf("%s: %v", expr, err)
		}
		if ask(expr, true) == nil {
			t.Errorf("%s: the engine alone holds it", expr)
		}
	}
	for _, expr := range []string{"sum by (node, table) (rate(reads_total[1m]))",
		"topk(30, reads_total)"} {
		got, want := ask(expr, false), ask(expr, true)
		var a, b *limit.Error
		if !errors.As(got, &a) || !errors.As(want, &b) || a.Limit != "max_series" ||
			b.Limit != a.Limit {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
}

// TestKernelsCount counts histograms: the store is not asked for their buckets, unless these are
// looked at.
func TestKernelsCount(t *testing.T) {
	c := newColumns(t, 1, 1)
	e := c.engine(t, func(*query.Config) {})
	for expr, want := range map[string][]blobs.Facet{
		"count(latency_seconds)":                    {blobs.Values},
		"sum(count_over_time(latency_seconds[1m]))": {blobs.Values},
		"sum(rate(latency_seconds[1m]))":            nil, "count(rate(latency_seconds[1m]))": nil,
	} {
		a, err := e.Range(t.Context(), querytest.Principal(t, querytest.Account), expr,
			time.UnixMilli(origin+3_600_000), time.UnixMilli(origin+7_200_000), time.Minute,
			query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if rows(a.Value) != 1 || !slices.Equal(*c.facets.Load(), want) {
			t.Errorf("%s: %d rows of the facets %v", expr, rows(a.Value), *c.facets.Load())
		}
		a.Close()
	}
}

// TestKernelsEnd ends questions whose windows are long, while a kernel computes.
func TestKernelsEnd(t *testing.T) {
	c := newColumns(t, 8, 20)
	for _, expr := range []string{"sum(avg_over_time(reads_total[5h]))",
		"topk(5, avg_over_time(reads_total[5h]))",
		"quantile(0.9, avg_over_time(reads_total[5h]))"} {
		e := c.engine(t, func(*query.Config) {})
		reading := make(chan struct{})
		c.reads = sync.OnceFunc(func() { close(reading) })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			_, err := e.Range(ctx, querytest.Principal(t, querytest.Account), expr,
				time.UnixMilli(origin),
				time.UnixMilli(origin+6*3_600_000), 2*time.Second, query.Options{})
			ended <- err
		}()
		<-reading
		cancel()
		at := time.Now()
		if err := <-ended; err == nil {
			t.Fatal(expr, "was done before it was ended")
		}
		for e.Running() > 0 {
			if time.Since(at) > 10*time.Second {
				t.Fatal(expr, "still computes")
			}
			runtime.Gosched()
		}
		t.Logf("%s ended after %v", expr, time.Since(at))
	}
}
