package disk

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/disk/durable"
)

// QuarantineName is the folder of a directory for files that were found damaged.
const QuarantineName = "damaged"

// Quarantine has the files of a directory that were found damaged. They serve nobody but who wants
// to look at them, and may be deleted.
type Quarantine struct {
	dir string
	log *slog.Logger
}

// NewQuarantine returns the quarantine of a directory. Its folder is made when it is needed.
func NewQuarantine(dir string, log *slog.Logger) *Quarantine {
	return &Quarantine{filepath.Join(dir, QuarantineName), log}
}

// Move takes a damaged file away, and says so.
func (q *Quarantine) Move(path string, why error) error {
	err := durable.Dir(q.dir)
	if err == nil {
		err = os.Rename(path, filepath.Join(q.dir, filepath.Base(path)))
	}
	if err != nil {
		return fmt.Errorf("%s is damaged and cannot be set aside: %w", path, err)
	}
	q.log.Error("a damaged file is set aside", "file", path, "in", q.dir, "error", why)
	return nil
}

// Keep keeps a copy of a damaged file that is still needed, if there is room.
func (q *Quarantine) Keep(path string, content []byte) {
	if err := durable.Dir(q.dir); err == nil {
		os.WriteFile(filepath.Join(q.dir, filepath.Base(path)), content, 0o600)
	}
}

// Link gives a damaged file a second name here, and returns that: another file is going to have its
// first one. The name begins with prefix.
func (q *Quarantine) Link(path, prefix string) (string, error) {
	if err := durable.Dir(q.dir); err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		name := filepath.Join(q.dir, fmt.Sprintf("%s%s.%d", prefix, filepath.Base(path), i))
		err := os.Link(path, name)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		return name, errors.Join(err, durable.Names(q.dir))
	}
}

// Bytes returns how large all of it is.
func (q *Quarantine) Bytes() int64 { return Size(q.dir) }

// Clear removes all of it, because the directory is larger than it may be, and returns how large it
// was.
func (q *Quarantine) Clear() (bytes int64) {
	entries, _ := os.ReadDir(q.dir)
	for _, entry := range entries {
		path := filepath.Join(q.dir, entry.Name())
		info, err := entry.Info()
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			q.log.Warn("a file that was set aside cannot be removed", "error", err)
			continue
		}
		q.log.Warn("the directory is too large; what was set aside goes first", "file", path)
		bytes += info.Size()
	}
	return bytes
}

// Size returns how large the files in a directory are, without those in its folders.
func Size(dir string) (bytes int64) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && !info.IsDir() {
			bytes += info.Size()
		}
	}
	return bytes
}
