package files

import (
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows"
)

// mutation is rows of one partition that are written whole or not at all.
type mutation struct {
	table     string
	partition string // its key
	rows      []keyedRow
	weight    int // bytes that it holds
}

// keyedRow is a row with its key within the partition.
type keyedRow struct {
	key   string
	cells []cell
}

// Bounds of what is written at once.
const (
	maxRow        = 16 << 20 // a larger row is refused, as in Cassandra
	mutationBytes = 4 << 20  // a Put of more is several mutations
	rowWeight     = 150      // of a row in memory beside its bytes
	cellWeight    = 56
	partWeight    = 200
)

// storedTable is a table that the engine has.
type storedTable struct {
	rows.Table
	width int64 // seconds: rows that expire within the same so many lie in one file; 0: all do
}

// encode appends the first rows of a list as a mutation, and returns how many those are.
func (k *storedTable) encode(
	list []rows.Row, now time.Time, stamp func() int64,
) (dst []byte, n int, err error) {
	p := len(k.Partition)
	partition, err := k.partitionKey(list[0].Key)
	if err != nil {
		return nil, 0, err
	}
	dst = codec.AppendText(codec.AppendText(nil, k.Name), string(partition))
	var row []byte
	for n < len(list) && (n == 0 || len(dst) < mutationBytes) {
		r := &list[n]
		if len(r.Key) != p+len(k.Clustering) {
			return nil, 0, fmt.Errorf(
				"rows: a row of %s has %d values in its key, and the table's has %d", k.Name,
				len(r.Key), p+len(k.Clustering),
			)
		}
		if n > 0 {
			own, err := k.partitionKey(r.Key)
			if err != nil {
				return nil, 0, err
			}
			if string(own) != string(partition) {
				return nil, 0, fmt.Errorf("rows: rows of several partitions of %s are written "+
					"at once", k.Name)
			}
		}
		if row, err = k.encodeRow(row[:0], r, now, stamp); err != nil {
			return nil, 0, err
		}
		dst = append(dst, row...)
		n++
	}
	return dst, n, nil
}

func (k *storedTable) partitionKey(key []any) ([]byte, error) {
	if len(key) < len(k.Partition) {
		return nil, fmt.Errorf("rows: a key of %s has %d values, and the partition's has %d",
			k.Name, len(key), len(k.Partition))
	}
	return appendKeys(nil, k.Partition, key[:len(k.Partition)])
}

func (k *storedTable) encodeRow(
	dst []byte, r *rows.Row, now time.Time, stamp func() int64,
) ([]byte, error) {
	key, err := appendKeys(nil, k.Clustering, r.Key[len(k.Partition):])
	if err != nil {
		return nil, err
	}
	n := 1
	for i, v := range r.Values {
		if absent(v) {
			continue
		}
		if i >= len(k.Values) {
			return nil, unknown("table %s has %d value columns, and a row has %d", k.Name,
				len(k.Values), len(r.Values))
		}
		n++
	}
	written := r.Stamp
	if written == 0 {
		written = stamp()
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = k.TTL
	}
	expires := int64(0)
	if ttl > 0 {
		expires = now.Unix() + int64(ttl/time.Second)
	}
	dst = codec.AppendText(dst, string(key))
	dst = codec.AppendUvarint(codec.AppendSvarint(codec.AppendUvarint(dst, uint64(n)), written),
		uint64(expires))
	dst = codec.AppendUvarint(codec.AppendUvarint(dst, marker), 0)
	var value []byte
	for i, v := range r.Values {
		if absent(v) {
			continue
		}
		if value, err = appendValue(value[:0], &k.Values[i], v); err != nil {
			return nil, err
		}
		dst = codec.AppendText(codec.AppendUvarint(dst, uint64(i+1)), string(value))
	}
	if len(dst) > maxRow {
		return nil, fmt.Errorf("rows: a row of %s has %d bytes; %d is the most", k.Name,
			len(dst), maxRow)
	}
	return dst, nil
}

// decodeMutation reads what encode wrote. Values are parts of b.
func decodeMutation(b []byte) (mutation, error) {
	r := codec.New(b, &blobErrors)
	m := mutation{table: string(takeBytes(&r)), partition: string(takeBytes(&r))}
	m.weight = partWeight + len(b)
	for len(r.Rest) > 0 {
		row := keyedRow{key: string(takeBytes(&r))}
		n := r.Count("cells", maxColumns+1)
		stamp, expires := r.Svarint(), int64(r.Number("an expiry", 1<<60))
		row.cells = make([]cell, 0, n)
		last := -1
		for range n {
			c := cell{
				column:  r.Number("a column", maxColumns+1),
				stamp:   stamp,
				expires: expires,
				value:   takeBytes(&r),
			}
			if c.column <= last {
				r.Fail("columns are in no order")
			}
			last = c.column
			row.cells = append(row.cells, c)
		}
		if n == 0 {
			r.Fail("a row without cells")
		}
		m.rows = append(m.rows, row)
		m.weight += rowWeight + n*cellWeight + len(row.key)
	}
	return m, r.Err
}

// maxColumns bounds the number of a value column.
const maxColumns = 1 << 10
