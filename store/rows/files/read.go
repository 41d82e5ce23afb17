package files

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/ringwatch/ringwatch/store/rows"
)

// Read reads rows of a partition; see rows.Engine.
func (e *Engine) Read(
	ctx context.Context, w rows.Work, q rows.Query, row func(scan func(into ...any) bool) bool,
) error {
	if err := check(&q); err != nil {
		return err
	}
	return e.call(ctx, w, q.Table.Name, 1, func() error {
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
	err := check(&q)
	if err == nil && q.In != nil {
		err = fmt.Errorf("rows: a query of many partitions of %s has a list", q.Table.Name)
	}
	if err != nil {
		return err
	}
	k, err := e.table(q.Table)
	if err == nil {
		_, err = k.columns(&q)
	}
	if err != nil || len(keys) == 0 {
		return err
	}
	return e.call(ctx, w, q.Table.Name, len(keys), func() error {
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
	return e.call(ctx, w, t.Name, 1, func() (err error) {
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

// check returns what is wrong with a query whatever the tables.
func check(q *rows.Query) error {
	if len(q.Columns) == 0 {
		return fmt.Errorf("rows: a query of %s reads no column", q.Table.Name)
	}
	need := len(q.Equal)
	if q.In != nil {
		need++
	}
	if q.From != nil || q.To != nil {
		need++
	}
	if need > len(q.Table.Clustering) {
		return fmt.Errorf("rows: a query of %s restricts %d clustering columns, and it has %d",
			q.Table.Name, need, len(q.Table.Clustering))
	}
	return nil
}

// read reads a query that is checked.
func (e *Engine) read(q rows.Query, row func(scan func(into ...any) bool) bool) error {
	k, err := e.table(q.Table)
	if err != nil {
		return err
	}
	columns, err := k.columns(&q)
	if err != nil {
		return err
	}
	if len(q.Key) != len(k.Partition) {
		return fmt.Errorf(
			"rows: a query of %s has %d values in its key, and the partition's has %d", k.Name,
			len(q.Key), len(k.Partition),
		)
	}
	partition, err := k.partitionKey(q.Key)
	if err != nil {
		return err
	}
	ranges, err := k.ranges(&q)
	if err != nil {
		return err
	}
	v := e.view(k.Name, partition, ranges)
	defer v.close()
	number := 0
	var broken error
	scan := func(into ...any) bool {
		if broken != nil || q.Limit > 0 && number >= q.Limit {
			return false
		}
		key, cells, more := v.next()
		if !more {
			return false
		}
		number++
		if len(into) == len(columns) || len(into) == 1 && into[0] == nil {
			broken = k.scan(key, cells, columns, into)
		} else {
			broken = fmt.Errorf("rows: a query of %s reads %d columns, and %d are scanned",
				k.Name, len(columns), len(into))
		}
		return broken == nil
	}
	for row(scan) {
	}
	e.counted(k.Name, number, 0)
	return broken
}

// column is what of a row is read.
type column struct {
	key     int // number of the key column; −1: it is a value column
	value   int // number of the value column
	written bool
}

func (k *storedTable) columns(q *rows.Query) ([]column, error) {
	keys := k.Keys()
	var list []column
	for _, name := range q.Columns {
		c := column{key: slices.IndexFunc(keys, func(c rows.Column) bool { return c.Name == name })}
		if c.key < 0 {
			if c.value = k.value(name); c.value < 0 {
				return nil, unknown("table %s has no column %s", k.Name, name)
			}
		}
		list = append(list, c)
	}
	if q.Written != "" {
		c := column{key: -1, value: k.value(q.Written), written: true}
		if c.value < 0 {
			return nil, unknown("table %s has no value column %s", k.Name, q.Written)
		}
		list = append(list, c)
	}
	return list, nil
}

func (k *storedTable) value(name string) int {
	return slices.IndexFunc(k.Values, func(c rows.Column) bool { return c.Name == name })
}

// scan scans a row's columns to where a caller wants them.
func (k *storedTable) scan(key []byte, cells []cell, columns []column, into []any) error {
	keys := k.Keys()
	var values [][]byte // of the key, read as far as is asked for
	for i, c := range columns {
		if i >= len(into) || into[i] == nil {
			continue
		}
		if c.key >= 0 {
			for len(values) <= c.key {
				v, rest, err := readKey(&keys[len(values)], key)
				if err != nil {
					return err
				}
				values, key = append(values, v), rest
			}
			if err := assign(keys[c.key].Kind, values[c.key], true, into[i]); err != nil {
				return err
			}
			continue
		}
		at := slices.IndexFunc(cells, func(x cell) bool { return x.column == c.value+1 })
		kind, there, b := k.Values[c.value].Kind, at >= 0, []byte(nil)
		switch {
		case there && c.written:
			var err error
			kind = rows.Int64
			if b, err = appendValue(nil, &rows.Column{Kind: kind}, cells[at].stamp); err != nil {
				return err
			}
		case there:
			b = cells[at].value
		}
		if err := assign(kind, b, there, into[i]); err != nil {
			return err
		}
	}
	return nil
}

// ranges returns the ranges of keys within the partition that a query names, in order.
func (k *storedTable) ranges(q *rows.Query) ([]keyRange, error) {
	if len(q.Equal) > len(k.Clustering) {
		return nil, fmt.Errorf(
			"rows: a query of %s restricts more clustering columns than it has", k.Name,
		)
	}
	prefix, err := appendKeys(nil, k.Clustering, q.Equal)
	if err != nil {
		return nil, err
	}
	at := len(q.Equal)
	prefixes := [][]byte{prefix}
	if q.In != nil {
		prefixes = nil
		list := reflect.ValueOf(q.In)
		for i := range list.Len() {
			p, err := appendKey(slices.Clone(prefix), &k.Clustering[at], list.Index(i).Interface())
			if err != nil {
				return nil, err
			}
			prefixes = append(prefixes, p)
		}
		slices.SortFunc(prefixes, bytes.Compare)
		prefixes = slices.CompactFunc(prefixes, bytes.Equal)
		at++
	}
	var out []keyRange
	for _, p := range prefixes {
		r := keyRange{p, after(p)}
		from, to := q.From, q.To
		if at < len(k.Clustering) && k.Clustering[at].Descending {
			from, to = to, from
		}
		if from != nil {
			if r.from, err = appendKey(slices.Clone(p), &k.Clustering[at], from); err != nil {
				return nil, err
			}
		}
		if to != nil {
			last, err := appendKey(slices.Clone(p), &k.Clustering[at], to)
			if err != nil {
				return nil, err
			}
			r.to = after(last)
		}
		if r.to == nil || bytes.Compare(r.from, r.to) < 0 {
			out = append(out, r)
		}
	}
	return out, nil
}

// view is a partition as it was at one moment.
type view struct {
	e         *Engine
	now       int64
	partition []byte
	ranges    []keyRange
	memory    [][][]keyedRow // by memtable and range
	files     []*file
	at        int // behind the present range
	rows      *merged
}

// view returns the rows of a partition within ranges of keys.
func (e *Engine) view(table string, partition []byte, ranges []keyRange) *view {
	v := &view{e: e, now: e.now(), partition: partition, ranges: ranges}
	e.mu.RLock()
	for _, m := range []*memtable{e.active, e.frozen} {
		if m == nil {
			continue
		}
		var found [][]keyedRow
		for _, r := range ranges {
			found = append(found, m.slice(table, string(partition), r))
		}
		v.memory = append(v.memory, found)
	}
	list := e.files[table]
	for _, f := range list {
		f.hold()
	}
	e.mu.RUnlock()
	h := hash(partition)
	for _, f := range list {
		// What has expired is read, too: it hides what it replaced.
		if len(ranges) > 0 && e.mayHave(f, partition, h) {
			v.files = append(v.files, f)
		} else {
			f.release()
		}
	}
	return v
}

func (v *view) close() {
	for _, f := range v.files {
		f.release()
	}
}

// next returns a row that has not expired: its whole key, and its cells.
func (v *view) next() (key []byte, cells []cell, more bool) {
	for {
		if v.rows == nil {
			if v.at == len(v.ranges) {
				return nil, nil, false
			}
			v.rows = v.open(v.at)
			v.at++
		}
		if !v.rows.next() {
			v.rows = nil
			continue
		}
		key, _, cells := v.rows.row()
		if cells = alive(cells, v.now); len(cells) > 0 {
			return key, cells, true
		}
	}
}

func (v *view) open(i int) *merged {
	var list []source
	for _, found := range v.memory {
		if len(found[i]) > 0 {
			list = append(
				list,
				&memorySource{key: slices.Clone(v.partition), part: len(v.partition),
					rows: found[i]},
			)
		}
	}
	r := v.ranges[i]
	within := keyRange{slices.Concat(v.partition, r.from), after(v.partition)}
	if r.to != nil {
		within.to = slices.Concat(v.partition, r.to)
	}
	for _, f := range v.files {
		list = append(list, &fileSource{e: v.e, f: f, within: within})
	}
	return merge(list...)
}
