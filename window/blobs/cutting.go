package blobs

import "github.com/ringwatch/ringwatch/frame"

// exceedsPiece reports whether a column is surely too large for one piece, before it is encoded.
func (e *partEncoder) exceedsPiece() bool {
	return len(e.column.Words) > PieceBytes || len(e.column.Bucket) > PieceBytes
}

// starts returns the first rows of the pieces but the first one, so that no facet of a piece has
// more than PieceBytes, unless one entity alone has.
func (e *partEncoder) starts() (starts []int32) {
	const limit = PieceBytes - 16                 // what stands between the rows' values
	lastPiece := make([]int, len(e.column.Texts)) // by text: the last piece that has it, from 1
	e.numbers, e.unit = make([]int64, len(e.column.Texts)), 1
	var sizes [2]int
	begin, i, j := int32(0), 0, 0
	for row := range int32(len(e.typ.Rows)) {
		var own [2]int
		if p := e.column.Present; p != nil && j < len(p.Rows) && p.Rows[j] == row {
			own[Values] += rowNumberBytes + 3*len(e.column.Present.EdgesAt(j))
			j++
		}
		changes := i < len(e.column.Rows) && e.column.Rows[i] == row
		if changes {
			values, buckets := e.sizes(i)
			own[Values], own[Buckets] = own[Values]+values, buckets
		}
		texts := 0
		if changes && e.m.Kind == frame.String {
			texts = e.textSizes(i, lastPiece, len(starts)+1)
		}
		if row > begin &&
			(sizes[Values]+own[Values]+texts > limit || sizes[Buckets]+own[Buckets] > limit) {
			starts, begin, sizes = append(starts, row), row, [2]int{}
			if texts > 0 {
				texts = e.textSizes(i, lastPiece, len(starts)+1)
			}
		}
		sizes[Values], sizes[Buckets] = sizes[Values]+own[Values]+texts, sizes[Buckets]+own[Buckets]
		if changes {
			i++
		}
	}
	return starts
}

// rowNumberBytes is what it takes at most to say which row a value or a pattern of presence is of.
const rowNumberBytes = 10

// sizes returns what the changes of row number i take at most in each facet, without texts.
func (e *partEncoder) sizes(i int) (values, buckets int) {
	first, later, end := e.split(i)
	e.scratch = e.scratch[:0]
	if first < later {
		e.scratch = e.appendValue(e.scratch, first, 0, 1)
	}
	if later < end {
		e.scratch = e.appendChanges(e.scratch, i)
	}
	values = rowNumberBytes + len(e.scratch)
	switch {
	case e.m.Kind == frame.String:
		values += 2 * (end - first) // a text's number may take as much more
	case e.m.Kind.IsHistogram():
		e.scratch = e.scratch[:0]
		for k := first; k < end; k++ {
			e.scratch = e.appendCounts(e.appendRuns(e.scratch, k), k, true)
		}
		buckets = len(e.scratch)
	}
	return values, buckets
}

// textSizes returns what those texts of row number i take that this piece does not have yet.
func (e *partEncoder) textSizes(i int, lastPiece []int, piece int) (n int) {
	first, end := e.column.ChangesOf(i)
	for k := first; k < end; k++ {
		if w := e.column.Words[k]; w != 0 && lastPiece[w] != piece {
			lastPiece[w] = piece
			n += 5 + len(e.column.Texts[w])
		}
	}
	return n
}
