package files

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/stream/durable"
)

// A file of rows holds rows of one table in the order of their keys. It begins with blocks of rows,
// an index of them after each so many; then come a filter of partitions, the meta block, and a tail
// of tailSize bytes that says where the meta block begins.
const (
	tailMagic  = uint64(0x0153574f52575202)
	tailSize   = 16
	inIndex    = 128 // blocks in an index block
	rowsSuffix = ".rows"
	writeBytes = 256 << 10 // what is written to the disk at once
)

// meta says what is in a file. It is never changed.
type meta struct {
	span
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

// entry says where rows from a key on are, in a block or below an index block.
type entry struct {
	First []byte `json:"first"`
	last  []byte // of a block of rows
	At    int64  `json:"at"`
}

// writer writes a file of rows.
type writer struct {
	d           *disk
	f           *os.File
	id          int64
	path        string // its name when it is complete
	compression rows.Compression
	meta        meta
	size        int64  // of what is written
	out         []byte // what is not
	block       []byte
	first, last []byte // keys in the block
	before      cell   // the last row's first cell
	index       []byte
	indexFirst  []byte
	indexed     int
	hashes      []uint64
	partition   []byte
}

func rowsPath(dir, table string, id int64) string {
	return filepath.Join(dir, rowsDir, fmt.Sprintf("%s-%010d%s", table, id, rowsSuffix))
}

func (e *Engine) newWriter(k *storedTable, from int64, replaces ...int64) (*writer, error) {
	id := e.nextID.Add(1)
	w := &writer{d: &e.disk, id: id, path: rowsPath(e.dir, k.Name, id), compression: k.Compression,
		meta: meta{Table: k.Name, From: from, Width: k.width, Replaces: replaces}}
	var err error
	w.f, err = w.d.create(w.path + temporary)
	return w, err
}

// add adds a row; its key is behind all before it. The partition's key is its first part bytes.
func (w *writer) add(key []byte, part int, cells []cell) error {
	if !bytes.Equal(w.partition, key[:part]) || len(w.hashes) == 0 {
		w.partition = append(w.partition[:0], key[:part]...)
		w.hashes = append(w.hashes, hash(w.partition))
	}
	if w.meta.Rows == 0 {
		w.meta.Lowest = bytes.Clone(key)
	}
	w.meta.span.add(cells)
	if len(w.block) == 0 {
		w.first, w.last, w.before = append(w.first[:0], key...), w.last[:0], cell{}
	}
	before := len(w.block)
	w.block = appendRow(w.block, w.last, key, part, cells, &w.before)
	w.meta.Bytes += int64(len(w.block) - before)
	w.last = append(w.last[:0], key...)
	if len(w.block) >= max(4, w.compression.BlockKB)<<10 {
		return w.cut()
	}
	return nil
}

// appendRow appends a row: what of the key the last one does not have, then the cells. Write times
// and expiries are differences from the first cell of the row before, for cells that have the same
// in common once.
func appendRow(dst, last, key []byte, part int, cells []cell, before *cell) []byte {
	shared := 0
	for shared < min(len(last), len(key)) && last[shared] == key[shared] {
		shared++
	}
	dst = codec.AppendUvarint(dst, uint64(shared))
	dst = codec.AppendText(dst, string(key[shared:]))
	dst = codec.AppendUvarint(dst, uint64(part))
	same := uint64(1)
	for i := range cells {
		if cells[i].stamp != cells[0].stamp || cells[i].expires != cells[0].expires {
			same = 0
		}
	}
	dst = codec.AppendUvarint(dst, uint64(len(cells))<<1|same)
	for i := range cells {
		c := &cells[i]
		if i == 0 || same == 0 {
			dst = codec.AppendSvarint(codec.AppendSvarint(dst, c.stamp-before.stamp),
				c.expires-before.expires)
			before.stamp, before.expires = c.stamp, c.expires
		}
		dst = codec.AppendUvarint(dst, uint64(c.column))
		dst = append(codec.AppendUvarint(dst, uint64(len(c.value))), c.value...)
	}
	return dst
}

// cut ends the block.
func (w *writer) cut() error {
	if len(w.block) == 0 {
		return nil
	}
	if w.indexed == 0 {
		w.indexFirst = bytes.Clone(w.first)
	}
	w.index = codec.AppendUvarint(
		codec.AppendText(codec.AppendText(w.index, string(w.first)), string(w.last)),
		uint64(w.at()),
	)
	w.indexed++
	w.meta.Highest = append(w.meta.Highest[:0], w.last...)
	w.out = appendBlock(w.out, dataBlock, w.block, w.compression)
	w.block = w.block[:0]
	if w.indexed == inIndex {
		w.cutIndex()
	}
	return w.flush(writeBytes)
}

func (w *writer) cutIndex() {
	if w.indexed == 0 {
		return
	}
	w.meta.Indexes = append(w.meta.Indexes, entry{First: w.indexFirst, At: w.at()})
	w.out = appendBlock(w.out, indexBlock, w.index, rows.Compression{})
	w.index, w.indexed = w.index[:0], 0
}

// at is where what comes next is going to be.
func (w *writer) at() int64 { return w.size + int64(len(w.out)) }

// flush writes what waits if that is so much.
func (w *writer) flush(least int) error {
	if len(w.out) < least {
		return nil
	}
	err := w.d.write(w.f, w.out, w.size)
	w.size += int64(len(w.out))
	w.out = w.out[:0]
	return err
}

// finish writes what is missing and makes all durable, under its temporary name.
func (w *writer) finish() error {
	if err := w.cut(); err != nil {
		return err
	}
	w.cutIndex()
	w.meta.Filter = w.at()
	w.out = appendBlock(w.out, filterBlock, makeFilter(w.hashes), rows.Compression{})
	text, err := json.Marshal(&w.meta)
	if err != nil {
		return err
	}
	at := w.at()
	w.out = appendBlock(w.out, metaBlock, text, rows.Compression{})
	w.out = binary.LittleEndian.AppendUint64(w.out, uint64(at))
	w.out = binary.LittleEndian.AppendUint64(w.out, tailMagic)
	if err := w.flush(0); err != nil {
		return err
	}
	return durable.Bytes(w.f)
}

// drop gives a file up.
func (w *writer) drop() {
	w.f.Close()
	os.Remove(w.path + temporary)
}

// publish gives files their names and makes those durable. After an error none counts, and none may
// be left to be found: what Open finds has its name.
func (e *Engine) publish(list []*writer) ([]*file, error) {
	var out []*file
	var err error
	for _, w := range list {
		if err = os.Rename(w.path+temporary, w.path); err != nil {
			break
		}
		f := &file{id: w.id, path: w.path, f: w.f, size: w.size, meta: w.meta}
		f.users.Store(1)
		out = append(out, f)
	}
	if err == nil {
		err = durable.Names(filepath.Join(e.dir, rowsDir))
	}
	if err != nil {
		for _, w := range list {
			err = errors.Join(err, removed(w.path))
			w.drop()
		}
		return nil, err
	}
	return out, nil
}
