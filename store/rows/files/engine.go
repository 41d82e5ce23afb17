// Package files keeps rows in files of one directory: the engine of a Ringwatch that runs alone.
// Start with Engine.
//
//	Put ──▶ log (synced) ──▶ active memtable ──full──▶ frozen ──flush──▶ files of rows
//	Read ◀── active, frozen and files, merged                            │ merged, expired, mended
//	                                                                     ▼ by the keeper
//
// A Put is in the log, synced, when it returns; puts that come at the same time share a sync. A
// file has rows of one table that expire in the same part of its TTL. So what has expired is a file
// that is deleted, and files are merged only with those that expire with them. FORMAT.md has the
// bytes.
//
// What it promises: what rows.Engine does, for one process. A crash at any moment loses nothing
// that was acknowledged. A full disk refuses to write, and writing goes on by itself. A damaged
// file is named in the log and quarantined; what of it can be read, is.
//
// What bites: a Put returns after a sync, so a slow disk is a slow Put. For more rows a second, put
// from several goroutines.
//
// Its rooms, each calling those below it:
//
//	files       Engine: what is asked of a directory, and Check, Copy, Export
//	compaction  from memory to files, merging and mending those, bounds
//	tree        what is in memory and in files, as one; which files there are
//	sorted      a file of rows: writing, its index and filter, reading
//	memtable    rows in memory
//	log         what is in memory, on the disk
//	table       tables, mutations, what a query asks
//	ledger      metrics, the log, warnings
//	block       a block of a file, checksummed and compressed
//	values      values as bytes, in keys and in cells
//	failure     errors as rows.Error
//	cells       cells of a row, and of two which counts
//
// Of our packages outside, they import store/rows, disk, disk/durable and frame/codec.
package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/compaction"
	"github.com/ringwatch/ringwatch/store/rows/files/ledger"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// Config is what an Engine may take, and whom it tells. The zero value is good.
type Config struct {
	// MemoryBytes bounds what is written and not in a sorted file yet. At most three times as much
	// is held while files are written. It is also what a start has to read again. 0: 16 MiB.
	MemoryBytes int
	// CacheBytes bounds the blocks of files that are kept in memory. 0: 16 MiB.
	CacheBytes int
	// MaxBytes bounds the directory: when it is larger, what is quarantined goes first, and then
	// what has lived most of its time. Rows that never expire, and those of the last three hours,
	// stay. 0: there is no bound.
	MaxBytes int64
	// Besides is how many bytes there are outside the directory that MaxBytes bounds, too; nil:
	// none.
	Besides func() int64
	// Admit is asked before calls whose Work has a class; nil: all may begin.
	Admit func(
		ctx context.Context, w rows.Work, table string, n int,
	) (done func(took time.Duration, err error), err error)
	// Counted is told of the rows of each call, by table; nil: nobody.
	Counted func(table string, read, written int)
	// Registerer takes the engine's metrics; nil: nobody.
	Registerer prometheus.Registerer
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Log takes what an operator should know; nil: slog.Default().
	Log *slog.Logger

	room func(n int) (int, error) // see disk.Disk; for tests
}

// Engine keeps rows in a directory. Its methods may be called from many goroutines.
type Engine struct {
	config  Config
	dir     string
	disk    *disk.Disk
	lock    *disk.Lock
	calls   calls
	stamps  *stamps
	ledger  *ledger.Ledger
	tables  *table.Catalog
	tree    *tree.Tree
	keeper  *compaction.Keeper
	flusher *compaction.Flusher
	commits *committer // once the directory is open

	putNew    sync.Mutex // held by PutNew
	connected atomic.Bool
	closing   chan struct{}
	close     sync.Once
	work      sync.WaitGroup
}

var _ rows.Engine = (*Engine)(nil)

// Defaults of Config.
const (
	defaultMemory = 16 << 20
	defaultCache  = 16 << 20
)

// New checks the configuration of an engine. It starts nothing: call Connect.
func New(dir string, c Config) (*Engine, error) {
	if c.MemoryBytes == 0 {
		c.MemoryBytes = defaultMemory
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = defaultCache
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.MemoryBytes < 1<<12 || c.CacheBytes < 0 || c.MaxBytes < 0 {
		return nil, fmt.Errorf(
			"rows: %d bytes of memory, %d of cache or %d of disk are no bounds", c.MemoryBytes,
			c.CacheBytes, c.MaxBytes,
		)
	}
	if dir == "" {
		return nil, errors.New("rows: no directory is named")
	}
	d := &disk.Disk{Room: c.room}
	e := &Engine{config: c, dir: dir, disk: d, calls: calls{c.Admit, c.Counted},
		stamps: &stamps{now: c.Now}, tables: table.NewCatalog(dir, d), closing: make(chan struct{})}
	e.ledger = ledger.New(dir, c.Log, ledger.Gauges{
		Bytes: e.Bytes,
		Files: func() int { return len(e.tree.Files()) },
		Memory: func() int {
			active, frozen := e.tree.Weight()
			return active + frozen
		},
	})
	e.tree = tree.New(tree.Config{Dir: dir, Disk: d, Ledger: e.ledger, CacheBytes: c.CacheBytes,
		Damaged: func() { e.keeper.Wake() }, Now: c.Now})
	both := compaction.Config{Dir: dir, Tree: e.tree, Tables: e.tables, Ledger: e.ledger,
		Now: c.Now, LogBytes: 2 * int64(c.MemoryBytes), Bytes: e.bounds}
	e.keeper = compaction.NewKeeper(both, e.closing)
	e.flusher = compaction.NewFlusher(both, e.keeper.Wake)
	return e, nil
}

// bounds returns how large the directory is, and may be.
func (e *Engine) bounds() (is, most int64) {
	if e.config.MaxBytes == 0 {
		return 0, compaction.NoBound
	}
	most = e.config.MaxBytes
	if e.config.Besides != nil {
		most -= e.config.Besides()
	}
	return e.Bytes(), most
}

// Connected returns rows.ErrNotConnected before Connect and after Close.
func (e *Engine) Connected() error {
	if !e.connected.Load() {
		return rows.ErrNotConnected
	}
	return nil
}

// Close ends all work. What was acknowledged is on the disk.
func (e *Engine) Close() {
	e.close.Do(func() {
		e.connected.Store(false)
		close(e.closing)
		e.work.Wait()
		e.release()
	})
}

// release gives back what open has taken.
func (e *Engine) release() {
	e.tree.Close()
	e.ledger.Unregister()
	if e.commits != nil {
		e.commits.log.Close()
	}
	e.lock.Close()
}

// Failing returns why the last writing failed, or nil.
func (e *Engine) Failing() error { return e.ledger.Failing() }

// Warning returns in sentences why nothing can be written, that the directory is as large as it
// may be, and that files were damaged since Connect; "": nothing of that is so.
func (e *Engine) Warning(context.Context) string { return e.ledger.Warning(e.config.Now()) }

// Bytes returns how large the directory is: files of rows, the log and what is quarantined.
func (e *Engine) Bytes() int64 {
	return sorted.Size(e.tree.Files()) + disk.Size(filepath.Join(e.dir, log.Dir)) +
		e.ledger.Quarantine.Bytes()
}

// table returns a table that is here. What the caller says of it must not be otherwise, but may
// lack newer columns.
func (e *Engine) table(t *rows.Table) (*table.Table, error) {
	if err := e.Connected(); err != nil {
		return nil, err
	}
	return e.tables.Get(t.Name)
}
