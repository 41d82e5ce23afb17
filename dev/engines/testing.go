package engines

import (
	"context"
	"maps"
	"os"
	"sync"
	"testing"
	"time"
)

// forTests is what an engine of a test gets, whoever starts it: it keeps to the first of Java's two
// compilers. The engine is ready in 4.6 s instead of 6.6 s, for 5.0 s of CPU instead of 8.2 s, and
// seldom earns what the second one costs: a third of all CPU in ten minutes of a browser's test.
// Those that a package shares and loads do.
func forTests() []string {
	if testing.Testing() {
		return []string{"-XX:TieredStopAtLevel=1"}
	}
	return nil
}

// bothCompilers is Java's default.
const bothCompilers = "-XX:TieredStopAtLevel=4"

// unflushedSchema keeps Cassandra from flushing the tables of its schema after every change of it,
// which is most of the work of a CREATE TABLE. A node that is killed and starts again has forgotten
// such a change, so this is for those that never do.
var unflushedSchema = []string{"-Dcassandra.test.flush_local_schema_changes=false"}

// patience keeps a busy machine from refusing requests that a test needs answered: Cassandra gives
// a write two seconds. Cassandra 6.0 even ends when its own first writes take longer.
var patience = map[string]any{"read_request_timeout": "2m", "range_request_timeout": "2m",
	"write_request_timeout": "2m", "cas_contention_timeout": "2m", "request_timeout": "2m",
	"native_transport_timeout": "2m"} // of a request from when it came: 12 s since 4.1

// LeaveSoon keeps a node that leaves its ring from sleeping for twice its write_request_timeout.
const LeaveSoon = "-Dcassandra.batchlog.replay_timeout_in_ms=4000"

// weakPasswords spares 60 of every 64 rounds of bcrypt: each connection that signs in costs them.
const weakPasswords = "-Dcassandra.auth_bcrypt_gensalt_log2_rounds=4"

// testWindow is GroupWindow in tests, which mostly write one thing after the other.
const testWindow = 2 * time.Millisecond

// Needed leaves a test out that needs an engine or another program, where go test -short (make
// check) asked for those that need none. Nothing else leaves a test out: an engine that is
// missing fails it.
func Needed(tb testing.TB, what string) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("-short leaves it out: it needs " + what)
	}
}

// MustCassandra starts a Cassandra of the test's own on free ports and kills it when the test
// ends. It gives requests two minutes. change may set more than the directory, and other times.
func MustCassandra(tb testing.TB, change ...func(*CassandraConfig)) *Cassandra {
	tb.Helper()
	Needed(tb, "Cassandra")
	c := CassandraConfig{Dir: tb.TempDir(), GroupWindow: testWindow, Progress: func(line string) {
		tb.Log(line)
	}}
	for _, f := range change {
		f(&c)
	}
	extra := maps.Clone(patience)
	maps.Copy(extra, c.Extra)
	c.Extra = extra
	c.JVMArgs = append([]string{LeaveSoon, weakPasswords}, c.JVMArgs...)
	node, err := StartCassandra(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	endWith(tb, &node.Engine)
	return node
}

// MustKafka starts a Kafka of the test's own on free ports and kills it when the test ends.
func MustKafka(tb testing.TB, change ...func(*KafkaConfig)) *Kafka {
	tb.Helper()
	Needed(tb, "Kafka")
	c := KafkaConfig{Dir: tb.TempDir(), Progress: func(line string) { tb.Log(line) }}
	for _, f := range change {
		f(&c)
	}
	broker, err := StartKafka(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	endWith(tb, &broker.Engine)
	return broker
}

// MustKafkas starts a cluster of as many brokers, the first of which is the controller, and kills
// them when the test ends.
func MustKafkas(tb testing.TB, n int, change ...func(*KafkaConfig)) []*Kafka {
	tb.Helper()
	brokers := []*Kafka{MustKafka(tb, change...)}
	for len(brokers) < n {
		brokers = append(brokers, MustKafka(tb, append(change, func(c *KafkaConfig) {
			c.Join, c.NodeID = brokers[0], len(brokers)+1
		})...))
	}
	return brokers
}

// MustRedis starts a Redis of the test's own on a free port and kills it when the test ends.
func MustRedis(tb testing.TB, change ...func(*RedisConfig)) *Redis {
	tb.Helper()
	Needed(tb, "Redis")
	c := RedisConfig{Dir: tb.TempDir()}
	for _, f := range change {
		f(&c)
	}
	server, err := StartRedis(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	endWith(tb, &server.Engine)
	return server
}

// MustAlertmanager starts an Alertmanager of the test's own on a free port and kills it when the
// test ends. config is its configuration file; change may set more.
func MustAlertmanager(
	tb testing.TB, config string, change ...func(*AlertmanagerConfig),
) *Alertmanager {
	tb.Helper()
	Needed(tb, "Alertmanager")
	c := AlertmanagerConfig{Dir: tb.TempDir(), Config: config}
	for _, f := range change {
		f(&c)
	}
	server, err := StartAlertmanager(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	endWith(tb, &server.Engine)
	return server
}

// FreePorts returns n ports on 127.0.0.1 that nothing listens on, for a program under test that
// must be told its ports. They lie where no outgoing connection can take them; another listener
// still could.
func FreePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var hold portHold
	defer hold.release()
	ports := make([]int, n)
	for i := range ports {
		if err := hold.take("127.0.0.1", &ports[i], "the test"); err != nil {
			tb.Fatal(err)
		}
	}
	return ports
}

// endWith kills an engine when the test ends (its data goes too, so there is nothing to save) and
// shows the end of its log when the test failed.
func endWith(tb testing.TB, e *Engine) {
	tb.Cleanup(func() {
		if err := e.Kill(); err != nil {
			tb.Error(err)
		}
		if tb.Failed() {
			tb.Logf("the end of %s's log:\n%s", e.name, logTail(e.LogFile(), 4<<10))
		}
	})
}

// SharedCassandra returns the one Cassandra that all tests of a package share, started on first
// use. Tests keep out of each other's way by keyspaces of their own, and a test that stops or
// freezes its engine takes a MustCassandra. The package's TestMain calls Main.
func SharedCassandra(tb testing.TB) *Cassandra {
	tb.Helper()
	Needed(tb, "Cassandra")
	return sharedCassandra.get(tb, func(dir string) (*Cassandra, *Engine, error) {
		// A table takes half a MB of heap, and package store makes a thousand: with 512 MB its
		// Cassandra ended in the middle.
		node, err := StartCassandra(context.Background(), CassandraConfig{
			Dir: dir, Heap: "1G", GroupWindow: testWindow,
			JVMArgs: append(unflushedSchema, bothCompilers),
		})
		if err != nil {
			return nil, nil, err
		}
		return node, &node.Engine, nil
	})
}

// SharedKafka returns the one Kafka that all tests of a package share; tests use topics of their
// own. See SharedCassandra.
func SharedKafka(tb testing.TB) *Kafka {
	tb.Helper()
	Needed(tb, "Kafka")
	return sharedKafka.get(tb, func(dir string) (*Kafka, *Engine, error) {
		broker, err := StartKafka(context.Background(),
			KafkaConfig{Dir: dir, JVMArgs: []string{bothCompilers}})
		if err != nil {
			return nil, nil, err
		}
		return broker, &broker.Engine, nil
	})
}

// SharedRedis returns the one Redis that all tests of a package share; tests use key prefixes of
// their own. See SharedCassandra.
func SharedRedis(tb testing.TB) *Redis {
	tb.Helper()
	Needed(tb, "Redis")
	return sharedRedis.get(tb, func(dir string) (*Redis, *Engine, error) {
		server, err := StartRedis(context.Background(), RedisConfig{Dir: dir})
		if err != nil {
			return nil, nil, err
		}
		return server, &server.Engine, nil
	})
}

// Main is a package's TestMain: it runs the tests, then stops the shared engines and removes
// their data.
//
//	func TestMain(m *testing.M) { engines.Main(m) }
//
// Without it the shared engines still die with the test binary, but leave their directories behind.
func Main(m *testing.M) {
	code := m.Run()
	sharedCassandra.end()
	sharedKafka.end()
	sharedRedis.end()
	os.Exit(code)
}

var (
	sharedCassandra shared[*Cassandra]
	sharedKafka     shared[*Kafka]
	sharedRedis     shared[*Redis]
)

// shared starts an engine once and remembers it, or why it did not start: a second test would
// only fail the same way, later.
type shared[T any] struct {
	mu     sync.Mutex
	tried  bool
	engine T
	handle *Engine
	dir    string
	err    error
}

func (s *shared[T]) get(tb testing.TB, start func(dir string) (T, *Engine, error)) T {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tried {
		s.tried = true
		if s.dir, s.err = os.MkdirTemp("", "ringwatch-test-"); s.err == nil {
			s.engine, s.handle, s.err = start(s.dir)
		}
	}
	if s.err != nil {
		tb.Fatal(s.err)
	}
	return s.engine
}

func (s *shared[T]) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handle != nil {
		_ = s.handle.Kill() // the kernel does it anyway in a moment
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // a leftover temporary directory is no failure
	}
}
