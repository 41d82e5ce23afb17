// Package rowstest holds any engine of rows to one contract. An engine's own tests call Run.
package rowstest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
)

// Admit is asked before each call of an engine whose Work has a class, for n operations on a table.
type Admit func(ctx context.Context, w rows.Work, table string,
	n int) (done func(took time.Duration, err error), err error)

// Open returns an engine that has these tables and no row. admit may be nil: then all calls may
// begin.
type Open func(t *testing.T, admit Admit, tables ...*rows.Table) rows.Engine

// Run runs the contract.
func Run(t *testing.T, open Open) {
	t.Run("kinds", func(t *testing.T) { kinds(t, open) })
	t.Run("slices", func(t *testing.T) { slicesOfModel(t, open) })
	t.Run("large", func(t *testing.T) { large(t, open) })
	t.Run("expiry", func(t *testing.T) { expiry(t, open) })
	t.Run("new", func(t *testing.T) { putNew(t, open) })
	t.Run("many", func(t *testing.T) { many(t, open) })
	t.Run("work", func(t *testing.T) { work(t, open) })
	t.Run("mistakes", func(t *testing.T) { mistakes(t, open) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// everything is a table with a column of each kind.
func everything() *rows.Table {
	return &rows.Table{
		Name:    "everything",
		Comment: "a table's comment",
		Partition: []rows.Column{{Name: "account", Kind: rows.Text},
			{Name: "node", Kind: rows.UUID}, {Name: "bucket", Kind: rows.Time}},
		Clustering: []rows.Column{{Name: "kind", Kind: rows.Text},
			{Name: "at", Kind: rows.Time, Descending: true}},
		Values: []rows.Column{
			{Name: "text", Kind: rows.Text}, {Name: "id", Kind: rows.UUID},
			{Name: "moment", Kind: rows.Time}, {Name: "small", Kind: rows.Int32},
			{Name: "large", Kind: rows.Int64},
			{Name: "real", Kind: rows.Double}, {Name: "bytes", Kind: rows.Blob},
			{Name: "texts", Kind: rows.Texts}, {Name: "named", Kind: rows.TextMap},
			{Name: "blobs", Kind: rows.BlobMap},
		},
		TTL: time.Hour, AgeUnit: time.Minute, Grace: 10 * time.Minute, Compression: rows.Zip(1, 16),
		Everywhere: true,
	}
}

type all struct {
	Text   string
	ID     uuid.UUID
	Moment int64
	Small  int32
	Large  int64
	Real   float64
	Bytes  []byte
	Texts  []string
	Named  map[string]string
	Blobs  map[string][]byte
}

func (a *all) values() []any {
	return []any{a.Text, a.ID, a.Moment, a.Small, a.Large, a.Real, a.Bytes, a.Texts,
		a.Named, a.Blobs}
}

func (a *all) into() []any {
	return []any{&a.Text, &a.ID, &a.Moment, &a.Small, &a.Large, &a.Real, &a.Bytes, &a.Texts,
		&a.Named, &a.Blobs}
}

var allColumns = []string{"text", "id", "moment", "small", "large", "real", "bytes", "texts",
	"named", "blobs"}

// kinds: values of each kind come back as they were, and those that were not written as none.
func kinds(t *testing.T, open Open) {
	table := everything()
	e, ctx := open(t, nil, table), t.Context()
	node := uuid.New()
	key := func(kind string, at int64) []any {
		return []any{"acme", node, int64(-300_000), kind, at}
	}
	full := all{"ä'\"\x00;", uuid.New(), 1_700_000_000_001, -1 << 31, -1 << 63, 0.1, []byte{0, 255},
		[]string{"", "b", "a"}, map[string]string{"": "x", "y": ""}, map[string][]byte{"k": {1}}}
	none := make([]any, len(allColumns))
	must(t, e.Put(ctx, rows.Work{}, table,
		rows.Row{Key: key("b", -5), Values: full.values(), Stamp: 1_000_001},
		rows.Row{Key: key("a", 7), Values: none},
		rows.Row{Key: key("a", 9), Values: (&all{}).values()}))
	query := rows.Query{Table: table, Key: []any{"acme", node, int64(-300_000)},
		Columns: append([]string{"kind", "at"}, allColumns...), Written: "large"}
	var got []all
	var order []string
	must(t, e.Read(ctx, rows.Work{}, query, func(scan func(...any) bool) bool {
		var a all
		var kind string
		var at, written int64
		if !scan(slices.Concat([]any{&kind, &at}, a.into(), []any{&written})...) {
			return false
		}
		if kind == "b" && written != 1_000_001 {
			t.Errorf("written at %d", written)
		}
		order, got = append(order, fmt.Sprint(kind, at)), append(got, a)
		return true
	}))
	if want := []string{"a9", "a7", "b-5"}; !slices.Equal(order, want) {
		t.Fatalf("rows %q, want %q", order, want)
	}
	for i, want := range []all{{}, {}, full} {
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("%s: %+v, want %+v", order[i], got[i], want)
		}
	}
	// What is not there can be told from zero, and columns can be skipped.
	query.Columns, query.Written, query.Equal = []string{"large", "text", "real"}, "", []any{"a"}
	var there []bool
	must(t, e.Read(ctx, rows.Work{}, query, func(scan func(...any) bool) bool {
		var n *int64
		var x *float64
		if !scan(&n, nil, &x) {
			return false
		}
		there = append(there, n != nil, x != nil)
		return true
	}))
	if want := []bool{true, true, false, false}; !slices.Equal(there, want) {
		t.Errorf("there: %v, want %v", there, want)
	}
	// A caller may stop, without scanning, too.
	calls := 0
	must(t, e.Read(ctx, rows.Work{}, query, func(func(...any) bool) bool { calls++; return false }))
	if calls != 1 {
		t.Errorf("row was called %d times", calls)
	}
}

// large: rows of all sizes in one call are all there.
func large(t *testing.T, open Open) {
	table := modelTable(false)
	e, ctx := open(t, nil, table), t.Context()
	var list []rows.Row
	want := map[int64]int{}
	for i := range int64(3000) {
		size := 100
		switch {
		case i == 1234:
			size = 1 << 20
		case i%30 == 0:
			size = 20 << 10
		}
		want[i] = size
		list = append(list,
			rows.Row{Key: []any{"large", "a", i}, Values: []any{[]byte(strings.Repeat("x", size)),
				i}, TTL: time.Hour})
	}
	must(t, e.Put(ctx, rows.Work{}, table, list...))
	must(t, e.Put(ctx, rows.Work{}, table))
	next := int64(0)
	must(t,
		e.Read(ctx, rows.Work{}, rows.Query{Table: table, Key: []any{"large"},
			Columns: []string{"b", "x"}, Page: 70}, func(scan func(...any) bool) bool {
			var b int64
			var x []byte
			if !scan(&b, &x) {
				return false
			}
			if b != next || len(x) != want[b] {
				t.Fatalf("row %d with %d bytes, want row %d with %d", b, len(x), next, want[b])
			}
			next++
			return true
		}))
	if next != 3000 {
		t.Errorf("%d rows", next)
	}
}

// expiry: what has expired is gone and hides what it replaced; all else stays.
func expiry(t *testing.T, open Open) {
	forever := modelTable(false)
	forever.Name, forever.TTL = "forever", 0
	brief := modelTable(false)
	brief.Name, brief.TTL = "brief", time.Second
	e, ctx := open(t, nil, forever, brief), t.Context()
	put := func(table *rows.Table, b, stamp int64, ttl time.Duration) {
		t.Helper()
		must(t,
			e.Put(ctx, rows.Work{}, table,
				rows.Row{Key: []any{"p", "a", b}, Values: []any{[]byte("x"), stamp}, Stamp: stamp,
					TTL: ttl}))
	}
	now := time.Now().UnixMicro()
	put(forever, 1, now, 0)
	put(forever, 2, now, 0)
	put(forever, 2, now+1, time.Second)
	put(forever, 3, now+1, 0)
	put(forever, 3, now, time.Second) // it comes late
	put(brief, 4, now, 0)
	put(brief, 5, now, time.Hour)
	left := func() string {
		var list []string
		for _, table := range []*rows.Table{forever, brief} {
			must(t,
				e.Read(ctx, rows.Work{}, rows.Query{Table: table, Key: []any{"p"},
					Columns: []string{"b"}}, func(scan func(...any) bool) bool {
					var b int64
					if !scan(&b) {
						return false
					}
					list = append(list, fmt.Sprint(b))
					return true
				}))
		}
		return strings.Join(list, " ")
	}
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(2 * time.Minute); left() != "1 3 5"; <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("left are %s, want 1 3 5", left())
		}
	}
}

// putNew: of many one is first, and all learn which.
func putNew(t *testing.T, open Open) {
	table := &rows.Table{
		Name:      "firsts",
		Partition: []rows.Column{{Name: "id", Kind: rows.Text}},
		Values: []rows.Column{{Name: "account", Kind: rows.Text},
			{Name: "node", Kind: rows.UUID}, {Name: "first_at", Kind: rows.Time}},
		Grace: time.Hour, Compression: rows.Fast,
	}
	e, ctx := open(t, nil, table), t.Context()
	type answer struct {
		node uuid.UUID // its own
		done bool
		is   uuid.UUID
		at   int64
	}
	answers := make([]answer, 12)
	var wg sync.WaitGroup
	for i := range answers {
		a := &answers[i]
		a.node = uuid.New()
		wg.Go(func() {
			var err error
			a.done, err = e.PutNew(ctx, rows.Work{}, table,
				rows.Row{Key: []any{"k"}, Values: []any{"acme", a.node, int64(5)}},
				[]string{"first_at", "node"}, &a.at, &a.is)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var first uuid.UUID
	for _, a := range answers {
		if a.done {
			if first != uuid.Nil {
				t.Error("two are first")
			}
			first = a.node
		}
	}
	for _, a := range answers {
		if !a.done && (a.is != first || a.at != 5) {
			t.Errorf("told of %s at %d, want %s", a.is, a.at, first)
		}
	}
	if done, err := e.PutNew(ctx, rows.Work{}, table,
		rows.Row{Key: []any{"other"}, Values: []any{nil, first, nil}}, nil); err != nil || !done {
		t.Errorf("another key: %v, %v", done, err)
	}
}

// many: of many partitions each has its own rows, and those that have none are told.
func many(t *testing.T, open Open) {
	table := everything()
	e, ctx := open(t, nil, table), t.Context()
	node, none := uuid.New(), make([]any, len(allColumns))
	var keys [][]any
	var buckets []int64
	for b := range int64(130) {
		key := []any{"acme", node, b}
		keys, buckets = append(keys, key), append(buckets, b)
		for at := range b % 3 {
			must(t,
				e.Put(ctx, rows.Work{}, table, rows.Row{Key: append(key[:3:3], "k", at),
					Values: none}))
		}
	}
	keys = append(keys, []any{"other", node, int64(1)}, []any{"acme", uuid.New(), int64(1)})
	got := make([]string, len(keys))
	must(t, e.ReadMany(ctx, rows.Work{}, rows.Query{Table: table, Columns: []string{"node", "at"}},
		keys, func(i int, scan func(...any) bool, err error) {
			if err != nil {
				t.Errorf("key %d: %v", i, err)
				return
			}
			got[i] += "."
			var id uuid.UUID
			for at := int64(0); scan(&id, &at); {
				got[i] += fmt.Sprint(at, id == node, " ")
			}
		}))
	for i, answer := range got {
		want := "."
		if i < 130 {
			want = []string{".", ".0 true ", ".1 true 0 true "}[i%3]
		}
		if answer != want {
			t.Errorf("key %d: %q, want %q", i, answer, want)
		}
	}
	newest := 0
	must(t, e.ReadMany(ctx, rows.Work{}, rows.Query{Table: table, Columns: []string{"at"},
		Equal: []any{"k"}, From: int64(1), Limit: 1}, keys,
		func(_ int, scan func(...any) bool, err error) {
			for at := int64(0); err == nil && scan(&at); newest++ {
				if at != 1 {
					t.Errorf("newest %d", at)
				}
			}
		}))
	if newest != 43 {
		t.Errorf("%d partitions have a row at 1, want 43", newest)
	}
	var having []int64
	must(t, e.Partitions(ctx, rows.Work{}, table, []any{"acme", node}, append(buckets, 1_000),
		func(scan func(...any) bool) bool {
			var b int64
			if !scan(&b) {
				return false
			}
			having = append(having, b)
			return true
		}))
	slices.Sort(having)
	if want := slices.DeleteFunc(slices.Clone(buckets), func(b int64) bool {
		return b%3 == 0
	}); !slices.Equal(having, want) {
		t.Errorf("partitions %v, want %v", having, want)
	}
	calls := 0
	must(t, e.Partitions(ctx, rows.Work{}, table, []any{"acme", node}, buckets,
		func(scan func(...any) bool) bool { calls++; scan(nil); return false }))
	if calls != 1 {
		t.Errorf("found was called %d times", calls)
	}
}

// work: the throttle is asked for what is marked, and what it refuses is not done.
func work(t *testing.T, open Open) {
	refusal := errors.New("no room")
	var mu sync.Mutex
	asked, ended := map[string]int{}, 0
	patient := false
	admit := func(ctx context.Context, w rows.Work, table string,
		n int) (func(time.Duration, error), error) {
		mu.Lock()
		defer mu.Unlock()
		asked[w.Class+" "+w.Client+" "+table] += n
		_, patient = ctx.Deadline()
		if w.Class == "refused" {
			return nil, refusal
		}
		return func(time.Duration, error) {
			mu.Lock()
			defer mu.Unlock()
			ended++
		}, nil
	}
	table := modelTable(false)
	e, ctx := open(t, admit, table), t.Context()
	row := rows.Row{Key: []any{"p", "a", int64(1)}, Values: []any{nil, int64(1)}}
	query := rows.Query{Table: table, Key: []any{"p"}, Columns: []string{"y"}}
	count := func(w rows.Work) (n int, err error) {
		err = e.Read(ctx, w, query, func(scan func(...any) bool) bool {
			if !scan(nil) {
				return false
			}
			n++
			return true
		})
		return n, err
	}
	if err := e.Put(ctx, rows.Work{Class: "refused"}, table, row); !errors.Is(err, refusal) {
		t.Errorf("refused: %v", err)
	}
	if _, err := count(rows.Work{Class: "refused"}); !errors.Is(err, refusal) {
		t.Errorf("refused: %v", err)
	}
	if n, err := count(rows.Work{}); err != nil || n != 0 || len(asked) != 1 {
		t.Errorf("%d rows, %v, asked %v", n, err, asked)
	}
	var answers rows.Answers
	if answers.Mean() != 0 {
		t.Error("an answer before there was one")
	}
	w := rows.Work{Class: "bulk", Client: "acme", Answers: &answers}
	must(t, e.Put(ctx, w, table, row))
	if n, err := count(w); err != nil || n != 1 || patient {
		t.Errorf("%d rows, %v, patient %v", n, err, patient)
	}
	must(t, e.ReadMany(ctx, w, query, [][]any{{"p"}}, func(int, func(...any) bool, error) {}))
	must(t, e.ReadMany(ctx, rows.Work{}, query, [][]any{{"p"}},
		func(int, func(...any) bool, error) {}))
	mu.Lock()
	if want := map[string]int{"refused  " + table.Name: 2,
		"bulk acme " + table.Name: 3}; !reflect.DeepEqual(asked, want) || ended != 3 {
		t.Errorf("asked %v, want %v; %d ended", asked, want, ended)
	}
	mu.Unlock()
	if answers.Mean() <= 0 {
		t.Error("answers took no time")
	}
	w.Patience = time.Hour
	if _, err := count(w); err != nil || !patient {
		t.Errorf("patience is not told to the throttle: %v", err)
	}
}

// mistakes: what can never succeed is an error at once, which is not retryable.
func mistakes(t *testing.T, open Open) {
	table := modelTable(false)
	e, ctx := open(t, nil, table), t.Context()
	nowhere := *table
	nowhere.Name = "nowhere"
	wider := *table
	wider.Values = append(slices.Clone(table.Values), rows.Column{Name: "z", Kind: rows.Int64})
	read := func(q rows.Query) error {
		return e.Read(ctx, rows.Work{}, q, func(scan func(...any) bool) bool { return scan(nil) })
	}
	row := rows.Row{Key: []any{"p", "a", int64(1)}, Values: []any{nil, int64(1)}}
	for what, err := range map[string]error{
		"put into no table": e.Put(ctx, rows.Work{}, &nowhere, row),
		"put into no column": e.Put(ctx, rows.Work{}, &wider,
			rows.Row{Key: row.Key, Values: []any{nil, nil, int64(1)}}),
		"read no table": read(rows.Query{Table: &nowhere, Key: []any{"p"},
			Columns: []string{"y"}}),
		"read no column": read(rows.Query{Table: table, Key: []any{"p"},
			Columns: []string{"z"}}),
		"read many of none": e.ReadMany(ctx, rows.Work{},
			rows.Query{Table: &nowhere, Columns: []string{"y"}}, [][]any{{"p"}},
			func(int, func(...any) bool, error) {}),
	} {
		if !errors.Is(err, rows.ErrUnknown) || rows.Retryable(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"short key": e.Put(ctx, rows.Work{}, table,
			rows.Row{Key: []any{"p"}, Values: row.Values}),
		"short values": e.Put(ctx, rows.Work{}, table, rows.Row{Key: row.Key}),
		"no key":       read(rows.Query{Table: table, Columns: []string{"y"}}),
		"no columns":   read(rows.Query{Table: table, Key: []any{"p"}}),
		"too narrow": read(rows.Query{Table: table, Key: []any{"p"}, Equal: []any{"a", int64(1)},
			From: int64(1), Columns: []string{"y"}}),
		"many lists": e.ReadMany(ctx, rows.Work{}, rows.Query{Table: table, In: []string{"a"},
			Columns: []string{"y"}}, nil, nil),
	} {
		if err == nil || rows.Retryable(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := e.Put(over, rows.Work{}, table, row); !errors.Is(err, context.Canceled) ||
		rows.Retryable(err) {
		t.Errorf("cancelled: %v", err)
	}
}
