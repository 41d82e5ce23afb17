package files

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// clock is a clock that a test sets.
type clock struct{ atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.Store(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time        { return time.UnixMicro(c.Load()) }
func (c *clock) step(by time.Duration) { c.Add(by.Microseconds()) }

func agedTable() *rows.Table {
	t := wideTable()
	t.Name, t.TTL, t.AgeUnit = "aged", time.Hour, time.Minute
	return t
}

func replacedTable() *rows.Table {
	t := wideTable()
	t.Name, t.TTL, t.AgeUnit = "replaced", 0, 0
	return t
}

// written is all that was ever written of one value.
type written []cells.Cell

func (w written) read(now int64) string {
	if len(w) == 0 {
		return "none"
	}
	c := w[0]
	for i := range w {
		if w[i].Beats(&c) {
			c = w[i]
		}
	}
	if c.Dead(now) {
		return "none"
	}
	return string(c.Value)
}

// TestModel: through flushes, merges, expiry and new starts, what is read is what was written last
// and has not expired.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 4))
	dir, now := t.TempDir(), newClock()
	tables := []*rows.Table{agedTable(), replacedTable()}
	config := Config{MemoryBytes: 1 << 13, CacheBytes: 1 << 14, Now: now.now}
	e := mustOpen(t, dir, config, tables...)
	model := map[string]*[2]written{}
	merged := 0.0
	for i := range 6000 {
		table := tables[random.IntN(2)]
		p, c := int64(random.IntN(3)), int64(random.IntN(12))
		key := fmt.Sprint(table.Name, p, c)
		switch random.IntN(40) {
		case 0:
			now.step(time.Duration(random.IntN(900)) * time.Second)
			e.keeper.Wake()
		case 1:
			if random.IntN(8) == 0 {
				merged += testutil.ToFloat64(e.ledger.Merged)
				e.Close()
				e = mustOpen(t, dir, config, tables...)
			}
		default:
			if model[key] == nil {
				model[key] = &[2]written{}
			}
			now.step(time.Millisecond)
			row := rows.Row{
				Key:    []any{p, c},
				Values: []any{nil, nil},
				Stamp:  now.Load() - random.Int64N(30e6),
			}
			ttl := table.TTL
			if random.IntN(2) == 0 {
				ttl = time.Duration(60+random.IntN(7200)) * time.Second
				row.TTL = ttl
			}
			expires := int64(0)
			if ttl > 0 {
				expires = now.now().Unix() + int64(ttl/time.Second)
			}
			for v := range 2 {
				if random.IntN(3) == 0 {
					continue
				}
				text := fmt.Sprint(i)
				row.Values[v] = int64(i)
				if v == 0 {
					row.Values[v] = []byte(text)
				}
				model[key][v] = append(model[key][v],
					cells.Cell{Stamp: row.Stamp, Expires: expires, Value: []byte(text)})
			}
			must(t, e.Put(t.Context(), rows.Work{}, table, row))
		}
		if i%20 == 0 {
			compare(t, e, table, p, model, now.now().Unix())
		}
	}
	if merged+testutil.ToFloat64(e.ledger.Merged) == 0 {
		t.Error("nothing was merged")
	}
}

// compare reads a partition and compares its values with the model's. Whether a row is there
// without values is not compared.
func compare(
	t *testing.T, e *Engine, table *rows.Table, p int64, model map[string]*[2]written, now int64,
) {
	t.Helper()
	var got, want []string
	q := rows.Query{Table: table, Key: []any{p}, Columns: []string{"c", "x", "y"}}
	must(t, e.Read(t.Context(), rows.Work{}, q, func(scan func(...any) bool) bool {
		var c int64
		var x []byte
		var y *int64
		if !scan(&c, &x, &y) {
			return false
		}
		texts := []string{"none", "none"}
		if x != nil {
			texts[0] = string(x)
		}
		if y != nil {
			texts[1] = fmt.Sprint(*y)
		}
		if texts[0] != "none" || texts[1] != "none" {
			got = append(got, fmt.Sprint(c, " ", texts))
		}
		return true
	}))
	for c := range int64(12) {
		if m := model[fmt.Sprint(table.Name, p, c)]; m != nil {
			if texts := []string{m[0].read(now), m[1].read(now)}; texts[0] != "none" ||
				texts[1] != "none" {
				want = append(want, fmt.Sprint(c, " ", texts))
			}
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%s %d:\n%s\nwant\n%s", table.Name, p, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// TestExpiryRemovesFiles: what has expired is no file any more, and was never rewritten.
func TestExpiryRemovesFiles(t *testing.T) {
	dir, now := t.TempDir(), newClock()
	e := mustOpen(t, dir, Config{MemoryBytes: 1 << 14, Now: now.now}, wideTable())
	for n := range int64(600) {
		must(t, e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...))
		now.step(3 * time.Minute) // 30 hours in all
		if n%100 == 0 {
			e.keeper.Wake()
		}
	}
	eventually.True(t, "the first puts are gone", func() bool {
		e.keeper.Wake()
		for _, f := range e.tree.Files() {
			if f.Dead(now.now().Unix()) {
				return false
			}
		}
		return true
	})
	if testutil.ToFloat64(e.ledger.Removed.WithLabelValues("expired")) < 3 {
		t.Error("files were not removed for their age")
	}
	for n := range int64(600) {
		there, want := look(t, e, n) > 0, now.now().
			Add(-24*time.Hour).
			Before(newClock().now().Add(time.Duration(n)*3*time.Minute))
		if there != want {
			t.Fatalf("put %d: there %v", n, there)
		}
	}
	now.step(25 * time.Hour)
	eventually.True(t, "all files are gone", func() bool {
		e.keeper.Wake()
		return len(e.tree.Files()) == 0
	})
}

// TestMaxBytes: a directory that is too large loses its oldest files, and says so.
func TestMaxBytes(t *testing.T) {
	const most, besides = 500 << 10, 100 << 10
	dir, now := t.TempDir(), newClock()
	aside := filepath.Join(dir, disk.QuarantineName, "old")
	must(t, os.MkdirAll(filepath.Dir(aside), 0o700))
	must(t, os.WriteFile(aside, make([]byte, 50<<10), 0o600))
	var log lines
	e := mustOpen(
		t,
		dir,
		Config{
			MemoryBytes: 1 << 14,
			MaxBytes:    most,
			Besides:     func() int64 { return besides },
			Now:         now.now,
			Log:         log.logger(),
			Registerer:  prometheus.NewRegistry(),
		},
		wideTable(),
		replacedTable(),
	)
	must(t, e.Put(t.Context(), rows.Work{}, replacedTable(), putOf(7)...))
	random := rand.New(rand.NewPCG(1, 1))
	noise := func() []byte {
		b := make([]byte, 1000)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	const n = 1200
	for i := range int64(n) {
		must(
			t,
			e.Put(t.Context(), rows.Work{}, wideTable(),
				rows.Row{Key: []any{i, i}, Values: []any{noise(), i}}),
		)
		now.step(time.Minute)
	}
	eventually.True(t, "the directory is small", func() bool {
		e.keeper.Wake()
		return e.Bytes() <= most-besides
	})
	if testutil.ToFloat64(e.ledger.Removed.WithLabelValues("max_bytes")) == 0 ||
		!strings.Contains(log.String(), "too large") {
		t.Errorf("nothing is said of it: %s", log.String())
	}
	if text := e.Warning(t.Context()); !strings.Contains(text, "before their time") {
		t.Errorf("the warning is %q", text)
	}
	if _, err := os.Stat(aside); err == nil {
		t.Error("what was set aside is left")
	}
	first := int64(-1)
	for i := range int64(n) {
		there := false
		must(
			t,
			e.Read(
				t.Context(), rows.Work{},
				rows.Query{Table: wideTable(), Key: []any{i}, Columns: []string{"y"}},
				func(scan func(...any) bool) bool { there = scan(nil); return false },
			),
		)
		if there && first < 0 {
			first = i
		} else if !there && first >= 0 && i > first+60 { // hours are removed, not rows
			t.Fatalf("row %d is gone, and %d is there", i, first)
		}
	}
	if first < 200 || first > n-180 {
		t.Errorf("the first that is left is %d", first)
	}
	if e.tree.Files(); len(e.tree.Files()) == 0 {
		t.Error("no files are left")
	}
	found := false
	must(
		t,
		e.Read(
			t.Context(), rows.Work{},
			rows.Query{Table: replacedTable(), Key: []any{int64(7)}, Columns: []string{"y"}},
			func(scan func(...any) bool) bool { found = scan(nil); return false },
		),
	)
	if !found {
		t.Error("what never expires was removed")
	}
}

// TestClockWentBack: what is written then is read, and nothing is lost.
func TestClockWentBack(t *testing.T) {
	dir, now := t.TempDir(), newClock()
	config := Config{MemoryBytes: 1 << 12, Now: now.now}
	e := mustOpen(t, dir, config, wideTable())
	key, stamp := []any{int64(1), int64(1)}, int64(0)
	read := func() (y int64) {
		q := rows.Query{Table: wideTable(), Key: key[:1], Columns: []string{"y"}, Written: "y"}
		must(
			t,
			e.Read(t.Context(), rows.Work{}, q,
				func(scan func(...any) bool) bool { return scan(&y, &stamp) }),
		)
		return y
	}
	for i := range int64(40) {
		must(
			t,
			e.Put(t.Context(), rows.Work{}, wideTable(),
				rows.Row{Key: key, Values: []any{content(i, 1), i}}),
		)
		must(t, e.Put(t.Context(), rows.Work{}, wideTable(), putOf(100+i)...))
		before := stamp
		if y := read(); y != i || stamp <= before {
			t.Fatalf("read %d of %d after %d, want %d", y, stamp, before, i)
		}
		now.step(-20 * time.Minute) // 13 hours in all
		if i%10 == 9 {
			e.Close()
			e = mustOpen(t, dir, config, wideTable())
		}
	}
	e.keeper.Wake()
	for i := range int64(40) {
		if look(t, e, 100+i) == 0 {
			t.Errorf("put %d is gone", i)
		}
	}
}

// TestLayout: a table gets new columns, and is not opened with others.
func TestLayout(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Config{}, wideTable())
	must(t, e.Put(t.Context(), rows.Work{}, wideTable(), putOf(1)...))
	wider := wideTable()
	wider.Values = append(wider.Values, rows.Column{Name: "z", Kind: rows.Text})
	must(t, e.Create(t.Context(), wider))
	must(
		t,
		e.Put(t.Context(), rows.Work{}, wider,
			rows.Row{Key: []any{int64(1), int64(0)}, Values: []any{nil, nil, "new"}}),
	)
	e.Close()
	e = mustOpen(t, dir, Config{}, wideTable()) // an older program
	if look(t, e, 1) != inPut {
		t.Error("an older program finds no rows")
	}
	other := wideTable()
	other.Clustering[0].Descending = true
	if err := e.Create(t.Context(), other); err == nil || !strings.Contains(err.Error(), "wide") {
		t.Errorf("other columns: %v", err)
	}
	z := ""
	must(
		t,
		e.Read(
			t.Context(), rows.Work{},
			rows.Query{Table: wider, Key: []any{int64(1)}, Columns: []string{"z"}, Limit: 1},
			func(scan func(...any) bool) bool { return scan(&z) },
		),
	)
	if z != "new" {
		t.Errorf("the new column has %q", z)
	}
}

// TestLeftovers: what a crash leaves half-written is removed, and so are files that others replace:
// they would show again what was hidden and forgotten.
func TestLeftovers(t *testing.T) {
	dir, now := t.TempDir(), newClock()
	config := Config{Now: now.now}
	e := mustOpen(t, dir, config, replacedTable())
	put := func(ttl time.Duration) {
		t.Helper()
		for n := range int64(10) {
			must(
				t,
				e.Put(t.Context(), rows.Work{}, replacedTable(),
					rows.Row{Key: []any{n, n}, Values: []any{[]byte("x"), n}, TTL: ttl}),
			)
		}
	}
	left := func() (n int) {
		for p := range int64(11) {
			must(
				t,
				e.Read(
					t.Context(),
					rows.Work{},
					rows.Query{Table: replacedTable(), Key: []any{p}, Columns: []string{"y"}},
					func(scan func(...any) bool) bool {
						if scan(nil) {
							n++
						}
						return false
					},
				),
			)
		}
		return n
	}
	put(0)
	must(t, e.Flush(t.Context()))
	first := e.tree.Files()[0]
	kept, err := os.ReadFile(first.Path)
	must(t, err)
	for range 2 { // so that there are enough to merge
		must(t, e.Put(t.Context(), rows.Work{}, replacedTable(), putOf(10)...))
		must(t, e.Flush(t.Context()))
	}
	put(time.Minute)
	now.step(time.Hour)
	must(t, e.Flush(t.Context()))
	eventually.True(t, "the files are one", func() bool { return len(e.tree.Files()) == 1 })
	if n := left(); n != 1 {
		t.Fatalf("%d rows are left", n)
	}
	e.Close()
	must(t, os.WriteFile(first.Path, kept, 0o600)) // as if it had not been removed
	half := filepath.Join(dir, sorted.Dir, "replaced-0000009999"+sorted.Suffix+disk.Temporary)
	must(t, os.WriteFile(half, []byte("half"), 0o600))
	e = mustOpen(t, dir, config, replacedTable())
	if n := left(); n != 1 {
		t.Errorf("%d rows are left after a crash", n)
	}
	for _, path := range []string{first.Path, half} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}
