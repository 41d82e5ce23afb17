package store

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/dictionaries"
	happened "github.com/ringwatch/ringwatch/store/events"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/keys"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files"
	"github.com/ringwatch/ringwatch/store/schedule"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// mustMover looks at a directory for a store.
func mustMover(t *testing.T, to *Store, c MoverConfig) *Mover {
	t.Helper()
	if c.Patience == 0 {
		c.Patience = time.Minute
	}
	m, err := to.NewMover(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestMove moves a directory into an engine while it is written, and compares all answers. On the
// way the mover is lost twice.
func TestMove(t *testing.T) {
	t.Run("files", func(t *testing.T) {
		testMove(t, func(config *Config) { config.Hosts, config.Dir = nil, t.TempDir() })
	})
	t.Run("cassandra", func(t *testing.T) {
		testMove(
			t,
			func(config *Config) { config.Hosts = []string{engines.SharedCassandra(t).Addr()} },
		)
	})
}

func testMove(t *testing.T, where func(*Config)) {
	start := calendar.Hour(time.Now().Add(-150 * time.Minute).UnixMilli())
	c := newClock(start)
	dir := t.TempDir()
	s := mustFiles(t, c, func(c *Config) { c.Dir, c.HourSpread = dir, time.Minute })
	n := windowtest.NewNode(seeded(t, 81))
	w := NewWriter(s)
	want := windowtest.Samples{}
	offset := int64(0)
	send := func(until int64) {
		t.Helper()
		for at := start + offset*20_000; at < until; at += 20_000 {
			sent := n.Step(at, at == frame.WindowOf(at))
			want.Add(sent.Samples)
			c.millis.Store(at + 200)
			must(
				t,
				w.Handle(
					t.Context(),
					[]stream.Record{{Account: "acme", Offset: offset, Value: sent.Bytes}},
				),
			)
			must(t, w.CloseDue(t.Context(), c.now()))
			offset++
		}
	}
	told := 0
	tell := func() { // now and, as it was away, of minutes ago
		t.Helper()
		teller := frametest.New("told", 1, 1)
		for _, age := range []int64{600_000, 0} {
			at := c.millis.Load() - age
			teller.Events = []frame.Event{{At: at, Kind: "start", Text: fmt.Sprint("ä ", told),
				Labels: []frame.Label{{Name: "java_version", Value: "17"}}},
				{At: at, Kind: "settings", Severity: frame.Error}}
			must(t, writing(s).WriteFrame(t.Context(), "acme", teller.Frame(at)))
			told += 2
		}
	}
	flush := func() { must(t, s.session.(*files.Engine).Flush(t.Context())) }
	must(t, s.CreateKey(t.Context(), account.StoredKey{ID: "a", Account: "acme", Name: "gone",
		SHA256: "00", Scopes: []account.Scope{account.Read}, Created: utc(1)}))
	must(t, s.CreateKey(t.Context(), account.StoredKey{ID: "b", Account: "acme", Name: "kept",
		SHA256: "01", Scopes: []account.Scope{account.Read}, Created: utc(1)}))
	send(start + 65*60_000)
	tell()
	flush()

	config := testConfig(t, "", c)
	where(&config)
	to := mustOpen(t, config)
	copied := []string{}
	mine := MoverConfig{
		Dir:  dir,
		ID:   "the directory",
		Save: func(list []string) error { copied = list; return nil },
	}
	first := mustMover(t, to, mine)
	if of, err := first.Check(t.Context()); of || err != nil {
		t.Fatalf("a keyspace that is not there: %v, %v", of, err)
	}
	must(t, first.Begin(t.Context()))
	stopped, stop := context.WithCancel(t.Context())
	cut := mine
	cut.Save = func(list []string) error { copied = list; stop(); return nil }
	first = mustMover(t, to, cut)
	_, err := first.Round(stopped)
	if err == nil {
		t.Fatal("a move whose context ended in the middle has ended well")
	}
	second := mine
	second.Copied = copied
	if len(copied) == 0 {
		t.Fatal("nothing is said to be copied:", err)
	}
	m := mustMover(t, to, second)
	must(t, m.Begin(t.Context()))
	bytes, err := m.Round(t.Context())
	if err != nil || bytes == 0 {
		t.Fatalf("a round copied %d bytes, %v", bytes, err)
	}
	if bytes, err = m.Round(t.Context()); err != nil || bytes != 0 {
		t.Fatalf("a round without anything new copied %d bytes, %v", bytes, err)
	}
	send(start + 70*60_000)
	must(t, s.RevokeKey(t.Context(), "a", 5, "the test"))
	flush()
	send(start + 72*60_000)
	tell()
	if err := m.Last(t.Context()); !asIs(err, ErrInUse) {
		t.Fatalf("the last round beside the process: %v", err)
	}
	answers := func(s *Store) []any {
		keys, err := s.Keys(t.Context())
		must(t, err)
		nodes, err := answers(s).Nodes(t.Context(), "acme")
		must(t, err)
		rolled, report, err := answers(
			s,
		).ReadRollup(t.Context(), "acme", n.ID, rollup.FiveMinutes, 0, 1<<50, nil)
		must(t, err)
		cuts, err := s.Cutovers(t.Context(), start)
		must(t, err)
		happened, _ := allPages(t, s, events.Query{Clusters: []string{"told"}, To: 1 << 50,
			Limit: 100})
		late, _ := allPages(t, s, events.Query{Clusters: []string{"told"}, To: 1 << 50,
			Limit: 100, Late: true, After: &events.ID{}})
		if len(happened) != told || len(late) != told/2 {
			t.Errorf("there are %d events, %d of them late, of %d", len(happened), len(late), told)
		}
		progress := []any{keys, nodes, rolled, report.Missing(), cuts, happened, late}
		return progress
	}
	checkRead(t, s, n, want)
	before := answers(s)
	s.Close()
	must(t, m.Last(t.Context()))
	must(t, m.End(t.Context()))
	m.Close()
	must(t, to.Apply(t.Context())) // as the first process does
	checkRead(t, to, n, want)
	if after := answers(to); !reflect.DeepEqual(after, before) {
		t.Errorf("answers are\n%v\nand were\n%v", after, before)
	}
	sameRows(t, dir, to)
	if m.Lost() != 0 {
		t.Errorf("%d bytes are lost", m.Lost())
	}

	// What was open goes on in the new place.
	w = NewWriter(to)
	send(start + 130*60_000)
	c.millis.Store(start + 3*window.HourMillis)
	must(t, w.CloseDue(t.Context(), c.now()))
	checkRead(t, to, n, want)

	other := mine
	other.ID = "another directory"
	if _, err := mustMover(t, to, other).Check(t.Context()); !asIs(err, ErrOccupied) {
		t.Errorf("another directory: %v", err)
	}
	if mine, err := mustMover(t, to, mine).Check(t.Context()); !mine || err != nil {
		t.Errorf("the same directory: %v, %v", mine, err)
	}
}

// value is one that a directory has.
type value struct {
	table *rows.Table
	key   []any
	name  string // of the column
	is    any
	stamp int64
	ttl   time.Duration
}

// sameRows holds each value that a directory has against that of an engine, and when it was
// written. In Cassandra it looks for when it expires, too.
func sameRows(t *testing.T, dir string, to *Store) {
	t.Helper()
	x, err := files.NewExport(dir)
	must(t, err)
	defer x.Close()
	must(t, x.Take())
	list, err := x.Parts()
	must(t, err)
	newest, number := map[string]value{}, map[string]int{}
	for _, p := range list {
		must(t, x.Rows(p, 1<<20, func(list []rows.Row) error {
			for _, r := range list {
				for i, v := range r.Values {
					of := value{p.Table, r.Key, p.Table.Values[i].Name, v, r.Stamp, r.TTL}
					name := fmt.Sprint(p.Table.Name, r.Key, i)
					if v != nil && r.Stamp >= newest[name].stamp {
						newest[name] = of
						number[p.Table.Name]++
					}
				}
			}
			return nil
		}))
	}
	for _, v := range newest {
		parts := len(v.table.Partition)
		q := rows.Query{
			Table: v.table, Key: v.key[:parts], Equal: v.key[parts:], Columns: []string{v.name},
			Written: v.name,
		}
		into, stamp := reflect.New(reflect.TypeOf(v.is)), int64(-1)
		row := func(scan func(...any) bool) bool { scan(into.Interface(), &stamp); return false }
		must(t, to.session.Read(t.Context(), rows.Work{}, q, row))
		if got := into.Elem().Interface(); stamp != v.stamp || !reflect.DeepEqual(got, v.is) {
			t.Fatalf("%s %v: %s is %v of %d, and was %v of %d", v.table.Name, v.key, v.name,
				got, stamp,
				v.is, v.stamp)
		}
		if to.config.Dir == "" {
			if left := to.timeLeft(t, v); (left - v.ttl).Abs() > time.Minute {
				t.Errorf("%s %v: %s lives %s, and should %s", v.table.Name, v.key, v.name,
					left, v.ttl)
			}
		}
	}
	for _, name := range []string{
		keys.TableName, nodes.TableName, fresh.TableName, columns.WindowsTable, schedule.TableName,
		dictionaries.TableName, happened.TableName,
		happened.LateTableName,
	} {
		if number[name] == 0 {
			t.Errorf("no row of %s was compared: %v", name, number)
		}
	}
	t.Logf("%d values are the same: %v", len(newest), number)
}

// timeLeft asks Cassandra how long a value lives; 0: for ever.
func (s *Store) timeLeft(t *testing.T, v value) time.Duration {
	t.Helper()
	var where []string
	var args []any
	for i, c := range v.table.Keys() {
		where = append(where, c.Name+" = ?")
		if id, is := v.key[i].(uuid.UUID); is {
			args = append(args, gocql.UUID(id))
		} else {
			args = append(args, v.key[i])
		}
	}
	var left int64
	err := s.each(t.Context(), func(scan func(...any) bool) bool { return scan(&left) },
		"SELECT TTL("+v.name+") FROM "+s.table(v.table.Name)+" WHERE "+strings.Join(where, " AND "),
		args...)
	must(t, err)
	return time.Duration(left) * time.Second
}

// TestMoveIsRefused: a keyspace with other data, rows of accounts that are not known, and a
// keyspace that was begun with another generation.
func TestMoveIsRefused(t *testing.T) {
	c := newClock(time.Now().UnixMilli())
	dir := t.TempDir()
	s := mustFiles(t, c, func(c *Config) { c.Dir = dir })
	n := windowtest.NewNode(seeded(t, 82))
	must(
		t,
		NewWriter(
			s,
		).Handle(t.Context(), []stream.Record{{Account: "acme", Value: n.Step(base, true).Bytes}}),
	)
	s.Close()
	move := func(to *Store, c MoverConfig) error {
		c.Dir, c.ID = dir, "the directory"
		m := mustMover(t, to, c)
		defer m.Close()
		err := m.Begin(t.Context())
		if err == nil {
			err = m.Last(t.Context())
		}
		return err
	}
	for name, test := range map[string]struct {
		change func(*Config)
		move   MoverConfig
		spoil  func(*Store) error
		want   error
		say    string
	}{
		"other data": {
			spoil: func(s *Store) error {
				return s.CreateKey(t.Context(), account.StoredKey{ID: "k", Account: "a", Name: "n"})
			},
			want: ErrOccupied, say: "table api_keys of store_",
		},
		"another generation": {
			change: func(c *Config) { c.Generation = "v1" },
			want:   ErrOccupied, say: "table schema_cutovers of store_",
		},
		"another account": {
			move: MoverConfig{Knows: func(account string) bool { return account == "zeta" }},
			want: ErrAccount,
			say:  `rows of account "acme", which is not among the accounts: add it`,
		},
		"only its tables": {},
	} {
		change := func(c *Config) {
			if test.change != nil {
				test.change(c)
			}
		}
		to := mustFiles(t, c, change)
		if test.spoil != nil {
			must(t, test.spoil(to))
		}
		err := move(to, test.move)
		if !asIs(err, test.want) || test.want != nil && !strings.Contains(err.Error(), test.say) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
