package durabletest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// Lost is what Lose took.
type Lost struct {
	Bytes        int64 // that were written
	Given, Taken int   // names that are not there, and names that are there again
}

// Add adds what another Lose took.
func (l *Lost) Add(o Lost) {
	l.Bytes, l.Given, l.Taken = l.Bytes+o.Bytes, l.Given+o.Given, l.Taken+o.Taken
}

func (l Lost) String() string {
	return fmt.Sprintf("%d bytes, %d new names, %d removals", l.Bytes, l.Given, l.Taken)
}

// Lose takes from dir what its last process, which must be gone, had not made durable; notes are
// that process's, and are gone then. A process that was killed before Record returned lost nothing.
func Lose(random *rand.Rand, dir, notes string) (lost Lost, err error) {
	sizes, names, err := read(notes)
	if errors.Is(err, os.ErrNotExist) {
		return lost, os.RemoveAll(notes)
	}
	if err != nil {
		return lost, err
	}
	l := &loser{random, notes, sizes, names, &lost}
	if err := l.dir(dir); err != nil {
		return lost, err
	}
	return lost, os.RemoveAll(notes)
}

type loser struct {
	*rand.Rand
	notes string
	sizes map[uint64]int64
	names map[string]map[string]uint64
	lost  *Lost
}

func (l *loser) dir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	durable := l.names[dir] // of a new directory: none
	now := map[string]uint64{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err
		}
		now[entry.Name()] = inode(info)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		before, was := durable[entry.Name()]
		if !(was && before == now[entry.Name()]) && l.IntN(2) == 0 { // the name is lost
			l.lost.Given++
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			if was && !entry.IsDir() {
				err = l.back(path, before)
			}
		} else if entry.IsDir() {
			err = l.dir(path)
		} else if entry.Type().IsRegular() {
			err = l.cut(path, now[entry.Name()])
		}
		if err != nil {
			return err
		}
	}
	for name, inode := range durable {
		if now[name] == 0 && l.IntN(2) == 0 { // that it was removed is lost
			l.lost.Taken++
			if err := l.back(filepath.Join(dir, name), inode); err != nil {
				return err
			}
		}
	}
	return nil
}

// back brings a name back.
func (l *loser) back(path string, inode uint64) error {
	err := os.Link(filepath.Join(l.notes, "files", strconv.FormatUint(inode, 10)), path)
	if errors.Is(err, os.ErrNotExist) { // a socket
		return nil
	}
	if err == nil {
		err = l.cut(path, inode)
	}
	return err
}

// cut takes bytes of a file.
func (l *loser) cut(path string, inode uint64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	durable := min(l.sizes[inode], info.Size())
	left := durable + l.Int64N(info.Size()-durable+1)
	l.lost.Bytes += info.Size() - left
	if err := os.Truncate(path, left); err != nil {
		return err
	}
	if l.IntN(2) == 0 { // the length is there, the bytes are not
		return os.Truncate(path, info.Size())
	}
	return nil
}
