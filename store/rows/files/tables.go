package files

import (
	"context"
	"errors"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
)

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
		_, err = table.Extend(k, t)
	}
	return err == nil, err
}

// Empty reports whether a table has no rows. Those that have expired may count.
func (e *Engine) Empty(_ context.Context, t *rows.Table) (bool, error) {
	if _, err := e.table(t); err != nil {
		return false, err
	}
	return e.tree.Empty(t.Name), nil
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

// Create makes tables, or what is missing of them.
func (e *Engine) Create(ctx context.Context, list ...*rows.Table) error {
	if err := e.Connected(); err != nil {
		return err
	}
	if err := e.tables.Create(list...); err != nil {
		return err
	}
	return ctx.Err()
}

// Drop removes a table with all that is in it.
func (e *Engine) Drop(ctx context.Context, t *rows.Table) error {
	if err := e.Connected(); err != nil {
		return err
	}
	if err := e.tables.Drop(t.Name); err != nil {
		return err
	}
	// else what is in memory would be in a table that is made anew
	if err := e.Flush(ctx); err != nil {
		return err
	}
	e.keeper.Drop(t.Name)
	return nil
}

// Flush writes all that is in memory to files; Puts wait meanwhile.
func (e *Engine) Flush(ctx context.Context) error {
	if err := e.Connected(); err != nil {
		return err
	}
	return e.commits.flush(ctx)
}

// Use returns how much there is of each table, in files.
func (e *Engine) Use(context.Context) (rows.Use, error) {
	if err := e.Connected(); err != nil {
		return rows.Use{}, err
	}
	var u rows.Use
	for _, k := range e.tables.List() {
		size := sorted.Size(e.tree.Of(k.Name))
		u.Tables = append(u.Tables,
			rows.TableUse{Name: k.Name, TTL: k.TTL, DiskMiB: (size + 1<<20 - 1) >> 20})
	}
	return u, nil
}
