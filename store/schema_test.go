package store

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/schedule"
	"github.com/ringwatch/ringwatch/store/schema"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// settings returns a table's TTL and the size of its compaction windows.
func settings(t *testing.T, s *Store, table string) (ttl int, size string) {
	t.Helper()
	var compaction map[string]string
	err := mustCQL(t,
		s).Query("SELECT default_time_to_live, compaction FROM system_schema.tables WHERE "+
		"keyspace_name = ? AND table_name = ?", s.config.Keyspace, table).
		ScanContext(t.Context(), &ttl, &compaction)
	if err != nil {
		t.Fatal(err)
	}
	return ttl, compaction["compaction_window_size"] + " " + compaction["compaction_window_unit"]
}

// TestApplyAlters: what differs is set when asked for, and what would lose data is refused, all of
// it at once, before anything is changed.
func TestApplyAlters(t *testing.T) {
	s := mustCassandra(t, newClock(base))
	ctx := t.Context()
	for _, statement := range []string{
		"ALTER TABLE " + s.table(fresh.TableName) + " DROP received",
		"ALTER TABLE " + s.table(columns.HoursTable) +
			" WITH compression = {'class': 'LZ4Compressor'}",
	} {
		if err := s.change(ctx, statement); err != nil {
			t.Fatal(err)
		}
	}
	longer := s.config
	longer.RawTTL = 30 * 24 * time.Hour
	o := mustOpen(t, longer)
	// A role creates what is missing, columns too, and changes no setting.
	if done, err := o.ApplyChanges(ctx, Changes{}); err != nil || len(done) != 1 ||
		!strings.Contains(done[0], "received") {
		t.Fatalf("%q, %v", done, err)
	}
	if ttl, size := settings(t, o, columns.HoursTable); ttl != 14*86400 || size != "14 HOURS" {
		t.Errorf("a role changed the TTL to %d, %s", ttl, size)
	}
	done, err := o.ApplyChanges(ctx, Changes{Alter: true})
	if err != nil || !strings.Contains(strings.Join(done, "; "),
		"default_time_to_live, compression, compaction of "+columns.HoursTable) {
		t.Fatalf("%q, %v", done, err)
	}
	t.Logf("%q", done)
	if ttl, size := settings(t, o, columns.HoursTable); ttl != 30*86400 || size != "30 HOURS" {
		t.Errorf("TTL %d, %s", ttl, size)
	}
	if done, err = o.ApplyChanges(ctx, Changes{Alter: true}); err != nil || len(done) > 0 {
		t.Errorf("again: %q, %v", done, err)
	}
	// Back, and with fewer copies than there are.
	done, err = s.ApplyChanges(ctx, Changes{Alter: true})
	if !asIs(err, ErrLoss) || len(done) > 0 || Retryable(err) {
		t.Fatalf("%q, %v", done, err)
	}
	for _, say := range []string{columns.HoursTable, dictionaries.TableName, nodes.TableName,
		columns.BucketsTable,
		"--allow-shorter-ttl", "720h0m0s", "336h0m0s"} {
		if !strings.Contains(err.Error(), say) {
			t.Errorf("%q is not in: %v", say, err)
		}
	}
	if ttl, _ := settings(t, o, columns.HoursTable); ttl != 30*86400 {
		t.Errorf("TTL %d", ttl)
	}
	if err := s.Apply(ctx); err != nil { // a role goes on with what there is
		t.Error(err)
	}
	if done, err = s.ApplyChanges(ctx, Changes{Alter: true, AllowShorterTTL: true}); err != nil ||
		len(done) != 4 {
		t.Errorf("%q, %v", done, err)
	}
	if ttl, size := settings(t, o, columns.HoursTable); ttl != 14*86400 || size != "14 HOURS" {
		t.Errorf("TTL %d, %s", ttl, size)
	}
	// More copies are added, fewer are refused. With two copies on its one node Cassandra answers
	// no quorum, so that what comes after the altering waits.
	more := s.config
	more.ReplicationFactor = 2
	m := mustOpen(t, more)
	waiting, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		done, err := m.ApplyChanges(waiting, Changes{Alter: true})
		if len(done) != 1 || !strings.Contains(done[0], "repair") {
			t.Errorf("%q", done)
		}
		ended <- err
	}()
	eventually.True(t, "two copies", func() bool {
		var replication map[string]string
		err := mustCQL(t, s).Query("SELECT replication FROM system_schema.keyspaces WHERE "+
			"keyspace_name = ?", s.config.Keyspace).ScanContext(ctx, &replication)
		return err == nil && replication["replication_factor"] == "2" && m.Ready(t.Context()) != nil
	})
	stop()
	if err := <-ended; err == nil {
		t.Error("a quorum of two copies was had from one node")
	}
	one := s.config
	one.Consistency = "ONE"
	done, err = mustOpen(t, one).ApplyChanges(ctx, Changes{Alter: true})
	if !asIs(err, ErrLoss) || !strings.Contains(err.Error(), "2 copies") || len(done) > 0 {
		t.Errorf("%q, %v", done, err)
	}
}

// TestRolesInCassandra: with the printed grants each kind of role can do its work, with any one of
// a service's less it cannot, and nothing else.
func TestRolesInCassandra(t *testing.T) {
	node := engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.JVMArgs = []string{"-Dcassandra.superuser_setup_delay_ms=0"}
		c.Extra = map[string]any{"authenticator": "PasswordAuthenticator",
			"authorizer": "CassandraAuthorizer", "role_manager": "CassandraRoleManager",
			// Rights are looked up each time, so that a test sees a change at once.
			"permissions_validity": "0ms", "roles_validity": "0ms", "credentials_validity": "0ms"}
	})
	ctx := t.Context()
	config := testConfig(t, node.Addr(), newClock(base))
	as := func(role string) *Store {
		c := config
		c.Username, c.Password = role, role
		return mustOpen(t, c)
	}
	root := as("cassandra")
	must := func(statements ...string) {
		t.Helper()
		for _, statement := range statements {
			if err := root.exec(ctx, strings.TrimSuffix(statement, ";")); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	grants := func(kind, role string) []string {
		t.Helper()
		list, err := root.Grants(ctx, kind, role)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, role := range []string{"svc", "rdr", "adm", "kys", "ing"} {
		must("CREATE ROLE " + role + " WITH LOGIN = true AND PASSWORD = '" + role + "'")
	}
	must("CREATE KEYSPACE " + config.Keyspace +
		" WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
	service, reader, admin := as("svc"), as("rdr"), as("adm")
	if err := service.Apply(ctx); err == nil || Retryable(err) {
		t.Fatalf("without any right: %v", err)
	} else if asIs(err, ErrRights) {
		t.Log(err)
	}
	must(grants(schema.SchemaRole, "adm")...)
	if done, err := admin.ApplyChanges(ctx, Changes{Alter: true}); err != nil || len(done) == 0 {
		t.Fatalf("%q, %v", done, err)
	}
	printed := grants(schema.ServiceRole, "svc")
	t.Log(strings.Join(printed, "\n"))
	must(printed...)
	must(grants(schema.ReaderRole, "rdr")...)
	checkKeyRoles(t, service, as("kys"), as("ing"), func() {
		must(grants(schema.KeysRole, "kys")...)
		must(grants(schema.IngestRole, "ing")...)
	})

	pick := seeded(t, 700)
	var want windowtest.Samples
	var n *windowtest.Node
	// work is all that the roles store and all do, with nothing in its caches.
	work := func() error {
		s := newStore(service.session, service.config,
			calendar.NewClock(service.config.Now), NewMetrics(nil))
		n, want = windowtest.NewNode(pick), windowtest.Samples{}
		if err := s.Apply(ctx); err != nil {
			return err
		}
		for i := range int64(3) {
			sent := n.Step(base+i*50_000, i == 0)
			if err := writing(s).WriteFrame(ctx, "acme", sent.Bytes); err != nil {
				return err
			}
			want.Add(sent.Samples)
			late := *header(t, sent.Bytes)
			late.At -= rollup.Hour.Millis
			if err := s.late.Mark(ctx, rows.Work{}, "acme", &late); err != nil {
				return err
			}
		}
		told := frametest.New("told", 1, 0)
		told.Events = []frame.Event{{At: base - 10*60_000, Kind: "stop"}, // it comes late
			{At: base, Kind: "start"}}
		if err := writing(s).WriteFrame(ctx, "acme", told.Frame(base)); err != nil {
			return err
		}
		if err := s.WriteProgress(ctx,
			stream.Progress{Partitions: 1,
				Through: map[int32]time.Time{0: time.UnixMilli(base)}}); err != nil {
			return err
		}
		if err := writing(s).CloseWindow(ctx, memory.Unbounded(), "acme", n.ID, base); err != nil {
			return err
		}
		if err := NewWriter(s).schedule.Add(ctx, rows.Work{}, schedule.Span{Account: "acme",
			Node:  n.ID,
			Start: calendar.Hour(base), Length: window.HourMillis}, 0,
			base*1000); err != nil {
			return err
		}
		if err := writing(s).MakeHour(ctx, memory.Unbounded(), "acme", n.ID,
			calendar.Hour(base)); err != nil {
			return err
		}
		if err := writing(s).MakeDay(ctx, memory.Unbounded(), "acme", n.ID,
			calendar.Day(base)); err != nil {
			return err
		}
		if _, err := answers(s).Nodes(ctx, "acme"); err != nil {
			return err
		}
		// a role all is ingest, too
		if _, err := s.BindKey(ctx, n.ID.String(), "acme", n.ID); err != nil {
			return err
		}
		_, _, err := answers(s).Read(ctx, "acme", n.ID, 0, 1<<50)
		return err
	}
	// worked is what came of it. That a busy Cassandra does not answer in time says nothing.
	worked := func() (err error) {
		for deadline := time.Now().Add(eventually.Patience); ; {
			if err = work(); !Retryable(err) || time.Now().After(deadline) {
				return err
			}
		}
	}
	if err := worked(); err != nil {
		t.Fatal(err)
	}
	checkRead(t, reader, n, want)
	if _, err := admin.Show(ctx); err != nil {
		t.Error(err)
	}
	for _, grant := range printed {
		revoke := strings.Replace(strings.Replace(grant, "GRANT", "REVOKE", 1), " TO ", " FROM ", 1)
		must(revoke)
		if err := worked(); err == nil || Retryable(err) {
			t.Errorf("after %s: %v", revoke, err)
		}
		must(grant)
	}
	if err := worked(); err != nil {
		t.Fatal(err)
	}
	// What a service must not do.
	cut := time.UnixMilli(base).Add(24 * time.Hour)
	for what, f := range map[string]func() error{
		"cutover": func() error { _, err := service.Cutover(ctx, "v2", cut, "svc"); return err },
		"its row": func() error {
			return service.exec(ctx, "INSERT INTO "+service.table(cutovers.TableName)+
				" (scope, at, generation) VALUES ('windows', 0, 'v1')")
		},
		"create": func() error {
			return service.session.Create(ctx,
				&rows.Table{Name: "x", Partition: []rows.Column{{Name: "a"}},
					Compression: rows.Fast})
		},
		"alter": func() error {
			return service.change(ctx,
				"ALTER TABLE "+service.table(columns.HoursTable)+" ADD x int")
		},
		"drop": func() error {
			return service.change(ctx, "DROP TABLE "+service.table(columns.HoursTable))
		},
		"others": func() error {
			return service.exec(ctx, "SELECT role FROM system_auth.roles")
		},
		"reader's write": func() error {
			return writing(reader).WriteFrame(ctx, "acme", n.Step(base+200_000, true).Bytes)
		},
	} {
		if err := f(); err == nil || Retryable(err) ||
			!strings.Contains(err.Error(), "permission") {
			t.Errorf("%s: %v", what, err)
		} else if what == "create" && !asIs(err, ErrRights) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := admin.Cutover(ctx, "v2", cut, "adm"); err != nil {
		t.Error(err)
	}
	if len(grants(schema.ServiceRole, "svc")) != len(printed)+2 {
		t.Error("the new tables are not in the grants")
	}
}
