package sorted

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/block"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
)

// writeBytes is how much is written to the disk at once.
const writeBytes = 256 << 10

// Writer writes a file of rows.
type Writer struct {
	Meta        Meta
	d           *disk.Disk
	f           *os.File
	path        string // its name when it is complete
	compression rows.Compression
	size        int64  // of what is written
	out         []byte // what is not
	block       []byte
	first, last []byte     // keys in the block
	before      cells.Cell // the last row's first cell
	index       []byte
	indexFirst  []byte
	indexed     int
	hashes      []uint64
	partition   []byte
}

// Create begins a file of rows; m says what is known of it. The path is what it has when it is
// published.
func Create(d *disk.Disk, path string, m Meta, c rows.Compression) (*Writer, error) {
	w := &Writer{Meta: m, d: d, path: path, compression: c}
	var err error
	w.f, err = d.Create(path + disk.Temporary)
	return w, err
}

// Add adds a row; its key is behind all before it. The partition's key is its first part bytes.
func (w *Writer) Add(key []byte, part int, list []cells.Cell) error {
	if !bytes.Equal(w.partition, key[:part]) || len(w.hashes) == 0 {
		w.partition = append(w.partition[:0], key[:part]...)
		w.hashes = append(w.hashes, Hash(w.partition))
	}
	if w.Meta.Rows == 0 {
		w.Meta.Lowest = bytes.Clone(key)
	}
	w.Meta.Add(list)
	if len(w.block) == 0 {
		w.first, w.last, w.before = append(w.first[:0], key...), w.last[:0], cells.Cell{}
	}
	before := len(w.block)
	w.block = appendRow(w.block, w.last, key, part, list, &w.before)
	w.Meta.Bytes += int64(len(w.block) - before)
	w.last = append(w.last[:0], key...)
	if len(w.block) >= max(4, w.compression.BlockKB)<<10 {
		return w.cut()
	}
	return nil
}

// cut ends the block.
func (w *Writer) cut() error {
	if len(w.block) == 0 {
		return nil
	}
	if w.indexed == 0 {
		w.indexFirst = bytes.Clone(w.first)
	}
	w.index = appendEntry(w.index, w.first, w.last, w.at())
	w.indexed++
	w.Meta.Highest = append(w.Meta.Highest[:0], w.last...)
	w.out = block.Append(w.out, block.Data, w.block, w.compression)
	w.block = w.block[:0]
	if w.indexed == inIndex {
		w.cutIndex()
	}
	return w.flush(writeBytes)
}

func (w *Writer) cutIndex() {
	if w.indexed == 0 {
		return
	}
	w.Meta.Indexes = append(w.Meta.Indexes, entry{First: w.indexFirst, At: w.at()})
	w.out = block.Append(w.out, block.Index, w.index, rows.Compression{})
	w.index, w.indexed = w.index[:0], 0
}

// at is where what comes next is going to be.
func (w *Writer) at() int64 { return w.size + int64(len(w.out)) }

// flush writes what waits if that is so much.
func (w *Writer) flush(least int) error {
	if len(w.out) < least {
		return nil
	}
	err := w.d.Write(w.f, w.out, w.size)
	w.size += int64(len(w.out))
	w.out = w.out[:0]
	return err
}

// Finish writes what is missing and makes all durable, under its temporary name.
func (w *Writer) Finish() error {
	if err := w.cut(); err != nil {
		return err
	}
	w.cutIndex()
	w.Meta.Filter = w.at()
	w.out = block.Append(w.out, block.Filter, makeFilter(w.hashes), rows.Compression{})
	text, err := json.Marshal(&w.Meta)
	if err != nil {
		return err
	}
	at := w.at()
	w.out = block.Append(w.out, block.Meta, text, rows.Compression{})
	w.out = binary.LittleEndian.AppendUint64(w.out, uint64(at))
	w.out = binary.LittleEndian.AppendUint64(w.out, tailMagic)
	if err := w.flush(0); err != nil {
		return err
	}
	return durable.Bytes(w.f)
}

// Drop gives the file up, whether or not it has its name.
func (w *Writer) Drop() error {
	w.f.Close()
	return errors.Join(disk.Remove(w.path), disk.Remove(w.path+disk.Temporary))
}

// Publish gives the file its name, which does not last yet, and returns it to be read.
func (w *Writer) Publish() (*File, error) {
	if err := os.Rename(w.path+disk.Temporary, w.path); err != nil {
		return nil, err
	}
	_, id, _ := Name(w.path)
	f := newFile(id, w.path, w.f)
	f.Size, f.Meta = w.size, w.Meta
	return f, nil
}
