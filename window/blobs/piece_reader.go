package blobs

import (
	"math/bits"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window/columns"
)

// pieceReader reads the parts of a piece.
type pieceReader struct {
	in      reader
	column  *columnReader
	rows    int // of the piece
	base    int32
	live    *columns.Presence // of the piece's rows, from 0
	present *columns.Presence // the column's, the type's if it has none of its own
	own     bool              // the column has its own
	texts   int               // texts[texts] is the piece's text 0
	unit    int64             // integers: what differences after the first instants are counted in
}

// read reads a piece's values and, if buckets has any, its buckets among these, which are in order.
// What it cannot read leaves no trace.
func (r *pieceReader) read(v *StoredPart, buckets []StoredPart) error {
	rows, changes, texts := len(r.column.out.Rows), len(r.column.out.At), len(r.column.out.Texts)
	r.in = read(v.Blob)
	r.values()
	err := r.in.Done()
	if err == nil && len(buckets) > 0 {
		i, found := slices.BinarySearchFunc(buckets, v.Piece, byPiece)
		if found {
			r.in = read(buckets[i].Blob)
			r.buckets(changes)
		} else {
			r.in.Fail("piece %d has no buckets", v.Piece)
		}
		err = r.in.Done()
	}
	if err != nil {
		r.column.cutTo(rows, changes, texts)
	}
	return err
}

// values reads the Values of a piece.
func (r *pieceReader) values() {
	if r.column.instants == 0 {
		r.in.Fail("a part without instants")
	}
	r.present = r.live
	if len(r.in.Rest) > 0 && r.in.Rest[0] == 0 {
		r.in.Rest = r.in.Rest[1:]
	} else {
		r.present = r.in.presence(r.rows, r.column.instants)
		r.own = true
	}
	switch r.column.m.Kind {
	case frame.Counter, frame.Gauge:
		r.unit = int64(r.in.Uvarint())
	case frame.String:
		r.texts = len(r.column.out.Texts) - 1
		for range r.in.Count("texts", len(r.in.Rest)) {
			r.column.out.Texts = append(r.column.out.Texts, r.in.Text("a text"))
		}
	}
	r.readFirsts()
	r.readLater()
}

// readFirsts reads the values at the rows' first instants.
func (r *pieceReader) readFirsts() {
	r.column.firsts = r.column.firsts[:0]
	for row := 0; row < r.rows && r.in.Err == nil; {
		row += r.in.Number("a run of zeros", r.rows-row+1)
		n := r.in.Number("a run of values", r.rows-row+1)
		if n == 0 && row < r.rows {
			r.in.Fail("a run of values is empty")
		}
		if n > len(r.in.Rest) {
			r.in.Fail("values are missing")
		}
		for ; n > 0 && r.in.Err == nil; n-- {
			at, there := r.present.First(int32(row))
			if !there {
				r.in.Fail("a value of a row that is never there")
			}
			word, total := r.firstValue()
			r.column.firsts = append(r.column.firsts, first{int32(row), at, word, total})
			row++
		}
	}
}

// readLater reads the changes after the first instants, and enters all values by row.
func (r *pieceReader) readLater() {
	n := r.in.Count("rows that change", r.rows)
	next, previous := 0, -1
	for ; n > 0 && r.in.Err == nil; n-- {
		row := r.in.Gap("a row", previous, r.rows)
		previous = row
		at, there := r.present.First(int32(row))
		if !there {
			r.in.Fail("a change of a row that is never there")
		}
		r.readInstants(at)
		r.checkPresent(int32(row))
		if r.in.Err != nil {
			return
		}
		for ; next < len(r.column.firsts) && int(r.column.firsts[next].row) < row; next++ {
			r.single(&r.column.firsts[next])
		}
		word := int64(0)
		if next < len(r.column.firsts) && int(r.column.firsts[next].row) == row {
			f := &r.column.firsts[next]
			r.change(f.at, f.word, f.total)
			word = f.word
			next++
		}
		r.laterValues(word)
		r.endRow(int32(row))
	}
	for ; next < len(r.column.firsts) && r.in.Err == nil; next++ {
		r.single(&r.column.firsts[next])
	}
}

// single enters a row whose value at its first instant is its only change.
func (r *pieceReader) single(f *first) {
	r.change(f.at, f.word, f.total)
	r.endRow(f.row)
}

func (r *pieceReader) change(at int32, word, total int64) {
	o := &r.column.out
	o.At, o.Words = append(o.At, at), append(o.Words, word)
	if r.column.m.Kind.IsHistogram() {
		o.Totals = append(o.Totals, total)
	}
}

func (r *pieceReader) endRow(row int32) {
	o := &r.column.out
	o.Rows, o.End = append(o.Rows, r.base+row), append(o.End, int32(len(o.At)))
}

// readInstants reads a list of instants after first.
func (r *pieceReader) readInstants(first int32) {
	list := r.column.later[:0]
	domain := int(r.column.instants - first - 1)
	switch n := r.in.Uvarint(); {
	case n == changesAlways:
		if domain <= 0 {
			r.in.Fail("a row without changes")
		}
		for t := first + 1; t < r.column.instants; t++ {
			list = append(list, t)
		}
	case n == changesBitmap:
		set := r.in.Take((domain + 7) / 8)
		for i, b := range set {
			for ; b != 0; b &= b - 1 {
				list = append(list, first+1+int32(8*i+bits.TrailingZeros8(b)))
			}
		}
		if len(list) == 0 || list[len(list)-1] >= r.column.instants {
			r.in.Fail("a row without changes, or with one after the last instant")
		}
	case n-changesListed+1 > uint64(max(0, min(domain, len(r.in.Rest)))):
		r.in.Fail("%d changes, there are %d instants", n, domain)
	default:
		previous := int(first)
		for range n - changesListed + 1 {
			previous = r.in.Gap("an instant", previous, int(r.column.instants))
			list = append(list, int32(previous))
		}
	}
	if len(list) > len(r.in.Rest) {
		r.in.Fail("values are missing")
	}
	r.column.later = list
}

// checkPresent looks that the row is there where it changes.
func (r *pieceReader) checkPresent(row int32) {
	edges, here := r.present.EdgesOf(row)
	if here {
		return
	}
	for _, t := range r.column.later {
		for len(edges) > 0 && edges[0] <= t {
			here, edges = !here, edges[1:]
		}
		if !here {
			r.in.Fail("a change where there is no value")
			return
		}
	}
}

// laterValues reads the values of a row's later instants; word is the one before.
func (r *pieceReader) laterValues(word int64) {
	o, n := &r.column.out, len(r.column.later)
	o.At = append(o.At, r.column.later...)
	o.Words = grownBy(o.Words, n)
	var totals []int64
	if r.column.m.Kind.IsHistogram() {
		o.Totals = grownBy(o.Totals, n)
		totals = o.Totals[len(o.Totals)-n:]
	}
	r.readValues(word, r.unit, o.Words[len(o.Words)-n:], totals)
}

// firstValue reads a value at a row's first instant.
func (r *pieceReader) firstValue() (word, total int64) {
	var words, totals [1]int64
	r.readValues(0, 1, words[:], totals[:])
	return words[0], totals[0]
}

// readValues reads successive values of a row, of which word is the one before: the words, and of a
// histogram how its count differs. Differences of integers are in units.
func (r *pieceReader) readValues(word, unit int64, words, totals []int64) {
	b, at := r.in.Rest, 0
	for i := range words {
		var u uint64
		u, at = codec.UvarintAt(b, at)
		before := word
		switch r.column.m.Kind {
		case frame.Counter, frame.Gauge:
			word += unit * (int64(u>>1) ^ -int64(u&1))
		case frame.GaugeDouble:
			word ^= int64(bits.ReverseBytes64(u))
		case frame.String:
			if u >= uint64(len(r.column.out.Texts)-r.texts) {
				r.in.Fail("text %d of %d", u, len(r.column.out.Texts)-r.texts-1)
				return
			}
			if word = int64(u); u > 0 {
				word += int64(r.texts)
			}
		default:
			if word = 0; r.column.m.HasSum {
				word = int64(u>>1) ^ -int64(u&1)
				u, at = codec.UvarintAt(b, at)
			}
			totals[i] = int64(u>>1) ^ -int64(u&1)
			before = word + 1 // buckets may differ though neither does
		}
		if word == before {
			r.in.Fail("a change that changes nothing")
			return
		}
		words[i] = word
	}
	if at > len(b) {
		r.in.Fail("bytes are missing")
		return
	}
	r.in.Rest = b[at:]
}

// grownBy returns a list with n elements more.
func grownBy(list []int64, n int) []int64 {
	list = slices.Grow(list, n)
	return list[:len(list)+n]
}
