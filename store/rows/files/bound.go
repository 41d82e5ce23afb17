package files

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// underWay is how old rows are at least that are removed because the directory is too large:
// younger ones may still be made into others.
const underWay = 3 * time.Hour

// shrink removes files until the directory is as small as it should be with so many bytes more,
// and reports whether it removed any. What is quarantined goes first, and then the files that have
// lived the largest share of their time, whatever their table, so that all tables lose alike.
func (e *Engine) shrink(more int64) (removed bool) {
	if e.config.MaxBytes == 0 {
		return false
	}
	most, size := e.config.MaxBytes, e.Bytes()
	if e.config.Besides != nil {
		most -= e.config.Besides()
	}
	if size+more > most {
		size -= e.removeQuarantined()
	}
	gone := e.oldest(size + more - most)
	for _, f := range gone {
		e.log.Warn(
			"rows: the directory is too large; the oldest of a table is removed", "table", f.Table,
			"until", time.UnixMicro(f.Last).UTC(), "bytes", f.size, "max_bytes", e.config.MaxBytes,
		)
	}
	over := max(0, size-sizeOf(gone)-most)
	e.metrics.over.Set(float64(over))
	e.over.Store(over)
	if len(gone) == 0 {
		return false
	}
	e.metrics.removed.WithLabelValues("max_bytes").Add(float64(len(gone)))
	e.shrunk.Store(e.config.Now().Unix())
	e.replaceFiles(nil, gone, 0, nil)
	return true
}

// oldest returns the files that go first and have so many bytes, as far as there are such.
func (e *Engine) oldest(bytes int64) (gone []*file) {
	if bytes <= 0 {
		return nil
	}
	now := e.config.Now()
	lived := func(f *file) float64 {
		return (float64(now.UnixMicro()) - float64(f.First)) /
			(float64(f.Expires)*1e6 - float64(f.First))
	}
	list := slices.DeleteFunc(e.all(), func(f *file) bool {
		return f.noMeta || f.Rows == 0 || f.Expires == 0 || f.Width == 0 ||
			now.UnixMicro()-f.Last < underWay.Microseconds()
	})
	slices.SortFunc(list, func(a, b *file) int { return cmp.Compare(lived(b), lived(a)) })
	for _, f := range list {
		if bytes <= 0 {
			break
		}
		gone, bytes = append(gone, f), bytes-f.size
	}
	return gone
}

// removeQuarantined removes what is quarantined, and returns how large it was.
func (e *Engine) removeQuarantined() (bytes int64) {
	dir := filepath.Join(e.dir, quarantineDir)
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil {
			err = os.Remove(filepath.Join(dir, entry.Name()))
		}
		if err != nil {
			e.log.Warn("rows: cannot remove what is set aside", "error", err)
			continue
		}
		e.log.Warn("rows: the directory is too large; what was set aside goes first",
			"file", entry.Name())
		bytes += info.Size()
	}
	return bytes
}

func sizeOf(list []*file) (bytes int64) {
	for _, f := range list {
		bytes += f.size
	}
	return bytes
}

// shrunkFor is how long Warning tells of files that were removed: at a bound that is always
// reached, a file goes some times a day.
const shrunkFor = 24 * time.Hour

// Warning returns in sentences why nothing can be written, that the directory is as large as it
// may be, and that files were damaged since Connect; "": nothing of that is so.
func (e *Engine) Warning(context.Context) string {
	var list []string
	if err := e.Failing(); err != nil {
		list = append(list, rows.Explained(err).Error())
	}
	last := time.Unix(e.shrunk.Load(), 0)
	if over := e.over.Load(); over > 0 {
		list = append(list,
			fmt.Sprintf("%s has %d MiB more than max_bytes, and what is left is too new "+
				"to remove: raise data.max_bytes", e.dir, over>>20+1))
	} else if e.config.Now().Sub(last) < shrunkFor {
		list = append(list,
			fmt.Sprintf("%s is as large as max_bytes lets it be: the oldest rows go "+
				"before their time, last at %s: raise data.max_bytes", e.dir,
				last.UTC().Format(time.RFC3339)))
	}
	if n := e.damages.Load(); n > 0 {
		list = append(list,
			fmt.Sprintf("%d files of %s were found damaged or missing since the start: "+
				"what is good is served, and the log names them", n, e.dir))
	}
	return strings.Join(list, "; ")
}

// Bytes returns how large the directory is: files of rows, the log and what is quarantined.
func (e *Engine) Bytes() int64 {
	bytes := sizeOf(e.all())
	for _, dir := range []string{logDir, quarantineDir} {
		entries, _ := os.ReadDir(filepath.Join(e.dir, dir))
		for _, entry := range entries {
			if info, err := entry.Info(); err == nil {
				bytes += info.Size()
			}
		}
	}
	return bytes
}
