package sorted

import (
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// inIndex is how many blocks of rows an index block is of.
const inIndex = 128

// entry says where rows from a key on are, in a block or below an index block.
type entry struct {
	First []byte `json:"first"`
	last  []byte // of a block of rows
	At    int64  `json:"at"`
}

func appendEntry(dst, first, last []byte, at int64) []byte {
	return codec.AppendUvarint(
		codec.AppendText(codec.AppendText(dst, string(first)), string(last)), uint64(at))
}

// readEntry reads the next entry of an index block. Its keys are parts of the block.
func readEntry(r *codec.Reader) entry {
	return entry{values.Take(r), values.Take(r), int64(r.Number("an offset", 1<<60))}
}
