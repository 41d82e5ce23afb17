package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringwatch/ringwatch/store/rows"
)

// keepEvery is how often the keeper looks for what has expired.
const keepEvery = 10 * time.Second

// runKeep removes, merges and mends files until the engine is closed.
func (e *Engine) runKeep() {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		if err := e.keep(); err != nil && !e.isClosing() {
			e.log.Warn("rows: cannot tidy files up; trying again", "directory", e.dir, "error", err)
		}
		select {
		case <-e.closing:
			return
		case <-ticker.C:
		case <-e.look:
		}
	}
}

func (e *Engine) isClosing() bool {
	select {
	case <-e.closing:
		return true
	default:
		return false
	}
}

// keep does all that there is to do.
func (e *Engine) keep() error {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	for !e.isClosing() {
		e.expire()
		e.shrink()
		inputs := e.due()
		if len(inputs) == 0 || !e.roomFor(inputs) {
			return nil
		}
		if err := e.mergeFiles(inputs); err != nil {
			return err
		}
	}
	return nil
}

// roomFor reports whether files can be merged and leave room to the log, which needs it more.
func (e *Engine) roomFor(inputs []*file) bool {
	need := 2 * int64(e.config.MemoryBytes)
	for _, f := range inputs {
		need += f.size
	}
	var disk unix.Statfs_t
	return unix.Statfs(e.dir, &disk) != nil || int64(disk.Bavail)*disk.Bsize > need
}

// all returns the files of rows as they are now. Only the keeper removes files, so it may use them.
func (e *Engine) all() (list []*file) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, files := range e.files {
		list = append(list, files...)
	}
	return list
}

// expire removes files whose rows have all expired and hide nothing.
func (e *Engine) expire() {
	now := e.now()
	var gone []*file
	for _, f := range e.all() {
		if !f.blind && f.dead(now) && !e.hides(f, now) {
			gone = append(gone, f)
		}
	}
	if len(gone) > 0 {
		e.metrics.removed.WithLabelValues("expired").Add(float64(len(gone)))
		e.exchange(nil, gone, 0, nil)
	}
}

// hides reports whether rows of a file may hide others that have not expired.
func (e *Engine) hides(f *file, now int64) bool {
	if f.Rows == 0 {
		return false
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, o := range e.files[f.Table] {
		if s := o.known(); o != f && s.hidden(f.Last, now) {
			return true
		}
	}
	for _, m := range []*memtable{e.active, e.frozen} {
		if m != nil && m.tables[f.Table] != nil && m.tables[f.Table].hidden(f.Last, now) {
			return true
		}
	}
	return false
}

// underWay is how old rows are at least that are removed because the directory is too large:
// younger ones may still be made into others.
const underWay = 3 * time.Hour

// shrink removes files until the directory is as small as it should be. Of each table what has
// lived most of its time goes first, so all keep the same share of it.
func (e *Engine) shrink() {
	if e.config.MaxBytes == 0 {
		return
	}
	size := e.Bytes()
	e.metrics.over.Set(float64(max(0, size-e.config.MaxBytes)))
	if size <= e.config.MaxBytes {
		e.over.Store(0)
		return
	}
	now := e.config.Now()
	lived := func(f *file) float64 {
		return (float64(now.UnixMicro()) - float64(f.First)) / (float64(f.Expires)*1e6 - float64(f.First))
	}
	list := slices.DeleteFunc(e.all(), func(f *file) bool {
		return f.blind || f.Rows == 0 || f.Expires == 0 || f.Width == 0 ||
			now.UnixMicro()-f.Last < underWay.Microseconds()
	})
	slices.SortFunc(list, func(a, b *file) int { return cmp.Compare(lived(b), lived(a)) })
	var gone []*file
	for _, f := range list {
		if size <= e.config.MaxBytes {
			break
		}
		e.log.Warn(
			"rows: the directory is too large; the oldest of a table is removed", "table", f.Table,
			"until", time.UnixMicro(f.Last).UTC(), "bytes", f.size, "max_bytes", e.config.MaxBytes,
		)
		gone = append(gone, f)
		size -= f.size
	}
	e.metrics.removed.WithLabelValues("max_bytes").Add(float64(len(gone)))
	e.metrics.over.Set(float64(max(0, size-e.config.MaxBytes)))
	e.over.Store(max(0, size-e.config.MaxBytes))
	if len(gone) > 0 {
		e.shrunk.Store(now.Unix())
		e.exchange(nil, gone, 0, nil)
	}
}

// shrunkFor is how long Warning tells of files that were removed: at a bound that is always
// reached, a file goes some times a day.
const shrunkFor = 24 * time.Hour

// Warning returns in a sentence why nothing can be written, or that the directory is as large as it
// may be; "": neither is so.
func (e *Engine) Warning(context.Context) string {
	if err := e.Failing(); err != nil {
		return rows.Explained(err).Error()
	}
	if over := e.over.Load(); over > 0 {
		return fmt.Sprintf("%s has %d MiB more than max_bytes, and what is left is too new to remove: "+
			"raise data.max_bytes", e.dir, over>>20+1)
	}
	last := time.Unix(e.shrunk.Load(), 0)
	if e.config.Now().Sub(last) < shrunkFor {
		return fmt.Sprintf("%s is as large as max_bytes lets it be: the oldest rows go before their "+
			"time, last at %s: raise data.max_bytes", e.dir, last.UTC().Format(time.RFC3339))
	}
	return ""
}

// Bytes returns how large the directory is: files of rows and the log.
func (e *Engine) Bytes() (n int64) {
	for _, f := range e.all() {
		n += f.size
	}
	entries, _ := os.ReadDir(filepath.Join(e.dir, logDir))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// Bounds of merging.
const (
	fanIn     = 4  // so many files of a size are merged
	inMerge   = 32 // at most
	smallTier = 18 // log2 of bytes: smaller files are of one size

	worthShrinking = 64 << 10 // bytes of a file that only hides
)

// due returns files that should be made one; nil: there are none. A damaged file comes first,
// alone.
func (e *Engine) due() []*file {
	type place struct {
		table       string
		from, width int64
	}
	now := e.now()
	groups := map[place][]*file{}
	for _, f := range e.all() {
		if f.damaged.Load() {
			return []*file{f}
		}
		if f.dead(now) && f.Width > 0 {
			// Mostly it hides what was written in the same moment, and goes with that.
			if !f.Shrunk && f.size > worthShrinking && now > f.Expires+2*f.Width && e.hides(f, now) {
				return []*file{f}
			}
			continue
		}
		p := place{f.Table, f.From, f.Width}
		groups[p] = append(groups[p], f)
	}
	for p, files := range groups {
		slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.size, b.size) })
		k := e.known(p.table)
		switch {
		case len(files) < 2:
		case p.width == 0:
			if n := sameSize(files); n > 0 {
				return files[:n]
			}
		case p.from > 0 && now+int64(k.TTL/time.Second) >= p.from+p.width+ended && k.AgeUnit >= time.Hour:
			// Nothing comes here any more: one file is read fastest.
			rest := int64(0)
			for _, f := range files[:len(files)-1] {
				rest += f.size
			}
			if len(files) > fanIn || rest > files[len(files)-1].size/8 {
				return files[:min(len(files), inMerge)]
			}
		default:
			if n := sameSize(files); n > 0 {
				return files[:n]
			}
		}
	}
	return nil
}

// ended is how long, in seconds, after the last rows of a part of a TTL were due none is expected.
const ended = 60

// sameSize returns how many of the smallest files should be merged: those up to the end of the
// first size that so many have; 0: none. Sizes are powers of four.
func sameSize(files []*file) int {
	tier := func(f *file) int { return max(0, bits.Len64(uint64(f.size))-smallTier) / 2 }
	for from := 0; from < len(files); {
		to := from
		for to < len(files) && tier(files[to]) == tier(files[from]) {
			to++
		}
		if to-from >= fanIn {
			return min(to, inMerge)
		}
		from = to
	}
	return 0
}

// mergeFiles makes files of one table one, without what has expired.
func (e *Engine) mergeFiles(inputs []*file) error {
	k := e.known(inputs[0].Table)
	whole := *k
	whole.width = inputs[0].Width
	var ids []int64
	var sources []source
	read := make([]*fileSource, len(inputs))
	for i, f := range inputs {
		ids = append(ids, f.id)
		read[i] = &fileSource{e: e, f: f, all: true}
		sources = append(sources, read[i])
	}
	w, err := e.newWriter(&whole, inputs[0].From, ids...)
	if err != nil {
		return err
	}
	forget := e.forgetter(inputs[0].Table, inputs)
	for m := merge(sources...); err == nil && m.next(); {
		key, part, cells := m.row()
		if w.meta.Rows == 0 && inputs[0].blind {
			w.meta.Width, w.meta.From = k.width, k.bucket(cells)
		}
		if cells = forget(cells); len(cells) > 0 {
			err = w.add(key, part, cells)
		}
		if err == nil && e.isClosing() {
			err = errClosed
		}
	}
	w.meta.Shrunk = w.meta.dead(e.now())
	if err == nil {
		err = w.finish()
	}
	if err != nil {
		w.drop()
		return err
	}
	added, err := e.publish([]*writer{w})
	if err != nil {
		return err
	}
	for i, f := range inputs {
		if f.damaged.Load() {
			e.log.Error("rows: a damaged file is replaced by what is good of it", "file", f.path,
				"rows", w.meta.Rows, "lost_bytes", read[i].lost)
		}
	}
	e.metrics.merged.Add(float64(w.size))
	e.exchange(added, inputs, 0, nil)
	return nil
}

// found takes note of a file that is damaged.
func (e *Engine) found(f *file, err error) {
	if errors.Is(err, errDamaged) && !f.damaged.Swap(true) {
		e.tellDamage(f, err)
		wake(e.look)
	}
}

func (e *Engine) tellDamage(f *file, err error) {
	e.metrics.damaged.WithLabelValues("rows").Inc()
	e.log.Error("rows: a file is damaged; what is good of it is served", "file", f.path, "error", err)
}
