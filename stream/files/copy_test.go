package files

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

// TestCopy: a copy that is made while records come is whole and has all that was acknowledged
// before. What it has of effects is copied between offsets and records.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	f := mustOpen(t, smallSegments(dir))
	c := loadConfig()
	streamtest.MustTopic(t, f, c)
	publish := func() {
		t.Helper()
		var list []stream.Message
		for range 50 {
			list = append(list, stream.Message{Key: []byte("acme/c0"), Value: make([]byte, 1<<10),
				Time: time.Now()})
		}
		streamtest.Foreign(t, f, c, list...)
	}
	for n := 1; n <= 10; n++ {
		publish()
		to := filepath.Join(t.TempDir(), "copy")
		err := Copy(dir, to, func() error {
			publish() // what comes now may be in the effects, so it must be in the copy
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(to, func(path, what string) { t.Errorf("%s: %s", path, what) }); err !=
			nil {
			t.Fatal(err)
		}
		copied := mustOpen(t, smallSegments(to))
		streamtest.MustTopic(t, copied, c)
		if got := len(readAll(t, copied, c.Topic)); got != 100*n {
			t.Fatalf("the copy has %d records of %d", got, 100*n)
		}
		mustClose(t, copied)
	}
	if Copy(dir, dir, nil) == nil {
		t.Error("a directory was copied into itself")
	}
}
