// Package ledger counts and tells what happens to a directory: metrics, the log, what its operator
// is warned of. Of our packages it imports disk and store/rows.
package ledger

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Ledger is a directory's.
type Ledger struct {
	*Metrics
	Log        *slog.Logger
	Quarantine *disk.Quarantine
	dir        string
	health     *disk.Health
	trouble    atomic.Pointer[error] // why the last writing failed; nil: it did not
}

// New returns the ledger of a directory.
func New(dir string, log *slog.Logger, g Gauges) *Ledger {
	return &Ledger{Metrics: newMetrics(g), Log: log, Quarantine: disk.NewQuarantine(dir, log),
		dir: dir, health: disk.NewHealth(dir, "rows")}
}

// Wrote says how writing to the log went. The operator is told when that changes.
func (l *Ledger) Wrote(err error) {
	before := l.trouble.Load()
	switch {
	case err == nil && before != nil:
		l.trouble.Store(nil)
		l.Log.Info("rows: writing works again", "directory", l.dir)
	case err != nil:
		if l.trouble.Store(&err); before == nil {
			l.Log.Error("rows: nothing can be written; callers try again", "directory", l.dir,
				"error", err)
		}
	}
}

// Failing returns why the last writing failed, or nil.
func (l *Ledger) Failing() error {
	if err := l.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// Missing says that a file, or a part of the log, is not there. args are the log's.
func (l *Ledger) Missing(what string, args ...any) {
	l.count("missing")
	l.Log.Error("rows: "+what+" is missing, and what was in it is lost", args...)
}

// DamagedRows says that a file of rows is damaged.
func (l *Ledger) DamagedRows(path string, err error) {
	l.count("rows")
	l.Log.Error("rows: a file is damaged; what is good of it is served", "file", path, "error", err)
}

// DamagedLog says that a file of the log is damaged, and keeps a copy of it. args are the log's.
func (l *Ledger) DamagedLog(path string, content []byte, args ...any) {
	l.count("log")
	l.Log.Error("rows: a log file is damaged; a copy is set aside, and what is good of it is used",
		append([]any{"file", path}, args...)...)
	l.Quarantine.Keep(path, content)
}

// count counts what was found damaged or missing.
func (l *Ledger) count(what string) {
	l.health.Damaged()
	l.damaged.WithLabelValues(what).Inc()
}

// Small reads a file that says something of the others. If it is damaged it goes to quarantine, as
// if it had never been.
func (l *Ledger) Small(path string) ([]byte, error) {
	b, err := disk.Read(path)
	if errors.Is(err, disk.ErrDamaged) {
		l.health.Damaged()
		b, err = nil, l.Quarantine.Move(path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	return b, nil
}

// Shrunk says that files were removed before their time.
func (l *Ledger) Shrunk(files int, at time.Time) {
	l.Removed.WithLabelValues("max_bytes").Add(float64(files))
	l.health.Shrunk(at)
}

// Over says by how many bytes the directory is larger than it may be.
func (l *Ledger) Over(bytes int64) {
	l.over.Set(float64(bytes))
	l.health.Over(bytes)
}

// Warning returns in sentences why nothing can be written, that the directory is as large as it may
// be, and that files were damaged since New; "": nothing of that is so.
func (l *Ledger) Warning(now time.Time) string {
	list := l.health.Warnings(now)
	if err := l.Failing(); err != nil {
		list = append([]string{rows.Explained(err).Error()}, list...)
	}
	return strings.Join(list, "; ")
}
