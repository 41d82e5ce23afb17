package store

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

func TestMain(m *testing.M) { engines.Main(m) }

// base is when the tests' histories begin.
var base = frame.WindowOf(time.Now().Add(-2 * time.Hour).UnixMilli())

// clock is the tests' time. It moves a little whenever it is read, as real ones do.
type clock struct{ millis, reads atomic.Int64 }

func (c *clock) now() time.Time {
	return time.UnixMilli(c.millis.Load()).Add(time.Duration(c.reads.Add(1)) * time.Microsecond)
}

var keyspaces atomic.Int64

// testConfig returns a configuration with a keyspace of the test's own. Without an address the
// caller sets Dir.
func testConfig(t *testing.T, addr string, c *clock) Config {
	config := DefaultConfig()
	if addr != "" {
		config.Hosts = []string{addr}
	}
	config.Timeout = time.Minute // a crowded machine is no outage
	config.Keyspace = fmt.Sprintf("store_%d_%d", os.Getpid(), keyspaces.Add(1))
	config.Now = c.now
	config.Log = slog.New(slog.NewTextHandler(t.Output(),
		&slog.HandlerOptions{Level: slog.LevelWarn}))
	return config
}

func mustOpen(t *testing.T, config Config) *Store {
	t.Helper()
	s, err := New(config, NewMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}
	s.late.Clusters.Age = 0 // clocks of tests jump
	if err := s.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// full is whether all that can be tested on both sides is.
var full = os.Getenv("RINGWATCH_TEST_FULL") != ""

// mustStore opens a store of the test's own for what does not depend on who keeps its rows: in a
// directory, and with RINGWATCH_TEST_FULL in Cassandra. TestContract holds both to the same.
func mustStore(t *testing.T, c *clock, change ...func(*Config)) *Store {
	t.Helper()
	if full {
		return mustCassandra(t, c, change...)
	}
	return mustFiles(t, c, change...)
}

func mustCassandra(t *testing.T, c *clock, change ...func(*Config)) *Store {
	t.Helper()
	config := testConfig(t, engines.SharedCassandra(t).Addr(), c)
	config.KeptBytes = 256 << 10 // little, so that some is read again
	for _, f := range change {
		f(&config)
	}
	s := mustOpen(t, config)
	if err := s.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// opener opens a store of the test's own.
type opener func(t *testing.T, c *clock, change ...func(*Config)) *Store

// onEach runs a test of what the store does whatever keeps its rows.
func onEach(t *testing.T, test func(t *testing.T, open opener)) {
	t.Run("files", func(t *testing.T) { test(t, mustFiles) })
	t.Run("cassandra", func(t *testing.T) { test(t, mustCassandra) })
}

// empty takes all rows out of tables, as their TTL would.
func empty(t *testing.T, s *Store, names ...string) {
	t.Helper()
	for _, name := range names {
		table := s.byName[name]
		err := s.session.Drop(t.Context(), table)
		if err == nil {
			err = s.session.Create(t.Context(), table)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// mustFiles is mustCassandra in a directory.
func mustFiles(t *testing.T, c *clock, change ...func(*Config)) *Store {
	t.Helper()
	config := testConfig(t, "", c)
	config.Dir, config.KeptBytes = t.TempDir(), 256<<10
	for _, f := range change {
		f(&config)
	}
	s := mustOpen(t, config)
	if err := s.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// another returns a store as another process would have it: a connection is no state.
func another(s *Store, config Config) *Store {
	next := newStore(s.session, config, calendar.NewClock(config.Now), NewMetrics(nil))
	next.late.Clusters.Age = 0
	return next
}

// Tests look into tables, and spoil them, by CQL.

func (s *Store) cassandra() *cassandra.Session { return s.session.(*cassandra.Session) }

func (s *Store) cql() (*gocql.Session, error) { return s.cassandra().CQL() }

// table returns a table's full name.
func (s *Store) table(name string) string { return s.cassandra().Name(name) }

// exec runs a statement.
func (s *Store) exec(ctx context.Context, statement string, args ...any) error {
	session, err := s.cql()
	if err != nil {
		return err
	}
	return s.cassandra().Run(ctx, rows.Work{}, "", session.Query(statement, args...).ExecContext)
}

// each runs a query and calls row for each of its rows until it returns false. row gets them by
// scanning.
func (s *Store) each(ctx context.Context, row func(scan func(into ...any) bool) bool,
	statement string, args ...any) error {
	session, err := s.cql()
	if err != nil {
		return err
	}
	return s.cassandra().Scan(ctx, rows.Work{}, "", session.Query(statement, args...), row)
}

func mustCQL(t *testing.T, s *Store) *gocql.Session {
	t.Helper()
	session, err := s.cql()
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// change runs a statement that changes the schema, and waits until all nodes know it.
func (s *Store) change(ctx context.Context, statement string) error {
	if err := s.exec(ctx, statement); err != nil {
		return err
	}
	session, err := s.cql()
	if err != nil {
		return err
	}
	return session.AwaitSchemaAgreement(ctx)
}

func newClock(at int64) *clock {
	c := &clock{}
	c.millis.Store(at)
	return c
}

func seeded(t *testing.T, seed uint64) windowtest.Pick {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 7)).IntN
}

func TestSchema(t *testing.T) {
	s := mustCassandra(t, newClock(base))
	ctx := t.Context()
	// Again, by several at once, in a keyspace where nothing is yet.
	other := s.config
	other.Keyspace += "_b"
	var wg sync.WaitGroup
	for range 3 {
		o := mustOpen(t, other)
		wg.Go(func() {
			if err := o.Apply(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for table, want := range map[string]struct {
		ttl   int
		unit  string
		size  string
		class string
	}{
		fresh.TableName:        {3600, "MINUTES", "3", "ZstdCompressor"},
		columns.HoursTable:     {14 * 86400, "HOURS", "14", "ZstdCompressor"},
		dictionaries.TableName: {15 * 86400, "HOURS", "15", "ZstdCompressor"},
	} {
		var ttl int
		var compaction, compression map[string]string
		var repair, speculative string
		err := mustCQL(t, s).Query("SELECT default_time_to_live, compaction, compression, "+
			"read_repair, speculative_retry FROM system_schema.tables WHERE keyspace_name = ? "+
			"AND table_name = ?",
			other.Keyspace, table).ScanContext(ctx, &ttl, &compaction, &compression, &repair,
			&speculative)
		if err != nil {
			t.Fatal(table, err)
		}
		if ttl != want.ttl || compaction["compaction_window_unit"] != want.unit ||
			compaction["compaction_window_size"] != want.size ||
			!strings.HasSuffix(compaction["class"], "TimeWindowCompactionStrategy") ||
			!strings.HasSuffix(compression["class"], want.class) ||
			repair != "NONE" || !strings.EqualFold(speculative, "NEVER") {
			t.Errorf("%s: ttl %d, %v, %v, read repair %s, speculative retry %s", table, ttl,
				compaction, compression, repair, speculative)
		}
	}
}

func TestForeignLayoutIsRefused(t *testing.T) {
	s := mustCassandra(t, newClock(base))
	ctx := t.Context()
	for _, statement := range []string{
		"DROP TABLE " + s.table(dictionaries.TableName),
		"CREATE TABLE " + s.table(dictionaries.TableName) +
			" (account text, node text, blob blob, PRIMARY KEY (account, node))",
	} {
		if err := s.change(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Apply(ctx)
	if !asIs(err, ErrLayout) || !strings.Contains(err.Error(), dictionaries.TableName) ||
		!strings.Contains(err.Error(), "node") {
		t.Fatalf("got %v", err)
	}
	if Retryable(err) {
		t.Error("it is retryable")
	}
	t.Log(err)
	// A further regular column is a newer version's.
	if err := s.change(ctx, "DROP TABLE "+s.table(dictionaries.TableName)); err != nil {
		t.Fatal(err)
	}
	if err := s.change(ctx,
		"ALTER TABLE "+s.table(columns.HoursTable)+" ADD more text"); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedByCassandraIsNotRetryable(t *testing.T) {
	s := mustCassandra(t, newClock(base))
	for _, statement := range []string{"SELECT x FROM nowhere.nothing", "SELECT"} {
		if err := s.exec(t.Context(), statement); err == nil || Retryable(err) {
			t.Errorf("%s: %v, retryable %v", statement, err, Retryable(err))
		}
	}
}

// TestCassandraAway freezes, kills and restarts Cassandra under a Writer: Handle waits, readiness
// says why, and all is there afterwards.
func TestCassandraAway(t *testing.T) {
	// With its usual periodic sync a killed Cassandra forgets what it acknowledged in the last
	// moments, and here it has no replica.
	node := engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.Extra = map[string]any{"commitlog_sync": "batch", "commitlog_sync_period": "0ms"}
	})
	c := newClock(base)
	config := testConfig(t, node.Addr(), c)
	patient := mustOpen(t, config)
	if err := patient.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	config.Timeout = 2 * time.Second
	s := mustOpen(t, config)
	pick := seeded(t, 5)
	n := windowtest.NewNode(pick)
	w := NewWriter(s)
	want := windowtest.Samples{}
	offset := int64(0)
	step := func() stream.Record {
		sent := n.Step(base+offset*5000, false)
		want.Add(sent.Samples)
		offset++
		return stream.Record{Account: "acme", Offset: offset - 1, Value: sent.Bytes}
	}
	under := func(what string, fail func() error, heal func() error) {
		t.Helper()
		if err := fail(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		records := []stream.Record{step(), step()}
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute) // for an engine to start in
		defer cancel()
		go func() { done <- w.Handle(ctx, records) }()
		eventually.True(t, what+": not ready", func() bool { return s.Ready(t.Context()) != nil })
		select {
		case err := <-done:
			t.Fatalf("%s: Handle did not wait: %v", what, err)
		default:
		}
		t.Logf("%s: %v", what, s.Ready(t.Context()))
		if err := heal(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		eventually.True(t, what+": ready again", func() bool {
			answers(s).Nodes(ctx, "acme")
			return s.Ready(t.Context()) == nil
		})
	}
	if err := w.Handle(t.Context(), []stream.Record{step()}); err != nil {
		t.Fatal(err)
	}
	under("frozen", node.Pause, node.Resume)
	under("killed", node.Kill, func() error { return node.Restart(t.Context()) })
	c.millis.Store(base + frame.WindowMillis + 60_000)
	eventually.True(t, "the window is closed", func() bool {
		err := w.CloseDue(t.Context(), c.now())
		if err != nil && !Retryable(err) {
			t.Fatal(err)
		}
		_, open := w.LowWater(0)
		return err == nil && !open
	})
	checkRead(t, patient, n, want)
}

func TestConnectGivesUpWithItsContext(t *testing.T) {
	c := newClock(base)
	s, err := New(testConfig(t, "127.0.0.1:1", c), NewMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := writing(s).WriteFrame(t.Context(), "acme", windowtest.NewNode(seeded(t, 1)).Step(base,
		true).Bytes); !Retryable(err) {
		t.Errorf("before Connect: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Connect(ctx) }()
	eventually.True(t, "it has tried", func() bool {
		err := s.session.Failing()
		return err != nil && strings.Contains(err.Error(), "refused")
	})
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v", err)
	}
	if s.Ready(t.Context()) == nil {
		t.Error("ready without a connection")
	}
}

func TestConfigReportsAllErrors(t *testing.T) {
	c := Config{Hosts: []string{"a:1", "b:2", ":"}, Keyspace: "Big", ReplicationFactor: 3,
		Consistency: "ONE", Password: "x", FreshTTL: time.Minute, Grace: -1}
	_, err := New(c, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{"hosts: ports", "hosts: \":\"", "keyspace", "consistency",
		"generation", "username", "raw_ttl", "fresh_ttl", "grace", "timeout", "in_flight"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not reported in:\n%v", field, err)
		}
	}
	d := DefaultConfig()
	if err := d.Validate(); err == nil || !strings.Contains(err.Error(), "at least one") {
		t.Errorf("neither Cassandra nor a directory: %v", err)
	}
	for _, set := range []func(){func() { d.Dir = "rows" },
		func() { d.Dir, d.Hosts = "", []string{"a"} }} {
		set()
		if err := d.Validate(); err != nil {
			t.Error(err)
		}
	}
}
