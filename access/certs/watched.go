package certs

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Recheck is how long files are not looked at again. A renewed certificate is used by connections
// that begin that much later.
const Recheck = time.Second

// Watched is what was read from files, and is read again when they change. Its methods may be
// called from many goroutines.
type Watched[T any] struct {
	Files []string // an empty name is no file
	Load  func() (T, error)
	Log   *slog.Logger     // nil: slog.Default()
	Now   func() time.Time // nil: time.Now

	mu      sync.Mutex
	value   T
	loaded  bool
	state   string // of the files that value was read from
	tried   string // of the files that could not be used
	why     error  // of tried
	checked time.Time
}

// Current returns what the files say now. If they cannot be used, as in the middle of being
// replaced, it logs that and returns what it had before. It returns an error if it never had
// anything.
func (w *Watched[T]) Current() (T, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	if since := now.Sub(w.checked); since >= 0 && since < Recheck && (w.loaded || w.why != nil) {
		return w.answer()
	}
	w.checked = now
	state := w.stat()
	if w.loaded && state == w.state {
		w.tried = ""
		return w.value, nil
	}
	value, err := w.Load()
	switch {
	case err == nil:
		if w.loaded || w.why != nil {
			w.log().Info("reloaded the TLS files", "files", w.Files)
		}
		w.value, w.loaded, w.state, w.tried, w.why = value, true, state, "", nil
	case state != w.tried || w.why == nil:
		w.tried, w.why = state, err
		if w.loaded {
			w.log().Warn("the changed TLS files cannot be used; the earlier ones stay in use",
				"error", err)
		}
	}
	return w.answer()
}

func (w *Watched[T]) answer() (T, error) {
	if !w.loaded {
		return w.value, w.why
	}
	return w.value, nil
}

// stat tells by times and sizes whether files have changed.
func (w *Watched[T]) stat() string {
	state := ""
	for _, name := range w.Files {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			state += err.Error()
			continue
		}
		state += fmt.Sprint(info.ModTime().UnixNano(), " ", info.Size(), ";")
	}
	return state
}

func (w *Watched[T]) now() time.Time {
	if w.Now == nil {
		return time.Now()
	}
	return w.Now()
}

func (w *Watched[T]) log() *slog.Logger {
	if w.Log == nil {
		return slog.Default()
	}
	return w.Log
}
