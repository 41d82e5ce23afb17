package files

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// Apply makes what is missing of tables, and writes the rows that a directory without any begins
// with. Whatever Changes say, it takes over what the configuration says of tables: a TTL holds for
// what is written from now on. It returns a sentence for each table that is new. A table that is
// there with other columns is an error that wraps rows.ErrLayout.
func (e *Engine) Apply(
	ctx context.Context, _ rows.Changes, schema rows.Schema,
) (done []string, err error) {
	tables, err := schema.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if found, err := e.Has(ctx, t); err == nil && !found {
			done = append(done, "created table "+t.Name)
		}
	}
	if err := e.Create(ctx, tables...); err != nil {
		return nil, err
	}
	return done, schema.Seed(ctx)
}

// Has reports whether a table is there. The error wraps rows.ErrLayout if it is there with other
// columns.
func (e *Engine) Has(_ context.Context, t *rows.Table) (bool, error) {
	k, err := e.table(t)
	if errors.Is(err, rows.ErrUnknown) {
		return false, nil
	}
	if err == nil {
		_, err = extend(k, t)
	}
	return err == nil, err
}

// Empty reports whether a table has no rows. Those that have expired may count.
func (e *Engine) Empty(_ context.Context, t *rows.Table) (bool, error) {
	if _, err := e.table(t); err != nil {
		return false, err
	}
	now := e.now()
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, f := range e.files[t.Name] {
		if s := f.spanOf(); !s.dead(now) {
			return false, nil
		}
	}
	for _, m := range []*memtable{e.active, e.frozen} {
		if m != nil && m.tables[t.Name] != nil && !m.tables[t.Name].dead(now) {
			return false, nil
		}
	}
	return true, nil
}

// TTL returns how long a table keeps its rows; 0: for ever.
func (e *Engine) TTL(_ context.Context, table string) (ttl time.Duration, found bool, err error) {
	k, err := e.table(&rows.Table{Name: table})
	if errors.Is(err, rows.ErrUnknown) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return k.TTL, true, nil
}

// Drop removes a table with all that is in it.
func (e *Engine) Drop(ctx context.Context, t *rows.Table) error {
	if err := e.change(ctx, func(tables map[string]*storedTable) error {
		delete(tables, t.Name)
		return nil
	}); err != nil {
		return err
	}
	// else what is in memory would be in a table that is made anew
	if err := e.Flush(ctx); err != nil {
		return err
	}
	e.tidying.Lock()
	defer e.tidying.Unlock()
	e.mu.RLock()
	gone := e.files[t.Name]
	e.mu.RUnlock()
	e.replaceFiles(nil, gone, 0, nil)
	return nil
}

// Use returns how much there is of each table, in files.
func (e *Engine) Use(context.Context) (rows.Use, error) {
	if err := e.Connected(); err != nil {
		return rows.Use{}, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	var u rows.Use
	for _, name := range slices.Sorted(maps.Keys(e.tables)) {
		size := int64(0)
		for _, f := range e.files[name] {
			size += f.size
		}
		u.Tables = append(u.Tables,
			rows.TableUse{Name: name, TTL: e.tables[name].TTL, DiskMiB: (size + 1<<20 - 1) >> 20})
	}
	return u, nil
}

// Create makes tables, or what is missing of them.
func (e *Engine) Create(ctx context.Context, list ...*rows.Table) error {
	return e.change(ctx, func(tables map[string]*storedTable) error {
		for _, t := range list {
			if !tableName.MatchString(t.Name) || len(t.Partition) == 0 ||
				len(t.Values) > maxColumns {
				return fmt.Errorf("rows: %q cannot be a table", t.Name)
			}
			k, err := extend(tables[t.Name], t)
			if err != nil {
				return err
			}
			tables[t.Name] = k
		}
		return nil
	})
}

// change changes which tables there are.
func (e *Engine) change(ctx context.Context, to func(map[string]*storedTable) error) error {
	if err := e.Connected(); err != nil {
		return err
	}
	e.applying.Lock()
	defer e.applying.Unlock()
	e.mu.RLock()
	next := maps.Clone(e.tables)
	e.mu.RUnlock()
	if err := to(next); err != nil {
		return err
	}
	b, err := json.MarshalIndent(
		slices.SortedFunc(maps.Values(next),
			func(a, b *storedTable) int { return cmp.Compare(a.Name, b.Name) }),
		"",
		" ",
	)
	if err != nil {
		return err
	}
	path := filepath.Join(e.dir, tablesName)
	if before, err := read(path); err != nil || !bytes.Equal(before, b) {
		if err := e.disk.replace(path, b); err != nil {
			return trouble(e.dir, err)
		}
	}
	e.mu.Lock()
	e.tables = next
	e.mu.Unlock()
	return ctx.Err()
}

// extend returns a table as it is to be, if it can.
func extend(is *storedTable, t *rows.Table) (*storedTable, error) {
	k := &storedTable{Table: *t, width: widthOf(t)}
	if is == nil {
		return k, nil
	}
	n := min(len(is.Values), len(t.Values))
	if !slices.Equal(is.Partition, t.Partition) || !slices.Equal(is.Clustering, t.Clustering) ||
		!slices.Equal(is.Values[:n], t.Values[:n]) {
		return nil, &rows.Error{
			Err: fmt.Errorf("%w: %s has other columns in its directory; use another directory",
				rows.ErrLayout, t.Name),
		}
	}
	if n < len(is.Values) { // an older program's
		k.Values = is.Values
	}
	return k, nil
}

// widthOf returns for how many seconds of expiry rows of a table lie in one file.
func widthOf(t *rows.Table) int64 {
	if t.AgeUnit == 0 || t.TTL == 0 {
		return 0
	}
	unit := int64(max(t.AgeUnit, time.Second) / time.Second)
	part := int64(t.TTL/time.Second) / rows.AgeParts
	return max(1, (part+unit-1)/unit) * unit
}

// bucket returns from when on what lies in a row's file expires, seconds; 0: the file has what
// never does, or all.
func (k *storedTable) bucket(cells []cell) int64 {
	last := lastExpiry(cells)
	if k.width == 0 || last == 0 {
		return 0
	}
	return last - last%k.width
}

// readTables reads which tables there are. Without that they are not known until Apply; their files
// are left.
func (e *Engine) readTables() error {
	path := filepath.Join(e.dir, tablesName)
	b, err := e.readSmall(path)
	if err != nil || b == nil {
		return err
	}
	var list []*storedTable
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("rows: %s: %w", tablesName, err)
	}
	for _, k := range list {
		k.width = widthOf(&k.Table)
		e.tables[k.Name] = k
	}
	return nil
}
