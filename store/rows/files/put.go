package files

import (
	"context"
	"fmt"

	"github.com/ringwatch/ringwatch/store/rows"
)

// Put writes rows of one partition; see rows.Engine.
func (e *Engine) Put(ctx context.Context, w rows.Work, t *rows.Table, list ...rows.Row) error {
	k, err := e.table(t)
	if err != nil {
		return err
	}
	for i := range list {
		if len(list[i].Values) != len(t.Values) {
			return fmt.Errorf("rows: a row of %s has %d values, and the table's has %d", t.Name,
				len(list[i].Values), len(t.Values))
		}
	}
	for len(list) > 0 {
		b, n, err := k.Encode(list, e.config.Now(), e.stamps.next)
		if err != nil {
			return err
		}
		write := func() error { return e.commits.commit(ctx, b) }
		if err := e.calls.do(ctx, w, t.Name, 1, write); err != nil {
			return err
		}
		e.calls.counted(t.Name, 0, n)
		list = list[n:]
	}
	return nil
}

// PutNew writes a row if there is none with its key; see rows.Engine.
func (e *Engine) PutNew(
	ctx context.Context, w rows.Work, t *rows.Table, row rows.Row, columns []string, into ...any,
) (bool, error) {
	if row.Stamp != 0 || len(row.Key) != len(t.Partition)+len(t.Clustering) ||
		len(row.Values) != len(t.Values) || len(columns) != len(into) {
		return false, fmt.Errorf(
			"rows: a new row of %s has a write time, or another number of values than it should",
			t.Name,
		)
	}
	k, err := e.table(t)
	if err != nil {
		return false, err
	}
	if len(columns) == 0 {
		columns, into = []string{t.Partition[0].Name}, []any{nil}
	}
	q := rows.Query{
		Table:   t,
		Key:     row.Key[:len(t.Partition)],
		Equal:   row.Key[len(t.Partition):],
		Columns: columns,
	}
	done := false
	err = e.calls.do(ctx, w, t.Name, 1, func() error {
		e.putNew.Lock()
		defer e.putNew.Unlock()
		found := false
		err := e.read(q, func(scan func(...any) bool) bool {
			found = scan(into...)
			return false
		})
		if err != nil || found {
			return err
		}
		b, _, err := k.Encode([]rows.Row{row}, e.config.Now(), e.stamps.next)
		if err != nil {
			return err
		}
		// Whoever asks next must find it, so this one does not go away before it is written.
		err = e.commits.commit(context.WithoutCancel(ctx), b)
		done = err == nil
		return err
	})
	if done {
		e.calls.counted(t.Name, 0, 1)
	}
	return done, err
}
