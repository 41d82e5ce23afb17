package block

import (
	"math"

	"github.com/maypok86/otter/v2"
)

// Cache keeps blocks, whose bytes it bounds.
type Cache = otter.Cache[Place, []byte]

// Place is a file's number and where in it a block begins.
type Place struct{ File, At int64 }

const overhead = 100 // of a block in the cache beside its bytes

// NewCache returns a cache of at most so many bytes.
func NewCache(limit int) *Cache {
	return otter.Must(&otter.Options[Place, []byte]{MaximumWeight: uint64(max(1, limit)),
		Weigher: func(_ Place, b []byte) uint32 {
			return uint32(min(len(b)+overhead, math.MaxUint32))
		}})
}
