package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/ringwatch/ringwatch/disk"
)

// Check reads each file of a directory that no process has, whole, and calls damaged for those that
// are damaged or missing. It changes nothing. The error wraps disk.ErrInUse if a process has the
// directory.
func Check(dir string, damaged func(path, what string)) error {
	lock, err := disk.Hold(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stream: %s is no directory of a stream: %w", dir, err)
	}
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	defer lock.Close()
	topics, err := os.ReadDir(filepath.Join(dir, "topics"))
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	dirs := []string{filepath.Join(dir, commitsTopic.Name)}
	for _, t := range topics {
		if t.IsDir() {
			dirs = append(dirs, filepath.Join(dir, "topics", t.Name()))
		}
	}
	for _, d := range dirs {
		if err := checkTopic(d, damaged); err != nil {
			return fmt.Errorf("stream: %w", err)
		}
	}
	return nil
}

func checkTopic(dir string, damaged func(path, what string)) error {
	ids, err := segments(dir)
	if err != nil {
		return err
	}
	replaced := uint64(math.MaxUint64) // from here on, as in load
	for i, id := range slices.Backward(ids) {
		if id >= replaced {
			continue
		}
		s, err := readSegment(dir, id)
		switch {
		case errors.Is(err, disk.ErrDamaged):
			damaged(segmentPath(dir, id), "its header cannot be read")
			s = &segment{id: id, first: id}
		case err != nil:
			return err
		default:
			lost, err := s.unread(i == len(ids)-1)
			if err != nil {
				return err
			}
			if lost > 0 {
				damaged(s.path, fmt.Sprintf("%d of %d bytes cannot be read", lost, s.size))
			}
		}
		if replaced != math.MaxUint64 && id+1 != replaced {
			damaged(segmentPath(dir, id+1), "it is missing")
		}
		replaced = s.first
	}
	return nil
}

// unread returns how many bytes of a segment belong to no whole record. At the end of the last
// segment they are of a write that a crash has cut off, which was not acknowledged.
func (s *segment) unread(last bool) (lost int64, err error) {
	if !last {
		return s.each(func(*head, []byte) error { return nil })
	}
	file, err := os.Open(s.path)
	if err != nil || s.size <= s.begin() {
		return 0, err
	}
	defer file.Close()
	scan := newScanner(file, len(s.base), s.begin(), s.size)
	for {
		h, err := scan.head()
		if err == nil {
			_, err = scan.body(&h)
		}
		switch {
		case errors.Is(err, io.EOF):
			return lost, nil
		case errors.Is(err, disk.ErrDamaged):
			n, err := scan.resync()
			if err != nil || scan.pos >= scan.end {
				return lost, err
			}
			lost += n
		case err != nil:
			return lost, err
		}
	}
}
