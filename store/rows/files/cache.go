package files

import (
	"math"

	"github.com/maypok86/otter/v2"
)

// blockCache keeps blocks, whose bytes it bounds.
type blockCache = otter.Cache[blockID, []byte]

// blockID is a file's number and where in it a block begins.
type blockID struct{ file, at int64 }

const blockWeight = 100 // of a block in the cache beside its bytes

func newBlockCache(limit int) *blockCache {
	return otter.Must(&otter.Options[blockID, []byte]{MaximumWeight: uint64(max(1, limit)),
		Weigher: func(_ blockID, b []byte) uint32 {
			return uint32(min(len(b)+blockWeight, math.MaxUint32))
		}})
}
