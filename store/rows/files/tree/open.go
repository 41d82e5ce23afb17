package tree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// Open opens the files of rows, removes those that were replaced by others, and tells of those that
// are missing. It returns the list of files as it found it. Only what cannot be read at all is an
// error.
func (t *Tree) Open() (List, error) {
	b, err := t.ledger.Small(filepath.Join(t.config.Dir, ListName))
	if err != nil {
		return List{}, err
	}
	should, err := ParseList(b)
	if err != nil {
		return should, fmt.Errorf("rows: %w", err)
	}
	dir := filepath.Join(t.config.Dir, sorted.Dir)
	names, err := disk.List(dir)
	if err != nil {
		return should, fmt.Errorf("rows: %w", err)
	}
	t.flushed = should.Group
	t.nextID.Store(should.Next)
	var paths []string
	for _, name := range names {
		if _, id, ok := sorted.Name(name); ok {
			paths = append(paths, filepath.Join(dir, name))
			t.nextID.Store(max(t.nextID.Load(), id))
		}
	}
	opened, err := t.openAll(paths)
	if err != nil {
		return should, err
	}
	for _, name := range should.Missing(opened) {
		t.ledger.Missing("a file", "file", filepath.Join(dir, name))
	}
	// Files say themselves which ones they replace. So no list must say which count, and a lost or
	// old one loses nothing.
	replaced := map[int64]bool{}
	for _, f := range opened {
		for _, id := range f.Replaces {
			replaced[id] = true
		}
	}
	for _, f := range opened {
		if replaced[f.ID] {
			f.Release()
			os.Remove(f.Path)
			continue
		}
		t.files[f.Table] = append(t.files[f.Table], f)
	}
	return should, durable.Names(dir)
}

// openAll opens files, several at once: on a cold disk each takes a reading or two.
func (t *Tree) openAll(paths []string) ([]*sorted.File, error) {
	opened := make([]*sorted.File, len(paths))
	errs := make([]error, len(paths))
	var wg sync.WaitGroup
	places := make(chan struct{}, 8*runtime.NumCPU())
	for i, path := range paths {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			opened[i], errs[i] = sorted.Open(path)
		})
	}
	wg.Wait()
	out := opened[:0]
	var failed error
	for i, f := range opened {
		switch {
		case f == nil:
			failed = errors.Join(failed, fmt.Errorf("rows: %w", errs[i]))
		case errs[i] != nil:
			t.ledger.DamagedRows(f.Path, errs[i])
			out = append(out, f)
		default:
			out = append(out, f)
		}
	}
	if failed != nil {
		for _, f := range out {
			f.Release()
		}
	}
	return out, failed
}
