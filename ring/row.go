package ring

import (
	"encoding/binary"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// Row is one row of an answer. It is shared with others and must not be changed.
type Row struct {
	columns []Column
	values  [][]byte
}

// Columns are the row's columns in order.
func (r Row) Columns() []Column { return r.columns }

// Raw is column i as Cassandra sent it; nil: null. A tuple of which all elements are null is null.
func (r Row) Raw(i int) []byte { return r.values[i] }

// Scan converts the columns and stores them where into points, as gocql does; nil skips one.
func (r Row) Scan(into ...any) error {
	if len(into) != len(r.columns) {
		return fmt.Errorf("the row has %d columns and is scanned into %d values: give one for "+
			"each, nil for those not wanted", len(r.columns), len(into))
	}
	for i, to := range into {
		if to == nil {
			continue
		}
		if err := gocql.Unmarshal(r.columns[i].Type, r.values[i], to); err != nil {
			return fmt.Errorf("column %s: %w", r.columns[i].Name, err)
		}
	}
	return nil
}

// cell takes a column's bytes as they lie in the driver's buffer.
type cell struct{ data []byte }

func (c *cell) UnmarshalCQL(_ gocql.TypeInfo, data []byte) error {
	c.data = data
	return nil
}

// rowReader takes rows out of the driver without converting them.
type rowReader struct {
	columns []Column
	cells   []cell
	dest    []any
	// elements is how many cells a column has: 1, or a tuple's elements, which the driver hands
	// out singly. nil: 1 for all.
	elements []int
}

// newRowReader is for answers whose columns are these.
func newRowReader(columns []gocql.ColumnInfo, known []Column) *rowReader {
	r := &rowReader{columns: known}
	same, n := len(columns) == len(known), 0
	for i, c := range columns {
		same = same && known[i].Type.Type() == c.TypeInfo.Type()
		count := 1
		if t, tuple := c.TypeInfo.(gocql.TupleTypeInfo); tuple {
			count = len(t.Elems)
			if r.elements == nil {
				r.elements = make([]int, len(columns))
				for j := range r.elements {
					r.elements[j] = 1
				}
			}
			r.elements[i] = count
		}
		n += count
	}
	if !same { // the table was made anew with other types a moment ago
		r.columns = make([]Column, len(columns))
		for i, c := range columns {
			r.columns[i] = Column{Name: c.Name, Type: c.TypeInfo}
		}
	}
	r.cells, r.dest = make([]cell, n), make([]any, n)
	for i := range r.cells {
		r.dest[i] = &r.cells[i]
	}
	return r
}

// take makes a row of the first n columns out of what was scanned last, copied: the driver's
// buffer holds many rows.
func (r *rowReader) take(n int) Row {
	values := make([][]byte, n)
	if r.elements == nil {
		size := 0
		for i := range n {
			size += len(r.cells[i].data)
		}
		block := make([]byte, 0, size)
		for i := range n {
			data := r.cells[i].data
			if data == nil {
				continue
			}
			from := len(block)
			block = append(block, data...)
			values[i] = block[from:len(block):len(block)]
		}
		return Row{columns: r.columns[:n], values: values}
	}
	at := 0
	for i := range n {
		values[i] = r.value(i, at)
		at += r.elements[i]
	}
	return Row{columns: r.columns[:n], values: values}
}

// value is column i, whose cells begin at at.
func (r *rowReader) value(i, at int) []byte {
	tuple, ok := r.columns[i].Type.(gocql.TupleTypeInfo)
	if !ok {
		if data := r.cells[at].data; data != nil {
			return append([]byte{}, data...)
		}
		return nil
	}
	var whole []byte
	null := true
	for j := range tuple.Elems {
		data := r.cells[at+j].data
		if data == nil {
			whole = binary.BigEndian.AppendUint32(whole, 1<<32-1)
			continue
		}
		null = false
		whole = binary.BigEndian.AppendUint32(whole, uint32(len(data)))
		whole = append(whole, data...)
	}
	if null {
		return nil
	}
	return whole
}

// at is where column i's cells begin.
func (r *rowReader) at(i int) int {
	if r.elements == nil {
		return i
	}
	n := 0
	for _, e := range r.elements[:i] {
		n += e
	}
	return n
}
