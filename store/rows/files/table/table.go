// Package table has tables as a directory knows them: which there are, how their rows become
// mutations, and what a query asks of a row. Begin with Catalog and Table. It imports cells,
// values and failure beside it, store/rows, disk and frame/codec.
package table

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
)

// Table is a table that a directory has.
type Table struct {
	rows.Table
	// Width is in seconds: rows that expire within the same so many lie in one file; 0: all do.
	Width int64 `json:"-"`
}

// Extend returns a table as it is to be, if it can: with new columns at its end. is is what it is
// now; nil: it is not there. The error wraps rows.ErrLayout.
func Extend(is *Table, t *rows.Table) (*Table, error) {
	k := &Table{Table: *t, Width: widthOf(t)}
	if is == nil {
		return k, nil
	}
	n := min(len(is.Values), len(t.Values))
	if !slices.Equal(is.Partition, t.Partition) || !slices.Equal(is.Clustering, t.Clustering) ||
		!slices.Equal(is.Values[:n], t.Values[:n]) {
		return nil, &rows.Error{
			Err: fmt.Errorf("%w: %s has other columns in its directory; use another directory",
				rows.ErrLayout, t.Name),
		}
	}
	if n < len(is.Values) { // an older program's
		k.Values = is.Values
	}
	return k, nil
}

// widthOf returns for how many seconds of expiry rows of a table lie in one file.
func widthOf(t *rows.Table) int64 {
	if t.AgeUnit == 0 || t.TTL == 0 {
		return 0
	}
	unit := int64(max(t.AgeUnit, time.Second) / time.Second)
	part := int64(t.TTL/time.Second) / rows.AgeParts
	return max(1, (part+unit-1)/unit) * unit
}

// Bucket returns from when on what lies in a row's file expires, seconds; 0: the file has what
// never does, or all.
func (k *Table) Bucket(list []cells.Cell) int64 {
	last := cells.LastExpiry(list)
	if k.Width == 0 || last == 0 {
		return 0
	}
	return last - last%k.Width
}
