package sorted

import (
	"bytes"
	"sort"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows/files/block"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// Scan gives a file's rows within a range of keys, by its index. Where that cannot be read,
// it goes on block by block, so that what is good is found.
type Scan struct {
	reader *Reader
	f      *File
	within values.Range

	top     int          // the next index block
	index   codec.Reader // what is left of the present one
	all     bool         // block by block
	at      int64        // where the next block is, then
	rows    rowReader
	ended   bool
	started bool
	lost    int64 // bytes that could not be read
}

// Scan returns a file's rows within a range of keys.
func (r *Reader) Scan(f *File, within values.Range) *Scan {
	return &Scan{reader: r, f: f, within: within}
}

// Whole returns all rows of a file.
func (r *Reader) Whole(f *File) *Scan { return &Scan{reader: r, f: f, all: true} }

// Row implements cells.Source.
func (s *Scan) Row() ([]byte, int, []cells.Cell) { return s.rows.key, s.rows.part, s.rows.cells }

// Next implements cells.Source.
func (s *Scan) Next() bool {
	for !s.ended {
		more, err := s.rows.next()
		if err != nil {
			s.damage(err)
			s.lost += int64(len(s.rows.rest))
			s.rows = rowReader{}
			continue
		}
		if !more {
			s.enter()
			continue
		}
		if bytes.Compare(s.rows.key, s.within.From) < 0 {
			continue
		}
		if s.within.Behind(s.rows.key) {
			break
		}
		return true
	}
	s.ended = true
	return false
}

// enter goes to the next block that may have rows of the range.
func (s *Scan) enter() {
	if !s.started {
		s.started = true
		s.all = s.all || s.f.noMeta
		s.top = max(
			0,
			sort.Search(
				len(s.f.Indexes),
				func(i int) bool { return bytes.Compare(s.f.Indexes[i].First, s.within.From) > 0 },
			)-1,
		)
	}
	for !s.all {
		if len(s.index.Rest) == 0 {
			if s.top >= len(s.f.Indexes) || s.within.Behind(s.f.Indexes[s.top].First) {
				s.ended = true
				return
			}
			index, err := s.reader.index(s.f, s.f.Indexes[s.top].At)
			if err != nil {
				s.damage(err)
				if s.all = true; s.top > 0 { // what lies before that index block is read
					s.at = s.f.Indexes[s.top-1].At
				}
				break
			}
			s.top++
			s.index = index
			continue
		}
		next := readEntry(&s.index)
		if s.within.Behind(next.First) {
			s.ended = true
			return
		}
		if bytes.Compare(next.last, s.within.From) < 0 {
			continue
		}
		b, err := s.reader.block(s.f, block.Data, next.At)
		if err != nil {
			s.damage(err)
			continue
		}
		s.rows = rowReader{rest: b}
		return
	}
	b, end, lost := s.f.blockIn(s.at)
	if lost > 0 {
		s.damage(disk.ErrDamaged)
	}
	s.lost += lost
	s.at = end
	s.rows = rowReader{rest: b}
	s.ended = b == nil
}

func (s *Scan) damage(err error) { s.reader.damage(s.f, err) }

// Lost returns how many bytes could not be read so far.
func (s *Scan) Lost() int64 { return s.lost }
