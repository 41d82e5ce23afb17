// Package sorted has files of rows of one table, in the order of their keys, which never change.
// Begin with Writer, File and Reader. FORMAT.md describes the bytes.
//
//	Writer ──▶ blocks of rows, indexes of them, a filter, the meta block ──▶ Reader ──▶ Scan
//
// What it promises: a file is there whole or not at all. Of a damaged file, Scan gives the rows
// that can be read, and Reader.Damaged is told.
//
// It imports block, cells and values beside it, store/rows, disk, disk/durable and frame/codec.
package sorted

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows/files/block"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
)

// A file of rows begins with blocks of rows, with an index of them after each so many. Then come a
// filter of partitions, the meta block, and a tail of tailSize bytes that says where the meta block
// begins.
const (
	tailMagic = uint64(0x0153574f52575202)
	tailSize  = 16
)

// Dir is the folder of a directory that has its files of rows.
const Dir = "rows"

// Suffix ends the names of files of rows.
const Suffix = ".rows"

// Meta says what is in a file. It is never changed.
type Meta struct {
	cells.Span
	Table    string  `json:"table"`
	From     int64   `json:"from"` // rows that expire from here on, seconds,
	Width    int64   `json:"width"`
	Bytes    int64   `json:"bytes"`    // of rows before compression
	Replaces []int64 `json:"replaces"` // files whose rows are all here
	Lowest   []byte  `json:"lowest"`   // keys
	Highest  []byte  `json:"highest"`
	Filter   int64   `json:"filter"` // where it begins
	Indexes  []entry `json:"indexes"`
	// Shrunk says that what has expired here is only kept because it hides something.
	Shrunk bool `json:"shrunk"`
}

// File is a file of rows that is open.
type File struct {
	ID   int64
	Path string
	Size int64
	Meta

	f       *os.File
	noMeta  bool         // its meta block is lost: its blocks are read one after the other
	damaged atomic.Bool  // was found to be
	users   atomic.Int32 // who reads it, and who has opened it
}

// Path returns where a directory's file of a table and a number is.
func Path(dir, table string, id int64) string {
	return filepath.Join(dir, Dir, fmt.Sprintf("%s-%010d%s", table, id, Suffix))
}

// Name reads a file's name: its table and number.
func Name(path string) (table string, id int64, ok bool) {
	name, is := strings.CutSuffix(filepath.Base(path), Suffix)
	i := strings.LastIndexByte(name, '-')
	if !is || i < 0 {
		return "", 0, false
	}
	id, err := strconv.ParseInt(name[i+1:], 10, 64)
	return name[:i], id, err == nil && id > 0
}

// Paths returns where a directory's files of rows are.
func Paths(dir string) (list []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, Dir))
	for _, entry := range entries {
		if _, _, ok := Name(entry.Name()); ok {
			list = append(list, filepath.Join(dir, Dir, entry.Name()))
		}
	}
	return list, err
}

// Open opens a file of rows, until Release. If the error wraps disk.ErrDamaged, the file is there
// without its meta block.
func Open(path string) (*File, error) {
	table, id, ok := Name(path)
	if !ok {
		return nil, fmt.Errorf("%s is no name of a file of rows", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	out := newFile(id, path, f)
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	out.Size = info.Size()
	if err := out.readMeta(); err != nil || out.Table != table {
		out.Meta = Meta{Table: table}
		out.noMeta = true
		out.damaged.Store(true)
		return out, fmt.Errorf("%w: %v", disk.ErrDamaged, err)
	}
	return out, nil
}

func newFile(id int64, path string, f *os.File) *File {
	out := &File{ID: id, Path: path, f: f}
	out.users.Store(1)
	return out
}

func (f *File) readMeta() error {
	var tail [tailSize]byte
	if f.Size < tailSize {
		return fmt.Errorf("%w: %d bytes are no file of rows", disk.ErrDamaged, f.Size)
	}
	if _, err := f.f.ReadAt(tail[:], f.Size-tailSize); err != nil {
		return block.ReadFailed(err)
	}
	if binary.LittleEndian.Uint64(tail[8:]) != tailMagic {
		return fmt.Errorf("%w: the file has no end", disk.ErrDamaged)
	}
	kind, text, _, err := block.Read(f.f, int64(binary.LittleEndian.Uint64(tail[:])), f.Size)
	if err != nil {
		return err
	}
	if kind != block.Meta {
		return fmt.Errorf("%w: the file's end does not say where its meta block is",
			disk.ErrDamaged)
	}
	if err := json.Unmarshal(text, &f.Meta); err != nil {
		return fmt.Errorf("%w: the meta block: %w", disk.ErrDamaged, err)
	}
	return nil
}

// Hold keeps the file open until Release. The caller knows that it is.
func (f *File) Hold() { f.users.Add(1) }

// Release ends a Hold, or what Open has begun. The last one closes the file.
func (f *File) Release() {
	if f.users.Add(-1) == 0 {
		f.f.Close()
	}
}

// Damaged reports whether the file was found to be damaged.
func (f *File) Damaged() bool { return f.damaged.Load() }

// NoMeta reports whether the meta block is lost, so that nothing is known of the rows.
func (f *File) NoMeta() bool { return f.noMeta }

// SpanOf returns what is known of the rows. Without the meta block nothing is: they may be of any
// time.
func (f *File) SpanOf() cells.Span {
	if f.noMeta {
		return cells.Span{First: -1 << 63, Rows: 1}
	}
	return f.Span
}

// blockIn returns the content of the first good block of rows at or after an offset, and where it
// ends; lost is how many bytes before it could not be read. At the end content is nil.
func (f *File) blockIn(at int64) (content []byte, end, lost int64) {
	from := at
	for at < f.Size-tailSize || f.noMeta && at < f.Size {
		kind, content, next, err := block.Read(f.f, at, f.Size)
		switch {
		case err != nil:
			lost += -at
			if at = block.Find(f.f, at+1, f.Size); at < 0 {
				return nil, f.Size, f.Size + lost
			}
			lost += at
		case kind == block.Data:
			return content, next, lost
		default:
			at = next
		}
	}
	return nil, max(at, from), lost
}

// Size returns how large files are together.
func Size(list []*File) (bytes int64) {
	for _, f := range list {
		bytes += f.Size
	}
	return bytes
}
