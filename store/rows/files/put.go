package files

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// Put writes rows of one partition; see rows.Engine.
func (e *Engine) Put(ctx context.Context, w rows.Work, t *rows.Table, list ...rows.Row) error {
	k, err := e.table(t)
	if err != nil {
		return err
	}
	for i := range list {
		if len(list[i].Values) != len(t.Values) {
			return fmt.Errorf("rows: a row of %s has %d values, and the table's has %d", t.Name,
				len(list[i].Values), len(t.Values))
		}
	}
	for len(list) > 0 {
		b, n, err := k.encode(list, e.config.Now(), e.stamp)
		if err != nil {
			return err
		}
		if err := e.call(ctx, w, t.Name, 1, func() error { return e.commit(ctx, b) }); err != nil {
			return err
		}
		e.counted(t.Name, 0, n)
		list = list[n:]
	}
	return nil
}

// PutNew writes a row if there is none with its key; see rows.Engine.
func (e *Engine) PutNew(
	ctx context.Context, w rows.Work, t *rows.Table, row rows.Row, columns []string, into ...any,
) (bool, error) {
	if row.Stamp != 0 || len(row.Key) != len(t.Partition)+len(t.Clustering) ||
		len(row.Values) != len(t.Values) || len(columns) != len(into) {
		return false, fmt.Errorf(
			"rows: a new row of %s has a write time, or another number of values than it should",
			t.Name,
		)
	}
	k, err := e.table(t)
	if err != nil {
		return false, err
	}
	if len(columns) == 0 {
		columns, into = []string{t.Partition[0].Name}, []any{nil}
	}
	q := rows.Query{
		Table:   t,
		Key:     row.Key[:len(t.Partition)],
		Equal:   row.Key[len(t.Partition):],
		Columns: columns,
	}
	done := false
	err = e.call(ctx, w, t.Name, 1, func() error {
		e.putNew.Lock()
		defer e.putNew.Unlock()
		found := false
		err := e.read(q, func(scan func(...any) bool) bool {
			found = scan(into...)
			return false
		})
		if err != nil || found {
			return err
		}
		b, _, err := k.encode([]rows.Row{row}, e.config.Now(), e.stamp)
		if err != nil {
			return err
		}
		// Whoever asks next must find it, so this one does not go away before it is written.
		err = e.commit(context.WithoutCancel(ctx), b)
		done = err == nil
		return err
	})
	if done {
		e.counted(t.Name, 0, 1)
	}
	return done, err
}

func (e *Engine) counted(table string, read, written int) {
	if e.config.Counted != nil {
		e.config.Counted(table, read, written)
	}
}

// commit is a mutation on its way to the log.
type commit struct {
	b    []byte // encoded
	done chan error
}

// commit writes a mutation to the log and to memory.
func (e *Engine) commit(ctx context.Context, b []byte) error {
	c := &commit{b, make(chan error, 1)}
	select {
	case e.commits <- c:
	case <-e.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runLog writes what is committed, in groups, until the engine is closed.
func (e *Engine) runLog() {
	for {
		select {
		case <-e.closing:
			return
		case done := <-e.flushes:
			done <- e.flushAll()
		case first := <-e.commits:
			group := e.gather(first)
			err := e.write(group)
			e.record(err)
			if err != nil {
				e.metrics.refused.Add(float64(len(group)))
			}
			for _, c := range group {
				c.done <- err
			}
		}
	}
}

// record remembers how writing went, for Failing, and logs it when that changes.
func (e *Engine) record(err error) {
	before := e.trouble.Load()
	switch {
	case err == nil && before != nil:
		e.trouble.Store(nil)
		e.log.Info("rows: writing works again", "directory", e.dir)
	case err != nil:
		if e.trouble.Store(&err); before == nil {
			e.log.Error("rows: nothing can be written; callers try again", "directory", e.dir,
				"error", err)
		}
	}
}

// Failing returns why the last writing failed, or nil.
func (e *Engine) Failing() error {
	if err := e.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// gather returns a commit with those that wait.
func (e *Engine) gather(first *commit) []*commit {
	group, size := []*commit{first}, len(first.b)
	for size < groupBytes {
		select {
		case c := <-e.commits:
			group, size = append(group, c), size+len(c.b)
		default:
			return group
		}
	}
	return group
}

// write writes a group of commits to the log, syncs it, and then lets them be read.
func (e *Engine) write(group []*commit) error {
	if err := e.makeRoom(); err != nil {
		return trouble(e.dir, err)
	}
	list := make([][]byte, len(group))
	mutations := make([]mutation, len(group))
	for i, c := range group {
		list[i] = c.b
		var err error
		if mutations[i], err = decodeMutation(c.b); err != nil {
			return err // of none that encode has made
		}
	}
	number := e.group.Load() + 1
	begun := time.Now()
	broken, err := e.logFile.append(&e.disk, appendGroup(nil, number, list))
	if broken {
		e.logFile.f.Close()
		e.logFile = nil
	}
	if err != nil {
		return trouble(e.dir, err)
	}
	e.metrics.synced.Observe(time.Since(begun).Seconds())
	e.group.Store(number)
	e.mu.Lock()
	for i := range mutations {
		e.active.apply(mutations[i])
	}
	e.mu.Unlock()
	return nil
}

// makeRoom sees to it that there is a log file, and room in memory.
func (e *Engine) makeRoom() error {
	if e.logFile == nil {
		if err := e.nextLog(); err != nil {
			return err
		}
		e.mu.Lock()
		e.active.logs = append(e.active.logs, e.logFile.path)
		e.mu.Unlock()
	}
	for {
		e.mu.RLock()
		weight, busy, dry := e.active.weight, e.frozen != nil, e.flushFailed
		e.mu.RUnlock()
		most := e.config.MemoryBytes
		switch {
		case weight < most:
			return nil
		case !busy:
			return e.freeze()
		case weight < 2*most:
			return nil
		case dry != nil:
			return dry
		}
		select {
		case <-e.flushEnded:
		case <-e.closing:
			return errClosed
		}
	}
}

// freeze lets what is in memory be written to files, and begins a new log file.
func (e *Engine) freeze() error {
	before := e.logFile
	if err := e.nextLog(); err != nil {
		return err
	}
	before.f.Close()
	e.mu.Lock()
	e.frozen, e.active = e.active, newMemtable(e.logFile.path)
	e.frozenGroup = e.group.Load()
	e.mu.Unlock()
	wake(e.flush)
	return nil
}

// Flush writes all that is in memory to files; Puts wait meanwhile.
func (e *Engine) Flush(ctx context.Context) error {
	if err := e.Connected(); err != nil {
		return err
	}
	done := make(chan error, 1)
	select {
	case e.flushes <- done:
		return trouble(e.dir, <-done)
	case <-e.closing:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) flushAll() error {
	if err := e.makeRoom(); err != nil {
		return err
	}
	if err := e.waitFlushed(); err != nil {
		return err
	}
	if err := e.freeze(); err != nil {
		return err
	}
	return e.waitFlushed()
}

// waitFlushed waits until nothing is frozen.
func (e *Engine) waitFlushed() error {
	for {
		e.mu.RLock()
		busy, dry := e.frozen != nil, e.flushFailed
		e.mu.RUnlock()
		if !busy || dry != nil {
			return dry
		}
		select {
		case <-e.flushEnded:
		case <-e.closing:
			return errClosed
		}
	}
}

func (e *Engine) nextLog() error {
	e.logID++
	l, err := e.disk.createLog(logPath(e.dir, e.logID))
	if err == nil {
		e.logFile = l
	}
	return err
}
