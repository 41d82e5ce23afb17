package safe_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/api/safe"
)

// A made-up cluster: a sample each 30 s for 70 minutes, and again for 20 minutes a day later, at
// whose end is asked.
const (
	cluster = "prod"
	before  = 140
	gap     = 2840
	after   = 40
)

var now = time.Unix(0, 0).Add((before + gap + after) * 30 * time.Second)

// always is a value that does not change; changing has another at the end.
func always(v string) string { return changing(v, v) }
func changing(past, v string) string {
	return fmt.Sprintf("%sx%d _x%d %sx%d", past, before, gap, v, after)
}

// lately is a value that there was not a day before.
func lately(v string) string { return fmt.Sprintf("_x%d %sx%d", before+gap, v, after) }

// requests is a histogram of which each sample has ten more requests in a bucket.
func requests(bucket string) string {
	return fmt.Sprintf("{{schema:-53 custom_values:[0.01 0.1 1 10] buckets:[%s] count:10}}"+
		"+{{schema:-53 custom_values:[0.01 0.1 1 10] buckets:[%s] count:10}}x%d", bucket, bucket,
		after)
}

const (
	fast = "10 0 0 0" // ms
	slow = "0 10 0 0" // tens of ms
	slug = "0 0 10 0" // hundreds
)

// series are by name and labels.
type series map[string]string

// node adds what a node says while all is well.
func (s series) node(n int) {
	id, address := fmt.Sprintf("n%d", n), fmt.Sprintf("10.0.0.%d:7000", n)
	at := fmt.Sprintf(`cluster=%q,datacenter="dc1",rack="r%d",node=%q`, cluster, n, id)
	set := func(name, more, values string) { s[name+"{"+at+more+"}"] = values }
	set("up", "", always("1"))
	set("ringwatch_node_last_seen_timestamp_seconds", "",
		fmt.Sprintf("_x%d %dx0", before+gap+after, now.Unix()))
	set("ringwatch_node_info", fmt.Sprintf(`,address=%q`, address), always("1"))
	set("cassandra_node_operation_mode_info", `,value="NORMAL"`, always("1"))
	set("cassandra_node_native_transport_running", "", always("1"))
	set("cassandra_node_gossip_running", "", always("1"))
	set("cassandra_node_peers_up", "", always("3"))
	for other := 1; other <= 4; other++ {
		if other != n {
			set("cassandra_peer_up", fmt.Sprintf(`,peer="10.0.0.%d:7000"`, other), always("1"))
		}
	}
	for keyspace, copies := range map[string]string{"shop": "3", "system_auth": "3",
		"system_traces": "1", "elsewhere": "0"} {
		set("cassandra_keyspace_replicas",
			fmt.Sprintf(`,keyspace=%q,strategy="NetworkTopologyStrategy"`, keyspace),
			always(copies))
	}
	set("cassandra_node_schema_version_info", `,value="s1"`, always("1"))
	set("cassandra_node_version_info", `,value="5.0.6"`, always("1"))
	set("cassandra_node_streams", "", always("0"))
	set("cassandra_streaming_active_outbound_streams", "", always("0"))
	set("cassandra_storage_hints_total", "", always("7"))
	for _, pool := range []string{"ReadStage", "ValidationExecutor"} {
		set("cassandra_thread_pool_active_tasks", fmt.Sprintf(`,pool=%q`, pool), always("0"))
		set("cassandra_thread_pool_pending_tasks", fmt.Sprintf(`,pool=%q`, pool), always("1"))
	}
	set("cassandra_client_request_latency_seconds", `,request="Read"`,
		requests(fast)+fmt.Sprintf(" _x%d ", gap+before-after-1)+requests(fast))
	for _, name := range []string{"timeouts", "failures", "unavailables"} {
		set("cassandra_client_request_"+name+"_total", `,request="Read"`, always("3"))
	}
	set("cassandra_compaction_pending_tasks", "", always("2"))
	set("os_filesystem_available_bytes", `,mount="/"`, always("60"))
	set("os_filesystem_size_bytes", `,mount="/"`, always("100"))
}

// put changes the series that has all of some parts in its name and labels, or adds a new one of a
// node.
func (s series) put(of, values string) {
	name, rest, _ := strings.Cut(of, "{")
	parts := strings.Split(strings.TrimSuffix(rest, "}"), ",")
	for key := range s {
		ok := strings.HasPrefix(key, name+"{")
		for _, part := range parts {
			ok = ok && strings.Contains(key, part)
		}
		if ok {
			s[key] = values
			return
		}
	}
	n := regexp.MustCompile(`node="n(\d)"`).FindStringSubmatch(of)[1]
	s[fmt.Sprintf(`%s{cluster=%q,datacenter="dc1",rack="r%s",%s`, name, cluster, n, rest)] = values
}

// drop takes away the series that begin so.
func (s series) drop(pattern string) {
	re := regexp.MustCompile(pattern)
	maps.DeleteFunc(s, func(key, _ string) bool { return re.MatchString(key) })
}

func four() series {
	s := series{}
	for n := 1; n <= 4; n++ {
		s.node(n)
	}
	return s
}

// source asks Prometheus's own engine and storage.
type source struct {
	engine  *promql.Engine
	storage storage.Queryable
	asked   []string
	change  func(promql string) (lacks []string, err error)
}

func (s series) source(t testing.TB) *source {
	t.Helper()
	var b strings.Builder
	// The first sample says how old others may be.
	b.WriteString("load 30s\n  first 1\n\nload 30s\n")
	for _, key := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "  %s %s\n", key, s[key])
	}
	st := promqltest.LoadedStorage(t, b.String())
	t.Cleanup(func() { _ = st.Close() })
	return &source{engine: promqltest.NewTestEngine(t, false, 0, 1_000_000), storage: st}
}

// Query implements safe.Source.
func (s *source) Query(ctx context.Context, expr string, at time.Time) ([]safe.Series, []string,
	error) {
	s.asked = append(s.asked, expr)
	q, err := s.engine.NewInstantQuery(ctx, s.storage, nil, expr, at)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", expr, err)
	}
	defer q.Close()
	r := q.Exec(ctx)
	v, err := r.Vector()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", expr, err)
	}
	var list []safe.Series
	for _, one := range v {
		list = append(list, safe.Series{Labels: one.Metric.Map(), Value: one.F})
	}
	if s.change != nil {
		lacks, err := s.change(expr)
		return list, lacks, err
	}
	return list, nil, nil
}

func question(purpose safe.Purpose, node string) safe.Question {
	q := safe.Question{Cluster: cluster, For: purpose, Node: node, At: now}
	for n := 1; n <= 4; n++ {
		q.Nodes = append(q.Nodes, safe.Node{ID: fmt.Sprintf("n%d", n),
			Datacenter: "dc1", Rack: fmt.Sprintf("r%d", n),
			Name: fmt.Sprintf("10.0.0.%d:7000 (db-%d)", n, n), Interval: 5 * time.Second})
	}
	return q
}

func mustShipped(t testing.TB) *safe.Conditions {
	t.Helper()
	c, err := safe.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustAsk(t testing.TB, s safe.Source, q safe.Question) *safe.Answer {
	t.Helper()
	a, err := mustShipped(t).Ask(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	if a.Safe != (len(a.Reasons) == 0) {
		t.Errorf("%+v", a)
	}
	for _, r := range a.Conditions {
		has := slices.ContainsFunc(a.Reasons, func(of safe.Reason) bool {
			return of.Condition == r.Name
		})
		if (r.State == safe.Holds) == has {
			t.Errorf("%+v, and reasons are %+v", r, a.Reasons)
		}
	}
	return a
}

// broken are the conditions that have reasons, with ? behind those that cannot be known.
func broken(a *safe.Answer) string {
	var list []string
	for _, r := range a.Reasons {
		name := r.Condition
		if !r.Known {
			name += "?"
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), " ")
}

// TestWell: a cluster in which all is well is safe for everything.
func TestWell(t *testing.T) {
	s := four().source(t)
	for _, purpose := range safe.Purposes {
		for _, node := range []string{"", "n2"} {
			if node == "" && purpose.NeedsNode() {
				continue
			}
			if purpose == safe.NodeReplace { // its node is down
				continue
			}
			s.asked = nil
			a := mustAsk(t, s, question(purpose, node))
			if !a.Safe || len(a.NotChecked) == 0 || len(a.Conditions) < 15 {
				t.Errorf("%s %s: %+v", purpose, node, a)
			}
			if n := len(s.asked); n > 25 {
				t.Errorf("%s asks %d queries", purpose, n)
			}
		}
	}
	silent := four()
	silent.down(2)
	for _, purpose := range []safe.Purpose{safe.NodeReplace, safe.Restart, safe.Upgrade} {
		if a := mustAsk(t, silent.source(t), question(purpose, "n2")); !a.Safe {
			t.Errorf("%s of a node that is down: %+v", purpose, a.Reasons)
		}
	}
	if a := mustAsk(t, silent.source(t), question(safe.Repair, "n2")); a.Safe {
		t.Error("repair of a node that is down")
	}
}

// down makes a node silent, with hints for it.
func (s series) down(n int) {
	s.drop(fmt.Sprintf(`^cassandra_.*node="n%d"`, n))
	s.put(fmt.Sprintf(`up{node="n%d"}`, n), changing("1", "0"))
	s.put(fmt.Sprintf(`ringwatch_node_last_seen_timestamp_seconds{node="n%d"}`, n),
		fmt.Sprintf("_x%d %dx%d", before+gap, now.Unix()-600, after))
	for other := 1; other <= 4; other++ {
		if other != n {
			s.put(fmt.Sprintf(`cassandra_peer_up{node="n%d",peer="10.0.0.%d:7000"}`, other, n),
				changing("1", "0"))
			s.put(
				fmt.Sprintf(`cassandra_hints_peer_created_total{node="n%d",peer="10.0.0.%d:7000"}`,
					other, n), lately("1+100"))
		}
	}
}

// conditionCases are by condition: what makes it fire, and, with others well, nothing else.
var conditionCases = []struct {
	name    string
	purpose safe.Purpose
	node    string
	change  func(series)
	want    string
	text    string // part of a reason
}{
	{"a node is down", safe.Restart, "n2", func(s series) { s.down(3) },
		"fresh? hints peers quorum up", "10.0.0.3:7000 (db-3) is down"},
	{"one copy of logins", safe.Restart, "n2", func(s series) { s.copies("system_auth", "1") },
		"one_copy", "Keyspace system_auth has one copy in datacenter dc1: while 10.0.0.2:7000"},
	{"two copies", safe.Upgrade, "n2", func(s series) { s.copies("shop", "2") }, "quorum",
		"shop (copies: 2 in dc1) loses LOCAL_QUORUM and QUORUM while 10.0.0.2:7000 (db-2) is"},
	{"up is 0 and frames come", safe.Repair, "", func(s series) {
		s.put(`up{node="n3"}`, changing("1", "0"))
	}, "up", "ringwatch node forget"},
	{"a node leaves", safe.Restart, "n2", func(s series) { s.mode(3, "LEAVING") },
		"normal", "10.0.0.3:7000 (db-3) is LEAVING, not NORMAL."},
	{"a node drains", safe.Repair, "", func(s series) { s.mode(3, "DRAINED") }, "normal",
		"DRAINED"},
	{"the node itself joins", safe.Restart, "n2", func(s series) { s.mode(2, "JOINING") },
		"itself", "is JOINING: let it end first"},
	{"the node itself starts", safe.Restart, "n2", func(s series) { s.mode(2, "STARTING") },
		"", ""},
	{"the node itself is to leave", safe.Decommission, "n2",
		func(s series) { s.mode(2, "DRAINED") }, "normal", "db-2"},
	{"no clients", safe.Upgrade, "n2", func(s series) {
		s.put(`cassandra_node_native_transport_running{node="n1"}`, changing("1", "0"))
	}, "clients", "db-1"},
	{"no clients of the node itself", safe.Upgrade, "n2", func(s series) {
		s.put(`cassandra_node_native_transport_running{node="n2"}`, changing("1", "0"))
	}, "", ""},
	{"no gossip", safe.Restart, "", func(s series) {
		s.put(`cassandra_node_gossip_running{node="n1"}`, changing("1", "0"))
	}, "gossip quorum", "db-1"},
	{"one node takes another for down", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_peer_up{node="n1",peer="10.0.0.3:7000"}`, changing("1", "0"))
	}, "peers quorum", "10.0.0.1:7000 (db-1) takes 10.0.0.3:7000 for down"},
	{"one node takes the node itself for down", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_peer_up{node="n1",peer="10.0.0.2:7000"}`, changing("1", "0"))
	}, "", ""},
	{"a peer without an agent", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_peer_up{node="n1",peer="10.0.0.9:7000"}`, always("0"))
	}, "unheard", "of 10.0.0.9:7000, which"},
	{"a peer that left", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_peer_up{node="n1",peer="10.0.0.8:7000"}`, always("0"))
	}, "", ""},
	{"two schemas", safe.Restart, "n2", func(s series) { s.info("schema", 3, "s1", "s2") },
		"schema", "1 nodes have version s2"},
	{"another schema of the node itself", safe.Restart, "n2",
		func(s series) { s.info("schema", 2, "s1", "s2") }, "", ""},
	{"two schemas of one release", safe.Upgrade, "n2",
		func(s series) { s.info("schema", 3, "s1", "s2") }, "schema_of_release", "5.0.6"},
	{"two schemas of two releases", safe.Upgrade, "n2", func(s series) {
		s.info("schema", 3, "s1", "s2")
		s.info("", 3, "5.0.6", "5.1.0")
	}, "", ""},
	{"a clock", safe.Restart, "n2", func(s series) {
		for node, off := range map[string]string{"n1": "-0.2", "n2": "0", "n3": "4.5"} {
			s.put(`ringwatch_agent_clock_offset_seconds{node="`+node+`"}`, always(off))
		}
	}, "clocks", "(db-3) is 4.5 s off"},
	{"Ringwatch's own clock", safe.Restart, "n2", func(s series) {
		for _, node := range []string{"n1", "n2", "n3"} {
			s.put(`ringwatch_agent_clock_offset_seconds{node="`+node+`"}`, always("30"))
		}
	}, "", ""},
	{"two releases", safe.Repair, "", func(s series) { s.info("", 3, "5.0.6", "5.1.0") },
		"releases", "1 nodes run Cassandra 5.1"},
	{"two patches of a release", safe.Repair, "",
		func(s series) { s.info("", 3, "5.0.6", "5.0.7") }, "", ""},
	{"streams", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_node_streams{node="n2"}`, changing("0", "1"))
	}, "streaming", "db-2"},
	{"a stream sends", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_streaming_active_outbound_streams{node="n1"}`, changing("0", "1"))
	}, "streaming", "db-1"},
	{"bytes are streamed", safe.Repair, "", func(s series) {
		s.put(`cassandra_streaming_incoming_bytes_total{node="n1"}`, lately("0+10"))
	}, "streaming", "db-1"},
	{"bytes went out", safe.Repair, "", func(s series) {
		s.put(`cassandra_streaming_outgoing_bytes_total{node="n1"}`, lately("0+10"))
	}, "streaming", "db-1"},
	{"bytes were streamed", safe.Repair, "", func(s series) {
		s.put(`cassandra_streaming_incoming_bytes_total{node="n1"}`, lately("10"))
	}, "", ""},
	{"a repair", safe.Repair, "", func(s series) {
		s.put(`cassandra_thread_pool_active_tasks{node="n1",pool="ValidationExecutor"}`,
			changing("0", "1"))
	}, "repairs", "db-1"},
	{"reads are active", safe.Repair, "", func(s series) {
		s.put(`cassandra_thread_pool_active_tasks{node="n1",pool="ReadStage"}`, changing("0", "1"))
	}, "", ""},
	{"hints that nobody delivers", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_peer_created_total{node="n2",peer="10.0.0.3:7000"}`, lately("10"))
	}, "hints", "10.0.0.2:7000 (db-2) has hints for 10.0.0.3:7000"},
	{"hints of which some are delivered", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_peer_created_total{node="n2",peer="10.0.0.3:7000"}`, lately("10"))
		s.put(`cassandra_hints_peer_delay_seconds{node="n2",peer="10.0.0.3:7000"}`,
			lately("{{schema:-53 custom_values:[1] buckets:[9] count:9}}"))
	}, "hints", ""},
	{"hints that are delivered", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_peer_created_total{node="n2",peer="10.0.0.3:7000"}`, lately("10"))
		s.put(`cassandra_hints_peer_delay_seconds{node="n2",peer="10.0.0.3:7000"}`,
			lately("{{schema:-53 custom_values:[1] buckets:[10] count:10}}"))
	}, "", ""},
	{"hints that were dropped a day ago", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_peer_created_total{node="n2",peer="10.0.0.3:7000"}`, always("10"))
	}, "", ""},
	{"hints are written", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_peer_created_total{node="n1",peer="10.0.0.3:7000"}`,
			fmt.Sprintf("_x%d 0x%d 10x0", before+gap, after-1))
		s.put(`cassandra_hints_peer_delay_seconds{node="n1",peer="10.0.0.3:7000"}`,
			lately("{{schema:-53 custom_values:[1] buckets:[10] count:10}}"))
	}, "hints", ""},
	{"hints for the node itself", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_peer_created_total{node="n1",peer="10.0.0.2:7000"}`, lately("1+1"))
	}, "", ""},
	{"hints for one that left", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_peer_created_total{node="n1",peer="10.0.0.8:7000"}`, lately("1+1"))
	}, "", ""},
	{"hints are sent", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_succeeded_total{node="n2"}`, lately("0+1"))
	}, "hints_sent", "db-2"},
	{"hints fail", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_failed_total{node="n1"}`, lately("0+1"))
	}, "hints_sent", "db-1"},
	{"hints time out", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_timed_out_total{node="n1"}`, lately("0+1"))
	}, "hints_sent", "db-1"},
	{"hints were sent", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_hints_succeeded_total{node="n2"}`, changing("1", "9"))
	}, "", ""},
	{"hints were given up", safe.Decommission, "n2", func(s series) {
		s.put(`cassandra_hints_peer_not_stored_total{node="n1",peer="10.0.0.3:7000"}`, lately("1"))
	}, "hints_lost", "repair 10.0.0.3:7000 before"},
	{"more hints were given up", safe.Decommission, "n2", func(s series) {
		s.put(`cassandra_hints_peer_not_stored_total{node="n1",peer="10.0.0.3:7000"}`,
			fmt.Sprintf("1x%d _x%d 1x20 2x20", before, gap))
	}, "hints_lost", ""},
	{"hints were given up long ago", safe.Decommission, "n2", func(s series) {
		s.put(`cassandra_hints_peer_not_stored_total{node="n1",peer="10.0.0.3:7000"}`, always("1"))
	}, "", ""},
	{"slower than a day before", safe.Restart, "n2", func(s series) { s.latency(fast, slug) },
		"latency", "Read, "},
	{"slow as ever", safe.Restart, "n2", func(s series) { s.latency(slug, slug) }, "", ""},
	{"fast, and slower than a day before", safe.Restart, "n2",
		func(s series) { s.latency(fast, fast) }, "", ""},
	{"slow for the first time", safe.Restart, "n2", func(s series) { s.latency("", slug) },
		"latency", " ms (99th"},
	{"middling for the first time", safe.Restart, "n2", func(s series) { s.latency("", slow) },
		"", ""},
	{"unavailable", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_client_request_unavailables_total{node="n1",request="Read"}`,
			lately("0+1"))
	}, "errors", "Read"},
	{"timeouts", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_client_request_timeouts_total{node="n1",request="Read"}`,
			fmt.Sprintf("3x%d _x%d 3+30x%d", before, gap, after))
	}, "errors", "Read, 1 a second"},
	{"failures", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_client_request_failures_total{node="n1",request="Read"}`, lately("0+30"))
	}, "errors", ""},
	{"timeouts as ever", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_client_request_timeouts_total{node="n1",request="Read"}`,
			fmt.Sprintf("3+30x%d _x%d 3+30x%d", before, gap, after))
	}, "", ""},
	{"compactions", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_compaction_pending_tasks{node="n1"}`, changing("2", "30"))
	}, "compactions", "30 compactions wait on 10.0.0.1:7000 (db-1)"},
	{"compactions as ever", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_compaction_pending_tasks{node="n1"}`, changing("400", "500"))
	}, "", ""},
	{"compactions for the first time", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_compaction_pending_tasks{node="n1"}`, lately("1234"))
	}, "compactions", "1234 comp"},
	{"few compactions for the first time", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_compaction_pending_tasks{node="n1"}`, lately("99"))
	}, "", ""},
	{"queues", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_thread_pool_pending_tasks{node="n1",pool="ReadStage"}`,
			changing("1", "11"))
	}, "queues", "11 tasks wait in ReadStage of"},
	{"queues as ever", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_thread_pool_pending_tasks{node="n1",pool="ReadStage"}`,
			changing("90", "110"))
	}, "", ""},
	{"queues for the first time", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_thread_pool_pending_tasks{node="n1",pool="ReadStage"}`, lately("101"))
	}, "queues", ""},
	{"a queue of the inside", safe.Restart, "n2", func(s series) {
		s.put(`cassandra_thread_pool_pending_tasks{node="n1",pool="ValidationExecutor"}`,
			changing("1", "1000"))
	}, "", ""},
	{"a full disk", safe.Upgrade, "n2", func(s series) {
		s.put(`os_filesystem_available_bytes{node="n1"}`, always("20"))
	}, "disk", "A disk of 10.0.0.1:7000 (db-1) is 80 % full."},
	{"a full disk at a restart", safe.Restart, "n2", func(s series) {
		s.put(`os_filesystem_available_bytes{node="n1"}`, always("20"))
	}, "", ""},
	{"replacing a node that is up", safe.NodeReplace, "n2", func(series) {}, "replaced",
		"db-2) is up"},
}

// copies sets how many copies of a keyspace nodes say.
func (s series) copies(keyspace, n string) {
	for key := range s {
		if strings.HasPrefix(key, "cassandra_keyspace_replicas{") &&
			strings.Contains(key, `keyspace="`+keyspace+`"`) {
			s[key] = always(n)
		}
	}
}

func (s series) mode(n int, now string) {
	s.drop(fmt.Sprintf(`^cassandra_node_operation_mode_info.*node="n%d"`, n))
	s.put(fmt.Sprintf(`cassandra_node_operation_mode_info{node="n%d",value=%q}`, n, now),
		lately("1"))
}

func (s series) info(of string, n int, was, now string) {
	name := "cassandra_node_version_info"
	if of != "" {
		name = "cassandra_node_" + of + "_version_info"
	}
	s.drop(fmt.Sprintf(`^%s.*node="n%d"`, name, n))
	s.put(fmt.Sprintf(`%s{node="n%d",value=%q}`, name, n, now), lately("1"))
}

// latency sets what all nodes' reads took a day before (empty: nobody knows) and take.
func (s series) latency(past, v string) {
	for n := 1; n <= 4; n++ {
		values := fmt.Sprintf("_x%d ", before+gap-1) + requests(v)
		if past != "" {
			values = requests(past) + fmt.Sprintf(" _x%d ", gap+before-after-1) + requests(v)
		}
		s.put(fmt.Sprintf(`cassandra_client_request_latency_seconds{node="n%d",request="Read"}`,
			n), values)
	}
}

// TestConditions: each shipped condition fires where it should and nowhere else.
func TestConditions(t *testing.T) {
	fired := map[string]bool{}
	for _, c := range conditionCases {
		t.Run(c.name, func(t *testing.T) {
			s := four()
			if c.purpose == safe.NodeReplace && c.want != "replaced" {
				s.down(2)
			}
			c.change(s)
			q := question(c.purpose, c.node)
			q.Left = []string{"10.0.0.8:7000", `x"|y\`}
			a := mustAsk(t, s.source(t), q)
			if got := broken(a); got != c.want {
				t.Errorf("%q, want %q: %+v", got, c.want, a.Reasons)
			}
			if !slices.ContainsFunc(a.Reasons, func(r safe.Reason) bool {
				return strings.Contains(r.Text, c.text)
			}) && c.want != "" {
				t.Errorf("none says %q: %+v", c.text, a.Reasons)
			}
			for _, name := range strings.Fields(c.want) {
				fired[strings.TrimSuffix(name, "?")] = true
			}
		})
	}
	three := four()
	three.drop(`node="n4"`)
	q := question(safe.Decommission, "n2")
	q.Nodes = q.Nodes[:3]
	q.Left = []string{"10.0.0.4:7000"}
	a := mustAsk(t, three.source(t), q)
	if broken(a) != "enough" || a.Reasons[0].Text !=
		"Keyspace shop has 3 copies, more than the nodes that would stay." {
		t.Errorf("%+v", a.Reasons)
	}
	fired["enough"] = true
	for _, c := range mustShipped(t).List {
		if !fired[c.Name] {
			t.Errorf("nothing makes %s fire", c.Name)
		}
	}
}

// TestUnknown: whatever a condition needs and a node does not say makes the answer no.
func TestUnknown(t *testing.T) {
	needs := map[string]safe.Purpose{} // with one that needs it
	for _, c := range mustShipped(t).List {
		for _, name := range c.Needs {
			needs[name] = c.For[0]
		}
	}
	if len(needs) < 15 {
		t.Fatal(needs)
	}
	for name, purpose := range needs {
		of := map[bool]string{}
		for _, all := range []bool{false, true} {
			s, pattern := four(), "^"+name+`\{.*node="n3"`
			if all {
				pattern = "^" + name + `\{`
			}
			s.drop(pattern)
			node := ""
			if purpose.NeedsNode() {
				node = "n2"
			}
			var reasons []safe.Reason
			for _, r := range mustAsk(t, s.source(t), question(purpose, node)).Reasons {
				if !r.Known {
					reasons = append(reasons, r)
				}
			}
			if len(reasons) == 0 {
				t.Errorf("without %s (of all: %t) nothing is unknown", name, all)
				continue
			}
			of[all] = reasons[0].Text
		}
		if want := "It cannot be known of 10.0.0.3:7000 (db-3), where nothing says " + name +
			"."; of[false] != want {
			t.Errorf("%q, want %q", of[false], want)
		}
		if want := "No node says " + name + ", so this cannot be known."; of[true] != want {
			t.Errorf("%q, want %q", of[true], want)
		}
	}
}

// TestFresh: silence, old frames, and those from before Since are a no; a slow agent's are not.
func TestFresh(t *testing.T) {
	aged := func(age int) series {
		s := four()
		s.put(`ringwatch_node_last_seen_timestamp_seconds{node="n3"}`,
			fmt.Sprintf("_x%d %dx%d", before+gap, now.Unix()-int64(age), after))
		return s
	}
	never := four()
	never.drop(`^ringwatch_node_last_seen_timestamp_seconds.*n3`)
	for _, c := range []struct {
		name     string
		s        series
		node     string
		since    time.Duration // before now; 0: none
		interval time.Duration
		want     string
	}{
		{"just now", aged(10), "", 0, 0, ""},
		{"30 seconds", aged(30), "", 0, 0, ""},
		{"31 seconds", aged(31), "", 0, 0, "db-3) was last heard of 31s ago."},
		{"a slow agent", aged(170), "", 0, time.Minute, ""},
		{"a slow agent that is late", aged(190), "", 0, time.Minute, "last heard of 3m10s ago."},
		{"the node itself", aged(190), "n3", 0, 0, ""},
		{"never", never, "", 0, 0, "10.0.0.3:7000 (db-3) was never heard of."},
		{"before the step", aged(10), "", 5 * time.Second, 0, "was not heard of since"},
		{"after the step", aged(3), "", 5 * time.Second, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := question(safe.Restart, c.node)
			if c.since > 0 {
				q.Since = now.Add(-c.since)
			}
			if c.interval > 0 {
				q.Nodes[2].Interval = c.interval
			}
			a := mustAsk(t, c.s.source(t), q)
			if a.Safe != (c.want == "") {
				t.Errorf("%+v", a.Reasons)
			}
			if c.want != "" && (len(a.Reasons) != 1 || a.Reasons[0].Known ||
				a.Reasons[0].Node != "n3" || !strings.Contains(a.Reasons[0].Text, c.want)) {
				t.Errorf("%+v, want %q", a.Reasons, c.want)
			}
		})
	}
	q := question(safe.Restart, "")
	q.Nodes = nil
	if a := mustAsk(t, four().source(t), q); a.Safe {
		t.Error("a cluster of no nodes is safe")
	}
}

// TestPaused: of a node whose agent is paused nothing is known, whether it must be well or is the
// one that is taken away; it is not the first to take, as one that is down is.
func TestPaused(t *testing.T) {
	s := four()
	s.drop(`^cassandra_.*node="n3"`)
	for _, node := range []string{"n2", "n3", ""} {
		q := question(safe.Restart, node)
		q.Nodes[2].Paused = now.Add(-time.Hour)
		a := mustAsk(t, s.source(t), q)
		if got := broken(a); a.Safe || got != "fresh?" {
			t.Errorf("%q: %s %+v", node, got, a.Reasons)
		}
		if want := "db-3) is paused since " + q.Nodes[2].Paused.UTC().Format(time.RFC3339) +
			", so nothing is known"; !strings.Contains(a.Reasons[0].Text, want) {
			t.Errorf("%q: %+v", node, a.Reasons)
		}
		if got := choices(a); node == "" && got != "n1! n2! n3! n4!" {
			t.Error(got)
		}
	}
}

// TestPartial: each query that fails, or whose answer is not whole, makes the answer no.
func TestPartial(t *testing.T) {
	s := four().source(t)
	mustAsk(t, s, question(safe.Restart, "n2"))
	for _, expr := range s.asked {
		for _, fails := range []bool{false, true} {
			s.change = func(asked string) ([]string, error) {
				switch {
				case asked != expr:
					return nil, nil
				case fails:
					return nil, errors.New("the store is away")
				}
				return []string{"the store is away"}, nil
			}
			a := mustAsk(t, s, question(safe.Restart, "n2"))
			if a.Safe || !strings.Contains(a.Reasons[0].Text, "the store is away") ||
				a.Reasons[0].Known {
				t.Errorf("%s: %+v", expr, a)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a, err := mustShipped(t).Ask(ctx, s, question(safe.Restart, "n2")); err == nil {
		t.Errorf("%+v", a)
	}
}

// TestMetricsAreTheAgents: every name is one that agents send or that package query makes.
func TestMetricsAreTheAgents(t *testing.T) {
	known := map[string]bool{"up": true, "ringwatch_node_info": true}
	text, err := os.ReadFile("../../agent/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_]+)` \\|").FindAllStringSubmatch(
		string(text), -1) {
		known[m[1]] = true
	}
	replace := strings.NewReplacer("$scope", `cluster="c"`, "$stay", `cluster="c"`, "$node",
		`cluster="c"`, "$left", "")
	for _, c := range mustShipped(t).List {
		if c.Replicas != "" {
			continue
		}
		tree, err := parser.NewParser(parser.Options{}).ParseExpr(replace.Replace(c.PromQL))
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
			if s, is := n.(*parser.VectorSelector); is && !known[s.Name] {
				t.Errorf("%s: agent/METRICS.md has no %s", c.Name, s.Name)
			}
			return nil
		})
		for _, name := range c.Needs {
			if !known[name] {
				t.Errorf("%s: agent/METRICS.md has no %s", c.Name, name)
			}
		}
		// A node that never had such a thing to say does not say these, so the condition needs
		// another metric. A node that is down need not say what only it is asked for.
		if strings.Contains(c.PromQL, "cassandra_") && strings.Contains(c.PromQL, "$s") &&
			len(c.Needs) == 0 {
			t.Errorf("%s holds where nodes say nothing: it needs no metric", c.Name)
		}
		seldom := regexp.MustCompile("^(up|ringwatch_.*|cassandra_(hints|streaming|peer)_.*)$")
		for _, matchers := range parser.ExtractSelectors(tree) {
			for _, m := range matchers {
				if m.Name == "__name__" && !seldom.MatchString(m.Value) &&
					strings.Contains(c.PromQL, "$s") && !slices.Contains(c.Needs, m.Value) {
					t.Errorf("%s does not need %s, which it asks for", c.Name, m.Value)
				}
			}
		}
		for _, text := range []string{c.Description, c.Text} {
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: no sentence: %q", c.Name, text)
			}
		}
	}
}

const own = `
fresh: 2m
conditions:
  - name: queues
    for: []
  - name: orders
    for: [restart]
    description: Orders come.
    promql: sum by (cluster) (rate(shop_orders_total{$scope}[5m])) < 1
    text: "Only {number} orders a second come to {cluster}."
    needs: [shop_orders_total]
not_checked:
  - {for: [restart], text: The shop's sale.}
`

// TestOwn: an account's file changes, adds and takes away.
func TestOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	mine, err := safe.LoadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shipped := mustShipped(t)
	joined := shipped.With(mine)
	s := four()
	s.put(`cassandra_thread_pool_pending_tasks{node="n1",pool="ReadStage"}`, lately("101"))
	s.put(`shop_orders_total{node="n1",}`, lately("0+15"))
	a, err := joined.Ask(t.Context(), s.source(t), question(safe.Restart, "n1"))
	if err != nil {
		t.Fatal(err)
	}
	if broken(a) != "orders orders?" || !slices.Contains(a.NotChecked, "The shop's sale.") ||
		!slices.ContainsFunc(a.Reasons, func(r safe.Reason) bool {
			return r.Text == "Only 0.5 orders a second come to prod."
		}) {
		t.Errorf("%+v", a)
	}
	if joined.Fresh != 2*time.Minute || shipped.Fresh != 30*time.Second ||
		len(joined.List) != len(shipped.List)+1 {
		t.Errorf("%v, %v", joined.Fresh, shipped.Fresh)
	}
}

// TestWrong: each mistake is said with the file, the condition and the remedy.
func TestWrong(t *testing.T) {
	replace := func(old, new string) string { return strings.Replace(own, old, new, 1) }
	for name, c := range map[string]struct{ text, want string }{
		"an unknown key": {replace("needs:", "need:"), "own.yaml: [11:5] unknown field"},
		"no YAML":        {"conditions: [", "own.yaml: "},
		"a name of two": {replace("name: orders", "name: no orders"),
			"condition no orders: name it with one word"},
		"a name of ours": {replace("name: orders", "name: fresh"), "other than fresh"},
		"a name twice": {replace("name: queues", "name: orders"),
			"condition orders is there twice"},
		"an unknown purpose": {replace("[restart]", "[reboot]"),
			`"reboot" is unknown: use restart, upgrade, dec`},
		"no description": {replace("Orders come.", ""),
			"condition orders: description is missing"},
		"no text": {replace(`"Only {number} orders a second come to {cluster}."`, ""),
			"text is missing"},
		"no PromQL": {replace("rate(shop", "rate((shop"), "condition orders: promql: "},
		"no scope": {replace("$scope", `cluster="other"`),
			"has none of $scope, $stay and $node"},
		"a scalar": {replace("sum by (cluster) (rate(shop_orders_total{$scope}[5m])) < 1", "1"),
			"it is a scalar"},
		"no selector": {replace("sum by (cluster) (rate(shop_orders_total{$scope}[5m])) < 1",
			"vector(1)"), "no selector"},
		"a bad need": {replace("[shop_orders_total]", "['a b']"),
			`"a b" is not the name of a metric`},
		"a bad time": {replace("fresh: 2m", "fresh: soon"), `fresh: "soon" is not a time`},
		"a blank": {replace("text: The shop's sale.", "text: ''"),
			"not_checked 1: text is missing"},
		"not_checked": {replace("{for: [restart]", "{for: [x]"),
			"not_checked 1: for: \"x\" is unknown"},
		"too large": {own + "#" + strings.Repeat("x", 256<<10), "bytes, and 262144 are allowed"},
		"a great many": {"conditions:\n" + strings.Repeat("  - {name: a, for: []}\n", 101),
			"101 conditions, and 100 are allowed"},
	} {
		_, err := safe.Load("own.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "own.yaml") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := safe.LoadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err,
		os.ErrNotExist) {
		t.Error(err)
	}
}
