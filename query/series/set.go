package series

import (
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// Set is an answer that is read when it is first asked for. It implements storage.SeriesSet.
type Set struct {
	read func() ([]*Series, annotations.Annotations, error) // nil: it was read

	list     []*Series
	next     int // the series after the one it is at
	warnings annotations.Annotations
	err      error
}

// NewSet returns an answer that read reads when its first series is asked for.
func NewSet(read func() ([]*Series, annotations.Annotations, error)) *Set {
	return &Set{read: read}
}

// Next implements storage.SeriesSet.
func (s *Set) Next() bool {
	if s.read != nil {
		s.list, s.warnings, s.err = s.read()
		s.read = nil
	}
	s.next++
	return s.err == nil && s.next <= len(s.list)
}

// At implements storage.SeriesSet.
func (s *Set) At() storage.Series { return s.list[s.next-1] }

// Err implements storage.SeriesSet.
func (s *Set) Err() error { return s.err }

// Warnings implements storage.SeriesSet.
func (s *Set) Warnings() annotations.Annotations { return s.warnings }
