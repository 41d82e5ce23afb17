// Package rows is the interface between what Ringwatch stores and the engine that keeps it: tables,
// partitions and rows. Start with Engine.
//
//	store                what is kept: frames, windows, hours, rollups
//	store/rows           Table, Row, Query, Engine
//	store/rows/cassandra an Engine: a Cassandra cluster
//	store/rows/files     an Engine: a directory
//
// Package rowstest has the contract that each engine must pass. Package rows imports none of ours.
//
// What an engine promises:
//   - A row is found under its key until it expires. Its values have a write time each, and of
//     several writings of one value the one with the latest time is read, in whichever order they
//     came.
//   - Rows of a partition are read in the order of their clustering columns: texts and bytes by
//     their bytes, numbers and times by their value, UUIDs in an order of the engine's own.
//   - What Put returned nil for is found by every Read that begins later, in any process that
//     writes and reads where this one does; if the table is Everywhere, in any process at all.
//   - Putting the same again changes nothing.
package rows

import (
	"context"
	"fmt"
	"time"
)

// Engine keeps rows. Its methods may be called from many goroutines. What it returns as errors,
// other than a context's end and a mistake in the call, are an Error.
type Engine interface {
	// Put writes rows of one partition, in order and in as few mutations as the engine's bounds for
	// size allow. A mutation is written whole or not at all, and each is there before the next one
	// begins. So who finds a row finds those before it, too. An error says that some may not be
	// written.
	Put(ctx context.Context, w Work, t *Table, list ...Row) error

	// PutNew writes a row if there is none with its key, and reports whether it did. Of several at
	// the same time, in all processes, one does. If a row is there, its columns are scanned into
	// into.
	PutNew(ctx context.Context, w Work, t *Table, row Row, columns []string,
		into ...any) (bool, error)

	// Read calls row for the rows that the query names, until it returns false. row gets them by
	// calling scan once, which returns false after the last one and after an error; row then
	// returns false, too. scan's arguments point to where the query's columns go, in order; nil
	// skips one. What a row does not have sets a zero value, or nil where a pointer is pointed to.
	// Bytes are the caller's.
	Read(ctx context.Context, w Work, q Query, row func(scan func(into ...any) bool) bool) error

	// ReadMany reads the same of many partitions, as few of them at a time as the engine can. The
	// query's Key is not used; In is not allowed. take is called once for each key, with its index,
	// in any order, one call at a time: with why this key could not be read, or with a scan as
	// Read's. The error is about all of them; then take was not called.
	ReadMany(ctx context.Context, w Work, q Query, keys [][]any,
		take func(i int, scan func(into ...any) bool, err error)) error

	// Partitions calls found with those of a list of partitions that have rows, in any order. They
	// differ in the last column of their key alone: key has the others, and last is a list of
	// values for that. found gets the last column by scanning, as in Read. It reads no values, so
	// that it is fast where those are large.
	Partitions(ctx context.Context, w Work, t *Table, key []any, last any,
		found func(scan func(into ...any) bool) bool) error
}

// Row is a row that is to be written.
type Row struct {
	// Key has the values of the table's partition and clustering columns, in order.
	Key []any
	// Values has those of its value columns, in order. nil writes nothing: what was there stays.
	Values []any
	// Stamp is the write time, in microseconds since the Unix epoch; 0: now.
	Stamp int64
	// TTL is after how long what is written expires; 0: the table's. Whole seconds.
	TTL time.Duration
}

// Query says which rows of a partition are read, and what of them. The clustering columns are
// restricted in their order: values for the first ones, a list for the next, a range on the one
// after.
type Query struct {
	Table *Table
	// Key has the values of all partition columns.
	Key []any
	// Equal has values of the first clustering columns.
	Equal []any
	// In is a list of values ([]string, []int64, …) of the next one; nil: it is not restricted so.
	// An empty list finds nothing. Values come in the table's order, whatever the list's.
	In any
	// From and To bound the one after, both inclusive; nil: there is no bound on that side.
	From, To any

	// Columns are read, in this order; at least one.
	Columns []string
	// Written is a value column whose write time is read after Columns, as microseconds in an
	// int64.
	Written string
	// Limit is how many rows are read at most; 0: all.
	Limit int
	// Page is how many rows the engine may hold at once; 0: some hundred, for rows of kilobytes.
	Page int
}

// Restricted returns how many clustering columns the query restricts, if the table has as many.
func (q *Query) Restricted() (int, error) {
	n := len(q.Equal)
	if q.In != nil {
		n++
	}
	if q.From != nil || q.To != nil {
		n++
	}
	if n > len(q.Table.Clustering) {
		return 0, fmt.Errorf("rows: a query of %s restricts %d clustering columns, and it has %d",
			q.Table.Name, n, len(q.Table.Clustering))
	}
	return n, nil
}

// Absent reports whether a value is not to be written: what Cassandra is given as null, it keeps as
// a tombstone.
func Absent(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []byte:
		return v == nil
	case []string:
		return v == nil
	case map[string]string:
		return v == nil
	case map[string][]byte:
		return v == nil
	}
	return false
}
