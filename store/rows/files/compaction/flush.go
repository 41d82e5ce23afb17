package compaction

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/memtable"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// retryFlush is how long a flush that failed waits before it is tried again.
const retryFlush = time.Second

// Flusher writes what is frozen to files of rows.
type Flusher struct {
	config  Config
	flushed func()        // is called when files were written
	frozen  chan struct{} // something is
	ended   chan struct{} // nothing is, or it cannot be written

	mu     sync.Mutex
	failed error // why what is frozen cannot be written; nil: it can
}

// NewFlusher returns a flusher that calls flushed when it has written files. It starts nothing:
// call Run.
func NewFlusher(c Config, flushed func()) *Flusher {
	return &Flusher{config: c, flushed: flushed, frozen: make(chan struct{}, 1),
		ended: make(chan struct{}, 1)}
}

// Wake says that something is frozen.
func (f *Flusher) Wake() { wake(f.frozen) }

// Ended gets a value when nothing is frozen any more, and when that cannot be written.
func (f *Flusher) Ended() <-chan struct{} { return f.ended }

// Failed returns why what is frozen could not be written the last time; nil: it could.
func (f *Flusher) Failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

// Run writes what is frozen until stop is closed.
func (f *Flusher) Run(stop <-chan struct{}) {
	dir, told := f.config.Dir, f.config.Ledger.Log
	for {
		select {
		case <-stop:
			return
		case <-f.frozen:
		}
		for again := false; ; again = true {
			err := f.flush()
			f.mu.Lock()
			f.failed = err
			f.mu.Unlock()
			wake(f.ended)
			if err == nil {
				if again {
					told.Info("rows: files are written again", "directory", dir)
				}
				break
			}
			if !again {
				told.Error("rows: cannot write files; when memory is full, nothing is taken until "+
					"this works", "directory", dir, "error", err)
			}
			select {
			case <-stop:
				return
			case <-time.After(retryFlush):
			}
		}
		f.flushed()
	}
}

// flush writes what is frozen to files, and removes its log.
func (f *Flusher) flush() error {
	m := f.config.Tree.Frozen()
	if m == nil {
		return nil
	}
	var writers []*sorted.Writer
	for _, name := range m.Tables() {
		list, err := f.write(name, m.Table(name))
		writers = append(writers, list...)
		if err != nil {
			for _, w := range writers {
				w.Drop()
			}
			return err
		}
	}
	added, err := f.config.Tree.Publish(writers)
	if err != nil {
		return err
	}
	f.config.Tree.Flushed(added)
	for _, path := range m.Logs {
		os.Remove(path)
	}
	return durable.Names(filepath.Join(f.config.Dir, log.Dir))
}

// write writes a frozen table: a file for each part of its TTL.
func (f *Flusher) write(name string, t *memtable.Table) (out []*sorted.Writer, err error) {
	k := f.config.Tables.Named(name)
	buckets := map[int64]bool{}
	t.Each(func(_ string, list []cells.Row) error {
		for i := range list {
			buckets[k.Bucket(list[i].Cells)] = true
		}
		return nil
	})
	forget := cells.Forget(f.config.Tree.Spans(name, false), f.config.now())
	for _, from := range slices.Sorted(maps.Keys(buckets)) {
		w, err := f.config.Tree.Create(k, from)
		if err != nil {
			return out, err
		}
		out = append(out, w)
		var key []byte
		if err := t.Each(func(partition string, list []cells.Row) error {
			for _, row := range list {
				if k.Bucket(row.Cells) != from {
					continue
				}
				left := forget(row.Cells)
				if len(left) == 0 {
					continue
				}
				key = append(append(key[:0], partition...), row.Key...)
				if err := w.Add(key, len(partition), left); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return out, err
		}
		if w.Meta.Rows == 0 {
			w.Drop()
			out = out[:len(out)-1]
		} else if err := w.Finish(); err != nil {
			return out, err
		}
	}
	return out, nil
}
