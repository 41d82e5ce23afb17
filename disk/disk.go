// Package disk has what engines that keep data in a directory have in common. Begin with Disk.
//
//	disk/durable  syncs of files and of their names
//	disk          a process's hold on a directory, writing, checksums, what is damaged, copies
//
// What it promises: a file that Replace writes is there as it was or as it should be. What is not
// as it was written has another Sum, and is ErrDamaged. A damaged file is named in the log and in
// Quarantine, never deleted, unless the directory becomes larger than it may be.
//
// Of our packages it imports disk/durable.
package disk

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/ringwatch/ringwatch/disk/durable"
)

var (
	// ErrDamaged says that bytes are not as they were written.
	ErrDamaged = errors.New("damaged")
	// ErrInUse says that another process has the directory.
	ErrInUse = errors.New("the directory is in use")
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the CRC-32C of some bytes, one behind the other.
func Sum(list ...[]byte) (sum uint32) {
	for _, b := range list {
		sum = crc32.Update(sum, castagnoli, b)
	}
	return sum
}

// Full reports whether an error says that there is no room.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}

// Temporary ends the names of files that are being written. Who opens a directory removes them.
const Temporary = ".tmp"

// Disk makes and writes files. The zero value is good.
type Disk struct {
	// Room returns for how many bytes of n there is room, and why not for all; nil: there is room.
	// It is for tests.
	Room func(n int) (int, error)
}

// Create makes a file that is not there, for this user alone.
func (d *Disk) Create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Write writes at an offset. After an error some of it may be written.
func (d *Disk) Write(f *os.File, b []byte, at int64) error {
	n := len(b)
	var refused error
	if d.Room != nil {
		n, refused = d.Room(n)
	}
	if _, err := f.WriteAt(b[:n], at); err != nil {
		return err
	}
	return refused
}

// checksumLine ends a small file.
const checksumLine = "crc32c %08x\n"

// Replace writes a small file with its checksum, as a whole: it is there as it was or as it should
// be.
func (d *Disk) Replace(path string, b []byte) error {
	b = fmt.Appendf(b, checksumLine, Sum(b))
	return d.Finish(path, func(f *os.File) error { return d.Write(f, b, 0) })
}

// Finish makes a file, or replaces one, by what write writes. It has its name when it is durable.
func (d *Disk) Finish(path string, write func(*os.File) error) error {
	next := path + Temporary
	if err := Remove(next); err != nil {
		return err
	}
	f, err := d.Create(next)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = durable.Bytes(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		os.Remove(next)
		return err
	}
	return durable.Names(filepath.Dir(path))
}

// Read reads a small file that Replace has written. Without one there is no error, and nothing.
// The error wraps ErrDamaged if the checksum is another.
func Read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	n := len(b) - len(fmt.Sprintf(checksumLine, 0))
	if err == nil && (n < 0 || string(b[n:]) != fmt.Sprintf(checksumLine, Sum(b[:n]))) {
		return nil, fmt.Errorf("%w: it has another checksum", ErrDamaged)
	}
	return b[:max(0, n)], err
}

// Remove removes a file, if it is there.
func Remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// List returns the names of the files in a directory, after it has removed those that were never
// finished.
func List(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), Temporary) {
			names = append(names, entry.Name())
		} else if err := Remove(filepath.Join(dir, entry.Name())); err != nil {
			return nil, err
		}
	}
	return names, err
}
