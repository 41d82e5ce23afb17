// Package agent_test holds the agent, in every Cassandra it supports, against what Cassandra
// itself says over JMX.
package agent_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/dictionary"
)

const replication = " WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"

// TestVersions starts each version once, 4.1 only at full extent, for all that is held against it.
func TestVersions(t *testing.T) {
	var mu sync.Mutex
	columns := map[string]map[string]string{} // of system_metrics, by version
	t.Run("Nodes", func(t *testing.T) {
		for _, version := range engines.CassandraVersions() {
			if version == engines.Cassandra41 && os.Getenv("RINGWATCH_TEST_FULL") == "" {
				continue // it lies between two that are here
			}
			t.Run(version, func(t *testing.T) {
				its := testVersion(t, version)
				mu.Lock()
				defer mu.Unlock()
				columns[version] = its
			})
		}
	})
	for version, its := range columns {
		if version != engines.Cassandra60 {
			t.Run("Schema/"+version, func(t *testing.T) {
				testSchema(t, its, columns[engines.Cassandra60])
			})
		}
	}
}

// testVersion returns the columns of system_metrics.
func testVersion(t *testing.T, version string) map[string]string {
	long := extent(version)
	if !long.full {
		t.Parallel() // each waits for a minute's turn; at full extent their heaps would be 12 GB
	}
	listens := engines.FreePorts(t, 1)[0]
	n := mustNodeWith(t, version, fmt.Sprintf("listen: 127.0.0.1:%d\n", listens),
		func(c *engines.CassandraConfig) {
			c.Heap = long.heap
			soonEvents(c, version)
		})
	n.exec(t, "CREATE KEYSPACE watched"+replication)
	n.exec(t, "CREATE KEYSPACE many"+replication)
	n.fill(t, "watched.quiet", 3) // stands still until TheQuietTable
	quietSince := time.Now()
	for i := range long.tables {
		rows := 2
		if i >= writtenTables {
			rows = 0
		}
		n.fill(t, fmt.Sprintf("many.t%d", i), rows)
	}
	n.fill(t, "watched.t", 200)
	n.exec(t, "SELECT * FROM watched.t")
	n.flush(t, "watched")
	var snapshotAt int64
	if !long.brief {
		snapshotAt = n.takeSnapshot(t)
	}
	t.Run("Identity", n.testIdentity)
	t.Run("Replicas", n.testReplicas)
	t.Run("Clock", n.testClock)
	t.Run("Counters", func(t *testing.T) { n.compare(t, counters) })
	t.Run("Gauges", func(t *testing.T) { n.compare(t, gauges) })
	t.Run("Histograms", func(t *testing.T) { n.compare(t, histograms); n.testUnits(t) })
	t.Run("GaugeHistograms", func(t *testing.T) { n.compare(t, gaugeHistograms); n.testSizes(t) })
	t.Run("Names", func(t *testing.T) { n.testNames(t, listens) })
	t.Run("Driver", n.testDriver)
	if !long.brief {
		t.Run("OneTableAmongMany", func(t *testing.T) {
			n.testOneAmongMany(t, min(long.tables, writtenTables))
		})
		// after it: a drop flushes every table with a write in the commit log
		t.Run("DroppedAndCreatedAgain", n.testDropped)
		t.Run("Tasks", n.testTasks)
		t.Run("Snapshot", func(t *testing.T) { n.testSnapshot(t, snapshotAt) })
		t.Run("TheQuietTable", func(t *testing.T) { n.testQuiet(t, quietSince.Add(long.idle)) })
	}
	t.Run("Ledger", n.testLedger)
	queried := n
	if long.full { // to read the names of 5,000 tables' metrics page by page is another test's
		queried = mustNode(t, version)
		queried.exec(t, "CREATE KEYSPACE watched"+replication)
		queried.fill(t, "watched.t", 200)
		queried.flush(t, "watched")
	}
	t.Run("SystemMetrics", queried.testSystemMetrics)
	if !long.brief {
		t.Run("SnapshotGone", n.testSnapshotGone)
		t.Run("Paused", func(t *testing.T) { n.testPaused(t, listens) })
	}
	t.Run("Events", n.testEvents)
	columns := queried.columns(t)
	t.Run("Stop", n.testStop)
	return columns
}

// writtenTables is how many of the tables hold rows: each that does takes a megabyte of heap from
// Cassandra for its memtable, and 5,000 took all of 6 GB.
const writtenTables = 500

// long is how much of what takes long a version's tests do.
type long struct {
	tables int           // of keyspace many
	idle   time.Duration // how long the quiet table stands still at least
	heap   string
	full   bool
	brief  bool // without what takes long and hardly differs between versions
}

// extent is enough to see each thing work, or, with RINGWATCH_TEST_FULL=1, as much as an operator
// has: 1,000 tables on each version, and on the default one 5,000 and an hour of silence.
func extent(version string) long {
	switch {
	case os.Getenv("RINGWATCH_TEST_FULL") == "":
		return long{tables: 8, heap: "512M", brief: version != engines.CassandraVersion}
	case version == engines.CassandraVersion:
		return long{tables: 5000, idle: time.Hour, heap: "6G", full: true}
	}
	return long{tables: 1000, heap: "2G", full: true}
}

func table(name, attribute, series string) pair {
	return pair{"org.apache.cassandra.metrics:type=Table,keyspace=watched,scope=t,name=" + name,
		attribute, "cassandra_table_" + series + "|watched|t"}
}

func metric(bean, attribute, series string) pair {
	return pair{"org.apache.cassandra.metrics:type=" + bean, attribute, "cassandra_" + series}
}

var counters = []pair{
	table("BytesFlushed", "Count", "flushed_bytes_total"),
	table("MemtableSwitchCount", "Count", "memtable_switches_total"),
	table("CompactionBytesWritten", "Count", "compaction_written_bytes_total"),
	table("SpeculativeRetries", "Count", "speculative_retries_total"),
	metric("ThreadPools,path=request,scope=MutationStage,name=CompletedTasks", "Value",
		"thread_pool_completed_tasks_total|request|MutationStage"),
	metric("ThreadPools,path=request,scope=ReadStage,name=TotalBlockedTasks", "Count",
		"thread_pool_blocked_tasks_total|request|ReadStage"),
	metric("Cache,scope=KeyCache,name=Requests", "Count", "cache_requests_total|KeyCache"),
	metric("Cache,scope=KeyCache,name=Hits", "Count", "cache_hits_total|KeyCache"),
	metric("CQL,name=PreparedStatementsExecuted", "Count",
		"cql_prepared_statements_executed_total"),
	metric("CQL,name=RegularStatementsExecuted", "Count", "cql_regular_statements_executed_total"),
	metric("ClientRequest,scope=Read,name=Timeouts", "Count", "client_request_timeouts_total|Read"),
	metric("DroppedMessage,scope=READ_REQ,name=Dropped", "Count",
		"dropped_message_dropped_total|READ_REQ"),
	metric("Compaction,name=BytesCompacted", "Count", "compaction_compacted_bytes_total"),
	metric("Storage,name=Exceptions", "Count", "storage_exceptions_total"),
	{"java.lang:type=ClassLoading", "UnloadedClassCount", "jvm_classes_unloaded_total"},
}

var gauges = []pair{
	table("LiveSSTableCount", "Value", "live_sstables"),
	table("LiveDiskSpaceUsed", "Count", "live_disk_space_used_bytes"),
	table("MemtableColumnsCount", "Value", "memtable_columns"),
	table("MemtableLiveDataSize", "Value", "memtable_live_data_size_bytes"),
	table("MemtableOnHeapDataSize", "Value", "memtable_on_heap_data_size_bytes"),
	table("PendingFlushes", "Count", "pending_flushes"),
	table("EstimatedPartitionCount", "Value", "estimated_partitions"),
	table("CompressionRatio", "Value", "compression_ratio"),
	table("MaxPartitionSize", "Value", "max_partition_size_bytes"),
	metric("ThreadPools,path=request,scope=ReadStage,name=MaxPoolSize", "Value",
		"thread_pool_max_pool_size|request|ReadStage"),
	metric("ThreadPools,path=request,scope=ReadStage,name=ActiveTasks", "Value",
		"thread_pool_active_tasks|request|ReadStage"),
	metric("Cache,scope=KeyCache,name=Capacity", "Value", "cache_capacity_bytes|KeyCache"),
	metric("Cache,scope=KeyCache,name=Entries", "Value", "cache_entries|KeyCache"),
	metric("Storage,name=Load", "Count", "storage_load_bytes"),
	metric("CommitLog,name=TotalCommitLogSize", "Value", "commit_log_size_bytes"),
	metric("CQL,name=PreparedStatementsCount", "Value", "cql_prepared_statements"),
}

var histograms = []pair{
	table("ReadLatency", "values()", "read_latency_seconds"),
	table("WriteLatency", "values()", "write_latency_seconds"),
	table("RangeLatency", "values()", "range_latency_seconds"),
	table("CoordinatorReadLatency", "values()", "coordinator_read_latency_seconds"),
	table("CoordinatorScanLatency", "values()", "coordinator_scan_latency_seconds"),
	table("SSTablesPerReadHistogram", "values()", "sstables_per_read"),
	table("TombstoneScannedHistogram", "values()", "tombstones_scanned"),
	table("LiveScannedHistogram", "values()", "live_rows_scanned"),
	metric("ClientRequest,scope=Read,name=Latency", "values()",
		"client_request_latency_seconds|Read"),
	metric("ClientRequest,scope=Write,name=Latency", "values()",
		"client_request_latency_seconds|Write"),
	metric("ClientRequest,scope=RangeSlice,name=Latency", "values()",
		"client_request_latency_seconds|RangeSlice"),
	metric("ClientRequest,scope=Write-LOCAL_ONE,name=Latency", "values()",
		"client_request_by_consistency_latency_seconds|LOCAL_ONE|Write"),
	metric("CommitLog,name=WaitingOnCommit", "values()", "commit_log_waiting_on_commit_seconds"),
}

var gaugeHistograms = func() (pairs []pair) {
	for _, of := range [][2]string{{"watched", "t"}, {"watched", "quiet"}, {"many", "t0"},
		{"system_schema", "tables"}, {"system_schema", "keyspaces"}} {
		bean := fmt.Sprintf("Table,keyspace=%s,scope=%s,name=", of[0], of[1])
		labels := "|" + of[0] + "|" + of[1]
		pairs = append(pairs,
			metric(bean+"EstimatedPartitionSizeHistogram", "Value",
				"table_estimated_partition_size_bytes"+labels),
			metric(bean+"EstimatedColumnCountHistogram", "Value",
				"table_estimated_column_count"+labels))
	}
	return pairs
}()

func (n *node) testIdentity(t *testing.T) {
	s := n.next(t)
	facts := map[string]string{}
	for _, f := range s.node.Facts {
		facts[f.Name] = f.Value
	}
	var release string
	if err := n.cql.Query("SELECT release_version FROM system.local").Scan(&release); err != nil {
		t.Fatal(err)
	}
	if release != n.version || facts["cassandra_version"] != n.version {
		t.Errorf("Cassandra %s says it is %s and the agent that it is %s", n.version, release,
			facts["cassandra_version"])
	}
	if s.node.Cluster != "ringwatch" || s.node.Datacenter != "dc1" || s.node.Rack != "rack1" {
		t.Errorf("it is in %s %s %s", s.node.Cluster, s.node.Datacenter, s.node.Rack)
	}
	if want := fmt.Sprintf("%s:%d", n.Host, n.StoragePort); facts["address"] != want {
		t.Errorf("its address is %q, not %s", facts["address"], want)
	}
	if want := fmt.Sprintf("%s:%d", n.Host, n.NativePort); facts["rpc_address"] != want {
		t.Errorf("its rpc_address is %q, not %s", facts["rpc_address"], want)
	}
	for attribute, series := range map[string]string{
		"SchemaVersion": "cassandra_node_schema_version_info",
		"OperationMode": "cassandra_node_operation_mode_info",
	} {
		n.compare(t, []pair{{"org.apache.cassandra.db:type=StorageService", attribute, series}})
	}
	id, err := n.jmx.read("org.apache.cassandra.db:type=StorageService", "LocalHostId")
	if err != nil || id != s.node.ID.String() {
		t.Errorf("its id is %s, not %s %v", s.node.ID, id, err)
	}
	other := map[string]bool{}
	for key := range s.series {
		if strings.HasPrefix(key, "cassandra_other_") {
			other[key] = true
		}
	}
	if len(other) > 0 {
		t.Errorf("families without a name of their own: %v", other)
	}
}

// testReplicas holds how many copies keyspaces have against what was said in CQL, also after it was
// said otherwise.
func (n *node) testReplicas(t *testing.T) {
	const series = "cassandra_keyspace_replicas|"
	n.exec(t, "CREATE KEYSPACE copied WITH replication = "+
		"{'class': 'NetworkTopologyStrategy', 'dc1': 3}")
	has := func(what string, want map[string]string) {
		n.until(t, what, func(s *state) error {
			for key, value := range want {
				if got := s.text(series + key); got != value {
					return fmt.Errorf("%s is %q, not %q", key, got, value)
				}
			}
			return nil
		})
	}
	has("the copies of keyspaces", map[string]string{"copied|NetworkTopologyStrategy": "3",
		"watched|SimpleStrategy": "1", "system_auth|SimpleStrategy": "1",
		"system|LocalStrategy": ""})
	n.exec(t, "ALTER KEYSPACE copied WITH replication = "+
		"{'class': 'SimpleStrategy', 'replication_factor': 2}")
	has("their copies after they were changed", map[string]string{"copied|SimpleStrategy": "2",
		"copied|NetworkTopologyStrategy": ""})
	n.exec(t, "DROP KEYSPACE copied")
}

// testUnits holds the sum of a table's latencies, which Cassandra counts in a metric of its own,
// against their buckets: were the unit of one of them wrong, they would be a thousandfold apart.
func (n *node) testUnits(t *testing.T) {
	for _, name := range []string{"read", "write"} {
		n.compare(t,
			[]pair{metric("Table,keyspace=watched,scope=t,name="+strings.ToUpper(name[:1])+name[1:]+
				"TotalLatency", "Count", "table_"+name+"_latency_seconds|watched|t sum")})
		s := n.next(t).series["cassandra_table_"+name+"_latency_seconds|watched|t"]
		least, most, value := 0.0, 0.0, s.Histograms[0]
		for i, count := range value.Dense(nil) {
			if i > 0 {
				least += float64(count) * scaled(s.Metric.Bounds.Upper[i-1],
					s.Metric.Bounds.Exponent)
			}
			if i < len(s.Metric.Bounds.Upper) {
				most += float64(count) * scaled(s.Metric.Bounds.Upper[i], s.Metric.Bounds.Exponent)
			}
		}
		micro := 1e-6 * float64(value.Count()) // what was cut off
		sum := scaled(value.Sum, s.Metric.Exponent)
		if sum < least-micro || sum > most+micro || value.Count() < 200 {
			t.Errorf("%d %ss took %g s, by their buckets %g to %g s", value.Count(), name, sum,
				least, most)
		}
	}
}

// testSizes holds the bounds of partition sizes, which JMX does not tell, against the largest
// partition: it is the bound of the last bucket in use.
func (n *node) testSizes(t *testing.T) {
	s := n.next(t)
	sizes := s.series["cassandra_table_estimated_partition_size_bytes|watched|t"]
	last := 0
	for i, count := range sizes.Histograms[0].Dense(nil) {
		if count > 0 {
			last = i
		}
	}
	if most := s.series["cassandra_table_max_partition_size_bytes|watched|t"].Ints[0]; most !=
		sizes.Metric.Bounds.Upper[last] {
		t.Errorf("the largest partition has %d bytes, the last bucket up to %d", most,
			sizes.Metric.Bounds.Upper[last])
	}
}

// testNames holds the dictionary to what the node sends, both ways, and /metrics to the dictionary.
func (n *node) testNames(t *testing.T, listens int) {
	version := strings.Join(strings.Split(n.version, ".")[:2], ".")
	version, _, _ = strings.Cut(version, "-")
	wrong, types, sent := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, s := range n.next(t).series {
		m := s.Metric
		sent[m.Name], types[m.Type] = true, true
		of, found := dictionary.Find(m.Name)
		if !found || of.Type != m.Type || of.Kind != m.Kind.String() || of.Unit != m.Unit ||
			!isIn(version, of.Versions) {
			wrong[fmt.Sprintf("it lacks %s %s %q of %s in %s: %+v", m.Name, m.Kind, m.Unit, m.Type,
				version, of)] = true
		}
	}
	for _, m := range dictionary.All() {
		if types[m.Type] && isIn(version, m.Versions) && !sent[m.Name] &&
			!slices.Contains(notAtOnce, m.Name) {
			wrong["nothing gives "+m.Name+" in "+version] = true
		}
	}
	helps := 0
	for line := range strings.Lines(mustMetric(t, listens, "help texts",
		"# HELP cassandra_table_live_sstables ")) {
		text, found := strings.CutPrefix(strings.TrimSpace(line), "# HELP ")
		if name, help, _ := strings.Cut(text, " "); found {
			if helps++; help != dictionary.Help(name, false) {
				wrong[fmt.Sprintf("/metrics says of %s: %s", name, help)] = true
			}
		}
	}
	if len(wrong) > 0 || helps < 200 {
		t.Errorf("%d help texts; dictionary/metrics.txt:\n%s", helps,
			strings.Join(slices.Sorted(maps.Keys(wrong)), "\n"))
	}
}

// isIn reports whether versions, as the dictionary has them, hold one.
func isIn(version, versions string) bool {
	from, until, ends := strings.Cut(versions, "-")
	return version >= from && (!ends || version <= until)
}

// notAtOnce are metrics of types that are there from the start which a node alone, in its first
// minute, has not.
var notAtOnce = []string{
	"cassandra_hints_delay_seconds", "cassandra_hints_failed_total",
	"cassandra_hints_succeeded_total", "cassandra_hints_timed_out_total",
	// with the first peer
	"cassandra_messaging_timeouts_total",
	// once a minute
	"cassandra_storage_unreplicated_load_bytes",
	"cassandra_storage_unreplicated_uncompressed_load_bytes",
	"ringwatch_agent_trouble_info",
	// where connections have a bound, which they have not by default
	"cassandra_node_native_connections_max",
}

func (n *node) testDropped(t *testing.T) {
	const writes = "cassandra_table_write_latency_seconds|watched|"
	written := func(table string, want int64) func(*state) error {
		return func(s *state) error {
			if of := s.series[writes+table]; of == nil || of.Histograms[0].Count() != want {
				return fmt.Errorf("%s of %d is %s", table, want, s.text(writes+table))
			}
			return nil
		}
	}
	n.fill(t, "watched.gone", 20)
	n.until(t, "a new table", written("gone", 20))
	n.exec(t, "DROP TABLE watched.gone")
	n.until(t, "a dropped table", func(s *state) error {
		for key := range s.series {
			if strings.HasSuffix(key, "|watched|gone") {
				return errors.New(key + " is still there")
			}
		}
		return nil
	})
	n.fill(t, "watched.gone", 3)
	n.until(t, "its successor", written("gone", 3))
	n.exec(t, "DROP TABLE watched.gone") // and back again, most likely between two passes
	n.fill(t, "watched.gone", 2)
	n.until(t, "the successor's successor", written("gone", 2))
	bean := "Table,keyspace=watched,scope=gone,name="
	n.compare(t, []pair{
		metric(bean+"MemtableColumnsCount", "Value", "table_memtable_columns|watched|gone"),
		metric(bean+"ReadLatency", "values()", "table_read_latency_seconds|watched|gone"),
		metric(bean+"LiveSSTableCount", "Value", "table_live_sstables|watched|gone"),
	})
}

// testOneAmongMany drives one table and holds all values of all tables of its keyspace against
// what they were. The first of them hold rows, which their slow gauges tell within a minute.
func (n *node) testOneAmongMany(t *testing.T, written int) {
	var settled []pair
	for i := range written {
		of := fmt.Sprintf("t%d", i)
		settled = append(settled,
			metric("Table,keyspace=many,scope="+of+",name=EstimatedPartitionCount", "Value",
				"table_estimated_partitions|many|"+of))
	}
	n.compare(t, settled)
	before := n.still(t)
	n.fill(t, "many.t5", 10)
	// the next pass, not one in a minute
	if got := n.next(
		t).series["cassandra_table_write_latency_seconds|many|t5"].Histograms[0].Count(); got !=
		12 {
		t.Errorf("%d writes and not 12", got)
	}
	after := n.still(t)
	changed := 0
	for key, value := range after {
		if value == before[key] {
			continue
		}
		changed++
		if !strings.HasSuffix(key, "|many|t5") {
			t.Errorf("%s was %s and is %s", key, before[key], value)
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			t.Errorf("%s is gone", key)
		}
	}
	for _, name := range []string{"write_latency_seconds", "read_latency_seconds",
		"memtable_live_data_size_bytes", "live_rows_scanned", "coordinator_read_latency_seconds"} {
		if key := "cassandra_table_" + name + "|many|t5"; before[key] == after[key] {
			t.Errorf("%s is still %s", key, after[key])
		}
	}
	if changed < 8 {
		t.Errorf("only %d values changed", changed)
	}
}

// moving are values of an idle table that change by themselves.
func moving(key string) bool {
	return strings.Contains(key, "_threshold_seconds") // percentiles that fade
}

// still is what all series of the tables of keyspace many say once nothing of them changes for
// some passes.
func (n *node) still(t *testing.T) map[string]string {
	t.Helper()
	var last map[string]string
	for same := 0; same < 3; {
		s := n.next(t)
		now := map[string]string{}
		for key := range s.series {
			if strings.Contains(key, "|many|") && !moving(key) {
				now[key] = s.text(key)
			}
		}
		same++
		for key, value := range now {
			if last[key] != value {
				same = 0
			}
		}
		last = now
	}
	return last
}

// testQuiet writes once to a table that stood still while all other tests ran.
func (n *node) testQuiet(t *testing.T, until time.Time) {
	const writes = "cassandra_table_write_latency_seconds|watched|quiet"
	for time.Now().Before(until) {
		n.next(t)
	}
	if got := n.next(t).series[writes].Histograms[0].Count(); got != 3 {
		t.Fatalf("it has %d writes and not 3", got)
	}
	n.exec(t, "INSERT INTO watched.quiet (k, v) VALUES (7, 'seen')")
	if got := n.next(t).series[writes].Histograms[0].Count(); got != 4 {
		t.Errorf("%d writes and not 4", got)
	}
	bean := "Table,keyspace=watched,scope=quiet,name="
	n.compare(t, []pair{
		metric(bean+"WriteLatency", "values()", "table_write_latency_seconds|watched|quiet"),
		metric(bean+"MemtableColumnsCount", "Value", "table_memtable_columns|watched|quiet"),
		metric(bean+"MemtableLiveDataSize", "Value",
			"table_memtable_live_data_size_bytes|watched|quiet"),
	})
}

// testClock: the receiver's clock is behind the node's.
func (n *node) testClock(t *testing.T) {
	n.until(t, "the offset of the node's clock", func(s *state) error {
		of := s.series["ringwatch_agent_clock_offset_seconds"]
		if of == nil {
			return errors.New("there is none")
		}
		ahead := scaled(of.Ints[0], of.Metric.Exponent)
		if math.Abs(ahead-behind.Seconds()) > 1 { // half of the longest round trip that counts
			return fmt.Errorf("it is %g s ahead", ahead)
		}
		return nil
	})
}

func (n *node) testLedger(t *testing.T) {
	s := n.next(t)
	for _, series := range []string{"ringwatch_agent_metrics_refused_total",
		"ringwatch_agent_send_errors_total", "ringwatch_agent_frames_dropped_total|queue_full"} {
		if got := s.text(series); got != "0" {
			t.Errorf("%s is %s", series, got)
		}
	}
	cost := s.series["ringwatch_agent_pass_cpu_seconds_total"]
	t.Logf("%d series, %d frames; %s gauges failed; %.1f ms CPU and %s bytes allocated in "+
		"%s passes", len(s.series), n.frames.count(),
		s.text("ringwatch_agent_read_errors_total"), 1e3*scaled(cost.Ints[0], cost.Metric.Exponent),
		s.text("ringwatch_agent_allocated_bytes_total"), s.text("ringwatch_agent_passes_total"))
}

// testPaused takes the agent out of Cassandra's way and back in, without a restart.
func (n *node) testPaused(t *testing.T, listens int) {
	text, err := os.ReadFile(n.config)
	if err != nil {
		t.Fatal(err)
	}
	write := func(more string) {
		t.Helper()
		if err := os.WriteFile(n.config, append(text[:len(text):len(text)], more...),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	// rest pauses the agent and returns a time at which it was paused: one pass more may have come
	// before.
	rest := func() int64 {
		t.Helper()
		write("paused: true\n")
		n.untilState(t, "paused")
		return time.Now().UnixMilli()
	}
	// goOn ends the pause and returns a frame behind it.
	goOn := func(rested int64) *state {
		t.Helper()
		write("")
		n.untilState(t, "sending")
		for {
			after, err := n.frames.after(t.Context(), rested)
			if err != nil {
				t.Fatal(err)
			}
			if _, is := after.node.Paused(); !is {
				return after
			}
			rested = after.at
		}
	}
	before := n.next(t)
	if page := mustMetric(t, listens, "what is not paused",
		`ringwatch_agent_state_info{value="sending"}`); !strings.Contains(page,
		"cassandra_table_") {
		t.Errorf("no tables in %.300s", page)
	}
	rested := rest()
	if page := mustMetric(t, listens, "the pause",
		`ringwatch_agent_state_info{value="paused"}`); strings.Contains(page, "cassandra_") {
		t.Error("/metrics still says of Cassandra what it said before the pause")
	}
	said := n.until(t, "the frame of a pause", func(s *state) error {
		if _, is := s.node.Paused(); !is {
			return errors.New("it does not say that the agent is paused")
		}
		return nil
	})
	if said.node.Datacenter != before.node.Datacenter || said.node.Rack != before.node.Rack ||
		said.node.Name() != before.node.Name() ||
		said.text("ringwatch_agent_state_info") != "paused" || len(said.series) != 1 {
		t.Errorf("it says %+v of %+v", said.series, said.node)
	}
	passes := n.ask(t, "ringwatch_agent_passes_total")
	write("paused: perhaps\n") // by the time it is refused, several passes are due
	eventually.Nil(t, "the refusal", func() error {
		log, err := os.ReadFile(n.LogFile())
		if err == nil &&
			!strings.Contains(string(log),
				"paused must be true or false; the agent goes on as before") {
			err = errors.New("not said")
		}
		return err
	})
	if now := n.ask(t, "ringwatch_agent_passes_total"); now != passes {
		t.Errorf("%s passes and not %s while it was paused", now, passes)
	}
	sent := time.Now().UnixMilli()
	after := goOn(rested)
	if after.at < sent {
		t.Errorf("a frame of %d ms before the end of the pause", sent-after.at)
	}
	const skipped = "ringwatch_agent_passes_skipped_total"
	// a slow machine skips some by itself, but not in each pause
	for tries := 1; after.text(skipped) != before.text(skipped); tries++ {
		if tries == 20 {
			t.Errorf("%s passes count as skipped, %s before the pause", after.text(skipped),
				before.text(skipped))
			break
		}
		before = n.next(t)
		rested = rest()
		<-time.After(3 * time.Second) // in which passes are due
		after = goOn(rested)
	}
	n.exec(t, "CREATE TABLE watched.after_pause (k int PRIMARY KEY)")
	n.mustEvent(t, "schema", labelled{"table": "after_pause", "change": "created"}, "")
}

// ask is what the agent's table says.
func (n *node) ask(t *testing.T, name string) (value string) {
	t.Helper()
	if err := n.cql.Query("SELECT value FROM system_ringwatch.agent WHERE name = ?",
		name).ScanContext(t.Context(), &value); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

func (n *node) untilState(t *testing.T, want string) {
	t.Helper()
	eventually.Nil(t, "the state "+want, func() error {
		if got := n.ask(t, "ringwatch_agent_state_info"); got != want {
			return errors.New("it is " + got)
		}
		return nil
	})
}
