package table

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/failure"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// Check returns what is wrong with a query whatever the tables.
func Check(q *rows.Query) error {
	if len(q.Columns) == 0 {
		return fmt.Errorf("rows: a query of %s reads no column", q.Table.Name)
	}
	_, err := q.Restricted()
	return err
}

// Selection is what a query asks of a table.
type Selection struct {
	Partition []byte         // the partition's key
	Ranges    []values.Range // of keys within it, in order
	table     *Table
	columns   []column
}

// Select returns what a query asks of the table, or what is wrong with it.
func (k *Table) Select(q *rows.Query) (*Selection, error) {
	columns, err := k.columns(q)
	if err != nil {
		return nil, err
	}
	if len(q.Key) != len(k.Partition) {
		return nil, fmt.Errorf(
			"rows: a query of %s has %d values in its key, and the partition's has %d", k.Name,
			len(q.Key), len(k.Partition),
		)
	}
	partition, err := k.partitionKey(q.Key)
	if err != nil {
		return nil, err
	}
	ranges, err := k.ranges(q)
	return &Selection{partition, ranges, k, columns}, err
}

// HasColumns returns which column of a query the table does not have; nil: it has all.
func (k *Table) HasColumns(q *rows.Query) error {
	_, err := k.columns(q)
	return err
}

// Columns returns how many values Scan takes.
func (s *Selection) Columns() int { return len(s.columns) }

// column is what of a row is read.
type column struct {
	key     int // number of the key column; −1: it is a value column
	value   int // number of the value column
	written bool
}

func (k *Table) columns(q *rows.Query) ([]column, error) {
	keys := k.Keys()
	var list []column
	for _, name := range q.Columns {
		c := column{key: slices.IndexFunc(keys, func(c rows.Column) bool { return c.Name == name })}
		if c.key < 0 {
			if c.value = k.value(name); c.value < 0 {
				return nil, failure.Unknown("table %s has no column %s", k.Name, name)
			}
		}
		list = append(list, c)
	}
	if q.Written != "" {
		c := column{key: -1, value: k.value(q.Written), written: true}
		if c.value < 0 {
			return nil, failure.Unknown("table %s has no value column %s", k.Name, q.Written)
		}
		list = append(list, c)
	}
	return list, nil
}

func (k *Table) value(name string) int {
	return slices.IndexFunc(k.Values, func(c rows.Column) bool { return c.Name == name })
}

// Scan scans a row's columns to where a caller wants them.
func (s *Selection) Scan(key []byte, list []cells.Cell, into []any) error {
	k, keys := s.table, s.table.Keys()
	var read [][]byte // of the key, read as far as is asked for
	for i, c := range s.columns {
		if i >= len(into) || into[i] == nil {
			continue
		}
		if c.key >= 0 {
			for len(read) <= c.key {
				v, rest, err := values.ReadKey(&keys[len(read)], key)
				if err != nil {
					return err
				}
				read, key = append(read, v), rest
			}
			if err := values.Assign(keys[c.key].Kind, read[c.key], true, into[i]); err != nil {
				return err
			}
			continue
		}
		at := slices.IndexFunc(list, func(x cells.Cell) bool { return x.Column == c.value+1 })
		kind, there, b := k.Values[c.value].Kind, at >= 0, []byte(nil)
		switch {
		case there && c.written:
			var err error
			kind = rows.Int64
			if b, err = values.Append(nil, &rows.Column{Kind: kind}, list[at].Stamp); err != nil {
				return err
			}
		case there:
			b = list[at].Value
		}
		if err := values.Assign(kind, b, there, into[i]); err != nil {
			return err
		}
	}
	return nil
}

// ranges returns the ranges of keys within the partition that a query names, in order.
func (k *Table) ranges(q *rows.Query) ([]values.Range, error) {
	if len(q.Equal) > len(k.Clustering) {
		return nil, fmt.Errorf(
			"rows: a query of %s restricts more clustering columns than it has", k.Name,
		)
	}
	prefix, err := values.AppendKeys(nil, k.Clustering, q.Equal)
	if err != nil {
		return nil, err
	}
	at := len(q.Equal)
	prefixes := [][]byte{prefix}
	if q.In != nil {
		prefixes = nil
		list := reflect.ValueOf(q.In)
		for i := range list.Len() {
			p, err := values.AppendKey(slices.Clone(prefix), &k.Clustering[at],
				list.Index(i).Interface())
			if err != nil {
				return nil, err
			}
			prefixes = append(prefixes, p)
		}
		slices.SortFunc(prefixes, bytes.Compare)
		prefixes = slices.CompactFunc(prefixes, bytes.Equal)
		at++
	}
	var out []values.Range
	for _, p := range prefixes {
		r := values.Range{From: p, To: values.After(p)}
		from, to := q.From, q.To
		if at < len(k.Clustering) && k.Clustering[at].Descending {
			from, to = to, from
		}
		if from != nil {
			r.From, err = values.AppendKey(slices.Clone(p), &k.Clustering[at], from)
			if err != nil {
				return nil, err
			}
		}
		if to != nil {
			last, err := values.AppendKey(slices.Clone(p), &k.Clustering[at], to)
			if err != nil {
				return nil, err
			}
			r.To = values.After(last)
		}
		if r.To == nil || bytes.Compare(r.From, r.To) < 0 {
			out = append(out, r)
		}
	}
	return out, nil
}
