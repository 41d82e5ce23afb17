package files

import (
	"context"
	"fmt"
	"reflect"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
)

// Read reads rows of a partition; see rows.Engine.
func (e *Engine) Read(
	ctx context.Context, w rows.Work, q rows.Query, row func(scan func(into ...any) bool) bool,
) error {
	if err := table.Check(&q); err != nil {
		return err
	}
	return e.calls.do(ctx, w, q.Table.Name, 1, func() error {
		return e.read(q, func(scan func(into ...any) bool) bool {
			return row(func(into ...any) bool { return ctx.Err() == nil && scan(into...) }) &&
				ctx.Err() == nil
		})
	})
}

// ReadMany reads many partitions, one after the other; see rows.Engine.
func (e *Engine) ReadMany(
	ctx context.Context, w rows.Work, q rows.Query, keys [][]any,
	take func(i int, scan func(into ...any) bool, err error),
) error {
	err := table.Check(&q)
	if err == nil && q.In != nil {
		err = fmt.Errorf("rows: a query of many partitions of %s has a list", q.Table.Name)
	}
	if err != nil {
		return err
	}
	k, err := e.table(q.Table)
	if err == nil {
		err = k.HasColumns(&q)
	}
	if err != nil || len(keys) == 0 {
		return err
	}
	return e.calls.do(ctx, w, q.Table.Name, len(keys), func() error {
		for i, key := range keys {
			if err := ctx.Err(); err != nil {
				return err
			}
			q.Key = key
			taken := false
			err := e.read(q, func(scan func(into ...any) bool) bool {
				taken = true
				take(i, scan, nil)
				return false
			})
			if err != nil && taken {
				return err
			}
			if err != nil {
				take(i, nil, err)
			}
		}
		return nil
	})
}

// Partitions tells which of a list of partitions have rows; see rows.Engine.
func (e *Engine) Partitions(
	ctx context.Context, w rows.Work, t *rows.Table, key []any, last any,
	found func(scan func(into ...any) bool) bool,
) error {
	if len(key)+1 != len(t.Partition) {
		return fmt.Errorf(
			"rows: partitions of %s are named by %d values beside the list, and it takes %d",
			t.Name, len(key), len(t.Partition)-1,
		)
	}
	list := reflect.ValueOf(last)
	name := t.Partition[len(key)].Name
	i := 0
	// find reads the next partition that has a row, and scans its last column.
	find := func(into ...any) (is bool, err error) {
		for ; i < list.Len() && !is && err == nil && ctx.Err() == nil; i++ {
			q := rows.Query{
				Table:   t,
				Key:     append(key[:len(key):len(key)], list.Index(i).Interface()),
				Columns: []string{name},
				Limit:   1,
			}
			err = e.read(q, func(scan func(...any) bool) bool { is = scan(into...); return false })
		}
		return is, err
	}
	return e.calls.do(ctx, w, t.Name, 1, func() (err error) {
		for found(func(into ...any) bool {
			is := false
			is, err = find(into...)
			return is && err == nil
		}) && err == nil {
		}
		if err == nil {
			err = ctx.Err()
		}
		return err
	})
}

// read reads a query that is checked.
func (e *Engine) read(q rows.Query, row func(scan func(into ...any) bool) bool) error {
	k, err := e.table(q.Table)
	if err != nil {
		return err
	}
	asked, err := k.Select(&q)
	if err != nil {
		return err
	}
	v := e.tree.View(k.Name, asked.Partition, asked.Ranges)
	defer v.Close()
	number := 0
	var broken error
	scan := func(into ...any) bool {
		if broken != nil || q.Limit > 0 && number >= q.Limit {
			return false
		}
		key, list, more := v.Next()
		if !more {
			return false
		}
		number++
		if len(into) == asked.Columns() || len(into) == 1 && into[0] == nil {
			broken = asked.Scan(key, list, into)
		} else {
			broken = fmt.Errorf("rows: a query of %s reads %d columns, and %d are scanned",
				k.Name, asked.Columns(), len(into))
		}
		return broken == nil
	}
	for row(scan) {
	}
	e.calls.counted(k.Name, number, 0)
	return broken
}
