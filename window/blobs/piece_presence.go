package blobs

import "github.com/ringwatch/ringwatch/window/columns"

// piecePresence collects the presence of those pieces of a column that are read. Rows of the others
// are never there.
type piecePresence struct {
	starts []int32
	rows   int
	next   int32 // row after the last piece
	own    bool  // presence is not the type's
	all    *columns.Presence
}

func (p *piecePresence) add(rows piece, present *columns.Presence, own bool) {
	p.own = p.own || own
	if len(p.starts) == 0 {
		p.all = present
		return
	}
	p.skip(rows.from)
	if p.all == nil {
		p.all = &columns.Presence{}
	}
	p.all.AddRows(present, 0, rows.to-rows.from, rows.from)
	p.next = rows.to
}

// skip enters rows before row as never there.
func (p *piecePresence) skip(row int32) {
	for ; p.next < row; p.next++ {
		if p.own = true; p.all == nil {
			p.all = &columns.Presence{}
		}
		p.all.Add(p.next, nil)
	}
}

// presence returns the column's presence; own says that it may be another than the type's.
func (p *piecePresence) presence() (all *columns.Presence, own bool) {
	if len(p.starts) > 0 {
		p.skip(int32(p.rows))
	}
	if p.all != nil && len(p.all.Rows) == 0 {
		return nil, p.own
	}
	return p.all, p.own
}
