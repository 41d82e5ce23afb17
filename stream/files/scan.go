package files

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/ringwatch/ringwatch/disk"
)

// scanner reads the records of a segment in order.
type scanner struct {
	file       *os.File
	partitions int
	in         *bufio.Reader
	pos, end   int64 // of the next record, and where to stop
	left       int   // bytes of the last record that were not read
	buf        []byte
}

const scanBytes = 64 << 10

func newScanner(file *os.File, partitions int, pos, end int64) *scanner {
	s := &scanner{file: file, partitions: partitions, in: bufio.NewReaderSize(nil, scanBytes)}
	s.seek(pos, end)
	return s
}

// seek goes on at pos, up to end.
func (s *scanner) seek(pos, end int64) {
	s.pos, s.end, s.left = pos, end, 0
	s.in.Reset(io.NewSectionReader(s.file, pos, end-pos))
}

// head returns the next record's head, io.EOF at the end, or disk.ErrDamaged.
func (s *scanner) head() (head, error) {
	if err := s.skip(); err != nil {
		return head{}, err
	}
	if s.pos == s.end {
		return head{}, io.EOF
	}
	b, err := s.in.Peek(headBytes)
	if err != nil {
		return head{}, s.damaged(err)
	}
	h, err := parseHead(b, s.partitions)
	if err != nil || s.pos+headBytes+int64(h.body()) > s.end {
		return head{}, disk.ErrDamaged
	}
	_, _ = s.in.Discard(headBytes)
	s.left = h.body()
	s.pos += headBytes + int64(s.left)
	return h, nil
}

// body returns the key and value of the record whose head was the last. They are valid until the
// next one is read.
func (s *scanner) body(h *head) ([]byte, error) {
	if cap(s.buf) < s.left || cap(s.buf) > 1<<20 && s.left < 1<<20 { // a large one is not kept
		s.buf = make([]byte, max(s.left, 4<<10))
	}
	b := s.buf[:s.left]
	if _, err := io.ReadFull(s.in, b); err != nil {
		return nil, s.damaged(err)
	}
	s.left = 0
	if disk.Sum(b) != h.sum {
		s.pos -= int64(headBytes + len(b))
		return nil, disk.ErrDamaged
	}
	return b, nil
}

func (s *scanner) skip() error {
	if s.left == 0 {
		return nil
	}
	_, err := s.in.Discard(s.left)
	s.left = 0
	return s.damaged(err)
}

// damaged tells a file that ends too early from a disk that does not answer.
func (s *scanner) damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return disk.ErrDamaged
	}
	return err
}

// resync moves to the next whole record behind a damaged place, or to the end, and returns how many
// bytes it has left out.
func (s *scanner) resync() (int64, error) {
	began := s.pos
	window := make([]byte, scanBytes)
	for at := began + 1; at+headBytes <= s.end; {
		n, err := s.file.ReadAt(window[:min(int64(len(window)), s.end-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if n < headBytes {
			break
		}
		for i := 0; i+headBytes <= n; i++ {
			h, err := parseHead(window[i:i+headBytes], s.partitions)
			if err != nil || at+int64(i+headBytes+h.body()) > s.end {
				continue
			}
			s.seek(at+int64(i), s.end)
			if h, err = s.head(); err == nil {
				_, err = s.body(&h)
			}
			if err == nil {
				s.seek(at+int64(i), s.end)
				return s.pos - began, nil
			}
		}
		at += int64(n - headBytes + 1)
	}
	s.seek(s.end, s.end)
	return s.end - began, nil
}
