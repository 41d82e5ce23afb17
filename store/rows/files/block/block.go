// Package block has the blocks that sorted files are made of: bytes with a checksum, compressed.
// FORMAT.md describes them. Of our packages it imports store/rows and disk.
package block

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
)

// A block on disk:
//
//	 0  magic
//	 4  CRC-32C of all that follows
//	 8  kind of block
//	 9  1: compressed with zstd; 0: as it is
//	10  length of the content
//	14  length of what is stored
//	18  what is stored
const (
	magic     = uint32(0x4b575202)
	headBytes = 18
	maxBlock  = 64 << 20 // of the content
)

// Kinds of blocks.
const (
	Data byte = 1 + iota
	Index
	Filter
	Meta
)

// levels are the encoders by level, made when they are first needed. One goroutine at a time writes
// with each.
var levels sync.Map

func encoder(c rows.Compression) *zstd.Encoder {
	level := zstd.SpeedFastest
	switch {
	case c.Level > 6:
		level = zstd.SpeedBetterCompression
	case c.Level > 1:
		level = zstd.SpeedDefault
	}
	if e, there := levels.Load(level); there {
		return e.(*zstd.Encoder)
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // options that are always the same
	}
	kept, _ := levels.LoadOrStore(level, e)
	return kept.(*zstd.Encoder)
}

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2),
		zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
	if err != nil {
		panic(err) // options that are always the same
	}
	return d
})

// Append appends a block with a content.
func Append(dst []byte, kind byte, content []byte, c rows.Compression) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, headBytes)...)
	dst = encoder(c).EncodeAll(content, dst)
	packed := byte(1)
	if saved := len(content) - (len(dst) - from - headBytes); saved < len(content)/16 {
		dst, packed = append(dst[:from+headBytes], content...), 0
	}
	b := dst[from:]
	binary.LittleEndian.PutUint32(b, magic)
	b[8], b[9] = kind, packed
	binary.LittleEndian.PutUint32(b[10:], uint32(len(content)))
	binary.LittleEndian.PutUint32(b[14:], uint32(len(b)-headBytes))
	binary.LittleEndian.PutUint32(b[4:], disk.Sum(b[8:]))
	return dst
}

// Read reads the block at an offset of a file that is size bytes long; end is behind it. An
// error that is not the file system's wraps disk.ErrDamaged.
func Read(f *os.File, at, size int64) (kind byte, content []byte, end int64, err error) {
	if at < 0 || at+headBytes > size {
		return 0, nil, 0, fmt.Errorf("%w: no block begins at %d of %d", disk.ErrDamaged, at, size)
	}
	var head [headBytes]byte
	if _, err := f.ReadAt(head[:], at); err != nil {
		return 0, nil, 0, ReadFailed(err)
	}
	raw := int64(binary.LittleEndian.Uint32(head[10:]))
	stored := int64(binary.LittleEndian.Uint32(head[14:]))
	end = at + headBytes + stored
	if binary.LittleEndian.Uint32(head[:]) != magic || raw > maxBlock || stored > raw ||
		end > size || head[9] > 1 {
		return 0, nil, 0, fmt.Errorf("%w: no block at %d", disk.ErrDamaged, at)
	}
	body := make([]byte, stored)
	if _, err := f.ReadAt(body, at+headBytes); err != nil {
		return 0, nil, 0, ReadFailed(err)
	}
	if disk.Sum(head[8:], body) != binary.LittleEndian.Uint32(head[4:]) {
		return 0, nil, 0, fmt.Errorf("%w: the block at %d has another checksum",
			disk.ErrDamaged, at)
	}
	if head[9] == 1 {
		if body, err = decoder().DecodeAll(body, make([]byte, 0, raw)); err != nil {
			return 0, nil, 0, fmt.Errorf("%w: the block at %d: %w", disk.ErrDamaged, at, err)
		}
	}
	if int64(len(body)) != raw {
		return 0, nil, 0, fmt.Errorf("%w: the block at %d has %d bytes, and says %d",
			disk.ErrDamaged, at, len(body), raw)
	}
	return head[8], body, end, nil
}

// ReadFailed returns why a file cannot be read: it is damaged, whether it is cut or the disk does
// not give it.
func ReadFailed(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return fmt.Errorf("%w: the file is cut", disk.ErrDamaged)
	}
	return fmt.Errorf("%w: %w", disk.ErrDamaged, err)
}

// Find returns where the next block of a damaged file may begin, from an offset on; −1:
// nowhere.
func Find(f *os.File, at, size int64) int64 {
	const step = 64 << 10
	buffer := make([]byte, step+3)
	for at < size {
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), size-at)], at)
		for i := 0; i+4 <= n; i++ {
			if binary.LittleEndian.Uint32(buffer[i:]) == magic {
				return at + int64(i)
			}
		}
		if n < 4 || err != nil && err != io.EOF {
			return -1
		}
		at += int64(n - 3)
	}
	return -1
}
