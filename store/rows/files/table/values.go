package table

import (
	"fmt"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// KeyValues returns the values of a row's key.
func (k *Table) KeyValues(key []byte) (list []any, err error) {
	for _, c := range k.Keys() {
		var b []byte
		if b, key, err = values.ReadKey(&c, key); err != nil {
			return nil, err
		}
		v, err := values.Decode(c.Kind, b)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// Put sets a cell's value among those of a row.
func (k *Table) Put(into []any, c cells.Cell) error {
	if c.Column == cells.Marker {
		return nil
	}
	if c.Column > len(into) {
		return fmt.Errorf("%w: a value of a column that %s does not have", disk.ErrDamaged, k.Name)
	}
	kind := k.Values[c.Column-1].Kind
	b := c.Value
	if len(b) == 0 {
		b = zeroes[kind] // it has expired, and has lost its bytes
	}
	v, err := values.Decode(kind, b)
	into[c.Column-1] = v
	return err
}

// zeroes are the bytes of zero values whose kind has always some.
var zeroes = map[rows.Kind][]byte{
	rows.UUID: make([]byte, 16), rows.Time: make([]byte, 8), rows.Int64: make([]byte, 8),
	rows.Int32: make([]byte, 4), rows.Double: make([]byte, 8),
	rows.Texts: {0}, rows.TextMap: {0}, rows.BlobMap: {0},
}
