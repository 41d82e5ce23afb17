package files

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Bytes returns how large the directory is, with what is set aside in it.
func (f *Files) Bytes() (sum int64) {
	for _, t := range f.list() {
		sum += t.bytes()
		for _, path := range t.aside() {
			if info, err := os.Stat(path); err == nil {
				sum += info.Size()
			}
		}
	}
	return sum
}

// list returns the topics that are open.
func (f *Files) list() []*topic {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := make([]*topic, 0, len(f.topics))
	for _, t := range f.topics {
		list = append(list, t)
	}
	return list
}

// aside returns the topic's damaged files that nothing needs any more.
func (t *topic) aside() (paths []string) {
	entries, _ := os.ReadDir(t.dir)
	for _, e := range entries {
		if strings.Contains(e.Name(), ending+aside) {
			paths = append(paths, filepath.Join(t.dir, e.Name()))
		}
	}
	return paths
}

// shrink removes files while all have more than MaxBytes: what is set aside, then the oldest.
func (f *Files) shrink() {
	if f.config.MaxBytes == 0 || f.Bytes() <= f.config.MaxBytes {
		return
	}
	list := f.list()
	for _, t := range list {
		for _, path := range t.aside() {
			f.log.Warn("the stream has more bytes than it may; what was set aside goes first",
				"file", path)
			if err := os.Remove(path); err != nil {
				f.log.Error("a file of the stream cannot be removed", "error", err)
			}
		}
	}
	for sum := f.Bytes(); sum > f.config.MaxBytes; sum = f.Bytes() {
		first, at := (*topic)(nil), int64(math.MaxInt64)
		for _, t := range list {
			if t.settings.Compact { // which never changes
				continue
			}
			if oldest := t.oldest(); oldest < min(at, never) {
				first, at = t, oldest
			}
		}
		if first == nil {
			return
		}
		f.log.Warn("the stream has more bytes than it may; the oldest go before their time",
			"bytes", sum, "max_bytes", f.config.MaxBytes, "directory", first.dir,
			"until", time.UnixMilli(at).UTC())
		if _, err := first.removeOldest("max_bytes"); err != nil {
			f.log.Error("a file of the stream cannot be removed", "error", err)
			return
		}
		f.mu.Lock()
		f.shrunk = time.Now()
		f.mu.Unlock()
	}
}

// shrunkFor is how long Warning tells of a file that was removed: at a bound that is always
// reached, one goes some times a day.
const shrunkFor = 24 * time.Hour

// Warning returns in sentences why a topic cannot be written, that there are as many bytes as
// there may be, and that files were damaged since Open; "": nothing of that is so.
func (f *Files) Warning() string {
	var list []string
	for _, t := range f.list() {
		t.mu.Lock()
		err := t.trouble
		t.mu.Unlock()
		if err != nil {
			list = append(list, err.Error()+": it goes on by itself when that is over")
			break
		}
	}
	f.mu.Lock()
	shrunk := f.shrunk
	f.mu.Unlock()
	if time.Since(shrunk) < shrunkFor {
		list = append(list,
			fmt.Sprintf("%s is as large as max_bytes lets it be: the oldest frames go "+
				"before their time, last at %s: raise data.max_bytes", f.config.Dir,
				shrunk.UTC().Format(time.RFC3339)))
	}
	if n := f.hurt.Load(); n > 0 {
		list = append(list,
			fmt.Sprintf("%d files of %s were found damaged or missing since the start: "+
				"what is whole is served, and the log names them", n, f.config.Dir))
	}
	return strings.Join(list, "; ")
}

// tellDamage counts a file that was found damaged or missing. The log has been told.
func (f *Files) tellDamage() {
	f.hurt.Add(1)
	f.metrics.damaged.Inc()
}
