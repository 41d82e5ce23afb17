package files

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// exported writes all that a directory has into an engine, and returns how many rows those were.
func exported(t *testing.T, x *Export, to *Engine) (n int) {
	t.Helper()
	list, err := x.Parts()
	must(t, err)
	for _, p := range list {
		err := x.Rows(p, 200, func(list []rows.Row) error {
			n += len(list)
			return to.Put(t.Context(), rows.Work{}, p.Table, list...)
		})
		if x.lock != nil ||
			!errors.Is(err, fs.ErrNotExist) { // a process may have merged it just now
			must(t, err)
		}
	}
	return n
}

// TestExport: through flushes, merges and expiry, what is exported of a directory is read
// elsewhere as in it, now and when more of it has expired.
func TestExport(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 5))
	tables := []*rows.Table{agedTable(), replacedTable()}
	for round := range 8 {
		dir, now := t.TempDir(), newClock()
		e := mustOpen(t, dir, Config{MemoryBytes: 1 << 13, Now: now.now}, tables...)
		model := map[string]*[2]written{}
		for i := range 120 * round {
			table := tables[random.IntN(2)]
			p, c := int64(random.IntN(3)), int64(random.IntN(12))
			now.step(time.Millisecond)
			if random.IntN(40) == 0 {
				now.step(time.Duration(random.IntN(900)) * time.Second)
				e.keeper.Wake()
			}
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
			key := fmt.Sprint(table.Name, p, c)
			if model[key] == nil {
				model[key] = &[2]written{}
			}
			for v, value := range []any{[]byte(fmt.Sprint(i)), int64(i)} {
				if random.IntN(3) > 0 {
					row.Values[v] = value
					model[key][v] = append(
						model[key][v],
						cells.Cell{Stamp: row.Stamp, Expires: expires, Value: fmt.Append(nil, i)},
					)
				}
			}
			must(t, e.Put(t.Context(), rows.Work{}, table, row))
		}
		e.Close()
		x, err := NewExport(dir)
		must(t, err)
		x.now = now.now
		must(t, x.Take())
		to := mustOpen(t, t.TempDir(), Config{Now: now.now}, tables...)
		exported(t, x, to)
		exported(t, x, to) // twice is harmless
		x.Close()
		now.step(2 * time.Second) // what has expired and hides is a second old at most
		for range 30 {
			for _, table := range tables {
				for p := range int64(3) {
					compare(t, to, table, p, model, now.now().Unix())
				}
			}
			now.step(time.Duration(random.IntN(600)) * time.Second)
		}
		to.Close()
	}
}

// TestExportKinds: values of each kind are exported as they are, and those that have expired and
// lost their bytes still hide what they replaced.
func TestExportKinds(t *testing.T) {
	table := &rows.Table{
		Name:      "kinds",
		Partition: []rows.Column{{Name: "p", Kind: rows.Text}, {Name: "q", Kind: rows.UUID}},
		Clustering: []rows.Column{
			{Name: "a", Kind: rows.Time, Descending: true},
			{Name: "b", Kind: rows.Blob, Descending: true},
			{Name: "c", Kind: rows.Int32},
			{Name: "d", Kind: rows.Double},
		},
	}
	values := []any{
		"ä\x00",
		uuid.New(),
		int64(-1),
		int32(-7),
		int64(1 << 60),
		-0.5,
		[]byte{0, 255},
		[]string{"", "b"},
		map[string]string{"": "x"},
		map[string][]byte{"k": {1}},
	}
	into := func() []any {
		return []any{
			new(string),
			new(uuid.UUID),
			new(int64),
			new(int32),
			new(int64),
			new(float64),
			new([]byte),
			new([]string),
			new(map[string]string),
			new(map[string][]byte),
		}
	}
	q := rows.Query{Table: table}
	for k := range values {
		name := fmt.Sprintf("v%d", k)
		table.Values = append(table.Values, rows.Column{Name: name, Kind: rows.Kind(k)})
		q.Columns = append(q.Columns, name)
	}
	key := func(a int64) []any {
		return []any{"p\x00", uuid.UUID{9}, a, []byte{0, 1}, int32(-3), 2.5}
	}
	q.Key = key(0)[:2]
	dir, now := t.TempDir(), newClock()
	e := mustOpen(t, dir, Config{Now: now.now}, table)
	put := func(a int64, ttl time.Duration, values []any) {
		must(
			t,
			e.Put(t.Context(), rows.Work{}, table, rows.Row{Key: key(a), Values: values, TTL: ttl}),
		)
	}
	empty := []any{
		"",
		uuid.UUID{},
		int64(0),
		int32(0),
		int64(0),
		0.0,
		[]byte{},
		[]string{},
		map[string]string{},
		map[string][]byte{},
	}
	put(2, 0, values)
	put(1, 0, empty)
	put(0, 0, values)
	must(t, e.Flush(t.Context()))
	now.step(time.Second)
	put(0, time.Minute, values) // it hides what never expires
	now.step(time.Hour)
	must(t, e.Flush(t.Context()))
	e.Close()
	x, err := NewExport(dir)
	must(t, err)
	defer x.Close()
	x.now = now.now
	to := mustOpen(t, t.TempDir(), Config{Now: now.now}, table)
	if n := exported(t, x, to); n != 4 {
		t.Errorf("%d rows are exported, not 3 and one that hides", n)
	}
	now.step(2 * time.Second)
	var got [][]any
	must(t, to.Read(t.Context(), rows.Work{}, q, func(scan func(...any) bool) bool {
		row := into()
		if !scan(row...) {
			return false
		}
		for i := range row {
			row[i] = reflect.ValueOf(row[i]).Elem().Interface()
		}
		got = append(got, row)
		return true
	}))
	if want := [][]any{values, empty}; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v\nwant %#v", got, want)
	}
}

// TestExportWhileItRuns: files are exported while a process has the directory, and all the rest
// when it has ended.
func TestExportWhileItRuns(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Config{MemoryBytes: childFull}, wideTable())
	to := mustOpen(t, t.TempDir(), Config{}, wideTable())
	put := func(from, to int64) {
		for n := from; n < to; n++ {
			must(t, e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...))
		}
	}
	put(0, 1500)
	x, err := NewExport(dir)
	must(t, err)
	if err := x.Take(); !errors.Is(err, disk.ErrInUse) {
		t.Fatalf("the directory of a process was taken: %v", err)
	}
	if exported(t, x, to) == 0 {
		t.Error("no file was exported")
	}
	parts, err := x.Parts()
	must(t, err)
	put(1500, 3000)
	gone := 0
	for _, p := range parts {
		if err := x.Rows(p, 1<<20, func([]rows.Row) error { return nil }); errors.Is(
			err,
			fs.ErrNotExist,
		) {
			gone++
		} else {
			must(t, err)
		}
	}
	if gone == 0 {
		t.Error("no part was merged into another")
	}
	e.Close()
	must(t, x.Take())
	if _, err := Open(dir, Config{}); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("the directory was opened while it is taken: %v", err)
	}
	exported(t, x, to)
	all := make([]int64, 3000)
	for n := range all {
		all[n] = int64(n)
	}
	if gone := missing(t, to, all); len(gone) > 0 || x.Lost() > 0 {
		t.Errorf("of %d puts %v are not exported, %d bytes are lost", len(all), gone, x.Lost())
	}
	x.Close()
	list, err := os.ReadDir(filepath.Join(dir, sorted.Dir))
	must(t, err)
	must(t, os.Truncate(filepath.Join(dir, sorted.Dir, list[0].Name()), 100))
	x, err = NewExport(dir)
	must(t, err)
	defer x.Close()
	must(t, x.Take())
	if exported(t, x, to); x.Lost() == 0 {
		t.Error("nothing is said of a damaged file")
	}
}
