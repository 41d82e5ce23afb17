package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/lookup"
	"github.com/ringwatch/ringwatch/dev/engines"
	wait "github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// TestWholeLine starts everything as `make up` does, the agent in Cassandra included, and holds
// what the API answers against what Cassandra says of itself.
func TestWholeLine(t *testing.T) {
	engines.Needed(t, "Cassandra, Kafka and Redis")
	t.Parallel() // with TestRulesLine, which waits most of the time
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const jar = "../../agent/target/ringwatch-agent.jar"
	if _, err := os.Stat(jar); err != nil {
		t.Fatalf("the agent is not built: run `make build` first (%v)", err)
	}
	l, err := line.Start(t.Context(), line.Config{Dir: t.TempDir(), Binary: self, Jar: jar,
		Env:      []string{asRingwatch},
		Accounts: []string{otherAccount, watchedAccount, doingAccount, emptyAccount},
		Interval: time.Second, Self: time.Second,
		More:     fmt.Sprintf("notify: {dir: %q}\n", t.TempDir()), // the console makes silences
		Progress: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Stop)
	w := &whole{Line: l, jmx: mustJMX(t, l.Cassandra.JMXURL()), cql: mustCQL(t, l.Cassandra.Addr())}
	watched := w.watchAlerts(t)
	eventually(t, "the node", func(ctx context.Context) error {
		nodes, err := l.Nodes(ctx)
		if err != nil || len(nodes) != 1 {
			return fmt.Errorf("%d nodes, %v", len(nodes), err)
		}
		w.node = nodes[0].ID
		return nil
	})
	t.Run("ValuesAreCassandras", w.testValues)
	t.Run("RowsAreLookedUp", w.testLookup)
	t.Run("RollupsReachToNow", w.testRollups)
	t.Run("Promtool", w.testPromtool)
	t.Run("Dashboards", w.testDashboards) // it writes more rows
	t.Run("ShippedRules", w.testShippedRules)
	t.Run("Rules", w.testRules)
	t.Run("Self", w.testSelf)
	t.Run("Catalogue", w.testCatalog)
	t.Run("Relabelling", w.testRelabel)
	t.Run("Report", w.testReport)
	t.Run("Readme", w.testReadme)
	t.Run("Console", w.testConsole)
	t.Run("DroppedTableIsGone", w.testDropped)
	t.Run("Evaluated", func(t *testing.T) { w.evaluated(t, watched.began) })
	t.Run("Restart", w.testRestart)
	t.Run("QuietStart", watched.end) // what comes is no start, and not quiet
	t.Run("RedisStops", w.testRedisStops)
	t.Run("YoungNodeWithoutCassandra", w.testYoung)
	t.Run("KafkaStops", w.testKafkaStops)
}

type whole struct {
	*line.Line
	node string
	jmx  *jmx
	cql  *gocql.Session
}

// mustStream is the stream in a broker.
func mustStream(t testing.TB, broker *engines.Kafka) stream.Engine {
	t.Helper()
	c := kafka.DefaultConfig()
	c.Brokers = []string{broker.Addr()}
	k, err := kafka.New(c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func eventually(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()
	if err := line.Until(ctx, what, try); err != nil {
		t.Fatal(err)
	}
}

func mustCQL(t *testing.T, address string) *gocql.Session {
	t.Helper()
	cluster := gocql.NewCluster(address)
	cluster.Timeout = time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

func (w *whole) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if err := w.cql.Query(statement, args...).ExecContext(t.Context()); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// jmx reads Cassandra's MBeans through a small Java program.
type jmx struct {
	in  io.Writer
	out *bufio.Reader
}

func mustJMX(t *testing.T, url string) *jmx {
	t.Helper()
	cmd := exec.Command("java", "-cp", "../../agent/target/test-classes",
		"dev.ringwatch.agent.JmxRead", url)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return &jmx{in, bufio.NewReader(out)}
}

func (j *jmx) read(bean, attribute string) (string, error) {
	if _, err := fmt.Fprintf(j.in, "%s\t%s\n", bean, attribute); err != nil {
		return "", err
	}
	text, err := j.out.ReadString('\n')
	if err != nil || strings.HasPrefix(text, "!") {
		return "", fmt.Errorf("JMX: %s %s: %s %v", bean, attribute, strings.TrimSpace(text), err)
	}
	return strings.TrimSpace(text), nil
}

// newest returns a series' newest value; field is value, or of a histogram count or sum.
func (w *whole) newest(ctx context.Context, selector, field string) (string, error) {
	payload, err := w.Metrics(ctx, w.node, selector, "")
	if err != nil {
		return "", err
	}
	if len(payload) != 1 || len(payload[0].Values) != 1 {
		return "", fmt.Errorf("%s: %d series", selector, len(payload))
	}
	text, ok := payload[0].Values[0][field].(string)
	if !ok {
		return "", fmt.Errorf("%s: no %s in %v", selector, field, payload[0].Values[0])
	}
	return text, nil
}

func (w *whole) testValues(t *testing.T) {
	w.exec(t,
		"CREATE KEYSPACE shop WITH replication = {'class':'SimpleStrategy','replication_factor':1}")
	// the table created a minute ago
	w.exec(t, "CREATE TABLE shop.orders (k int PRIMARY KEY, v text)")
	for k := range 300 {
		w.exec(t, "INSERT INTO shop.orders (k, v) VALUES (?, ?)", k, strings.Repeat("x", k))
		if k%2 == 0 {
			var v string
			if err := w.cql.Query("SELECT v FROM shop.orders WHERE k = ?",
				k).ScanContext(t.Context(), &v); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.jmx.read("org.apache.cassandra.db:type=StorageService",
		"OperationMode"); err != nil {
		t.Fatal(err)
	}
	table := func(name string) string {
		return "org.apache.cassandra.metrics:type=Table,keyspace=shop,scope=orders,name=" + name
	}
	of := func(name string) string { return name + `{keyspace="shop",table="orders"}` }
	for _, c := range []struct {
		bean, attribute string // Cassandra's
		selector, field string // ours
		scale           float64
	}{
		{table("ReadLatency"), "Count", of("cassandra_table_read_latency_seconds"), "count", 1},
		{table("ReadTotalLatency"), "Count", of("cassandra_table_read_latency_seconds"),
			"sum", 1e-6},
		{table("WriteLatency"), "Count", of("cassandra_table_write_latency_seconds"), "count", 1},
		{table("WriteTotalLatency"), "Count", of("cassandra_table_write_latency_seconds"),
			"sum", 1e-6},
		{table("CoordinatorReadLatency"), "Count",
			of("cassandra_table_coordinator_read_latency_seconds"), "count", 1},
		{table("MemtableSwitchCount"), "Count", of("cassandra_table_memtable_switches_total"),
			"value", 1},
		{table("BytesFlushed"), "Count", of("cassandra_table_flushed_bytes_total"), "value", 1},
		{table("MemtableLiveDataSize"), "Value",
			of("cassandra_table_memtable_live_data_size_bytes"), "value", 1},
		{table("LiveSSTableCount"), "Value", of("cassandra_table_live_sstables"), "value", 1},
		{table("LiveDiskSpaceUsed"), "Count", of("cassandra_table_live_disk_space_used_bytes"),
			"value", 1},
		{table("PercentRepaired"), "Value", of("cassandra_table_repaired_ratio"), "value", 0.01},
		{"org.apache.cassandra.metrics:type=Cache,scope=KeyCache,name=Capacity", "Value",
			`cassandra_cache_capacity_bytes{cache="KeyCache"}`, "value", 1},
		{"org.apache.cassandra.metrics:type=ThreadPools,path=internal,scope=MemtableFlushWriter,name=MaxPoolSize", "Value",
			`cassandra_thread_pool_max_pool_size{pool="MemtableFlushWriter"}`, "value", 1},
		{"org.apache.cassandra.metrics:type=CommitLog,name=TotalCommitLogSize", "Value",
			"cassandra_commit_log_size_bytes", "value", 1},
		{"org.apache.cassandra.metrics:type=Client,name=ConnectedNativeClients", "Value",
			"cassandra_client_connected_native_clients", "value", 1},
	} {
		var shown string
		eventually(t, c.selector, func(ctx context.Context) error {
			before, err := w.jmx.read(c.bean, c.attribute)
			if err != nil {
				return err
			}
			got, err := w.newest(ctx, c.selector, c.field)
			if err != nil {
				return err
			}
			want, err := strconv.ParseFloat(before, 64)
			if err != nil {
				return err
			}
			value, err := strconv.ParseFloat(got, 64)
			if err != nil {
				return err
			}
			if diff := value - want*c.scale; diff > 1e-9 || diff < -1e-9 {
				return fmt.Errorf("the API says %s, JMX %s", got, before)
			}
			shown = got
			return nil
		})
		t.Logf("%s %s = %s", c.selector, c.field, shown)
	}
	w.testBuckets(t, table("ReadLatency"), of("cassandra_table_read_latency_seconds"))
}

// testLookup asks for all rows of the table by the command line: through the API, the throttle
// and ring.
func (w *whole) testLookup(t *testing.T) {
	var keys strings.Builder
	for k := range 301 { // one more than there are
		fmt.Fprintln(&keys, k)
	}
	var out bytes.Buffer
	ask := lookup.LookupCmd{Flags: client.Flags{API: w.API, Key: w.Key}, Table: "shop.orders",
		KeysFrom: "-", JSON: true}
	if err := ask.RunTo(t.Context(), strings.NewReader(keys.String()), &out); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Found, Missing int
		Results        []struct {
			Found bool
			Rows  []struct {
				K int
				V string
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Found != 300 ||
		answer.Missing != 1 || len(answer.Results) != 301 {
		t.Fatalf("%d found, %d missing, %v", answer.Found, answer.Missing, err)
	}
	for k, r := range answer.Results[:300] {
		if len(r.Rows) != 1 || r.Rows[0].K != k || r.Rows[0].V != strings.Repeat("x", k) {
			t.Errorf("key %d is %+v", k, r)
		}
	}
}

// testRollups asks for the running five minutes, hour and day: their last sample is the newest.
func (w *whole) testRollups(t *testing.T) {
	const selector = `cassandra_table_write_latency_seconds{keyspace="shop",table="orders"}`
	const gauge = `cassandra_cache_capacity_bytes{cache="KeyCache"}`
	for _, level := range []string{"5m", "1h", "1d"} {
		eventually(t, level, func(ctx context.Context) error {
			want, err := w.newest(ctx, gauge, "value")
			if err != nil {
				return err
			}
			list, err := w.Metrics(ctx, w.node, gauge, "&period=10m&rollup="+level)
			if err != nil || len(list) != 1 || len(list[0].Values) == 0 {
				return fmt.Errorf("%d series, %v", len(list), err)
			}
			got := list[0].Values[len(list[0].Values)-1]
			if got["last"] != want || got["max"] != want || got["samples"] == "0" {
				return fmt.Errorf("got %v, want %s", got, want)
			}
			counts, err := w.Metrics(ctx, w.node, selector, "&period=10m&rollup="+level)
			if err != nil || len(counts) != 1 || len(counts[0].Values) == 0 ||
				counts[0].Values[0]["interval"] == nil {
				return fmt.Errorf("%v, %v", counts, err)
			}
			return nil
		})
	}
}

// testBuckets compares a latency histogram bucket by bucket.
func (w *whole) testBuckets(t *testing.T, bean, selector string) {
	t.Helper()
	text, err := w.jmx.read(bean, "values()")
	if err != nil {
		t.Fatal(err)
	}
	var want []string // the counts that are not 0
	for _, n := range strings.Split(strings.Trim(text, "[]"), ", ") {
		if n != "0" {
			want = append(want, n)
		}
	}
	payload, err := w.Metrics(t.Context(), w.node, selector, "")
	if err != nil || len(payload) != 1 {
		t.Fatalf("%d series, %v", len(payload), err)
	}
	var got []string
	previous := int64(0)
	buckets, _ := payload[0].Values[0]["buckets"].([]any)
	for _, b := range buckets {
		n, err := strconv.ParseInt(fmt.Sprint(b.(map[string]any)["count"]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if n > previous { // the API's are cumulative, as Prometheus's are
			got = append(got, strconv.FormatInt(n-previous, 10))
		}
		previous = n
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the API's buckets are %v, Cassandra's %v", got, want)
	}
}

// testPromtool has Prometheus's own tool read the exposition text of the agent and of the API,
// and look for bad habits in its names.
func (w *whole) testPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("promtool is missing: apt-get install prometheus (%v)", err)
	}
	for _, c := range []struct{ address, key, want string }{
		{w.Scrape, "",
			"\ncassandra_table_write_latency_seconds_count{keyspace=\"shop\",table=\"orders\"} 300\n"},
		{w.API + "/v1/nodes/" + w.node + "/prometheus", w.Key,
			"\n# TYPE cassandra_table_write_latency_seconds histogram\n"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.key != "" {
			req.Header.Set("Authorization", "Bearer "+c.key)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK ||
			!strings.Contains(string(text), c.want) {
			t.Fatalf("%s: %s, %v, no %q in %.3000s", c.address, resp.Status, err, c.want, text)
		}
		cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(text)
		if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
			t.Errorf("promtool of %d bytes of %s: %v\n%s", len(text), c.address, err, said)
		}
	}
}

func (w *whole) testDropped(t *testing.T) {
	selector := `cassandra_table_write_latency_seconds{keyspace="shop",table="short_lived"}`
	w.exec(t, "CREATE TABLE shop.short_lived (k int PRIMARY KEY)")
	w.exec(t, "INSERT INTO shop.short_lived (k) VALUES (1)")
	eventually(t, "the new table", func(ctx context.Context) error {
		n, err := w.newest(ctx, selector, "count")
		if err == nil && n != "1" {
			err = fmt.Errorf("%s writes", n)
		}
		return err
	})
	w.exec(t, "DROP TABLE shop.short_lived")
	eventually(t, "the dropped table to be gone", func(ctx context.Context) error {
		payload, err := w.Metrics(ctx, w.node, selector, "")
		if err == nil && len(payload) > 0 {
			err = fmt.Errorf("it is still there: %v", payload)
		}
		return err
	})
	past, err := w.Metrics(t.Context(), w.node, selector, "&period=15m")
	if err != nil || len(past) != 1 {
		t.Errorf("its past is gone, too: %d series, %v", len(past), err)
	}
	if _, err := w.newest(t.Context(),
		`cassandra_table_write_latency_seconds{keyspace="shop",table="orders"}`,
		"count"); err != nil {
		t.Errorf("the other table: %v", err)
	}
}

// awaitPass waits until the API answers a pass of the agent's that began after an instant.
func (w *whole) awaitPass(t *testing.T, after time.Time) {
	t.Helper()
	eventually(t, "a pass after "+after.String(), func(ctx context.Context) error {
		payload, err := w.Metrics(ctx, w.node, "ringwatch_agent_passes_total", "")
		if err != nil || len(payload) != 1 {
			return fmt.Errorf("%d series, %v", len(payload), err)
		}
		at, err := time.Parse(time.RFC3339Nano, payload[0].Values[0]["time"].(string))
		if err == nil && !at.After(after) {
			err = fmt.Errorf("the newest is of %s", at)
		}
		return err
	})
}

// testRedisStops compares a whole range before, during and after a Redis that is gone.
func (w *whole) testRedisStops(t *testing.T) {
	// Frames come in order: what Redis has of a later pass it has of all before it.
	to := time.Now()
	w.awaitPass(t, to)
	query := fmt.Sprintf("&from=%d&to=%d", to.Add(-20*time.Second).UnixMilli(), to.UnixMilli())
	const selector = `{__name__=~"cassandra_table_.*",keyspace="shop"}`
	read := func() string {
		payload, err := w.Metrics(t.Context(), w.node, selector, query)
		if err != nil || len(payload) == 0 {
			t.Fatalf("%d series, %v", len(payload), err)
		}
		return fmt.Sprint(payload)
	}
	before := read()
	if err := w.Redis.Kill(); err != nil {
		t.Fatal(err)
	}
	// Cassandra may have the last frames later
	eventually(t, "the same answer without Redis", func(context.Context) error {
		if during := read(); during != before {
			return fmt.Errorf("it is %.500s and was %.500s", during, before)
		}
		return nil
	})
	start := time.Now()
	w.awaitPass(t, start.Add(5*time.Second)) // made without Redis
	if err := w.Redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the API to be content with Redis", func(ctx context.Context) error {
		text, err := w.Text(ctx, "/-/ready")
		if err == nil && !strings.Contains(text, `"recent":"ok"`) {
			err = fmt.Errorf("it says %s", text)
		}
		return err
	})
	if after := read(); after != before {
		t.Errorf("after Redis is back the answer is another one:\n%.500s\n%.500s", before, after)
	}
}

func (w *whole) testKafkaStops(t *testing.T) {
	began := time.Now()
	if err := w.Kafka.Kill(); err != nil {
		t.Fatal(err)
	}
	invented := frametest.New("another", 7, 1)
	refused := 0
	for time.Since(began) < kafkaAway {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.Ingest+"/v1/frames",
			bytes.NewReader(invented.Frame(time.Now().UnixMilli())))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+w.Key)
		req.Header.Set("Content-Type", "application/vnd.ringwatch.frame")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("ingest does not answer: %v", err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable ||
			resp.Header.Get("Retry-After") == "" {
			t.Fatalf("ingest answers %s, Retry-After %q", resp.Status,
				resp.Header.Get("Retry-After"))
		}
		refused++
		if health, err := http.Get(w.Ingest + "/-/healthy"); err != nil ||
			health.StatusCode != http.StatusOK {
			t.Fatalf("ingest is not up: %v %v", health, err)
		} else {
			health.Body.Close()
		}
	}
	t.Logf("ingest refused %d frames in %s", refused, time.Since(began).Round(time.Second))
	if err := w.Kafka.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, to := began.Add(-10*time.Second), time.Now().Add(5*time.Second)
	w.awaitPass(t, to)
	eventually(t, "every pass since before Kafka stopped", func(ctx context.Context) error {
		payload, err := w.Metrics(ctx, w.node, "ringwatch_agent_passes_total",
			fmt.Sprintf("&from=%d&to=%d", from.UnixMilli(), to.UnixMilli()))
		if err != nil || len(payload) != 1 {
			return fmt.Errorf("%d series, %v", len(payload), err)
		}
		values := payload[0].Values
		for i := range values {
			pass, _ := strconv.Atoi(fmt.Sprint(values[i]["value"]))
			if i > 0 {
				if before, _ := strconv.Atoi(fmt.Sprint(values[i-1]["value"])); pass != before+1 {
					return fmt.Errorf("after pass %d comes pass %d", before, pass)
				}
			}
		}
		if len(values) < int(kafkaAway.Seconds())/2 { // a busy machine has fewer than one a second
			return fmt.Errorf("only %d passes", len(values))
		}
		return nil
	})
}
