package watch

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/watch/reading"
)

// roll is which targets there are, whichever process reads them, and which have left and were not
// told so yet. It outlives the process in a file.
type roll struct {
	mu      sync.Mutex // is locked before the Watcher's and a target's
	known   map[uuid.UUID]entry
	leaving map[uuid.UUID]entry
	file    string // empty: there is none
	written string // what it has
}

// entry is a target as the file has it.
type entry struct {
	Target reading.Target
	Facts  []frame.Fact `json:",omitempty"` // of its last reading
	since  time.Time    // that it is leaving
	old    bool         // it is of the file, and was not found since
}

// leaveFor is how long a process tries to say that a target has left. Longer than that the target
// is another process's, which says it.
const leaveFor = time.Hour

// newRoll reads the file. The targets of one that cannot be read are missed as silent ones.
func newRoll(d Deps) *roll {
	r := &roll{known: map[uuid.UUID]entry{}, leaving: map[uuid.UUID]entry{}, file: d.Remember}
	if r.file == "" {
		return r
	}
	text, err := os.ReadFile(r.file)
	var list []entry
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		d.Log.Warn("the list of targets that there were cannot be read: those that were taken out "+
			"meanwhile are missed", "error", err)
	}
	for _, e := range list {
		e.old = true
		r.known[e.Target.ID()] = e
	}
	return r
}

// write writes the file, if it would have something else.
func (r *roll) write() error {
	if r.file == "" {
		return nil
	}
	list := make([]entry, 0, len(r.known)+len(r.leaving))
	for _, of := range []map[uuid.UUID]entry{r.known, r.leaving} {
		for _, e := range of {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		x, y := a.Target.ID(), b.Target.ID()
		return strings.Compare(string(x[:]), string(y[:]))
	})
	text, err := json.Marshal(list)
	if err != nil || string(text) == r.written {
		return err
	}
	next := r.file + ".tmp"
	if err = os.WriteFile(next, text, 0o600); err == nil {
		err = os.Rename(next, r.file)
	}
	if err == nil {
		r.written = string(text)
	}
	return err
}

// Found says which targets there are beside the sources, whichever process reads them, and whether
// these are all: at a start discovery may not have asked everybody yet. Those that were there
// before and are not among them have left, which is told of this process's own.
func (w *Watcher) Found(list []reading.Target, all bool) {
	w.roll.mu.Lock()
	defer w.roll.mu.Unlock()
	now := make(map[uuid.UUID]entry, len(list)+len(w.sources))
	add := func(t reading.Target) {
		id := t.ID()
		now[id] = entry{Target: t, Facts: w.roll.known[id].Facts}
		delete(w.roll.leaving, id)
		w.mu.Lock()
		of := w.targets[id]
		w.mu.Unlock()
		if of != nil {
			of.mu.Lock()
			of.removed = false
			of.mu.Unlock()
		}
	}
	for i := range w.sources {
		add(w.sources[i].Target)
	}
	for _, t := range list {
		add(t)
	}
	for id, e := range w.roll.known {
		_, there := now[id]
		switch {
		case there:
		case e.old && !all:
			now[id] = e
		default:
			e.since = w.deps.Clock()
			w.roll.leaving[id] = e
		}
	}
	w.roll.known = now
	w.tidyRoll()
}

// tidyRoll tells that targets have left, those of others only until they will have said it, and
// writes down which targets there are. roll.mu is held.
func (w *Watcher) tidyRoll() {
	for id, e := range w.roll.leaving {
		if w.leave(e) || w.deps.Clock().Sub(e.since) > leaveFor {
			delete(w.roll.leaving, id)
		}
	}
	w.mu.Lock()
	for id, t := range w.targets {
		if e, known := w.roll.known[id]; known {
			t.mu.Lock()
			if t.facts != nil {
				e.Facts = t.facts
			}
			t.mu.Unlock()
			w.roll.known[id] = e
		}
	}
	w.mu.Unlock()
	if err := w.roll.write(); err != nil {
		w.deps.Log.Warn("the list of targets cannot be written: look at the spool's directory",
			"error", err)
	}
}

// leave sends a target's last frame, which has no series and says why. It reports whether the
// target is this process's.
func (w *Watcher) leave(e entry) bool {
	id, now := e.Target.ID(), w.deps.Clock()
	if !w.deps.Shares.Mine(id) {
		return false
	}
	t := w.target(&e.Target, id, now)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.facts == nil {
		t.facts = e.Facts
	}
	t.removed = true
	b, _, err := t.encoder.Frame(now.UnixMilli(), 0, &reading.Reading{Facts: append(
		[]frame.Fact{{Name: frame.FactLeft, Value: frame.LeftRemoved}}, t.facts...)})
	log := w.deps.Log.With("cluster", e.Target.Cluster, "job", e.Target.Job, "instance",
		e.Target.Instance)
	if err != nil {
		log.Error("nobody can be told that a target was taken out", "error", err)
		return true
	}
	if !w.put(id, t, b) {
		return false
	}
	log.Info("a target was taken out: it is no longer missed")
	return true
}
