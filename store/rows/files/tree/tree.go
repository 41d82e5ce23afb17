// Package tree has all rows of a directory: what is in memory and what is in sorted files, as one.
// Begin with Tree and View.
//
//	Apply ──▶ active ──Freeze──▶ frozen ──Flushed──▶ files ──Replace──▶ files
//	View ◀── active, frozen and files, merged
//
// What it promises: a View is what there was at one moment. A row is in active, frozen or a file at
// every moment, whatever becomes of it meanwhile.
package tree

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/store/rows/files/block"
	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/ledger"
	"github.com/ringwatch/ringwatch/store/rows/files/memtable"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
)

// Config is what a Tree needs.
type Config struct {
	Dir    string
	Disk   *disk.Disk
	Ledger *ledger.Ledger
	// CacheBytes bounds the blocks that are kept in memory.
	CacheBytes int
	// Damaged is called once when a file was found damaged.
	Damaged func()
	// Now is the clock.
	Now func() time.Time
}

// Tree has the rows of a directory. Its methods may be called from many goroutines.
type Tree struct {
	config Config
	ledger *ledger.Ledger
	reader *sorted.Reader
	nextID atomic.Int64 // the last number of a file of rows

	listing sync.Mutex // held while the list of files is written
	flushed int64      // the last group whose rows are all in files

	mu          sync.RWMutex // guards what follows; it is held for moments
	active      *memtable.Memtable
	frozen      *memtable.Memtable        // is being written to files; nil: none is
	frozenGroup int64                     // the last group of the log whose rows are in frozen
	files       map[string][]*sorted.File // by table; lists are replaced, not changed
}

// New returns a tree without rows. It starts nothing: call Open.
func New(c Config) *Tree {
	t := &Tree{config: c, ledger: c.Ledger, active: memtable.New(),
		files: map[string][]*sorted.File{}}
	t.reader = &sorted.Reader{Cache: block.NewCache(c.CacheBytes),
		Damaged: func(f *sorted.File, err error) {
			c.Ledger.DamagedRows(f.Path, err)
			c.Damaged()
		}}
	return t
}

// now returns the clock in seconds since the Unix epoch.
func (t *Tree) now() int64 { return t.config.Now().Unix() }

// Apply lets what mutations write be read.
func (t *Tree) Apply(list ...table.Mutation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range list {
		t.active.Apply(list[i])
	}
}

// Logged says that a file of the log has what Apply is going to get.
func (t *Tree) Logged(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active.Logs = append(t.active.Logs, path)
}

// Freeze lets what is in memory be written to files. group is the last one of the log that it has,
// and path the file of the log that has what comes now. Nothing is frozen when it is called.
func (t *Tree) Freeze(group int64, path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen, t.active, t.frozenGroup = t.active, memtable.New(path), group
}

// Frozen returns what is frozen; nil: nothing is.
func (t *Tree) Frozen() *memtable.Memtable {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.frozen
}

// Weight returns how many bytes are in memory that are not frozen, and that are.
func (t *Tree) Weight() (active, frozen int) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.frozen != nil {
		frozen = t.frozen.Weight
	}
	return t.active.Weight, frozen
}

// Files returns the files of rows as they are now. Only the keeper removes files, so it may use
// them.
func (t *Tree) Files() (list []*sorted.File) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, files := range t.files {
		list = append(list, files...)
	}
	return list
}

// Of returns the files of a table.
func (t *Tree) Of(table string) []*sorted.File {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.files[table]
}

// Spans returns what is known of a table's rows: those in files but without some, in what is
// written now and, unless that is what the caller writes, in what is frozen.
func (t *Tree) Spans(table string, frozen bool, without ...*sorted.File) (list []cells.Span) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, f := range t.files[table] {
		if !slices.Contains(without, f) {
			list = append(list, f.SpanOf())
		}
	}
	for _, m := range []*memtable.Memtable{t.active, t.frozen} {
		if rows := m.Table(table); rows != nil && (m == t.active || frozen) {
			list = append(list, rows.Span)
		}
	}
	return list
}

// Hides reports whether rows of a file may hide others that have not expired.
func (t *Tree) Hides(f *sorted.File) bool {
	now := t.now()
	return f.Rows > 0 && slices.ContainsFunc(t.Spans(f.Table, true, f),
		func(s cells.Span) bool { return s.Hidden(f.Last, now) })
}

// Empty reports whether a table has no rows. Those that have expired may count.
func (t *Tree) Empty(table string) bool {
	now := t.now()
	return !slices.ContainsFunc(t.Spans(table, true),
		func(s cells.Span) bool { return !s.Dead(now) })
}

// Whole returns all rows of a file.
func (t *Tree) Whole(f *sorted.File) *sorted.Scan { return t.reader.Whole(f) }

// Flushed lets files be read instead of what is frozen.
func (t *Tree) Flushed(added []*sorted.File) {
	t.replace(added, nil, func() {
		t.frozen = nil
		t.flushed = max(t.flushed, t.frozenGroup)
	})
}

// Replace lets the added files be read and the gone ones no more, and then removes these.
func (t *Tree) Replace(added, gone []*sorted.File) { t.replace(added, gone, func() {}) }

// replace does both; also is called under the same lock.
func (t *Tree) replace(added, gone []*sorted.File, also func()) {
	t.listing.Lock()
	defer t.listing.Unlock()
	t.mu.Lock()
	for _, f := range gone {
		t.files[f.Table] = slices.DeleteFunc(slices.Clone(t.files[f.Table]),
			func(o *sorted.File) bool { return o == f })
	}
	for _, f := range added {
		t.files[f.Table] = append(slices.Clone(t.files[f.Table]), f)
	}
	also()
	t.mu.Unlock()
	t.writeList()
	t.remove(gone)
}

// writeList writes which files there are. The caller has listing.
func (t *Tree) writeList() {
	l := List{Next: t.nextID.Load(), Group: t.flushed}
	for _, f := range t.Files() {
		l.Files = append(l.Files, filepath.Base(f.Path))
	}
	slices.Sort(l.Files)
	if err := l.Write(t.config.Disk, t.config.Dir); err != nil {
		// None is better than one that names files which are gone.
		os.Remove(filepath.Join(t.config.Dir, ListName))
		t.ledger.Log.Warn("rows: cannot write the list of files; one that is missing later may "+
			"not be named", "error", err)
	}
}

// Create begins a file of rows of a table that expire from a time on, in the place of others.
func (t *Tree) Create(k *table.Table, from int64, replaces ...int64) (*sorted.Writer, error) {
	return sorted.Create(t.config.Disk, sorted.Path(t.config.Dir, k.Name, t.nextID.Add(1)),
		sorted.Meta{Table: k.Name, From: from, Width: k.Width, Replaces: replaces}, k.Compression)
}

// Publish gives files their names and makes those durable. After an error none counts, and none may
// be left to be found: what Open finds has its name.
func (t *Tree) Publish(list []*sorted.Writer) ([]*sorted.File, error) {
	var out []*sorted.File
	var err error
	for _, w := range list {
		var f *sorted.File
		if f, err = w.Publish(); err != nil {
			break
		}
		out = append(out, f)
	}
	if err == nil {
		err = durable.Names(filepath.Join(t.config.Dir, sorted.Dir))
	}
	if err != nil {
		for _, w := range list {
			err = errors.Join(err, w.Drop())
		}
		return nil, err
	}
	return out, nil
}

// remove removes files that nobody begins to read any more. Damaged ones go to quarantine.
func (t *Tree) remove(gone []*sorted.File) {
	for _, f := range gone {
		var err error
		if f.Damaged() {
			err = t.ledger.Quarantine.Move(f.Path,
				errors.New("what is good of it is in other files now"))
		} else {
			err = disk.Remove(f.Path)
		}
		if err != nil {
			t.ledger.Log.Warn("rows: cannot remove a file", "error", err)
		}
		f.Release()
	}
	if len(gone) > 0 {
		if err := durable.Names(filepath.Join(t.config.Dir, sorted.Dir)); err != nil {
			t.ledger.Log.Warn("rows: cannot sync the directory", "error", err)
		}
	}
}

// Close ends all reading.
func (t *Tree) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, list := range t.files {
		for _, f := range list {
			f.Release()
		}
	}
	t.files = map[string][]*sorted.File{}
}
