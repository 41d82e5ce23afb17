package files

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

var tableName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// Apply makes the tables that are missing, adds value columns that are new, and takes over what
// else is said of tables: a TTL holds for what is written from now on. A table that is there with
// other columns is an error that wraps ErrLayout.
func (e *Engine) Apply(ctx context.Context, tables ...*rows.Table) error {
	e.applying.Lock()
	defer e.applying.Unlock()
	e.mu.RLock()
	next := maps.Clone(e.tables)
	e.mu.RUnlock()
	for _, t := range tables {
		if !tableName.MatchString(t.Name) || len(t.Partition) == 0 || len(t.Values) > maxColumns {
			return fmt.Errorf("rows: %q cannot be a table", t.Name)
		}
		k, err := extend(next[t.Name], t)
		if err != nil {
			return err
		}
		next[t.Name] = k
	}
	b, err := json.MarshalIndent(slices.SortedFunc(maps.Values(next), func(a, b *known) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	}), "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(e.dir, tablesName)
	if before, err := read(path); err != nil || string(before) != string(b) {
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
func extend(is *known, t *rows.Table) (*known, error) {
	k := &known{Table: *t, width: widthOf(t)}
	if is == nil {
		return k, nil
	}
	n := min(len(is.Values), len(t.Values))
	if !slices.Equal(is.Partition, t.Partition) || !slices.Equal(is.Clustering, t.Clustering) || !slices.Equal(is.Values[:n], t.Values[:n]) {
		return nil, &rows.Error{Err: fmt.Errorf("%w: %s", ErrLayout, t.Name)}
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

// bucket returns from when on what lies in a row's file expires, seconds; 0: the file has what never
// does, or all.
func (k *known) bucket(cells []cell) int64 {
	last := lasts(cells)
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
	var list []*known
	if err := json.Unmarshal(b, &list); err != nil {
		return fmt.Errorf("rows: %s: %w", tablesName, err)
	}
	for _, k := range list {
		k.width = widthOf(&k.Table)
		e.tables[k.Name] = k
	}
	return nil
}
