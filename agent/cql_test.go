package agent_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/engines"
)

const metrics = "org.apache.cassandra.metrics."

// testSystemMetrics compares the tables' values with JMX, on a node whose table watched.t was
// filled and flushed. Cassandra 6 has tables of its own.
func (n *node) testSystemMetrics(t *testing.T) {
	n.testState(t)
	if n.version == engines.Cassandra60 {
		return
	}
	t.Run("Groups", n.testGroups)
	t.Run("Values", n.testRows)
	t.Run("Queries", n.testQueries)
	t.Run("DroppedTable", n.testDroppedRows)
	t.Run("PagingWhileTablesComeAndGo", n.testPaging)
}

// testState waits for the agent's own table: it is there once the agent has seen Cassandra up.
func (n *node) testState(t *testing.T) {
	t.Helper()
	n.next(t)
	state := map[string]string{}
	iter := n.cql.Query("SELECT name, value FROM system_ringwatch.agent").IterContext(t.Context())
	for name, value := "", ""; iter.Scan(&name, &value); {
		state[name] = value
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	if state["version"] == "" || state["ringwatch_agent_passes_total"] == "" ||
		state["ringwatch_agent_cql_errors_total"] != "0" ||
		state[`ringwatch_agent_frames_dropped_total{reason="queue_full"}`] != "0" {
		t.Errorf("the agent says of itself: %v", state)
	}
}

// columns are all columns of system_metrics: table.column → kind and type.
func (n *node) columns(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	iter := n.cql.Query("SELECT table_name, column_name, kind, type FROM " +
		"system_virtual_schema.columns WHERE keyspace_name = 'system_metrics'").IterContext(
		t.Context())
	for table, column, kind, typ := "", "", "", ""; iter.Scan(&table, &column, &kind, &typ); {
		found[table+"."+column] = kind + " " + typ
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return found
}

// testSchema compares the columns that the agent adds with those of Cassandra 6.
func testSchema(t *testing.T, ours, builtIn map[string]string) {
	if len(builtIn) < 200 || builtIn["type_timer.name"] != "partition_key text" ||
		builtIn["type_timer.p50th"] != "" || builtIn["type_timer.buckets"] != "" {
		t.Fatalf("Cassandra 6's own tables are not as they were, with %d columns: %v", len(builtIn),
			builtIn)
	}
	ours = maps.Clone(ours)
	for column, is := range builtIn {
		if ours[column] != is {
			t.Errorf("%s is %q and in Cassandra 6 %q", column, ours[column], is)
		}
		delete(ours, column)
	}
	want := map[string]string{
		"type_timer.p50th":               "regular double",
		"type_timer.buckets":             "regular frozen<map<double, bigint>>",
		"type_histogram.p50th":           "regular double",
		"type_histogram.buckets":         "regular frozen<map<double, bigint>>",
		"inbound_connection_group.name":  "partition_key text",
		"inbound_connection_group.scope": "regular text",
		"inbound_connection_group.type":  "regular text",
		"inbound_connection_group.value": "regular text",
	}
	if !maps.Equal(ours, want) {
		t.Errorf("more than in Cassandra 6: %v", ours)
	}
}

// testGroups holds all tables of groups together against the tables of types: the same names,
// each in one.
func (n *node) testGroups(t *testing.T) {
	inGroups := map[string]bool{}
	iter := n.cql.Query("SELECT group_name, virtual_table FROM system_metrics.all_groups").
		IterContext(t.Context())
	groups := 0
	for group, table := "", ""; iter.Scan(&group, &table); groups++ {
		for _, name := range n.names(t, table, 1000) {
			if !strings.HasPrefix(name, metrics+group+".") || inGroups[name] {
				t.Errorf("%s is in %s", name, table)
			}
			inGroups[name] = true
		}
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	types := 0
	for _, kind := range []string{"counter", "gauge", "histogram", "meter", "timer"} {
		names := n.names(t, "type_"+kind, 1000)
		types += len(names)
		for _, name := range names {
			if !inGroups[name] && strings.HasPrefix(name, metrics) && name != metrics {
				t.Errorf("%s is in type_%s and in no group", name, kind)
			}
		}
	}
	if groups < 44 || len(inGroups) < 3000 || math.Abs(float64(types-len(inGroups))) > 200 {
		t.Errorf("%d groups, %d metrics in groups, %d by type", groups, len(inGroups), types)
	}
}

// names reads all names of a table, in pages.
func (n *node) names(t *testing.T, table string, page int) []string {
	t.Helper()
	var names []string
	iter := n.cql.Query("SELECT name FROM system_metrics." + table).PageSize(page).IterContext(
		t.Context())
	for name := ""; iter.Scan(&name); {
		names = append(names, name)
	}
	if err := iter.Close(); err != nil {
		t.Fatal(err)
	}
	return names
}

// rowPair is a row and the bean that says the same: column → attribute.
type rowPair struct {
	table, name, bean string
	columns           map[string]string
}

var (
	distribution = map[string]string{
		"min": "Min", "max": "Max", "mean": "Mean", "p50th": "50thPercentile",
		"p75th": "75thPercentile", "p95th": "95thPercentile",
		"p98th": "98thPercentile", "p99th": "99thPercentile", "p999th": "999thPercentile",
		"buckets": "values()",
	}
	rates = map[string]string{
		"count": "Count", "one_minute_rate": "OneMinuteRate", "five_minute_rate": "FiveMinuteRate",
		"fifteen_minute_rate": "FifteenMinuteRate", "mean_rate": "MeanRate",
	}
	both = func() map[string]string {
		m := maps.Clone(distribution)
		maps.Copy(m, rates)
		return m
	}()
)

func rowPairs() (pairs []rowPair) {
	of := func(name string) (string, string) {
		return "Table." + name + ".watched.t", "Table,keyspace=watched,scope=t,name=" + name
	}
	add := func(table, name, bean string, columns map[string]string) {
		pairs = append(pairs,
			rowPair{table, metrics + name, "org.apache.cassandra.metrics:type=" + bean, columns})
	}
	for _, name := range []string{"BytesFlushed", "MemtableSwitchCount", "LiveDiskSpaceUsed",
		"ReadTotalLatency"} {
		row, bean := of(name)
		add("type_counter", row, bean, map[string]string{"value": "Count"})
		add("table_group", row, bean, map[string]string{"value": "Count"})
	}
	for _, name := range []string{"LiveSSTableCount", "CompressionRatio",
		"EstimatedPartitionSizeHistogram", "MaxPartitionSize"} {
		row, bean := of(name)
		add("type_gauge", row, bean, map[string]string{"value": "Value"})
		add("table_group", row, bean, map[string]string{"value": "Value"})
	}
	for _, name := range []string{"SSTablesPerReadHistogram", "LiveScannedHistogram",
		"TombstoneScannedHistogram", "ColUpdateTimeDeltaHistogram"} {
		row, bean := of(name)
		add("type_histogram", row, bean, distribution)
		add("table_group", row, bean, map[string]string{"value": "50thPercentile"})
	}
	for _, name := range []string{"ReadLatency", "WriteLatency", "RangeLatency",
		"CoordinatorReadLatency"} {
		row, bean := of(name)
		add("type_timer", row, bean, both)
		add("table_group", row, bean, map[string]string{"value": "Count"})
	}
	add("type_timer", "ClientRequest.Latency.Write", "ClientRequest,scope=Write,name=Latency", both)
	add("type_timer", "keyspace.WriteLatency.watched",
		"Keyspace,keyspace=watched,name=WriteLatency", both)
	add("type_meter", "DroppedMessage.Dropped.READ_REQ",
		"DroppedMessage,scope=READ_REQ,name=Dropped", rates)
	add("type_meter", "ClientRequest.Timeouts.Read", "ClientRequest,scope=Read,name=Timeouts",
		rates)
	add("type_meter", "Compaction.TotalCompactionsCompleted",
		"Compaction,name=TotalCompactionsCompleted", rates)
	add("cache_group", "Cache.Capacity.KeyCache", "Cache,scope=KeyCache,name=Capacity",
		map[string]string{"value": "Value"})
	return pairs
}

// testRows holds rows by name against JMX: a value is right that lies between what JMX says
// before and after.
func (n *node) testRows(t *testing.T) {
	deadline := time.Now().Add(patience)
	for _, p := range rowPairs() {
		for {
			before := n.beanRow(t, p)
			row := map[string]any{}
			columns := slices.Sorted(maps.Keys(p.columns))
			statement := fmt.Sprintf("SELECT scope, %s FROM system_metrics.%s WHERE name = ?",
				strings.Join(columns, ", "), p.table)
			if err := n.cql.Query(statement, p.name).MapScanContext(t.Context(), row); err != nil {
				t.Errorf("%s %s: %v", p.table, p.name, err)
				break
			}
			after := n.beanRow(t, p)
			err := n.differs(p, row, before, after)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s %s: %v", p.table, p.name, err)
				break
			}
		}
	}
}

func (n *node) beanRow(t *testing.T, p rowPair) map[string]string {
	t.Helper()
	row := map[string]string{}
	for column, attribute := range p.columns {
		value, err := n.jmx.read(p.bean, attribute)
		if err != nil {
			t.Fatal(err)
		}
		row[column] = value
	}
	return row
}

func (n *node) differs(p rowPair, row map[string]any, before, after map[string]string) error {
	scope := strings.SplitN(strings.TrimPrefix(p.name, metrics)+".", ".", 3)[2]
	if scope = strings.TrimSuffix(scope, "."); scope == "" {
		scope = "undefined"
	}
	if row["scope"] != scope {
		return fmt.Errorf("its scope is %v and not %s", row["scope"], scope)
	}
	for column := range p.columns {
		if column == "buckets" {
			if before[column] != after[column] {
				return fmt.Errorf("JMX moves")
			}
			unit := 1.0
			if p.table == "type_timer" && n.version == engines.Cassandra40 {
				unit = 0.001 // its timers hold nanoseconds
			}
			if err := bucketsDiffer(row[column].(map[float64]int64), before[column],
				unit); err != nil {
				return err
			}
			continue
		}
		seen := fmt.Sprint(row[column])
		var x, y, z float64
		_, errX := fmt.Sscan(before[column], &x)
		_, errY := fmt.Sscan(seen, &y)
		_, errZ := fmt.Sscan(after[column], &z)
		switch {
		case errX != nil || errY != nil || errZ != nil || math.IsNaN(x):
			if seen != before[column] {
				return fmt.Errorf("%s is %q and JMX says %q", column, seen, before[column])
			}
		case y < min(x, z)*(1-1e-12) || y > max(x, z)*(1+1e-12):
			return fmt.Errorf("%s is %v and JMX says %v and %v", column, y, x, z)
		}
	}
	return nil
}

// bucketsDiffer compares counts with JMX's array, and their bounds with the series that
// Cassandra's documentation gives: each a fifth larger than the one before, at least by one.
func bucketsDiffer(buckets map[float64]int64, jmx string, unit float64) error {
	var counts []int64
	for _, word := range strings.Fields(strings.NewReplacer("[", " ", "]", " ", ",",
		" ").Replace(jmx)) {
		var count int64
		if _, err := fmt.Sscan(word, &count); err != nil {
			return err
		}
		counts = append(counts, count)
	}
	var bounds []float64
	// 128 and 165 are those without a bucket for zeroes
	if len(counts) == 129 || len(counts) == 166 {
		bounds = append(bounds, 0)
	}
	for last := 1.0; len(bounds) < len(counts)-1; last = max(last+1, math.Round(last*1.2)) {
		bounds = append(bounds, last)
	}
	for i, count := range counts {
		bound := math.Inf(1)
		if i < len(bounds) {
			bound = bounds[i] * unit
		}
		if got := buckets[bound]; got != count {
			return fmt.Errorf("%d up to %v and JMX says %d (%v of %s)", got, bound, count,
				buckets, jmx)
		}
		if count == 0 {
			if _, ok := buckets[bound]; ok {
				return fmt.Errorf("an empty bucket at %v", bound)
			}
		}
	}
	return nil
}

func (n *node) testQueries(t *testing.T) {
	read := metrics + "Table.ReadLatency.watched.t"
	write := metrics + "Table.WriteLatency.watched.t"
	for statement, want := range map[string][]string{
		"type_timer WHERE name = '" + read +
			"'": {read},
		"type_timer WHERE name = 'no " +
			"such name'": nil,
		// it is a timer
		"type_counter WHERE name = '" + read + "'": nil,
		// of another group
		"cache_group WHERE name = '" + read + "'": nil,
		"table_group WHERE name IN ('" + write + "', 'none', '" + read +
			"')": {read, write},
		// counted below
		"table_group WHERE scope = 'watched.t' AND type = 'timer' ALLOW FILTERING": nil,
		"type_timer WHERE token(name) >= token('" + read + "') AND token(name) <= token('" + read +
			"')": {read},
		"type_timer WHERE token(name) > token('" + read + "') AND token(name) <= token('" + read +
			"')": nil,
		"table_group WHERE token(name) >= token('" + metrics +
			"Table.ReadL') AND token(name) < token('" + metrics +
			"Table.ReadM') AND scope = 'watched.t' ALLOW FILTERING": {read},
		"table_group WHERE token(name) > token('z')": nil,
		"table_group WHERE token(name) < token('a')": nil,
	} {
		var got []string
		iter := n.cql.Query("SELECT name FROM system_metrics." + statement).PageSize(2).IterContext(
			t.Context())
		for name := ""; iter.Scan(&name); {
			got = append(got, name)
		}
		if err := iter.Close(); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
		slices.Sort(got)
		if strings.Contains(statement, "type = 'timer'") {
			if len(got) < 8 || !slices.Contains(got, read) {
				t.Errorf("%s: %v", statement, got)
			}
		} else if !slices.Equal(got, want) {
			t.Errorf("%s: %v and not %v", statement, got, want)
		}
	}
	all := n.names(t, "type_meter", 10)
	if !slices.IsSorted(all) || len(all) < 50 {
		t.Errorf("%d meters in order: %v", len(all), slices.IsSorted(all))
	}
	for _, limit := range []int{1, 7} {
		if got := n.names(t, fmt.Sprintf("type_meter LIMIT %d", limit), 3); !slices.Equal(got,
			all[:limit]) {
			t.Errorf("LIMIT %d: %v", limit, got)
		}
	}
	for _, statement := range []string{
		"INSERT INTO system_metrics.type_counter (name, value) VALUES ('x', 1)",
		"DELETE FROM system_metrics.type_counter WHERE name = 'x'",
		"TRUNCATE system_metrics.type_counter", "DROP KEYSPACE system_metrics",
		"ALTER TABLE system_metrics.type_counter ADD x int",
	} {
		if err := n.cql.Query(statement).ExecContext(t.Context()); err == nil {
			t.Errorf("%s was done", statement)
		}
	}
	var count int64
	if err := n.cql.Query("SELECT count FROM system_metrics.type_timer WHERE name = ?",
		write).ScanContext(t.Context(), &count); err != nil || count != 200 {
		t.Errorf("%d writes and not 200 %v", count, err)
	}
}

func (n *node) testDroppedRows(t *testing.T) {
	name := metrics + "Table.WriteLatency.watched.row"
	writes := func() (count int64) {
		if err := n.cql.Query("SELECT count FROM system_metrics.type_timer WHERE name = ?",
			name).ScanContext(t.Context(), &count); err != nil {
			if err != gocql.ErrNotFound {
				t.Fatal(err)
			}
			return -1
		}
		return count
	}
	for _, rows := range []int{5, 3} {
		n.fill(t, "watched.row", rows)
		if got := writes(); got != int64(rows) {
			t.Errorf("%d writes and not %d", got, rows)
		}
		if !slices.Contains(n.names(t, "table_group", 1000), name) {
			t.Errorf("%s is not in its group", name)
		}
		n.exec(t, "DROP TABLE watched.row")
		for deadline := time.Now().Add(patience); writes() >= 0; {
			if time.Now().After(deadline) {
				t.Fatalf("%s is there after its table was dropped", name)
			}
		}
		for _, left := range append(n.names(t, "table_group", 1000),
			n.names(t, "type_timer", 1000)...) {
			if left == name {
				t.Errorf("%s is there after its table was dropped", left)
			}
		}
	}
}

// testPaging reads a whole group in small pages while tables come and go: what was there all the
// time is there once.
func (n *node) testPaging(t *testing.T) {
	before := n.names(t, "table_group", 1000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	churned := make(chan error, 1)
	rounds := 0
	go func() {
		for ; ctx.Err() == nil; rounds++ {
			for _, statement := range []string{"CREATE TABLE watched.%s (k int PRIMARY KEY)",
				"DROP TABLE watched.%s"} {
				for _, table := range []string{"a_first", "z_last"} {
					if err := n.cql.Query(fmt.Sprintf(statement, table)).ExecContext(
						t.Context()); err != nil {
						churned <- err
						return
					}
				}
			}
		}
		churned <- nil
	}()
	scans := 0
	for deadline := time.Now().Add(patience); scans < 3 ||
		rounds < 2 && time.Now().Before(deadline); scans++ {
		seen := n.names(t, "table_group", 100)
		if !slices.IsSorted(seen) {
			t.Error("out of order")
		}
		if once := slices.Compact(slices.Clone(seen)); len(once) != len(seen) {
			t.Errorf("%d names twice", len(seen)-len(once))
		}
		for _, name := range before {
			if _, ok := slices.BinarySearch(seen, name); !ok {
				t.Errorf("%s is missing", name)
			}
		}
	}
	cancel()
	if err := <-churned; err != nil {
		t.Error(err)
	}
	t.Logf("%d scans of %d names in pages of 100 while tables came and went %d times", scans,
		len(before), rounds)
}
