package window

import "github.com/ringwatch/ringwatch/frame"

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

// exceedsPiece reports whether a column is surely too large for one piece, before it is encoded.
func (e *partEncoder) exceedsPiece() bool {
	return len(e.column.words) > PieceBytes || len(e.column.bucket) > PieceBytes
}

// starts returns the first rows of the pieces but the first one, so that no facet of a piece has
// more than PieceBytes, unless one entity alone has.
func (e *partEncoder) starts() (starts []int32) {
	const limit = PieceBytes - 16                 // what stands between the rows' values
	lastPiece := make([]int, len(e.column.texts)) // by text: the last piece that has it, from 1
	e.numbers, e.unit = make([]int64, len(e.column.texts)), 1
	var sizes [2]int
	begin, i, j := int32(0), 0, 0
	for row := range int32(len(e.typ.Rows)) {
		var own [2]int
		if e.column.present != nil && j < len(e.column.present.rows) && e.column.present.rows[j] == row {
			own[Values] += rowNumberBytes + 3*len(e.column.present.at(j))
			j++
		}
		changes := i < len(e.column.rows) && e.column.rows[i] == row
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
	first, end := e.column.changes(i)
	for k := first; k < end; k++ {
		if w := e.column.words[k]; w != 0 && lastPiece[w] != piece {
			lastPiece[w] = piece
			n += 5 + len(e.column.texts[w])
		}
	}
	return n
}

// pieces collects the presence of those pieces of a column that are read. Rows of the others are
// never there.
type pieces struct {
	starts []int32
	rows   int
	next   int32 // row after the last piece
	own    bool  // presence is not the type's
	all    *presence
}

func (p *pieces) add(rows piece, present *presence, own bool) {
	p.own = p.own || own
	if len(p.starts) == 0 {
		p.all = present
		return
	}
	p.skip(rows.from)
	if p.all == nil {
		p.all = &presence{}
	}
	p.all.addAll(present, 0, rows.to-rows.from, rows.from)
	p.next = rows.to
}

// skip enters rows before row as never there.
func (p *pieces) skip(row int32) {
	for ; p.next < row; p.next++ {
		if p.own = true; p.all == nil {
			p.all = &presence{}
		}
		p.all.add(p.next, nil)
	}
}

// presence returns the column's presence; own says that it may be another than the type's.
func (p *pieces) presence() (all *presence, own bool) {
	if len(p.starts) > 0 {
		p.skip(int32(p.rows))
	}
	if p.all != nil && len(p.all.rows) == 0 {
		return nil, p.own
	}
	return p.all, p.own
}
