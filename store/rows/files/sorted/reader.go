package sorted

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows/files/block"
	"github.com/ringwatch/ringwatch/store/rows/files/values"
)

// Reader reads files. It may be used by many goroutines. The zero value reads whole files.
type Reader struct {
	Cache *block.Cache // what Scan and MayHave read comes through it; Whole needs none
	// Damaged is told once of each file that is found damaged; nil: nobody is.
	Damaged func(*File, error)
}

// block reads a block of a kind through the cache.
func (r *Reader) block(f *File, kind byte, at int64) ([]byte, error) {
	k := block.Place{File: f.ID, At: at}
	if b, there := r.Cache.GetIfPresent(k); there {
		return b, nil
	}
	is, b, _, err := block.Read(f.f, at, f.Size)
	if err == nil && is != kind {
		err = fmt.Errorf("%w: the block at %d is of kind %d, not %d", disk.ErrDamaged, at, is, kind)
	}
	if err != nil {
		return nil, err
	}
	r.Cache.Set(k, b)
	return b, nil
}

// index returns a reader of the entries of a file's index block, all of which can be read.
func (r *Reader) index(f *File, at int64) (codec.Reader, error) {
	b, err := r.block(f, block.Index, at)
	if err != nil {
		return codec.Reader{}, err
	}
	all := codec.New(b, &values.Errors)
	for entries := all; len(entries.Rest) > 0; {
		if readEntry(&entries); entries.Err != nil {
			return codec.Reader{}, entries.Err
		}
	}
	return all, nil
}

// damage records that a file is damaged.
func (r *Reader) damage(f *File, err error) {
	if errors.Is(err, disk.ErrDamaged) && !f.damaged.Swap(true) && r.Damaged != nil {
		r.Damaged(f, err)
	}
}

// MayHave reports whether a partition may have rows in a file; h is its Hash.
func (r *Reader) MayHave(f *File, partition []byte, h uint64) bool {
	if f.noMeta {
		return true
	}
	if f.Rows == 0 || bytes.Compare(partition, f.Highest) > 0 ||
		bytes.Compare(f.Lowest, partition) > 0 && !bytes.HasPrefix(f.Lowest, partition) {
		return false
	}
	bits, err := r.block(f, block.Filter, f.Filter)
	if err != nil {
		r.damage(f, err)
		return true
	}
	return mayHave(bits, h)
}
