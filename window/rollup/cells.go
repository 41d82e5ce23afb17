package rollup

import "github.com/ringwatch/ringwatch/frame"

// cellSlab keeps cells side by side, so that they need no allocation each.
type cellSlab struct{ list []cell }

const mostCells = 256 // that are allocated at once

func (s *cellSlab) keep(c cell) *cell {
	if len(s.list) == cap(s.list) {
		s.list = make([]cell, 0, min(max(2*cap(s.list), 8), mostCells))
	}
	s.list = append(s.list, c)
	return &s.list[len(s.list)-1]
}

// sparseSlab keeps lists of buckets side by side.
type sparseSlab struct {
	index []uint16
	count []int64
}

const mostBuckets = 4096 // that are allocated at once

// begin makes room for a list of so many buckets, which is then appended to, and returns where it
// begins.
func (s *sparseSlab) begin(size int) int {
	if len(s.index)+size > cap(s.index) || len(s.count)+size > cap(s.count) {
		n := max(min(max(2*cap(s.index), 32), mostBuckets), size)
		s.index, s.count = make([]uint16, 0, n), make([]int64, 0, n)
	}
	return len(s.index)
}

func (s *sparseSlab) add(bucket uint16, n int64) {
	if n != 0 {
		s.index, s.count = append(s.index, bucket), append(s.count, n)
	}
}

// end returns the list that was appended to.
func (s *sparseSlab) end(from int) sparse {
	if to := len(s.index); to > from {
		return sparse{s.index[from:to:to], s.count[from:to:to]}
	}
	return sparse{}
}

// sum returns a + sign × b, which shares nothing with b.
func (s *sparseSlab) sum(a, b sparse, sign int64) sparse {
	if len(b.index) == 0 {
		return a
	}
	size := len(a.index) + len(b.index)
	from := s.begin(size)
	index, count := s.index[from:from+size], s.count[from:from+size]
	i, j, k := 0, 0, 0
	for i < len(a.index) || j < len(b.index) {
		switch {
		case j == len(b.index) || i < len(a.index) && a.index[i] < b.index[j]:
			index[k], count[k] = a.index[i], a.count[i]
			i++
		case i == len(a.index) || b.index[j] < a.index[i]:
			index[k], count[k] = b.index[j], sign*b.count[j]
			j++
		default:
			index[k], count[k] = a.index[i], a.count[i]+sign*b.count[j]
			i, j = i+1, j+1
		}
		if count[k] != 0 {
			k++
		}
	}
	s.index, s.count = s.index[:from+k], s.count[:from+k]
	return s.end(from)
}

// times returns a × n.
func (s *sparseSlab) times(a sparse, n int64) sparse {
	from := s.begin(len(a.index))
	for i, bucket := range a.index {
		s.add(bucket, n*a.count[i])
	}
	return s.end(from)
}

// clear drops all lists, so that their room is used again.
func (s *sparseSlab) clear() { s.index, s.count = s.index[:0], s.count[:0] }

// copy returns a list that shares nothing with a.
func (s *sparseSlab) copy(a sparse) sparse {
	from := s.begin(len(a.index))
	s.index, s.count = append(s.index, a.index...), append(s.count, a.count...)
	return s.end(from)
}

// of returns counts by bucket as a list.
func (s *sparseSlab) of(counts []int64) sparse {
	size := 0
	for _, n := range counts {
		if n != 0 {
			size++
		}
	}
	from := s.begin(size)
	for bucket, n := range counts {
		s.add(uint16(bucket), n)
	}
	return s.end(from)
}

// isSum reports whether s is a + b.
func (s sparse) isSum(a, b sparse) bool {
	k, i, j := 0, 0, 0
	for i < len(a.index) || j < len(b.index) {
		var bucket uint16
		var n int64
		if j == len(b.index) || i < len(a.index) && a.index[i] <= b.index[j] {
			bucket, n = a.index[i], a.count[i]
			i++
		} else {
			bucket = b.index[j]
		}
		if j < len(b.index) && b.index[j] == bucket {
			n += b.count[j]
			j++
		}
		if n == 0 {
			continue
		}
		if k >= len(s.index) || s.index[k] != bucket || s.count[k] != n {
			return false
		}
		k++
	}
	return k == len(s.index)
}

// isDense reports whether s has these counts by bucket.
func (s sparse) isDense(counts []int64) bool {
	k := 0
	for bucket, n := range counts {
		if n == 0 {
			continue
		}
		if k >= len(s.index) || int(s.index[k]) != bucket || s.count[k] != n {
			return false
		}
		k++
	}
	return k == len(s.index)
}

// isTimes reports whether s is a × n.
func (s sparse) isTimes(a sparse, n int64) bool {
	if len(s.index) != len(a.index) {
		return false
	}
	for i, bucket := range a.index {
		if s.index[i] != bucket || s.count[i] != n*a.count[i] {
			return false
		}
	}
	return true
}

// dependsOnCount reports whether a cell whose values are all the same also depends on how many
// there are: gauges have sums.
func dependsOnCount(kind frame.Kind) bool {
	return kind == frame.Gauge || kind == frame.GaugeDouble || kind == frame.GaugeHistogram
}

// arena allocates what cells are made of, many at once.
type arena struct {
	cellSlab
	sparseSlab
	hists []buckets
	read  sparse // scratch of runReader
}

// bucketsOf returns nil if there are no counts.
func (k *arena) bucketsOf(first, last, total sparse) *buckets {
	if len(first.index)+len(last.index)+len(total.index) == 0 {
		return nil
	}
	if len(k.hists) == cap(k.hists) {
		k.hists = make([]buckets, 0, min(max(2*cap(k.hists), 4), mostCells))
	}
	k.hists = append(k.hists, buckets{first, last, total})
	return &k.hists[len(k.hists)-1]
}
