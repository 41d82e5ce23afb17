package files

import (
	"cmp"
	"errors"
	"math/bits"
	"slices"
	"time"

	"golang.org/x/sys/unix"
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
		case <-e.wakeKeeper:
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
	e.tidying.Lock()
	defer e.tidying.Unlock()
	for !e.isClosing() {
		e.expire()
		inputs := e.mergeable()
		if e.shrink(sizeOf(inputs)) { // the inputs may be gone
			continue
		}
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
	need := 2*int64(e.config.MemoryBytes) + sizeOf(inputs)
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
		if !f.noMeta && f.dead(now) && !e.hides(f, now) {
			gone = append(gone, f)
		}
	}
	if len(gone) > 0 {
		e.metrics.removed.WithLabelValues("expired").Add(float64(len(gone)))
		e.replaceFiles(nil, gone, 0, nil)
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
		if s := o.spanOf(); o != f && s.hidden(f.Last, now) {
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

// Bounds of merging.
const (
	fanIn     = 4  // so many files of a size are merged
	inMerge   = 32 // at most
	smallTier = 18 // log2 of bytes: smaller files are of one size

	worthShrinking = 64 << 10 // bytes of a file that only hides
)

// mergeable returns files that should be merged; nil: there are none. A damaged file comes first,
// alone.
func (e *Engine) mergeable() []*file {
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
			if !f.Shrunk && f.size > worthShrinking && now > f.Expires+2*f.Width &&
				e.hides(f, now) {
				return []*file{f}
			}
			continue
		}
		p := place{f.Table, f.From, f.Width}
		groups[p] = append(groups[p], f)
	}
	for p, files := range groups {
		slices.SortFunc(files, func(a, b *file) int { return cmp.Compare(a.size, b.size) })
		k := e.tableNamed(p.table)
		switch {
		case len(files) < 2:
		case p.width == 0:
			if n := sameSize(files); n > 0 {
				return files[:n]
			}
		case p.from > 0 && now+int64(k.TTL/time.Second) >= p.from+p.width+endedAfter &&
			k.AgeUnit >= time.Hour:
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

// endedAfter is how long after the end of a part of a TTL no more rows of it are expected, seconds.
const endedAfter = 60

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
	k := e.tableNamed(inputs[0].Table)
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
	forget := e.expiredFilter(inputs[0].Table, inputs)
	for m := merge(sources...); err == nil && m.next(); {
		key, part, cells := m.row()
		if w.meta.Rows == 0 && inputs[0].noMeta {
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
	e.replaceFiles(added, inputs, 0, nil)
	return nil
}

// recordDamage records that a file is damaged, once.
func (e *Engine) recordDamage(f *file, err error) {
	if errors.Is(err, errDamaged) && !f.damaged.Swap(true) {
		e.reportDamage(f, err)
		wake(e.wakeKeeper)
	}
}

func (e *Engine) reportDamage(f *file, err error) {
	e.countDamage("rows")
	e.log.Error("rows: a file is damaged; what is good of it is served", "file", f.path,
		"error", err)
}

// countDamage counts what was found damaged or missing: rows, log or missing.
func (e *Engine) countDamage(what string) {
	e.damages.Add(1)
	e.metrics.damaged.WithLabelValues(what).Inc()
}
