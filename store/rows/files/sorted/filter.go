package sorted

// A filter says of a partition that a file has no row of it, or that it may have one: a Bloom
// filter of ten bits for a partition, wrong once in a hundred times.
const (
	filterBits   = 10
	filterProbes = 6
)

// Hash is FNV-1a with its bits mixed once more.
func Hash(partition []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range partition {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

func makeFilter(hashes []uint64) []byte {
	bits := make([]byte, (len(hashes)*filterBits)/8+8)
	for _, h := range hashes {
		for i := range uint64(filterProbes) {
			at := (h + i*(h>>32|1)) % uint64(8*len(bits))
			bits[at/8] |= 1 << (at % 8)
		}
	}
	return bits
}

// mayHave reports whether a partition of this hash may be in the filter.
func mayHave(bits []byte, h uint64) bool {
	if len(bits) == 0 {
		return true
	}
	for i := range uint64(filterProbes) {
		at := (h + i*(h>>32|1)) % uint64(8*len(bits))
		if bits[at/8]&(1<<(at%8)) == 0 {
			return false
		}
	}
	return true
}
