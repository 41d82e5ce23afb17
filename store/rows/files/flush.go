package files

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/stream/durable"
)

// retryFlush is how long a flush that failed waits before it is tried again.
const retryFlush = time.Second

// runFlush writes frozen memtables to files until the engine is closed.
func (e *Engine) runFlush() {
	for {
		select {
		case <-e.closing:
			return
		case <-e.flush:
		}
		for told := false; ; told = true {
			err := e.flushFrozen()
			e.mu.Lock()
			e.flushFailed = err
			e.mu.Unlock()
			wake(e.flushEnded)
			if err == nil {
				if told {
					e.log.Info("rows: files are written again", "directory", e.dir)
				}
				break
			}
			if !told {
				e.log.Error(
					"rows: cannot write files; when memory is full, nothing is taken "+
						"until this works",
					"directory", e.dir, "error", err,
				)
			}
			select {
			case <-e.closing:
				return
			case <-time.After(retryFlush):
			}
		}
		wake(e.wakeKeeper)
	}
}

// flushFrozen writes what is frozen to files, and removes its log.
func (e *Engine) flushFrozen() error {
	e.mu.RLock()
	m, group := e.frozen, e.frozenGroup
	e.mu.RUnlock()
	if m == nil {
		return nil
	}
	var writers []*writer
	for _, table := range slices.Sorted(maps.Keys(m.tables)) {
		list, err := e.writeTable(table, m.tables[table])
		writers = append(writers, list...)
		if err != nil {
			for _, w := range writers {
				w.drop()
			}
			return err
		}
	}
	added, err := e.publish(writers)
	if err != nil {
		return err
	}
	e.replaceFiles(added, nil, group, func() { e.frozen = nil })
	for _, path := range m.logs {
		os.Remove(path)
	}
	return durable.Names(filepath.Join(e.dir, logDir))
}

// writeTable writes a frozen table: a file for each part of its TTL.
func (e *Engine) writeTable(name string, t *memoryTable) (out []*writer, err error) {
	k := e.tableNamed(name)
	buckets := map[int64]bool{}
	for _, p := range t.partitions {
		for i := range p.rows {
			buckets[k.bucket(p.rows[i].cells)] = true
		}
	}
	forget := e.expiredFilter(name, nil)
	partitions := slices.Sorted(maps.Keys(t.partitions))
	for _, from := range slices.Sorted(maps.Keys(buckets)) {
		w, err := e.newWriter(k, from)
		if err != nil {
			return out, err
		}
		out = append(out, w)
		var key []byte
		for _, p := range partitions {
			for _, row := range t.partitions[p].rows {
				if k.bucket(row.cells) != from {
					continue
				}
				cells := forget(row.cells)
				if len(cells) == 0 {
					continue
				}
				key = append(append(key[:0], p...), row.key...)
				if err := w.add(key, len(p), cells); err != nil {
					return out, err
				}
			}
		}
		if w.meta.Rows == 0 {
			w.drop()
			out = out[:len(out)-1]
		} else if err := w.finish(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// tableNamed returns a table that files or the log have, whether or not it was applied.
func (e *Engine) tableNamed(name string) *storedTable {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if k := e.tables[name]; k != nil {
		return k
	}
	return &storedTable{Table: rows.Table{Name: name, Compression: rows.Fast}}
}

// expiredFilter returns a function that removes the expired cells of a row. An expired cell that
// may still hide an older value elsewhere stays, without its own value. Elsewhere is in files of
// the table but those in without, which are being replaced, and in memory that is not being
// written.
func (e *Engine) expiredFilter(table string, without []*file) func([]cell) []cell {
	now := e.now()
	var others []span
	e.mu.RLock()
	for _, f := range e.files[table] {
		if !slices.Contains(without, f) {
			others = append(others, f.spanOf())
		}
	}
	memtables := []*memtable{e.active}
	if without != nil {
		memtables = append(memtables, e.frozen)
	}
	for _, m := range memtables {
		if m != nil && m.tables[table] != nil {
			others = append(others, m.tables[table].span)
		}
	}
	e.mu.RUnlock()
	oldest, any := int64(0), false
	for i := range others {
		if !others[i].dead(now) && (!any || others[i].First < oldest) {
			oldest, any = others[i].First, true
		}
	}
	return func(cells []cell) []cell {
		if !slices.ContainsFunc(cells, func(c cell) bool { return c.dead(now) }) {
			return cells
		}
		var out []cell
		for _, c := range cells {
			if c.dead(now) {
				if !any || c.stamp <= oldest {
					continue
				}
				c.value = nil
			}
			out = append(out, c)
		}
		return out
	}
}

// spanOf returns what is known of a file's rows. Without its meta block nothing is: they may be of
// any time.
func (f *file) spanOf() span {
	if f.noMeta {
		return span{First: -1 << 63, Rows: 1}
	}
	return f.span
}

// replaceFiles lets the added files be read and the gone ones no more, and then removes these.
// group, if it is not 0, is the last one of the log whose rows are all in files now. also runs
// under the same lock.
func (e *Engine) replaceFiles(added, gone []*file, group int64, also func()) {
	e.listing.Lock()
	defer e.listing.Unlock()
	e.flushed = max(e.flushed, group)
	e.mu.Lock()
	for _, f := range gone {
		e.files[f.Table] = slices.DeleteFunc(slices.Clone(e.files[f.Table]),
			func(o *file) bool { return o == f })
	}
	for _, f := range added {
		e.files[f.Table] = append(slices.Clone(e.files[f.Table]), f)
	}
	if also != nil {
		also()
	}
	e.mu.Unlock()
	if err := e.writeList(); err != nil {
		// None is better than one that names files which are gone.
		os.Remove(filepath.Join(e.dir, filesName))
		e.log.Warn(
			"rows: cannot write the list of files; one that is missing later may not be named",
			"error", err,
		)
	}
	for _, f := range gone {
		var err error
		if f.damaged.Load() {
			err = e.quarantine(f.path, errors.New("what is good of it is in other files now"))
		} else {
			err = removed(f.path)
		}
		if err != nil {
			e.log.Warn("rows: cannot remove a file", "error", err)
		}
		f.release()
	}
	if len(gone) > 0 {
		if err := durable.Names(filepath.Join(e.dir, rowsDir)); err != nil {
			e.log.Warn("rows: cannot sync the directory", "error", err)
		}
	}
}

// writeList writes which files there should be.
func (e *Engine) writeList() error {
	l := list{Next: e.nextID.Load(), Group: e.flushed}
	e.mu.RLock()
	for _, files := range e.files {
		for _, f := range files {
			l.Files = append(l.Files, filepath.Base(f.path))
		}
	}
	e.mu.RUnlock()
	slices.Sort(l.Files)
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return e.disk.replace(filepath.Join(e.dir, filesName), b)
}
