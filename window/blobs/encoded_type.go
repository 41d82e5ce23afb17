package blobs

import (
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/columns"
)

// encodedType is what an Encoder knows of a type.
type encodedType struct {
	dictionary *window.Dictionary
	encoded    EncodedDictionary
	live       *columns.Presence
	states     []uint64
	// by metric that is cut: the first rows of its pieces but the first one
	starts map[int][]int32
}

// append appends what a reader needs together with the dictionary.
func (t *encodedType) append(dst []byte) []byte {
	dst = codec.AppendUvarint(dst, uint64(len(t.states)))
	dst = appendPacked(dst, t.states, stateBits)
	dst = codec.AppendUvarint(dst, uint64(len(t.starts)))
	previous := int32(-1)
	for m := range t.states {
		starts := t.starts[m]
		if len(starts) == 0 {
			continue
		}
		dst = codec.AppendGap(dst, previous, int32(m))
		previous = int32(m)
		dst = codec.AppendUvarint(dst, uint64(len(starts)))
		row := int32(0)
		for _, s := range starts {
			dst = codec.AppendGap(dst, row, s)
			row = s
		}
	}
	return appendPresence(dst, t.live)
}
