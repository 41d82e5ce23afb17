package blobs

// piece is a range of a type's entities whose values are one part of each facet.
type piece struct{ from, to int32 }

// pieceOf returns piece number i of so many rows that are cut at starts.
func pieceOf(starts []int32, i int, rows int) piece {
	p := piece{0, int32(rows)}
	if i > 0 {
		p.from = starts[i-1]
	}
	if i < len(starts) {
		p.to = starts[i]
	}
	return p
}
