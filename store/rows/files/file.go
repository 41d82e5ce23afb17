package files

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ringwatch/ringwatch/frame/codec"
)

// file is a file of rows that is read.
type file struct {
	id   int64
	path string
	f    *os.File
	size int64
	meta

	noMeta  bool         // its meta block is lost: its blocks are read one after the other
	damaged atomic.Bool  // was found to be
	users   atomic.Int32 // who reads it, and the engine while it has it
}

// hold keeps the file open. The caller knows that it is.
func (f *file) hold() { f.users.Add(1) }

func (f *file) release() {
	if f.users.Add(-1) == 0 {
		f.f.Close()
	}
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// nameOf reads a file's name: its table and number.
func nameOf(path string) (table string, id int64, ok bool) {
	name, is := strings.CutSuffix(filepath.Base(path), rowsSuffix)
	i := strings.LastIndexByte(name, '-')
	if !is || i < 0 {
		return "", 0, false
	}
	id, err := strconv.ParseInt(name[i+1:], 10, 64)
	return name[:i], id, err == nil && id > 0
}

// openFile opens a file of rows. If the error wraps errDamaged, the file is there without its meta
// block.
func openFile(path string) (*file, error) {
	table, id, ok := nameOf(path)
	if !ok {
		return nil, fmt.Errorf("%s is no name of a file of rows", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	out := &file{id: id, path: path, f: f}
	out.users.Store(1)
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	out.size = info.Size()
	if err := out.readMeta(); err != nil || out.Table != table {
		out.meta = meta{Table: table}
		out.noMeta = true
		out.damaged.Store(true)
		return out, fmt.Errorf("%w: %v", errDamaged, err)
	}
	return out, nil
}

func (f *file) readMeta() error {
	var tail [tailSize]byte
	if f.size < tailSize {
		return fmt.Errorf("%w: %d bytes are no file of rows", errDamaged, f.size)
	}
	if _, err := f.f.ReadAt(tail[:], f.size-tailSize); err != nil {
		return readFailed(err)
	}
	if binary.LittleEndian.Uint64(tail[8:]) != tailMagic {
		return fmt.Errorf("%w: the file has no end", errDamaged)
	}
	kind, text, _, err := readBlock(f.f, int64(binary.LittleEndian.Uint64(tail[:])), f.size)
	if err != nil {
		return err
	}
	if kind != metaBlock {
		return fmt.Errorf("%w: the file's end does not say where its meta block is", errDamaged)
	}
	if err := json.Unmarshal(text, &f.meta); err != nil {
		return fmt.Errorf("%w: the meta block: %w", errDamaged, err)
	}
	return nil
}

// cached reads a block through the cache.
func (f *file) cached(c *blockCache, kind byte, at int64) ([]byte, error) {
	k := blockID{f.id, at}
	if b, there := c.GetIfPresent(k); there {
		return b, nil
	}
	is, b, _, err := readBlock(f.f, at, f.size)
	if err == nil && is != kind {
		err = fmt.Errorf("%w: the block at %d is of kind %d, not %d", errDamaged, at, is, kind)
	}
	if err != nil {
		return nil, err
	}
	c.Set(k, b)
	return b, nil
}

// mayHave reports whether a partition may have rows in the file; h is its hash.
func (e *Engine) mayHave(f *file, partition []byte, h uint64) bool {
	if f.noMeta {
		return true
	}
	if f.Rows == 0 || bytes.Compare(partition, f.Highest) > 0 ||
		bytes.Compare(f.Lowest, partition) > 0 && !bytes.HasPrefix(f.Lowest, partition) {
		return false
	}
	bits, err := f.cached(e.cache, filterBlock, f.Filter)
	if err != nil {
		e.recordDamage(f, err)
		return true
	}
	return mayHave(bits, h)
}

// blockIn returns the content of the first good block of rows at or after an offset, and where it
// ends; lost is how many bytes before it could not be read. At the end content is nil.
func (f *file) blockIn(at int64) (content []byte, end, lost int64) {
	from := at
	for at < f.size-tailSize || f.noMeta && at < f.size {
		kind, content, next, err := readBlock(f.f, at, f.size)
		switch {
		case err != nil:
			lost += -at
			if at = nextBlock(f.f, at+1, f.size); at < 0 {
				return nil, f.size, f.size + lost
			}
			lost += at
		case kind == dataBlock:
			return content, next, lost
		default:
			at = next
		}
	}
	return nil, max(at, from), lost
}

// checkIndex returns why an index block cannot be read to its end; nil: it can.
func checkIndex(b []byte) error {
	r := codec.New(b, &blobErrors)
	for len(r.Rest) > 0 {
		readEntry(&r)
	}
	return r.Err
}

// readEntry reads the next entry of an index block. Its keys are parts of the block.
func readEntry(r *codec.Reader) entry {
	return entry{takeBytes(r), takeBytes(r), int64(r.Number("an offset", 1<<60))}
}

// rowReader reads the rows of a block.
type rowReader struct {
	rest   []byte
	key    []byte
	part   int
	cells  []cell
	before cell
}

// next reads a row, which holds until the one after it is read.
func (r *rowReader) next() (bool, error) {
	if len(r.rest) == 0 {
		return false, nil
	}
	b := codec.New(r.rest, &blobErrors)
	shared := b.Number("shared bytes", len(r.key)+1)
	r.key = append(r.key[:shared], takeBytes(&b)...)
	r.part = b.Number("a part", len(r.key)+1)
	n := b.Number("cells", 2*maxColumns+4)
	same := n&1 == 1
	n >>= 1
	r.cells = r.cells[:0]
	last := -1
	for i := range n {
		if i == 0 || !same {
			r.before.stamp += b.Svarint()
			r.before.expires += b.Svarint()
		}
		c := cell{
			column:  b.Number("a column", maxColumns+1),
			stamp:   r.before.stamp,
			expires: r.before.expires,
			value:   takeBytes(&b),
		}
		if c.column <= last {
			b.Fail("columns are in no order")
		}
		last = c.column
		r.cells = append(r.cells, c)
	}
	if n == 0 {
		b.Fail("a row without cells")
	}
	r.rest = b.Rest
	return b.Err == nil, b.Err
}
