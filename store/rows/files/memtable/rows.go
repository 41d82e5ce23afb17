package memtable

import "github.com/ringwatch/ringwatch/store/rows/files/cells"

// Rows gives rows of one partition: it is a cells.Source.
type Rows struct {
	key  []byte // the partition's is its first part bytes
	part int
	rows []cells.Row
	at   int // behind the present one
}

// NewRows returns a source of the rows of a partition.
func NewRows(partition []byte, list []cells.Row) *Rows {
	return &Rows{key: append([]byte{}, partition...), part: len(partition), rows: list}
}

// Next implements cells.Source.
func (s *Rows) Next() bool {
	if s.at == len(s.rows) {
		return false
	}
	s.key = append(s.key[:s.part], s.rows[s.at].Key...)
	s.at++
	return true
}

// Row implements cells.Source.
func (s *Rows) Row() ([]byte, int, []cells.Cell) { return s.key, s.part, s.rows[s.at-1].Cells }
