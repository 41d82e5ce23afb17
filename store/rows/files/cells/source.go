package cells

import "bytes"

// Source gives rows in the order of their keys. What it gives holds until the next row.
type Source interface {
	Next() bool
	// Row returns the row's key, how much of that is the partition's, and its cells.
	Row() (key []byte, part int, cells []Cell)
}

// Merged gives the rows of several sources, each once.
type Merged struct {
	sources []Source // those that are not at their end; all stand on a row but for those in used
	used    []Source // gave the present row
	key     []byte
	part    int
	cells   []Cell
}

// Merging returns the rows of several sources as one.
func Merging(sources ...Source) *Merged { return &Merged{used: sources} }

// Row implements Source.
func (m *Merged) Row() ([]byte, int, []Cell) { return m.key, m.part, m.cells }

// Next implements Source.
func (m *Merged) Next() bool {
	for _, s := range m.used {
		if s.Next() {
			m.sources = append(m.sources, s)
		}
	}
	m.used = m.used[:0]
	if len(m.sources) == 0 {
		return false
	}
	least, _, _ := m.sources[0].Row()
	for _, s := range m.sources[1:] {
		if key, _, _ := s.Row(); bytes.Compare(key, least) < 0 {
			least = key
		}
	}
	kept := m.sources[:0]
	m.cells = nil
	for _, s := range m.sources {
		key, part, cells := s.Row()
		if !bytes.Equal(key, least) {
			kept = append(kept, s)
			continue
		}
		if m.used = append(m.used, s); m.cells == nil {
			m.part, m.cells = part, cells
		} else {
			m.cells = Merge(m.cells, cells)
		}
	}
	m.sources = kept
	m.key = least
	return true
}
