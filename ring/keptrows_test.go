package ring

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/eventually"
)

// A reader that keeps rows, on a real cluster: what is kept, for which tables, what own writes
// and fresh reads do, and that a table made anew is another.
func TestReaderKeepsRows(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, three)
	for _, table := range []string{"items", "never"} {
		c.exec(t, "CREATE TABLE "+ks+"."+table+" (id text, day int, v int, PRIMARY KEY (id, day))")
		c.exec(t, "INSERT INTO "+ks+"."+table+" (id, day, v) VALUES ('a', 1, 1)")
		c.exec(t, "INSERT INTO "+ks+"."+table+" (id, day, v) VALUES ('b', 1, 2)")
	}
	r := c.mustReader(t, func(config *Config) {
		config.CacheBytes, config.CacheTTL = 1<<20, map[string]time.Duration{"*": time.Hour,
			ks + ".never": 0}
	})
	// read returns "KEY=VALUE", with a + if it was kept, of one read.
	read := func(q Query, keys ...string) (text string) {
		t.Helper()
		q.Keyspace = ks
		if q.Table == "" {
			q.Table = "items"
		}
		list := make([]Key, len(keys))
		for i, k := range keys {
			list[i] = Key{k}
		}
		results, err := r.Read(t.Context(), q, list)
		if err != nil {
			t.Fatal(err)
		}
		for i, result := range results {
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			text += " " + keys[i] + "="
			for _, row := range result.Rows {
				var v int
				if err := row.Scan(nil, nil, &v); err != nil {
					t.Fatal(err)
				}
				text += fmt.Sprint(v)
			}
			if result.Cached {
				text += "+"
			}
		}
		return text
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	want("the first time", read(Query{}, "a", "b", "none"), " a=1 b=2 none=")
	want("the second time", read(Query{}, "none", "b", "a", "a"), " none=+ b=2+ a=1+ a=1+")
	want("of other days", read(Query{Where: "day > ?", Args: []any{1}}, "a"), " a=")
	want("of these days", read(Query{Where: "day > ?", Args: []any{0}}, "a"), " a=1")
	want("of a table that is not kept",
		read(Query{Table: "never"}, "a")+read(Query{Table: "never"}, "a"), " a=1 a=1")

	c.exec(t, "UPDATE "+ks+".items SET v = 3 WHERE id = 'a' AND day = 1")
	want("after a write", read(Query{}, "a", "b"), " a=1+ b=2+")
	if err := r.Forget(ks, "items", Key{"a"}); err != nil {
		t.Fatal(err)
	}
	want("after it was told of", read(Query{}, "a"), " a=3")
	want("of these days", read(Query{Where: "day > ?", Args: []any{0}}, "a"), " a=3")
	c.exec(t, "INSERT INTO "+ks+".items (id, day, v) VALUES ('none', 1, 4)")
	want("a fresh read", read(Query{Fresh: true}, "none", "a"), " none=4 a=3")
	want("what it found", read(Query{}, "none", "a"), " none=4+ a=3+")

	c.exec(t, "UPDATE "+ks+".items SET v = 5 WHERE id = 'a' AND day = 1")
	var wrong *KeyError
	if err := r.Forget(ks, "items", Key{7, 8}, Key{"a"}); !errors.As(err, &wrong) ||
		wrong.Index != 0 {
		t.Errorf("forgetting what is no key: %v", err)
	}
	want("what was named beside it", read(Query{}, "a"), " a=5")
	if err := r.Forget(ks, "never", Key{"a"}); err != nil {
		t.Error(err)
	}
	if err := r.Forget(ks, "nowhere", Key{"a"}); !errors.Is(err, ErrNoTable) {
		t.Errorf("forgetting of no table: %v", err)
	}

	c.exec(t, "DROP TABLE "+ks+".items")
	c.exec(t, "CREATE TABLE "+ks+".items (id text, day int, v int, PRIMARY KEY (id, day))")
	eventually.Nil(t, "a table made anew to be empty", func() error {
		results, err := r.Read(t.Context(), Query{Keyspace: ks, Table: "items"}, []Key{{"b"}})
		if err == nil && (len(results[0].Rows) > 0 || results[0].Err != nil) {
			err = fmt.Errorf("got %v", results)
		}
		return err
	})
}

// However many ask for the same keys at once, each key is read once.
func TestReaderReadsOnce(t *testing.T) {
	c := mustTrio(t)
	ks := c.keyspace(t, two)
	c.exec(t, "CREATE TABLE "+ks+".items (id int PRIMARY KEY, v int)")
	r := c.mustReader(t, func(config *Config) {
		config.CacheBytes, config.CacheTTL = 1<<20, map[string]time.Duration{"*": time.Hour}
	})
	const keys, readers = 60, 20
	for i := range keys {
		c.exec(t, "INSERT INTO "+ks+".items (id, v) VALUES (?, ?)", i, i*i)
	}
	var all sync.WaitGroup
	for g := range readers {
		all.Go(func() {
			list := make([]Key, keys)
			for i := range list {
				list[i] = Key{(i*7 + g) % keys} // each in an order of its own
			}
			results, err := r.Read(t.Context(),
				Query{Keyspace: ks, Table: "items", Columns: []string{"v"}}, list)
			if err != nil {
				t.Error(err)
				return
			}
			for i, result := range results {
				var v int
				if result.Err != nil || len(result.Rows) != 1 || result.Rows[0].Scan(&v) != nil ||
					v != list[i][0].(int)*list[i][0].(int) {
					t.Errorf("key %v: %+v", list[i], result)
				}
			}
		})
	}
	all.Wait()
	counts := r.cache.metrics.of(ks + ".items")
	if n := count(counts.read); n != keys {
		t.Errorf("%v keys were read, of %d", n, keys)
	}
	if n := count(counts.kept) + count(counts.joined); n != keys*(readers-1) {
		t.Errorf("%v keys were kept or joined", n)
	}
	if n := count(r.metrics.found); n != keys {
		t.Errorf("replicas were asked for %v keys", n)
	}
}
