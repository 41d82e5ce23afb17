package ring

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// murmur3 is the partitioner whose tokens tokenOf computes; with another one keys are not grouped.
const murmur3 = "org.apache.cassandra.dht.Murmur3Partitioner"

// tokenOf is where a partition lies on the ring, as Cassandra's Murmur3Partitioner has it. That is
// the first half of MurmurHash3 x64 128 with seed 0, with two differences: the last bytes are taken
// as signed ones (a slip that Cassandra keeps for good), and the least value becomes the greatest.
func tokenOf(key string) int64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	if key == "" {
		return math.MinInt64
	}
	var h1, h2 uint64
	rest := key
	for ; len(rest) >= 16; rest = rest[16:] {
		k1, k2 := word(rest), word(rest[8:])
		k1 = bits.RotateLeft64(k1*c1, 31) * c2
		h1 = (bits.RotateLeft64(h1^k1, 27)+h2)*5 + 0x52dce729
		k2 = bits.RotateLeft64(k2*c2, 33) * c1
		h2 = (bits.RotateLeft64(h2^k2, 31)+h1)*5 + 0x38495ab5
	}
	var k1, k2 uint64
	for i := range len(rest) {
		signed := uint64(int64(int8(rest[i])))
		if i < 8 {
			k1 ^= signed << (8 * i)
		} else {
			k2 ^= signed << (8 * (i - 8))
		}
	}
	h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
	h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
	h1 ^= uint64(len(key))
	h2 ^= uint64(len(key))
	h1 += h2
	h2 += h1
	h1, h2 = mix(h1), mix(h2)
	token := int64(h1 + h2)
	if token == math.MinInt64 {
		return math.MaxInt64
	}
	return token
}

func word(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 |
		uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// appendPart appends one column's part of a composite routing key.
func appendPart(dst []byte, part []byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(part)))
	dst = append(dst, part...)
	return append(dst, 0)
}

// parts cuts a routing key of n columns; n 1: the key itself. The parts are into key.
func parts(dst []string, key string, n int) []string {
	if n == 1 {
		return append(dst, key)
	}
	for range n {
		size := int(key[0])<<8 | int(key[1])
		dst, key = append(dst, key[2:2+size]), key[3+size:]
	}
	return dst
}
