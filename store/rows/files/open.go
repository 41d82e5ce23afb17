package files

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// formatName is the file of a directory that has its version.
const formatName = "FORMAT"

// format is the version of the directory that this program reads and writes.
const format = 1

const formatText = "Ringwatch rows %d\n"

// ErrVersion says that a newer program wrote the directory.
var ErrVersion = errors.New("rows: a newer version wrote the directory")

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

// Connect opens the directory, and makes it if it is not there. It reads what was not in files yet,
// and of files their ends. It is called once. The error wraps disk.ErrInUse if another process has
// the directory, and ErrVersion if a newer program wrote it.
func (e *Engine) Connect(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.open(); err != nil {
		e.release()
		return err
	}
	e.work.Go(e.commits.run)
	e.work.Go(func() { e.flusher.Run(e.closing) })
	e.work.Go(e.keeper.Run)
	e.connected.Store(true)
	return nil
}

// open makes the directory ready: its lock, its format, what it has.
func (e *Engine) open() (err error) {
	for _, dir := range []string{e.dir, filepath.Join(e.dir, log.Dir),
		filepath.Join(e.dir, sorted.Dir)} {
		if err := durable.Dir(dir); err != nil {
			return fmt.Errorf("rows: cannot make %s: %w", dir, err)
		}
	}
	if e.lock, err = disk.Take(e.dir); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	path := filepath.Join(e.dir, formatName)
	b, err := e.ledger.Small(path)
	switch {
	case err != nil:
		return err
	case b == nil:
		err = e.disk.Replace(path, fmt.Appendf(nil, formatText, format))
	default:
		err = checkFormat(e.dir, b)
	}
	if err != nil {
		return err
	}
	if b, err = e.ledger.Small(filepath.Join(e.dir, table.FileName)); err != nil {
		return err
	}
	if err := e.tables.Load(b); err != nil {
		return err
	}
	if err := e.ledger.Register(e.config.Registerer); err != nil {
		return err
	}
	list, err := e.tree.Open()
	if err != nil {
		return err
	}
	for _, f := range e.tree.Files() {
		if f.Rows > 0 {
			e.stamps.given(f.Last)
		}
	}
	if err := e.openLog(list); err != nil {
		return err
	}
	if behind := e.stamps.behind(); behind > 0 {
		e.ledger.Log.Warn("rows: the clock is behind what was written last, and new rows count as "+
			"later all the same; set it if it is wrong", "by", behind.Round(time.Second))
	}
	e.keeper.Wake()
	return nil
}

// checkFormat returns whether this program knows a directory's format, as its file says it.
func checkFormat(dir string, b []byte) error {
	var n int
	if _, err := fmt.Sscanf(string(b), formatText, &n); err != nil || n > format {
		return fmt.Errorf("%w: %s has format %d, and this program knows %d; use the newer program",
			ErrVersion, dir, n, format)
	}
	return nil
}

// openLog brings back what was in memory, and begins to take commits.
func (e *Engine) openLog(list tree.List) error {
	r := &replay{e: e, list: list, last: -1, group: list.Group}
	file, err := log.Each(e.dir, r.file)
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	e.commits = &committer{dir: e.dir, memory: e.config.MemoryBytes,
		log: log.New(e.dir, e.disk, file, r.group), tree: e.tree, flusher: e.flusher,
		ledger: e.ledger, closing: e.closing, commits: make(chan *commit),
		flushes: make(chan chan error)}
	return nil
}

// replay is the reading of the log when the directory is opened.
type replay struct {
	e     *Engine
	list  tree.List
	last  int64 // the last group that was read; −1: none was
	group int64 // the last one that was ever written, as far as is known
}

// file applies what a file of the log has.
func (r *replay) file(path string, b []byte) error {
	groups, broken := 0, 0
	holes := log.Read(b, func(number int64, list [][]byte) {
		groups++
		if r.last >= 0 && number > r.last+1 ||
			r.last < 0 && r.list.There && number > r.list.Group+1 {
			r.e.ledger.Missing("a part of the log", "before", path,
				"groups", number-max(r.last, r.list.Group)-1)
		}
		r.last, r.group = max(r.last, number), max(r.group, number)
		for _, b := range list {
			m, err := table.Decode(b)
			if err != nil {
				broken++
				continue
			}
			r.e.tree.Apply(m)
			for i := range m.Rows { // write times that are given from now on are later
				r.e.stamps.given(m.Rows[i].Cells[0].Stamp)
			}
		}
	})
	if len(holes) > 0 || broken > 0 {
		r.e.ledger.DamagedLog(path, b, "holes", fmt.Sprint(holes), "mutations", broken)
	}
	if groups == 0 && len(holes) == 0 {
		os.Remove(path)
		return nil
	}
	r.e.tree.Logged(path)
	return nil
}
