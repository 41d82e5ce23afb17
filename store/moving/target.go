package moving

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/rows"
)

// movedTable says which directory's rows a keyspace has.
const movedTable = "moved"

func movedLayout() *rows.Table {
	return &rows.Table{
		Name:      movedTable,
		Comment:   "Ringwatch: which directory's rows ringwatch data move has moved here",
		Partition: []rows.Column{rows.TextColumn("scope")},
		Values: []rows.Column{
			rows.TextColumn("directory"),
			rows.TimeColumn("begun_at"),
			rows.TimeColumn("done_at"),
		},
		Grace: 10 * 24 * time.Hour, Compression: rows.Fast,
		Everywhere: true, // so that no two directories are moved here at once
	}
}

// movedScope is the one partition of the table moved.
const movedScope = "rows"

// Check looks whether the database has other data than this directory's: then the error wraps
// ErrOccupied. It changes nothing. mine says that this directory's move has begun there.
func (m *Mover) Check(ctx context.Context) (mine bool, err error) {
	there, err := m.to.Database.Has(ctx, movedLayout())
	if err != nil {
		return false, err
	}
	if there {
		whose, err := m.owner(ctx)
		if err != nil || whose == m.config.ID {
			return err == nil, err
		}
		if whose != "" {
			return false, m.others()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.to.Tables)) {
		if err := m.checkVacant(ctx, m.to.Tables[name]); err != nil {
			return false, err
		}
	}
	clear(m.copied) // that was elsewhere
	return false, nil
}

func (m *Mover) others() error {
	return fmt.Errorf(
		"%w: %s has the rows of another directory: name another cassandra.keyspace",
		ErrOccupied,
		m.to.Keyspace,
	)
}

// owner returns which directory's rows are here; "": nobody has begun.
func (m *Mover) owner(ctx context.Context) (id string, err error) {
	q := rows.Query{Table: movedLayout(), Key: []any{movedScope}, Columns: []string{"directory"}}
	return id, m.to.Database.Read(
		ctx,
		rows.Work{},
		q,
		func(scan func(...any) bool) bool { return scan(&id) },
	)
}

// checkVacant returns an error if a table has rows. Those that ringwatch schema apply begins with
// do not count: whether they are right, Last finds out.
func (m *Mover) checkVacant(ctx context.Context, t *rows.Table) error {
	there, err := m.to.Database.Has(ctx, t)
	if err != nil || !there {
		return err
	}
	empty, err := m.to.Database.Empty(ctx, t)
	if err == nil && !empty && t.Name == cutovers.TableName {
		list, failed := m.to.Cutovers.All(ctx)
		empty, err = len(list) == 1 && list[0].At == 0 &&
			list[0].Generation == m.to.Generation, failed
	}
	if err == nil && !empty {
		return fmt.Errorf(
			"%w: table %s of %s has rows: name another cassandra.keyspace, or drop this one",
			ErrOccupied,
			t.Name,
			m.to.Keyspace,
		)
	}
	return err
}

// Begin makes the tables, and records that the database is this directory's.
func (m *Mover) Begin(ctx context.Context) error {
	mine, err := m.Check(ctx)
	if err != nil {
		return err
	}
	schema := rows.Schema{
		Tables: func(context.Context) ([]*rows.Table, error) {
			return append(slices.Collect(maps.Values(m.tables)), movedLayout()), nil
		},
		Seed: func(context.Context) error { return nil }, // the directory's cutovers come
	}
	if _, err := m.to.Database.Apply(ctx, rows.Changes{}, schema); err != nil || mine {
		return err
	}
	row := rows.Row{Key: []any{movedScope}, Values: []any{m.config.ID, m.to.Clock.Millis(), nil}}
	var whose string
	first, err := m.to.Database.PutNew(
		ctx,
		rows.Work{},
		movedLayout(),
		row,
		[]string{"directory"},
		&whose,
	)
	if err == nil && !first && whose != m.config.ID {
		return m.others()
	}
	return err
}

// End records that all rows are here.
func (m *Mover) End(ctx context.Context) error {
	row := rows.Row{Key: []any{movedScope}, Values: []any{m.config.ID, nil, m.to.Clock.Millis()}}
	return m.to.Database.Put(ctx, rows.Work{}, movedLayout(), row)
}

// checkCutovers holds the cutovers that are in the database against those that were copied: if
// others were there before, windows would be looked for in the wrong tables.
func (m *Mover) checkCutovers(ctx context.Context) error {
	list, err := m.to.Cutovers.All(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		if is := m.cutovers[c.At].generation; is != c.Generation {
			return fmt.Errorf(
				"%w: windows from %s on are in generation %q in the directory, and the keyspace "+
					"was begun with %q: drop the keyspace and move again",
				ErrOccupied,
				calendar.Text(c.At),
				is,
				c.Generation,
			)
		}
	}
	return nil
}
