package files

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/store/rows"
)

// TestCopy: a copy that is made while rows are put, files written and merged, is whole and has all
// that was put before.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Config{MemoryBytes: childFull}, wideTable())
	var put atomic.Int64
	ended, stop := make(chan error, 1), make(chan struct{})
	go func() {
		for n := int64(0); ; n++ {
			select {
			case <-stop:
				ended <- nil
				return
			default:
			}
			if err := e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...); err != nil {
				ended <- err
				return
			}
			put.Store(n + 1)
		}
	}()
	for range 10 {
		before := put.Load()
		eventually.True(t, "more is put", func() bool { return put.Load() > before+300 })
		all := make([]int64, put.Load())
		for n := range all {
			all[n] = int64(n)
		}
		to := filepath.Join(t.TempDir(), "copy")
		must(t, Copy(dir, to))
		if said := checked(t, to); len(said) > 0 {
			t.Fatalf("the copy: %v", said)
		}
		var log lines
		c := mustOpen(t, to, Config{Log: log.logger()}, wideTable())
		if gone := missing(t, c, all); len(gone) > 0 || log.String() != "" {
			t.Fatalf("of %d puts %v are not in the copy: %s", len(all), gone, log.String())
		}
		c.Close()
	}
	close(stop)
	must(t, <-ended)
	if Copy(dir, dir) == nil {
		t.Error("a directory was copied into itself")
	}
}
