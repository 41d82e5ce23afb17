package sorted

import (
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// appendRow appends a row: what of the key the last one does not have, then the cells. Write times
// and expiries are differences from the first cell of the row before, for cells that have the same
// in common once.
func appendRow(dst, last, key []byte, part int, list []cells.Cell, before *cells.Cell) []byte {
	shared := 0
	for shared < min(len(last), len(key)) && last[shared] == key[shared] {
		shared++
	}
	dst = codec.AppendUvarint(dst, uint64(shared))
	dst = codec.AppendText(dst, string(key[shared:]))
	dst = codec.AppendUvarint(dst, uint64(part))
	same := uint64(1)
	for i := range list {
		if list[i].Stamp != list[0].Stamp || list[i].Expires != list[0].Expires {
			same = 0
		}
	}
	dst = codec.AppendUvarint(dst, uint64(len(list))<<1|same)
	for i := range list {
		c := &list[i]
		if i == 0 || same == 0 {
			dst = codec.AppendSvarint(codec.AppendSvarint(dst, c.Stamp-before.Stamp),
				c.Expires-before.Expires)
			before.Stamp, before.Expires = c.Stamp, c.Expires
		}
		dst = codec.AppendUvarint(dst, uint64(c.Column))
		dst = append(codec.AppendUvarint(dst, uint64(len(c.Value))), c.Value...)
	}
	return dst
}

// rowReader reads the rows of a block.
type rowReader struct {
	rest   []byte
	key    []byte
	part   int
	cells  []cells.Cell
	before cells.Cell
}

// next reads a row, which holds until the one after it is read. After an error all that is left of
// the block is lost.
func (r *rowReader) next() (bool, error) {
	if len(r.rest) == 0 {
		return false, nil
	}
	b := codec.New(r.rest, &values.Errors)
	shared := b.Number("shared bytes", len(r.key)+1)
	r.key = append(r.key[:shared], values.Take(&b)...)
	r.part = b.Number("a part", len(r.key)+1)
	n := b.Number("cells", 2*values.MaxColumns+4)
	same := n&1 == 1
	n >>= 1
	r.cells = r.cells[:0]
	last := -1
	for i := range n {
		if i == 0 || !same {
			r.before.Stamp += b.Svarint()
			r.before.Expires += b.Svarint()
		}
		c := cells.Cell{
			Column:  b.Number("a column", values.MaxColumns+1),
			Stamp:   r.before.Stamp,
			Expires: r.before.Expires,
			Value:   values.Take(&b),
		}
		if c.Column <= last {
			b.Fail("columns are in no order")
		}
		last = c.Column
		r.cells = append(r.cells, c)
	}
	if n == 0 {
		b.Fail("a row without cells")
	}
	if b.Err != nil {
		return false, b.Err
	}
	r.rest = b.Rest
	return true, nil
}
