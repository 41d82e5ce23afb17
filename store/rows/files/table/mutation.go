package table

import (
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/failure"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// Mutation is rows of one partition that are written whole or not at all.
type Mutation struct {
	Table     string
	Partition string // its key
	Rows      []cells.Row
	Weight    int // bytes that it takes in memory
}

// Bounds of what is written at once, and what it takes.
const (
	mutationBytes = 4 << 20 // a list of more is several mutations
	// RowWeight is what a row takes in memory beside its bytes.
	RowWeight  = 150
	cellWeight = 56
	partWeight = 200
)

// Encode appends the first rows of a list as a mutation, and returns how many those are.
func (k *Table) Encode(
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

func (k *Table) partitionKey(key []any) ([]byte, error) {
	if len(key) < len(k.Partition) {
		return nil, fmt.Errorf("rows: a key of %s has %d values, and the partition's has %d",
			k.Name, len(key), len(k.Partition))
	}
	return values.AppendKeys(nil, k.Partition, key[:len(k.Partition)])
}

func (k *Table) encodeRow(
	dst []byte, r *rows.Row, now time.Time, stamp func() int64,
) ([]byte, error) {
	key, err := values.AppendKeys(nil, k.Clustering, r.Key[len(k.Partition):])
	if err != nil {
		return nil, err
	}
	n := 1
	for i, v := range r.Values {
		if rows.Absent(v) {
			continue
		}
		if i >= len(k.Values) {
			return nil, failure.Unknown("table %s has %d value columns, and a row has %d", k.Name,
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
	dst = codec.AppendUvarint(codec.AppendUvarint(dst, cells.Marker), 0)
	var value []byte
	for i, v := range r.Values {
		if rows.Absent(v) {
			continue
		}
		if value, err = values.Append(value[:0], &k.Values[i], v); err != nil {
			return nil, err
		}
		dst = codec.AppendText(codec.AppendUvarint(dst, uint64(i+1)), string(value))
	}
	if len(dst) > values.MaxRow {
		return nil, fmt.Errorf("rows: a row of %s has %d bytes; %d is the most", k.Name,
			len(dst), values.MaxRow)
	}
	return dst, nil
}

// Decode reads what Encode wrote. Values are parts of b.
func Decode(b []byte) (Mutation, error) {
	r := codec.New(b, &values.Errors)
	m := Mutation{Table: string(values.Take(&r)), Partition: string(values.Take(&r))}
	m.Weight = partWeight + len(b)
	for len(r.Rest) > 0 {
		row := cells.Row{Key: string(values.Take(&r))}
		n := r.Count("cells", values.MaxColumns+1)
		stamp, expires := r.Svarint(), int64(r.Number("an expiry", 1<<60))
		row.Cells = make([]cells.Cell, 0, n)
		last := -1
		for range n {
			c := cells.Cell{
				Column:  r.Number("a column", values.MaxColumns+1),
				Stamp:   stamp,
				Expires: expires,
				Value:   values.Take(&r),
			}
			if c.Column <= last {
				r.Fail("columns are in no order")
			}
			last = c.Column
			row.Cells = append(row.Cells, c)
		}
		if n == 0 {
			r.Fail("a row without cells")
		}
		m.Rows = append(m.Rows, row)
		m.Weight += RowWeight + n*cellWeight + len(row.Key)
	}
	return m, r.Err
}
