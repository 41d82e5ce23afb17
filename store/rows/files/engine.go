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
// Of our packages it imports store/rows, stream/durable and frame/codec.
package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store/rows"
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

	room func(n int) (int, error) // see disk; for tests
}

// Engine keeps rows in a directory. Its methods may be called from many goroutines.
type Engine struct {
	config  Config
	dir     string
	log     *slog.Logger
	metrics *metrics
	disk    disk
	lock    *os.File
	cache   *blockCache
	nextID  atomic.Int64 // the last number of a file of rows
	stamped atomic.Int64 // the last write time that was given

	mu          sync.RWMutex // guards what follows; it is held for moments
	tables      map[string]*storedTable
	active      *memtable
	frozen      *memtable          // is being written to files; nil: none is
	files       map[string][]*file // by table; lists are replaced, not changed
	flushFailed error              // why frozen cannot be written; nil: it can

	putNew   sync.Mutex // held by PutNew
	applying sync.Mutex // held by Apply
	listing  sync.Mutex // held while the list of files is written
	tidying  sync.Mutex // held while files are removed, merged and mended

	commits     chan *commit
	flushes     chan chan error
	logFile     *logFile // the runLog goroutine's; nil: there is none yet
	logID       int64    // the last number of a log file
	group       atomic.Int64
	flushed     int64 // the last group whose rows are all in files; guarded by listing
	frozenGroup int64 // the last group whose rows are in frozen

	shrunk    atomic.Int64 // when max_bytes last removed a file, seconds; 0: never
	over      atomic.Int64 // bytes more than max_bytes that are too new to remove
	damages   atomic.Int64 // files that were found damaged or missing
	connected atomic.Bool
	trouble   atomic.Pointer[error] // why the last writing failed; nil: it did not

	flush      chan struct{} // frozen is there
	flushEnded chan struct{} // frozen is gone, or cannot be written
	wakeKeeper chan struct{} // the keeper has something to do
	closing    chan struct{}
	close      sync.Once
	work       sync.WaitGroup
}

var _ rows.Engine = (*Engine)(nil)

// Defaults of Config.
const (
	defaultMemory = 16 << 20
	defaultCache  = 16 << 20
)

// Names in the directory.
const (
	logDir        = "log"
	rowsDir       = "rows"
	quarantineDir = "damaged"
	lockName      = "LOCK"
	formatName    = "FORMAT"
	tablesName    = "TABLES"
	filesName     = "FILES"
)

// Open opens a directory: New and Connect.
func Open(dir string, c Config) (*Engine, error) {
	e, err := New(dir, c)
	if err == nil {
		err = e.Connect(context.Background())
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

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
	e := &Engine{
		config: c, dir: dir, log: c.Log, cache: newBlockCache(c.CacheBytes), active: newMemtable(),
		tables: map[string]*storedTable{}, files: map[string][]*file{},
		commits: make(chan *commit), flushes: make(chan chan error),
		flush: make(chan struct{}, 1), flushEnded: make(chan struct{}, 1),
		wakeKeeper: make(chan struct{}, 1), closing: make(chan struct{}),
	}
	e.disk.room = c.room
	return e, nil
}

// Connect opens the directory, and makes it if it is not there. It reads what was not in files yet,
// and of files their ends. It is called once. The error wraps ErrInUse if another process has the
// directory, and ErrVersion if a newer program wrote it.
func (e *Engine) Connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.open(); err != nil {
		e.release()
		return err
	}
	e.work.Go(e.runLog)
	e.work.Go(e.runFlush)
	e.work.Go(e.runKeep)
	e.connected.Store(true)
	return nil
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
	e.mu.Lock()
	for _, list := range e.files {
		for _, f := range list {
			f.release()
		}
	}
	e.files = map[string][]*file{}
	e.mu.Unlock()
	if e.metrics != nil {
		e.metrics.unregister(e.config.Registerer)
	}
	if e.logFile != nil {
		e.logFile.f.Close() // it is synced
	}
	if e.lock != nil {
		e.lock.Close()
	}
}

// table returns a table that is here. What the caller says of it must not be otherwise, but may
// lack newer columns.
func (e *Engine) table(t *rows.Table) (*storedTable, error) {
	if err := e.Connected(); err != nil {
		return nil, err
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	k := e.tables[t.Name]
	if k == nil {
		return nil, unknown("there is no table %s", t.Name)
	}
	return k, nil
}

// stamp returns a write time for a row that has none: the clock, but always later than the last, so
// that a clock that went back hides nothing new behind what is older.
func (e *Engine) stamp() int64 {
	for {
		last := e.stamped.Load()
		now := max(e.config.Now().UnixMicro(), last+1)
		if e.stamped.CompareAndSwap(last, now) {
			return now
		}
	}
}

// now returns the clock in seconds since the Unix epoch.
func (e *Engine) now() int64 { return e.config.Now().Unix() }

// admit asks the throttle for one call, and returns what is to be called when it has ended.
func (e *Engine) admit(
	ctx context.Context, w rows.Work, table string, n int,
) (func(time.Duration, error), error) {
	if w.Class == "" || e.config.Admit == nil {
		return func(time.Duration, error) {}, nil
	}
	if w.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Patience)
		defer cancel()
	}
	done, err := e.config.Admit(ctx, w, table, n)
	if err != nil && !errors.Is(err, context.Canceled) {
		return nil, &rows.Error{Err: err, Retryable: true}
	}
	return done, err
}

// call does what a call is for, when the throttle lets it.
func (e *Engine) call(
	ctx context.Context, w rows.Work, table string, n int, do func() error,
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done, err := e.admit(ctx, w, table, n)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = do()
	took := time.Since(begun)
	w.Answers.Add(took)
	done(took, err)
	return err
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
