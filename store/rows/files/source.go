package files

import (
	"bytes"
	"sort"

	"github.com/ringwatch/ringwatch/frame/codec"
)

// source gives rows in the order of their keys. What it gives holds until the next row.
type source interface {
	next() bool
	// row returns the row's key, how much of that is the partition's, and its cells.
	row() (key []byte, part int, cells []cell)
}

// memorySource gives rows of one partition of a memtable.
type memorySource struct {
	key  []byte // the partition's is its first part bytes
	part int
	rows []keyedRow
	at   int // behind the present one
}

func (s *memorySource) next() bool {
	if s.at == len(s.rows) {
		return false
	}
	s.key = append(s.key[:s.part], s.rows[s.at].key...)
	s.at++
	return true
}

func (s *memorySource) row() ([]byte, int, []cell) { return s.key, s.part, s.rows[s.at-1].cells }

// fileSource gives a file's rows within a range of keys, by its index. Where that cannot be read,
// it goes on block by block, so that what is good is found.
type fileSource struct {
	e      *Engine
	f      *file
	within keyRange

	top     int          // the next index block
	index   codec.Reader // what is left of the present one
	all     bool         // block by block
	at      int64        // where the next block is, then
	rows    rowReader
	ended   bool
	started bool
	lost    int64 // bytes that could not be read
}

func (s *fileSource) row() ([]byte, int, []cell) { return s.rows.key, s.rows.part, s.rows.cells }

func (s *fileSource) next() bool {
	for !s.ended {
		more, err := s.rows.next()
		if err != nil {
			s.damage(err)
			s.rows = rowReader{}
			continue
		}
		if !more {
			s.block()
			continue
		}
		if bytes.Compare(s.rows.key, s.within.from) < 0 {
			continue
		}
		if s.within.to != nil && bytes.Compare(s.rows.key, s.within.to) >= 0 {
			break
		}
		return true
	}
	s.ended = true
	return false
}

// block goes to the next block that may have rows of the range.
func (s *fileSource) block() {
	if !s.started {
		s.started = true
		s.all = s.all || s.f.noMeta
		s.top = max(
			0,
			sort.Search(
				len(s.f.Indexes),
				func(i int) bool { return bytes.Compare(s.f.Indexes[i].First, s.within.from) > 0 },
			)-1,
		)
	}
	for !s.all {
		if len(s.index.Rest) == 0 {
			if s.top >= len(s.f.Indexes) || s.behind(s.f.Indexes[s.top].First) {
				s.ended = true
				return
			}
			b, err := s.f.cached(s.e.cache, indexBlock, s.f.Indexes[s.top].At)
			if err == nil {
				err = checkIndex(b)
			}
			if err != nil {
				s.damage(err)
				if s.all = true; s.top > 0 { // what lies before that index block is read
					s.at = s.f.Indexes[s.top-1].At
				}
				break
			}
			s.top++
			s.index = codec.New(b, &blobErrors)
			continue
		}
		next := readEntry(&s.index)
		if s.behind(next.First) {
			s.ended = true
			return
		}
		if bytes.Compare(next.last, s.within.from) < 0 {
			continue
		}
		b, err := s.f.cached(s.e.cache, dataBlock, next.At)
		if err != nil {
			s.damage(err)
			continue
		}
		s.rows = rowReader{rest: b}
		return
	}
	b, end, lost := s.f.blockIn(s.at)
	if lost > 0 {
		s.damage(errDamaged)
	}
	s.lost += lost
	s.at = end
	s.rows = rowReader{rest: b}
	s.ended = b == nil
}

func (s *fileSource) behind(key []byte) bool {
	return s.within.to != nil && bytes.Compare(key, s.within.to) >= 0
}

func (s *fileSource) damage(err error) { s.e.recordDamage(s.f, err) }

// merged gives the rows of several sources, each once.
type merged struct {
	sources []source // those that are not at their end; all stand on a row but for those in used
	used    []source // gave the present row
	key     []byte
	part    int
	cells   []cell
}

func merge(sources ...source) *merged { return &merged{used: sources} }

func (m *merged) row() ([]byte, int, []cell) { return m.key, m.part, m.cells }

func (m *merged) next() bool {
	for _, s := range m.used {
		if s.next() {
			m.sources = append(m.sources, s)
		}
	}
	m.used = m.used[:0]
	if len(m.sources) == 0 {
		return false
	}
	least, _, _ := m.sources[0].row()
	for _, s := range m.sources[1:] {
		if key, _, _ := s.row(); bytes.Compare(key, least) < 0 {
			least = key
		}
	}
	kept := m.sources[:0]
	m.cells = nil
	for _, s := range m.sources {
		key, part, cells := s.row()
		if !bytes.Equal(key, least) {
			kept = append(kept, s)
			continue
		}
		if m.used = append(m.used, s); m.cells == nil {
			m.part, m.cells = part, cells
		} else {
			m.cells = mergeCells(m.cells, cells)
		}
	}
	m.sources = kept
	m.key = least
	return true
}
