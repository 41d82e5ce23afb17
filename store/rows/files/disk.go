package files

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/ringwatch/ringwatch/stream/durable"
)

// disk makes and writes files. Everything that is written goes through it, so that it can be
// counted, and tests can bound it.
type disk struct {
	written atomic.Int64
	room    func(n int) (int, error) // how many bytes of n there is room for; nil: all
}

// create makes a file that is not there.
func (d *disk) create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// write writes at an offset. After an error some of it may be written.
func (d *disk) write(f *os.File, b []byte, at int64) error {
	n := len(b)
	var refused error
	if d.room != nil {
		n, refused = d.room(n)
	}
	n, err := f.WriteAt(b[:n], at)
	d.written.Add(int64(n))
	if err == nil {
		err = refused
	}
	return err
}

// checksumLine ends a small file.
const checksumLine = "crc32c %08x\n"

// read reads a small file that replace has written. Without one there is no error, and nothing.
func read(path string) ([]byte, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	n := len(b) - len(fmt.Sprintf(checksumLine, 0))
	if err == nil &&
		(n < 0 || string(b[n:]) != fmt.Sprintf(checksumLine, crc32.Checksum(b[:n], castagnoli))) {
		return nil, fmt.Errorf("%w: it has another checksum", errDamaged)
	}
	return b[:max(0, n)], err
}

// replace writes a small file as a whole: it is there as it was or as it should be.
func (d *disk) replace(path string, b []byte) error {
	b = fmt.Appendf(b, checksumLine, crc32.Checksum(b, castagnoli))
	next := path + temporary
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := d.create(next)
	if err != nil {
		return err
	}
	err = d.write(f, b, 0)
	if err == nil {
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

// temporary ends the names of files that are being written. Open removes them.
const temporary = ".tmp"
