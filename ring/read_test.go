package ring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// TestKeyTypes reads by a key of every type that can be one: tokens are Cassandra's, each key
// gets its own row, and one that is not there gets none.
func TestKeyTypes(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, two)
	c.exec(t, "CREATE TYPE "+ks+".pair (x int, y text)")
	r := c.mustReader(t)
	uuid := func(s string) gocql.UUID { u, _ := gocql.ParseUUID(s); return u }
	long := strings.Repeat("ключ", 50)
	huge := new(big.Int).Lsh(big.NewInt(-3), 200)
	day := func(s string) time.Time { d, _ := time.Parse(time.DateOnly, s); return d }
	types := []struct {
		cql    string
		values []any // the last is not there
	}{
		{cql: "ascii", values: []any{"a", "A", strings.Repeat("~", 300), "x"}},
		{cql: "bigint", values: []any{int64(0), int64(-1), int64(math.MinInt64),
			int64(math.MaxInt64), int64(256), int64(7)}},
		{cql: "blob", values: []any{[]byte{0}, []byte{0, 0}, bytes.Repeat([]byte{0x80, 0xff}, 31),
			bytes.Repeat([]byte{0xee}, 16), bytes.Repeat([]byte{0xfe}, 23), []byte{1}}},
		{cql: "boolean", values: []any{true, false}},
		{cql: "date", values: []any{day("2026-11-21"), day("1969-12-31"), day("1970-01-01"),
			day("9999-01-01")}},
		// 1.0, 1.00 and 1
		{cql: "decimal", values: []any{encoded{0, 0, 0, 1, 10}, encoded{0, 0, 0, 2, 100},
			encoded{0, 0, 0, 0, 1}, encoded{0, 0, 0, 0, 2}}},
		{cql: "double", values: []any{0.0, math.Copysign(0, -1), 1.5, math.NaN(), math.Inf(-1),
			2.5}},
		{cql: "float", values: []any{float32(0), float32(1.5), float32(-1e30), float32(2.5)}},
		{cql: "inet", values: []any{net.IPv4(127, 0, 0, 1), "::1", "fe80::1", "10.0.0.1"}},
		{cql: "int", values: []any{0, -1, math.MinInt32, math.MaxInt32, 7}},
		{cql: "smallint", values: []any{int16(0), int16(-1), int16(math.MinInt16), int16(7)}},
		{cql: "text", values: []any{"a", long, "日本", " ", "x"}},
		{cql: "time", values: []any{time.Duration(0), 23 * time.Hour, time.Hour}},
		{cql: "timestamp", values: []any{time.UnixMilli(0), time.UnixMilli(-1),
			time.UnixMilli(1795257600000), time.UnixMilli(5)}},
		{cql: "timeuuid", values: []any{uuid("50554d6e-29bb-11e5-b345-feff819cdc9f"),
			uuid("50554d6e-29bb-11e5-b345-feff819cdc9e"),
			uuid("00000000-0000-1000-8080-808080808080")}},
		{cql: "tinyint", values: []any{int8(0), int8(-1), int8(-128), int8(7)}},
		{cql: "uuid", values: []any{uuid("f47ac10b-58cc-4372-a567-0e02b2c3d479"),
			uuid("50554d6e-29bb-11e5-b345-feff819cdc9f"),
			uuid("00000000-0000-0000-0000-000000000000"),
			uuid("f47ac10b-58cc-4372-a567-0e02b2c3d478")}},
		{cql: "varchar", values: []any{"a", long, "b"}},
		{cql: "varint", values: []any{big.NewInt(0), big.NewInt(-129), huge, big.NewInt(1)}},
		{cql: "frozen<list<int>>", values: []any{[]int{1, 2}, []int{2, 1}, []int{}, []int{3}}},
		{cql: "frozen<set<text>>", values: []any{[]string{"b", "é", "a", "Z", "b", ""},
			[]string{"a", "c"}, []string{"z"}}},
		{cql: "frozen<set<bigint>>", values: []any{[]int64{5, -5, 1 << 40, -1 << 40, 0, 5},
			[]int64{}, []int64{1}}},
		{cql: "frozen<set<varint>>",
			values: []any{[]*big.Int{big.NewInt(300), big.NewInt(-300), big.NewInt(5), huge,
				big.NewInt(-5)}, []*big.Int{big.NewInt(1)}}},
		{cql: "frozen<set<decimal>>",
			values: []any{[]encoded{{0, 0, 0, 0, 2}, {0, 0, 0, 2, 0x7f}, {0, 0, 0, 1, 0x80},
				{255, 255, 255, 254, 1}, {0, 0, 0, 9, 0}}, []encoded{{0, 0, 0, 0, 1}}}},
		{cql: "frozen<set<double>>",
			values: []any{[]float64{math.NaN(), 1, math.Inf(-1), 0, math.Copysign(0, -1), -1},
				[]float64{1}}},
		{cql: "frozen<set<uuid>>",
			values: []any{[]gocql.UUID{uuid("f47ac10b-58cc-4372-a567-0e02b2c3d479"),
				uuid("50554d6e-29bb-11e5-b345-feff819cdc9f"),
				uuid("40554d6e-29bc-11e5-b345-feff819cdc9f"),
				uuid("00000000-0000-0000-0000-000000000000")},
				[]gocql.UUID{uuid("f47ac10b-58cc-4372-a567-0e02b2c3d479")}}},
		{cql: "frozen<set<timeuuid>>",
			values: []any{[]gocql.UUID{uuid("50554d6e-29bb-11e5-b345-feff819cdc9f"),
				uuid("40554d6e-29bc-11e5-b345-feff819cdc9f"),
				uuid("50554d6e-29bb-11e5-3345-feff819cdc9f")},
				[]gocql.UUID{uuid("50554d6e-29bb-11e5-b345-feff819cdc9f")}}},
		{cql: "frozen<set<frozen<list<int>>>>", values: []any{[][]int{{2}, {1, 2}, {}, {-1}, {1}},
			[][]int{{1}}}},
		{cql: "frozen<set<frozen<tuple<int, text>>>>",
			values: []any{[][]any{{2, "a"}, {1, "b"}, {1, nil}, {-1, "z"}}, [][]any{{1, "a"}}}},
		{cql: "frozen<map<text, int>>", values: []any{map[string]int{"b": 1, "a": 2, "c": 3},
			map[string]int{"b": 1}, map[string]int{"z": 1}}},
		{cql: "frozen<tuple<int, frozen<tuple<text, int>>>>",
			values: []any{[]any{1, []any{"a", 2}}, []any{1, []any{nil, 2}},
				[]any{2, []any{"a", 2}}}},
		{cql: "frozen<list<frozen<map<int, frozen<set<text>>>>>>",
			values: []any{[]map[int][]string{{5: {"b", "a"}, -1: {"d", "c"}}, {}},
				[]map[int][]string{{}}}},
		{cql: "frozen<pair>", values: []any{map[string]any{"x": 1, "y": "a"},
			map[string]any{"x": 2, "y": "a"}, map[string]any{"x": 3, "y": "a"}}},
		{cql: "frozen<vector<float, 3>>", values: []any{[]float32{1, 2, 3}, []float32{3, 2, 1},
			[]float32{0, 0, 1}}},
	}
	hasty := c.cluster()
	hasty.MaxWaitSchemaAgreement = time.Nanosecond // once for all tables is enough
	makers, err := hasty.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer makers.Close()
	for i, typ := range types {
		if err := makers.Query(fmt.Sprintf("CREATE TABLE %s.t%d (k %s PRIMARY KEY, v int)", ks, i,
			strings.ReplaceAll(typ.cql, "pair", ks+".pair"))).Exec(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.session.AwaitSchemaAgreement(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, typ := range types {
		t.Run(typ.cql, func(t *testing.T) {
			name := fmt.Sprintf("t%d", i)
			full := ks + "." + name
			stored := typ.values
			if typ.cql != "boolean" {
				stored = stored[:len(stored)-1]
			}
			one, args := "?", func(k any) []any { return []any{k} }
			if strings.HasPrefix(typ.cql, "frozen<tuple") { // the driver binds its elements singly
				one, args = "(?, (?, ?))", func(k any) []any {
					list := k.([]any)
					return append(list[:1:1], list[1].([]any)...)
				}
			}
			for v, k := range stored {
				c.exec(t, "INSERT INTO "+full+" (v, k) VALUES (?, "+one+")",
					append([]any{v}, args(k)...)...)
			}
			table, err := r.table(t.Context(), ks, name)
			if err != nil {
				t.Fatal(err)
			}
			var keys []Key
			for _, k := range typ.values {
				keys = append(keys, Key{k})
			}
			set := table.encode(keys, func(i int, err error) { t.Errorf("key %d: %v", i, err) })
			if len(set.routing) != len(keys) {
				t.Fatalf("%d of %d keys are different", len(set.routing), len(keys))
			}
			for v, k := range stored {
				var token int64
				if err := c.session.Query("SELECT token(k) FROM "+full+" WHERE k = "+one,
					args(k)...).Scan(&token); err != nil {
					t.Fatal(err)
				}
				if own := tokenOf(set.routing[v]); own != token {
					t.Errorf("the token of %v is %d, not %d", k, token, own)
				}
			}
			for _, columns := range [][]string{{"v"}, {"v", "k"}, nil} {
				results, err := r.Read(t.Context(),
					Query{Keyspace: ks, Table: name, Columns: columns}, keys)
				if err != nil {
					t.Fatal(err)
				}
				for i, result := range results {
					if result.Err != nil {
						t.Errorf("key %d: %v", i, result.Err)
					} else if i >= len(stored) {
						if len(result.Rows) > 0 {
							t.Errorf("key %d, which is not there, has rows", i)
						}
					} else if len(result.Rows) != 1 {
						t.Errorf("key %d has %d rows", i, len(result.Rows))
					} else {
						row, v := result.Rows[0], -1
						at := slices.IndexFunc(row.Columns(), func(c Column) bool {
							return c.Name == "v"
						})
						into := make([]any, len(row.Columns()))
						into[at] = &v
						if err := row.Scan(into...); err != nil || v != i {
							t.Errorf("key %d has value %d, %v", i, v, err)
						}
						for j, column := range row.Columns() {
							if column.Name == "k" && string(row.Raw(j)) != set.routing[i] {
								t.Errorf("key %d comes back as %x", i, row.Raw(j))
							}
						}
					}
				}
			}
		})
	}
}

// TestComposite reads by keys of three columns, shuffled and repeated, with rows restricted,
// limited and ordered by two clustering columns.
func TestComposite(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, two)
	c.exec(t,
		"CREATE TABLE "+ks+
			`.t (a int, "B b" text, c boolean, d int, e text, "select" text static, v tuple<int, text>, PRIMARY KEY ((a, "B b", c), d, e)) WITH CLUSTERING ORDER BY (d DESC, e ASC)`)
	r := c.mustReader(t)
	type id struct {
		a int
		b string
		c bool
	}
	var ids []id
	for a := range 4 {
		for _, b := range []string{"", "x", "long " + strings.Repeat("y", 100)} {
			ids = append(ids, id{a, b, true}, id{a, b, false})
		}
	}
	stored := func(k id) bool { return k.a != 2 || k.c }
	for n, k := range ids {
		if !stored(k) {
			continue
		}
		c.exec(t, "INSERT INTO "+ks+`.t (a, "B b", c, "select") VALUES (?, ?, ?, ?)`, k.a, k.b, k.c,
			fmt.Sprint("static of ", n))
		for d := range 3 {
			for _, e := range []string{"p", "q"} {
				c.exec(t,
					"INSERT INTO "+ks+`.t (a, "B b", c, d, e, v) VALUES (?, ?, ?, ?, ?, (?, ?))`,
					k.a, k.b, k.c, d, e, n, e)
			}
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var asked []id
	var keys []Key
	for range 100 {
		k := ids[random.IntN(len(ids))]
		asked, keys = append(asked, k), append(keys, Key{k.a, k.b, k.c})
	}
	before := count(r.metrics.first)
	for _, q := range []struct {
		Query
		want []string
	}{
		{Query{Columns: []string{"d", "e"}}, []string{"2p", "2q", "1p", "1q", "0p", "0q"}},
		{Query{Columns: []string{"d", "e"}, Limit: 3}, []string{"2p", "2q", "1p"}},
		{Query{Columns: []string{"d", "e"}, Where: "d = ?", Args: []any{1}}, []string{"1p", "1q"}},
		{Query{Columns: []string{"d", "e", "v", "select", "B b"}, Where: "d >= ? AND d <= ?",
			Args: []any{0, 1}, Limit: 3}, []string{"1p", "1q", "0p"}},
		{Query{Columns: []string{"d", "e"}, Where: "(d, e) IN ?",
			Args: []any{[][]any{{2, "q"}, {0, "q"}, {7, "q"}}}}, []string{"2q", "0q"}},
		{Query{}, []string{"2p", "2q", "1p", "1q", "0p", "0q"}},
		{Query{Consistency: gocql.LocalQuorum}, []string{"2p", "2q", "1p", "1q", "0p", "0q"}},
	} {
		q.Keyspace, q.Table = ks, "t"
		results, err := r.Read(t.Context(), q.Query, keys)
		if err != nil {
			t.Fatalf("%+v: %v", q.Query, err)
		}
		for i, result := range results {
			if result.Err != nil {
				t.Fatalf("%+v, key %d: %v", q.Query, i, result.Err)
			}
			var got []string
			for _, row := range result.Rows {
				var d, n int
				var e, again, static, b string
				into := make([]any, len(row.Columns()))
				var v []any
				for j, column := range row.Columns() {
					into[j] = map[string]any{"d": &d, "e": &e, "B b": &b, "select": &static,
						"v": nil}[column.Name]
					if column.Name == "v" {
						v = []any{&n, &again}
						if err := column.Type.Unmarshal(row.Raw(j), v); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := row.Scan(into...); err != nil {
					t.Fatal(err)
				}
				if at := slices.Index(ids, asked[i]); len(row.Columns()) > 2 &&
					(n != at || again != e || static != fmt.Sprint("static of ", at) ||
						b != asked[i].b) {
					t.Fatalf("%+v, key %d: row %d %q %q %q of key %d", q.Query, i, n, again,
						static, b, at)
				}
				got = append(got, fmt.Sprint(d, e))
			}
			want := q.want
			if !stored(asked[i]) {
				want = nil
			}
			if strings.ReplaceAll(strings.Join(got, ","), " ", "") != strings.Join(want, ",") {
				t.Fatalf("%+v, key %d has rows %v instead of %v", q.Query, i, got, want)
			}
		}
	}
	if sent := count(r.metrics.first) - before; sent > 7*40 {
		t.Errorf("7 reads of %d keys took %v requests", len(keys), sent)
	}
}

// TestPages reads partitions of many pages in one group.
func TestPages(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, three)
	c.exec(t,
		"CREATE TABLE "+ks+".t (k text, c int, v blob, PRIMARY KEY (k, c)) WITH CLUSTERING ORDER "+
			"BY (c DESC)")
	rows := map[string]int{"one": 1, "few": 99, "many": 1234, "page": 100, "none": 0}
	for k, n := range rows {
		for from := 0; from < n; from += 200 {
			b := c.session.Batch(gocql.UnloggedBatch)
			for i := from; i < min(n, from+200); i++ {
				b.Query("INSERT INTO "+ks+".t (k, c, v) VALUES (?, ?, ?)", k, i, make([]byte, i%7))
			}
			if err := b.Exec(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cluster := c.cluster()
	cluster.PageSize = 100
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	config := DefaultConfig()
	config.Timeout = time.Minute
	r, err := Connect(t.Context(), session, config, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before := count(r.metrics.first)
	results, err := r.Read(t.Context(),
		Query{Keyspace: ks, Table: "t", Columns: []string{"c", "v"}},
		[]Key{{"one"}, {"few"}, {"many"}, {"page"}, {"none"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range []string{"one", "few", "many", "page", "none"} {
		if results[i].Err != nil || len(results[i].Rows) != rows[k] {
			t.Errorf("%s has %d rows, %v", k, len(results[i].Rows), results[i].Err)
			continue
		}
		for j, row := range results[i].Rows {
			var at int
			var v []byte
			if err := row.Scan(&at, &v); err != nil || at != rows[k]-1-j || len(v) != at%7 ||
				row.Raw(1) == nil {
				t.Fatalf("row %d of %s is %d with %d bytes, %v", j, k, at, len(v), err)
			}
		}
	}
	if sent := count(r.metrics.first) - before; sent != 1 {
		t.Errorf("where every node has all rows, 5 keys took %v requests", sent)
	}
}

// TestRefused: what is wrong with a query is said once, before any key is answered.
func TestRefused(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, three)
	c.exec(t, "CREATE TABLE "+ks+".t (k int, c int, v int, PRIMARY KEY (k, c))")
	r := c.mustReader(t)
	for _, q := range []struct {
		Query
		is   error
		says string
	}{
		{Query: Query{Keyspace: "nowhere", Table: "t"}, is: ErrNoTable, says: "nowhere.t"},
		{Query: Query{Keyspace: ks, Table: "nothing"}, is: ErrNoTable, says: "nothing"},
		{Query: Query{Keyspace: ks, Table: "t", Columns: []string{"v", "w", "V"}}, is: ErrNoTable,
			says: "column V"},
		{Query: Query{Keyspace: ks, Table: "t", Where: "c = ?"}, says: "1 markers for 0 values"},
		{Query: Query{Keyspace: ks, Table: "t", Where: "c = ?", Args: []any{"x"}}, says: "value 0"},
		{Query: Query{Keyspace: ks, Table: "t", Where: "c = ?", Args: []any{nil}}, says: "null"},
		{Query: Query{Keyspace: ks, Table: "t", Where: "w = ?", Args: []any{1}}, says: "w"},
		{Query: Query{Keyspace: ks, Table: "t", Where: "k = ?", Args: []any{1}}, says: "k"},
		{Query: Query{Keyspace: ks, Table: "t", Where: "c = ? LIMIT 1", Args: []any{1}},
			says: "LIMIT"},
		{Query: Query{Keyspace: ks, Table: "t", Where: "v = ?", Args: []any{1}},
			says: "ALLOW FILTERING"},
		{Query: Query{Keyspace: ks, Table: "t", Consistency: gocql.Serial}, says: "serial"},
	} {
		err := r.Stream(t.Context(), q.Query, []Key{{1}}, func(int, Result) {
			t.Errorf("%+v: a key is answered", q.Query)
		})
		if err == nil || q.is != nil && !errors.Is(err, q.is) ||
			!strings.Contains(err.Error(), q.says) {
			t.Errorf("%+v: %v", q.Query, err)
		}
	}
	if table, err := r.Table(t.Context(), ks, "t"); err != nil || len(table.Key) != 1 ||
		len(table.Columns) != 3 || table.Columns[1].Name != "c" ||
		table.Columns[2].Type.Type() != gocql.TypeInt {
		t.Errorf("the table is %+v, %v", table, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if results, err := r.Read(ended, Query{Keyspace: ks, Table: "t"}, []Key{{1}}); err == nil &&
		!errors.Is(results[0].Err, context.Canceled) {
		t.Errorf("a read whose context has ended says %v", results[0].Err)
	}
	r.Close()
	if _, err := r.Read(t.Context(), Query{Keyspace: ks, Table: "t"}, []Key{{1}}); !errors.Is(err,
		ErrClosed) {
		t.Errorf("a closed reader says %v", err)
	}
}

// TestBadKeys: a key that cannot be fails alone, before anything is sent, and says which it is;
// so does one that only a node refuses.
func TestBadKeys(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, two)
	c.exec(t, "CREATE TABLE "+ks+".t (k text PRIMARY KEY, v int)")
	c.exec(t, "CREATE TABLE "+ks+".u (a int, b text, PRIMARY KEY ((a, b)))")
	c.exec(t, "CREATE TABLE "+ks+".w (k int PRIMARY KEY)")
	for i := range 100 {
		c.exec(t, "INSERT INTO "+ks+".t (k, v) VALUES (?, ?)", fmt.Sprint(i), i)
		c.exec(t, "INSERT INTO "+ks+".w (k) VALUES (?)", i)
	}
	r := c.mustReader(t)
	bad := map[int]Key{3: {}, 5: {1.5}, 7: {nil}, 11: {"a", "b"}, 13: {""}, 17: {"\xff"},
		19: {strings.Repeat("x", 1<<16)}, 23: {(*string)(nil)}, 29: {gocql.UnsetValue},
		31: {struct{}{}}}
	keys := make([]Key, 100)
	for i := range keys {
		keys[i] = Key{fmt.Sprint(i)}
		if k, is := bad[i]; is {
			keys[i] = k
		}
	}
	results, err := r.Read(t.Context(), Query{Keyspace: ks, Table: "t", Columns: []string{"v"}},
		keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		var wrong *KeyError
		if _, is := bad[i]; is {
			if !errors.As(result.Err, &wrong) || wrong.Index != i ||
				!strings.Contains(result.Err.Error(), fmt.Sprintf("key %d", i)) {
				t.Errorf("key %d: %v", i, result.Err)
			}
			continue
		}
		var v int
		if result.Err != nil || len(result.Rows) != 1 || result.Rows[0].Scan(&v) != nil || v != i {
			t.Errorf("key %d: %d, %+v", i, v, result)
		}
	}
	results, err = r.Read(t.Context(), Query{Keyspace: ks, Table: "u"},
		[]Key{{1, "x"}, {"x", "x"}, {1, 2.5}, {1, ""}})
	if err != nil || results[0].Err != nil || results[3].Err != nil ||
		!strings.Contains(fmt.Sprint(results[1].Err), "key 1, column a") ||
		!strings.Contains(fmt.Sprint(results[2].Err), "key 2, column b") {
		t.Errorf("%+v, %v", results, err)
	}
	// A value that the driver does not look into, and that no node takes for an int.
	keys = nil
	for i := range 60 {
		keys = append(keys, Key{i})
	}
	keys[33] = Key{encoded{1, 2, 3}}
	results, err = r.Read(t.Context(), Query{Keyspace: ks, Table: "w"}, keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		if (result.Err != nil) != (i == 33) || result.Err == nil && len(result.Rows) != 1 {
			t.Errorf("int %d: %+v", i, result)
		}
	}
}

// TestTombstones: a partition that no node can read for its tombstones fails alone.
func TestTombstones(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, three)
	c.exec(t, "CREATE TABLE "+ks+".t (k int, c int, PRIMARY KEY (k, c))")
	for i := range 40 {
		c.exec(t, "INSERT INTO "+ks+".t (k, c) VALUES (?, 1000)", i)
	}
	for i := range 250 {
		c.exec(t, "DELETE FROM "+ks+".t WHERE k = 17 AND c = ?", i)
	}
	r := c.mustReader(t)
	var keys []Key
	for i := range 40 {
		keys = append(keys, Key{i})
	}
	results, err := r.Read(t.Context(), Query{Keyspace: ks, Table: "t"}, keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		var failure *gocql.RequestErrReadFailure
		if i == 17 && !errors.As(result.Err, &failure) ||
			i != 17 && (result.Err != nil || len(result.Rows) != 1) {
			t.Errorf("key %d: %d rows, %v", i, len(result.Rows), result.Err)
		}
	}
}

// TestOversized reads many more keys than one request asks for, and streams them.
func TestOversized(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, two)
	c.exec(t, "CREATE TABLE "+ks+".t (k int PRIMARY KEY, v int)")
	for i := range 500 {
		c.exec(t, "INSERT INTO "+ks+".t (k, v) VALUES (?, ?)", i, i)
	}
	r := c.mustReader(t, func(c *Config) { c.GroupKeys = 70; c.Speculation = "never" })
	keys := make([]Key, 5000)
	for i := range keys {
		keys[i] = Key{i % 1000}
	}
	before := count(r.metrics.first)
	seen, running := make([]bool, len(keys)), false
	err := r.Stream(t.Context(), Query{Keyspace: ks, Table: "t", Columns: []string{"v"}}, keys,
		func(i int, result Result) {
			if running || seen[i] {
				t.Errorf("key %d is answered twice, or beside another", i)
			}
			running, seen[i] = true, true
			defer func() { running = false }()
			var v int
			if result.Err != nil || len(result.Rows) != boolInt(i%1000 < 500) {
				t.Errorf("key %d: %+v", i%1000, result)
			} else if len(result.Rows) == 1 && (result.Rows[0].Scan(&v) != nil || v != i%1000) {
				t.Errorf("key %d has value %d", i%1000, v)
			}
		})
	if err != nil || slices.Contains(seen, false) {
		t.Errorf("not all keys are answered; %v", err)
	}
	if sent := count(r.metrics.first) - before; sent < 1000/70 || sent > 1000/70+3 {
		t.Errorf("1,000 different keys, 70 at a time, took %v requests", sent)
	}
	if results, err := r.Read(t.Context(), Query{Keyspace: ks, Table: "t"}, nil); err != nil ||
		len(results) != 0 {
		t.Errorf("no keys are answered by %v, %v", results, err)
	}
}

// TestAdmit: the throttle is asked once for each request, with its keys; what it refuses fails
// with its words.
func TestAdmit(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, three)
	c.exec(t, "CREATE TABLE "+ks+".t (k int PRIMARY KEY, v int)")
	session, err := c.cluster().CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	config := DefaultConfig()
	// who loses a race ends when the read is long over
	config.Timeout, config.Speculation = time.Minute, "never"
	var asked, ended int
	refuse := errors.New("too many of them")
	var answer error
	turn := make(chan struct{}, 1)
	r, err := Connect(t.Context(), session, config,
		func(_ context.Context, w Work, keyspace, table string,
			n int) (func(time.Duration, error), error) {
			turn <- struct{}{}
			defer func() { <-turn }()
			if w.Class != "bulk" || w.Client != "me" || keyspace != ks || table != "t" {
				t.Errorf("asked for %+v %s.%s", w, keyspace, table)
			}
			asked += n
			return func(took time.Duration, err error) {
				turn <- struct{}{}
				defer func() { <-turn }()
				if took <= 0 || err != nil {
					t.Errorf("it took %s, %v", took, err)
				}
				ended++
			}, answer
		}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q := Query{Keyspace: ks, Table: "t", Work: Work{"bulk", "me"}}
	if results, err := r.Read(t.Context(), q, []Key{{1}, {2}, {1}}); err != nil ||
		results[0].Err != nil {
		t.Fatal(err, results)
	}
	if asked != 2 || ended != 1 {
		t.Errorf("asked for %d keys, told of %d ends", asked, ended)
	}
	answer = refuse
	if results, err := r.Read(t.Context(), q, []Key{{1}, {2}}); err != nil ||
		!errors.Is(results[0].Err, refuse) || !errors.Is(results[1].Err, refuse) {
		t.Errorf("refused, it says %v, %v", err, results)
	}
}
