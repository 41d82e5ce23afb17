package query_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/limit"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// nested puts an expression into a format again and again.
func nested(levels int, format, expr string) string {
	for range levels {
		expr = fmt.Sprintf(format, expr)
	}
	return expr
}

const doubled = `label_join(%s,"x","","x","x","node")`

// allTables are all series of tables: some thousands.
const allTables = `{__name__=~"cassandra_table.*"}`

// hostileLabels are expressions whose labels would take gigabytes, or a processor for minutes.
var hostileLabels = []string{
	"count(" + nested(15, doubled, allTables) + ")",
	nested(18, doubled, "up"),
	nested(12, doubled, allTables),
	nested(200, `label_replace(%s,"x","$1$1$1","x","(.*)")`, `label_join(up,"x","","node")`),
	nested(200, `label_replace(%s,"x","${all}${all}","x","(?P<all>.*)")`,
		`label_join(up,"x","","node")`),
	`label_replace(` + allTables + `,"x","` + strings.Repeat("a", 60_000) + `","node",".*")`,
	nested(60, `label_replace(%s,"x","$1`+strings.Repeat("a", 900)+`","x","(.*)")`, allTables),
	`label_join(` + allTables + `,"x",` + strings.Repeat(`"node",`, 1500) + `"node")`,
	`label_join(` + allTables + `,"x","` + strings.Repeat(",", 30_000) + `","node","node","node")`,
	`count_values("v",` + nested(15, doubled, allTables) + `)`,
	`count_values without () ("v",` + nested(13, doubled, allTables) + `)`,
	`up * on (node) group_left (x) ` + nested(15, doubled, "up"),
	nested(15, doubled, `(up or `+allTables+`)`),
	`last_over_time(` + nested(15, doubled, "up") + `[1h:1s])`,
	`max_over_time(count_values("v", ` + allTables + `)[1h:1ms])`,
	`info(` + nested(15, doubled, "up") + `)`,
	`histogram_quantiles(` + nested(15, doubled, allTables) + `,"q",0.5,0.9)`,
	nested(40, `label_replace(%s,"x","$1","x","(.*)")`, "("+nested(12, doubled, allTables)+")"),
	manyLabels(150, allTables),
}

// manyLabels makes many labels of some length each.
func manyLabels(n int, expr string) string {
	for i := range n {
		expr = fmt.Sprintf(`label_join(%s,"l%d","",%s)`, expr, i,
			strings.Repeat(`"node",`, 11)+`"node"`)
	}
	return expr
}

// hostileFleet is an engine over nodes in memory, with what a process of 1 GiB may take.
func hostileFleet(t *testing.T) *query.Engine {
	t.Helper()
	limit := memory.Find(1 << 30)
	t.Cleanup(func() { debug.SetMemoryLimit(math.MaxInt64) })
	frames := querytest.Frames{}
	for i := range uint64(72) {
		tables := 1
		if i < 2 {
			tables = 300
		}
		n := frametest.New(fmt.Sprint("fleet-", i%2), i+1, tables)
		for at := shift - 60_000; at <= shift; at += 30_000 {
			n.Step()
			frames[n.ID] = append(frames[n.ID], n.Frame(int64(at)))
		}
	}
	budget, err := memory.NewBudget("work", limit.Bytes/2, nil)
	if err != nil {
		t.Fatal(err)
	}
	store := querytest.NewMemory(t, frames)
	r, err := read.New(read.Config{RecentSpan: time.Minute, NodesTTL: time.Minute,
		Timeout: time.Minute}, read.Sources{Store: store, LastSeen: store.LastSeen,
		Memory: budget})
	if err != nil {
		t.Fatal(err)
	}
	c := query.DefaultConfig()
	c.Clock = func() time.Time { return time.UnixMilli(shift) }
	c.MaxSamples = 1 << 20 // as a process of 1 GiB sets it
	p, err := selector.New(selector.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	e, err := query.NewEngine(c, r, nil, p, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a heap of its own, whatever tests before left
		if limit.Has() > limit.Bytes {
			t.Errorf("the process has %d MiB of %s", limit.Has()>>20, limit)
		}
	})
	return e
}

// ask evaluates an expression at one instant, or over an hour.
func ask(ctx context.Context, t *testing.T, e *query.Engine, account, expr string,
	over bool) error {
	t.Helper()
	who, now := querytest.Principal(t, account), time.UnixMilli(shift)
	var a *query.Answer
	var err error
	if over {
		a, err = e.Range(ctx, who, expr, now.Add(-time.Hour), now, time.Minute, query.Options{})
	} else {
		a, err = e.Instant(ctx, who, expr, now, query.Options{})
	}
	if err == nil {
		a.Close()
	}
	return err
}

// TestHostileLabels: labels that grow in an expression are refused before they are made, whatever
// makes them.
func TestHostileLabels(t *testing.T) {
	e := hostileFleet(t)
	for _, expr := range hostileLabels {
		for _, over := range []bool{false, true} {
			var err error
			took := memorytest.Allocated(func() {
				err = ask(t.Context(), t, e, "test", expr, over)
			})
			limit, is := errors.AsType[*limit.Error](err)
			if !is && !memory.Refused(err) {
				t.Errorf("%.120s… (%v): %v", expr, over, err)
			} else if is &&
				!slices.Contains([]string{"max_label_bytes", "timeout", "max_subquery_points"},
					limit.Limit) {
				t.Errorf("%.120s… (%v): %v", expr, over, err)
			}
			if took > 512<<20 {
				t.Errorf("%.120s… (%v) allocated %d MiB before it was refused", expr, over,
					took>>20)
			}
		}
	}
	for _, expr := range []string{ // what people write
		`label_replace(up, "host", "$1", "node", "([^-]+)-.*")`,
		nested(5, `label_replace(%s, "x", "$1-$2", "node", "([^-]+)-([^-]+).*")`, allTables),
		nested(4, doubled, "up"),
		`label_join(` + allTables +
			`, "where", "/", "cluster", "datacenter", "rack", "node", "keyspace", "table")`,
		`sum by (x) (label_replace(` + allTables + `, "x", "$1", "table", "(.).*"))`,
		`count_values("v", cassandra_table_reads_total)`,
		`count_values("v", cassandra_table_read_latency_seconds)`,
		`up * on (node) group_left (address) ringwatch_node_info`,
		nested(200, `label_replace(%s,"x","$1","x","(.*)")`, `label_join(up,"x","","node")`),
	} {
		for _, over := range []bool{false, true} {
			if err := ask(t.Context(), t, e, "test", expr, over); err != nil {
				t.Errorf("%.120s (%v): %v", expr, over, err)
			}
		}
	}
}

// TestHostileLabelsOfOthers: two accounts do their worst with six clients each, and a third one is
// answered.
func TestHostileLabelsOfOthers(t *testing.T) {
	e := hostileFleet(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	worst := append(slices.Clone(hostileLabels),
		nested(200, `label_replace(%s,"x","$1","x","(.*)")`, `label_join(up,"x","","node")`),
		nested(8, doubled, allTables),
		`quantile_over_time(0.5, vector(1)[5000s:1s])`)
	for _, account := range []string{"a", "b"} {
		for i := range 6 {
			wg.Go(func() {
				for j := i; ctx.Err() == nil; j++ {
					_ = ask(ctx, t, e, account, worst[j%len(worst)], j%2 == 0)
				}
			})
		}
	}
	var took []time.Duration
	for range 100 {
		began := time.Now()
		if err := ask(t.Context(), t, e, "c", "sum(up)", false); err != nil {
			t.Errorf("the third account: %v", err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("sum(up) took %s in the median, %s at most", took[50], took[99])
	cancel()
	wg.Wait()
}

// TestDeadline: a query that computes in one go for long has its error when its time is over, and
// holds its place until it has ended.
func TestDeadline(t *testing.T) {
	e := hostileFleet(t)
	now := time.UnixMilli(shift)
	_, err := e.Range(t.Context(), querytest.Principal(t, "test"),
		"sum_over_time(vector(1)[9000s:1s])",
		now.Add(-3*time.Hour), now, time.Second, query.Options{Timeout: 100 * time.Millisecond})
	var late promql.ErrQueryTimeout
	if !errors.As(err, &late) {
		t.Errorf("a query over its time: %v", err)
	}
	for e.Running() > 0 && t.Context().Err() == nil {
	}
}
