// Package layout says how spans lie in rows: which rows a window, an hour or a run of rollups
// becomes, and which of them answer for a metric. Start with Head, the row that names all others.
//
//	window       head │ row 1 │ row 2 …   rows of many parts, in the order of Order; the head says
//	                                      which row has a part
//	hour, run    head │ a row per part │ a pack per type: its small metrics' parts
//
// What it promises: a reader never joins parts of one writing with the head of another. A span's
// rows carry an edition, a number that its writer drew, and the head row, which is written last,
// names it. Rows of an edition that no head names are nobody's and expire.
//
// It is from bytes to bytes, without engine and clock. It imports window and frame/codec alone.
package layout

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/window/blobs"
)

var (
	// ErrVersion is wrapped by the error about a row that a newer program wrote.
	ErrVersion = errors.New("layout: unknown version of a row")
	// ErrMalformed is wrapped by the error about a row that breaks a rule of its format.
	ErrMalformed = errors.New("layout: malformed row")
)

var errs = codec.Errors{Version: ErrVersion, Malformed: ErrMalformed}

const (
	headVersion  = 1
	partsVersion = 1
	// maxParts bounds the parts that a row may list.
	maxParts = 1 << 20
	// maxStamps bounds the stamps of a head: the windows of an hour.
	maxStamps = 12
)

// Order compares parts as the rows of a window hold them: all values, then all buckets, so that who
// asks for rates and averages does not read buckets.
func Order(a, b blobs.PartID) int {
	return cmp.Or(cmp.Compare(a.Facet, b.Facet), cmp.Compare(a.Type, b.Type),
		cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Piece, b.Piece))
}

// Head is what a head row says beside the span's own head.
type Head struct {
	Edition int64 // of the span's other rows
	// what the span's rows weigh together, its head among them, before compression
	Bytes int64
	// hours: by window, when the frames were read that it is made of, µs since the Unix epoch; 0:
	// there are none
	Stamps []int64
	First  []blobs.PartID // windows: the first part of each row after the head
	Blob   []byte         // the span's own head
}

// Append appends the head row.
func (h *Head) Append(dst []byte) []byte {
	dst = codec.AppendUvarint(append(dst, headVersion), uint64(h.Edition))
	dst = codec.AppendUvarint(dst, uint64(h.Bytes))
	dst = codec.AppendUvarint(dst, uint64(len(h.Stamps)))
	before := int64(0)
	for _, s := range h.Stamps {
		dst = codec.AppendSvarint(dst, s-before)
		before = s
	}
	dst = codec.AppendUvarint(dst, uint64(len(h.First)))
	for _, id := range h.First {
		dst = appendID(dst, id)
	}
	return append(dst, h.Blob...)
}

// ReadHead reads a head row. Its error wraps ErrVersion or ErrMalformed. Blob is a part of b.
func ReadHead(b []byte) (h Head, err error) {
	r := codec.New(b, &errs)
	r.Version(headVersion)
	h.Edition = int64(r.Number("an edition", 1<<31))
	h.Bytes = int64(r.Number("a size", 1<<48))
	before := int64(0)
	for range r.Count("stamps", maxStamps) {
		before += r.Svarint()
		h.Stamps = append(h.Stamps, before)
	}
	for range r.Count("rows", MaxRows) {
		h.First = append(h.First, readID(&r))
	}
	h.Blob = r.Rest
	return h, r.Err
}

func appendID(dst []byte, id blobs.PartID) []byte {
	dst = codec.AppendUvarint(dst, uint64(id.Type))
	dst = codec.AppendUvarint(dst, uint64(id.Metric))
	return codec.AppendUvarint(dst, uint64(id.Piece)<<1|uint64(id.Facet))
}

func readID(r *codec.Reader) (id blobs.PartID) {
	const most = 1 << 24
	id.Type, id.Metric = r.Number("a type", most), r.Number("a metric", most)
	n := r.Number("a piece", 2*most)
	id.Piece, id.Facet = n>>1, blobs.Facet(n&1)
	return id
}

// AppendParts appends a row of several parts.
func AppendParts(dst []byte, parts []blobs.Part) []byte {
	dst = codec.AppendUvarint(append(dst, partsVersion), uint64(len(parts)))
	for i := range parts {
		dst = appendID(dst, parts[i].PartID)
		dst = codec.AppendUvarint(dst, uint64(len(parts[i].Blob)))
	}
	for i := range parts {
		dst = append(dst, parts[i].Blob...)
	}
	return dst
}

// Parts yields the parts of a row, which are parts of b. An error comes last, and wraps ErrVersion
// or ErrMalformed; what came before it is right.
func Parts(b []byte) iter.Seq2[blobs.StoredPart, error] {
	return func(yield func(blobs.StoredPart, error) bool) {
		r := codec.New(b, &errs)
		r.Version(partsVersion)
		n := r.Count("parts", maxParts)
		directory := r
		for range n { // to where the parts begin
			readID(&r)
			r.Uvarint()
		}
		for range n {
			id := readID(&directory)
			size := directory.Uvarint()
			if directory.Err != nil || r.Err != nil {
				break
			}
			if size > uint64(len(r.Rest)) {
				r.Fail("a part of %d bytes, %d are left", size, len(r.Rest))
				break
			}
			if !yield(blobs.StoredPart{PartID: id, Blob: r.Take(int(size))}, nil) {
				return
			}
		}
		if err := cmp.Or(directory.Err, r.Done()); err != nil {
			yield(blobs.StoredPart{}, err)
		}
	}
}

// MaxRows is how many rows a window takes at most beside its head.
const MaxRows = 15

// leastRow is what a row of a window should weigh at least.
const leastRow = 4 << 10

// WindowRows distributes a window's parts over rows, which First of the head names. It puts the
// parts in Order.
func WindowRows(parts []blobs.Part) (rows [][]byte, first []blobs.PartID) {
	slices.SortFunc(parts, func(a, b blobs.Part) int { return Order(a.PartID, b.PartID) })
	total := 0
	for i := range parts {
		total += len(parts[i].Blob)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	n := min(MaxRows, max(1, total/leastRow))
	from, begins := 0, 0
	cut := func(end int) {
		if end > from {
			rows = append(rows, AppendParts(nil, parts[from:end]))
			first = append(first, parts[from].PartID)
			from = end
		}
	}
	for i, row := 0, 0; i < len(parts); i++ {
		if now := begins * n / max(1, total); now > row {
			cut(i)
			row = now
		}
		begins += len(parts[i].Blob)
	}
	cut(len(parts))
	return rows, first
}

// RowOf returns which of a window's rows after the head a part is in, from 0; −1: it cannot be in
// any.
func (h *Head) RowOf(id blobs.PartID) int {
	row := -1
	for i, first := range h.First {
		if Order(first, id) > 0 {
			break
		}
		row = i
	}
	return row
}

// Row is a row of an hour or a run of rollups, without whose it is and when.
type Row struct {
	// of entities, by the dictionary's key; empty in what belongs to the span as a whole
	Type string
	Part string
	Blob []byte
}

// Pack is the Part of the row that holds the small metrics of a type.
const Pack = ""

// RowName returns the Part of the row that has a part. metric is the dictionary's key of it.
func RowName(metric string, id blobs.PartID, small bool) string {
	switch {
	case small:
		return Pack
	case id.Facet == blobs.Buckets && id.Piece > 0:
		return metric + "{buckets}{" + strconv.Itoa(id.Piece) + "}"
	case id.Facet == blobs.Buckets:
		return metric + "{buckets}"
	case id.Piece > 0:
		return metric + "{" + strconv.Itoa(id.Piece) + "}"
	}
	return metric
}

// Packer makes rows of parts. Parts of a type come together; those that are small are kept until
// the type's end.
type Packer struct {
	key   string
	small []blobs.Part
}

// Add returns the rows that are complete with these parts.
func (p *Packer) Add(parts []blobs.Part) []Row {
	var rows []Row
	for _, part := range parts {
		if part.Key != p.key {
			rows = append(rows, p.Flush()...)
			p.key = part.Key
		}
		if part.Small {
			p.small = append(p.small, part)
			continue
		}
		rows = append(rows, Row{part.Key, RowName(part.Metric, part.PartID, false), part.Blob})
	}
	return rows
}

// Flush returns the pack of the last type, if it has one.
func (p *Packer) Flush() []Row {
	if len(p.small) == 0 {
		return nil
	}
	row := Row{p.key, Pack, AppendParts(nil, p.small)}
	p.small = nil
	return []Row{row}
}

// Wanted is which parts of spans are asked for, by the rows that have them.
type Wanted struct {
	rows map[rowKey]map[blobs.PartID]bool
}

type rowKey struct {
	typ, part string
	at        int64
}

// Add asks for a part of the span whose rows are at at, its start and its edition.
func (w *Wanted) Add(at int64, typ, metric string, small bool, ids ...blobs.PartID) {
	if w.rows == nil {
		w.rows = map[rowKey]map[blobs.PartID]bool{}
	}
	for _, id := range ids {
		k := rowKey{typ, RowName(metric, id, small), at}
		if w.rows[k] == nil {
			w.rows[k] = map[blobs.PartID]bool{}
		}
		w.rows[k][id] = true
	}
}

// Rows returns the Parts of each type that are asked for, in no order.
func (w *Wanted) Rows() map[string][]string {
	byType := map[string][]string{}
	seen := map[[2]string]bool{}
	for k := range w.rows {
		if name := [2]string{k.typ, k.part}; !seen[name] {
			seen[name] = true
			byType[k.typ] = append(byType[k.typ], k.part)
		}
	}
	return byType
}

// Take yields what is asked for from a row that was found, which is done then. A row that nobody
// asks for is left. An error comes last.
func (w *Wanted) Take(typ, part string, at int64, b []byte) iter.Seq2[blobs.StoredPart, error] {
	return func(yield func(blobs.StoredPart, error) bool) {
		k := rowKey{typ, part, at}
		ids := w.rows[k]
		delete(w.rows, k)
		if part != Pack {
			for id := range ids { // one
				if !yield(blobs.StoredPart{PartID: id, Blob: b}, nil) {
					return
				}
			}
			return
		}
		if ids == nil {
			return
		}
		for p, err := range Parts(b) {
			if err == nil && !ids[p.PartID] {
				continue
			}
			delete(ids, p.PartID)
			if !yield(p, err) || err != nil {
				return
			}
		}
		if len(ids) > 0 {
			yield(blobs.StoredPart{}, fmt.Errorf(
				"%w: a pack lacks %d parts that its head names", ErrMalformed, len(ids)))
		}
	}
}

// Missing calls tell for each row that was not found.
func (w *Wanted) Missing(tell func(typ, part string, at int64)) {
	for k := range w.rows {
		tell(k.typ, k.part, k.at)
	}
}
