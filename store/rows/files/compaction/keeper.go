// Package compaction writes what is in memory to sorted files, and removes, merges and mends those.
// Begin with Flusher and Keeper.
package compaction

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringwatch/ringwatch/store/rows/files/cells"
	"github.com/ringwatch/ringwatch/store/rows/files/failure"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// keepEvery is how often the keeper looks for what has expired.
const keepEvery = 10 * time.Second

// Keeper removes, merges and mends files.
type Keeper struct {
	config Config
	work   chan struct{} // there is something to do
	stop   <-chan struct{}

	tidying sync.Mutex // held while files are removed, merged and mended
}

// NewKeeper returns a keeper that works until stop is closed. It starts nothing: call Run.
func NewKeeper(c Config, stop <-chan struct{}) *Keeper {
	return &Keeper{config: c, work: make(chan struct{}, 1), stop: stop}
}

// Wake says that there may be something to do.
func (k *Keeper) Wake() { wake(k.work) }

// Run keeps files until the keeper is stopped.
func (k *Keeper) Run() {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		if err := k.Keep(); err != nil && !k.stopped() {
			k.config.Ledger.Log.Warn("rows: cannot tidy files up; trying again", "directory",
				k.config.Dir, "error", err)
		}
		select {
		case <-k.stop:
			return
		case <-ticker.C:
		case <-k.work:
		}
	}
}

func (k *Keeper) stopped() bool {
	select {
	case <-k.stop:
		return true
	default:
		return false
	}
}

// Keep does all that there is to do.
func (k *Keeper) Keep() error {
	k.tidying.Lock()
	defer k.tidying.Unlock()
	for !k.stopped() {
		k.expire()
		inputs := mergeable(k.config.Tree, k.config.Tables, k.config.now())
		if k.shrink(sorted.Size(inputs)) { // the inputs may be gone
			continue
		}
		if len(inputs) == 0 || !k.roomFor(inputs) {
			return nil
		}
		if err := k.merge(inputs); err != nil {
			return err
		}
	}
	return nil
}

// Drop removes the files of a table.
func (k *Keeper) Drop(table string) {
	k.tidying.Lock()
	defer k.tidying.Unlock()
	k.config.Tree.Replace(nil, k.config.Tree.Of(table))
}

// roomFor reports whether files can be merged and leave room to the log, which needs it more.
func (k *Keeper) roomFor(inputs []*sorted.File) bool {
	need := k.config.LogBytes + sorted.Size(inputs)
	var disk unix.Statfs_t
	return unix.Statfs(k.config.Dir, &disk) != nil || int64(disk.Bavail)*disk.Bsize > need
}

// expire removes files whose rows have all expired and hide nothing.
func (k *Keeper) expire() {
	now := k.config.now()
	var gone []*sorted.File
	for _, f := range k.config.Tree.Files() {
		if !f.NoMeta() && f.Dead(now) && !k.config.Tree.Hides(f) {
			gone = append(gone, f)
		}
	}
	if len(gone) > 0 {
		k.config.Ledger.Removed.WithLabelValues("expired").Add(float64(len(gone)))
		k.config.Tree.Replace(nil, gone)
	}
}

// shrink removes files until the directory is as small as it should be with so many bytes more, and
// reports whether it removed any. What is quarantined goes first, and then the files that have
// lived the largest share of their time, whatever their table, so that all tables lose alike.
func (k *Keeper) shrink(more int64) (removed bool) {
	size, most := k.config.Bytes()
	if most == NoBound {
		return false
	}
	if size+more > most {
		size -= k.config.Ledger.Quarantine.Clear()
	}
	gone := oldest(k.config.Tree.Files(), size+more-most, k.config.Now())
	for _, f := range gone {
		k.config.Ledger.Log.Warn("rows: the directory is too large; the oldest of a table is "+
			"removed", "table", f.Table, "until", time.UnixMicro(f.Last).UTC(), "bytes", f.Size,
			"max_bytes", most)
	}
	k.config.Ledger.Over(max(0, size-sorted.Size(gone)-most))
	if len(gone) == 0 {
		return false
	}
	k.config.Ledger.Shrunk(len(gone), k.config.Now())
	k.config.Tree.Replace(nil, gone)
	return true
}

// merge makes files of one table one, without what has expired.
func (k *Keeper) merge(inputs []*sorted.File) error {
	first := inputs[0]
	t := k.config.Tables.Named(first.Table)
	whole := *t
	whole.Width = first.Width
	var ids []int64
	var sources []cells.Source
	scans := make([]*sorted.Scan, len(inputs))
	for i, f := range inputs {
		ids = append(ids, f.ID)
		scans[i] = k.config.Tree.Whole(f)
		sources = append(sources, scans[i])
	}
	w, err := k.config.Tree.Create(&whole, first.From, ids...)
	if err != nil {
		return err
	}
	forget := cells.Forget(k.config.Tree.Spans(first.Table, true, inputs...), k.config.now())
	for m := cells.Merging(sources...); err == nil && m.Next(); {
		key, part, list := m.Row()
		if w.Meta.Rows == 0 && first.NoMeta() {
			w.Meta.Width, w.Meta.From = t.Width, t.Bucket(list)
		}
		if list = forget(list); len(list) > 0 {
			err = w.Add(key, part, list)
		}
		if err == nil && k.stopped() {
			err = failure.Closed
		}
	}
	w.Meta.Shrunk = w.Meta.Dead(k.config.now())
	if err == nil {
		err = w.Finish()
	}
	if err != nil {
		w.Drop()
		return err
	}
	added, err := k.config.Tree.Publish([]*sorted.Writer{w})
	if err != nil {
		return err
	}
	for i, f := range inputs {
		if f.Damaged() {
			k.config.Ledger.Log.Error("rows: a damaged file is replaced by what is good of it",
				"file", f.Path, "rows", w.Meta.Rows, "lost_bytes", scans[i].Lost())
		}
	}
	k.config.Ledger.Merged.Add(float64(added[0].Size))
	k.config.Tree.Replace(added, inputs)
	return nil
}
