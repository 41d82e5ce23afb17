package files

import (
	"log/slog"
	"testing"

	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

var quiet = slog.New(slog.DiscardHandler)

// TestContract: a directory is what package stream asks for.
func TestContract(t *testing.T) {
	streamtest.Test(t, func(t *testing.T) stream.Engine { return mustOpen(t, Config{Dir: t.TempDir()}) })
}

func mustOpen(t *testing.T, c Config) *Files {
	t.Helper()
	if c.MaxBytes == 0 {
		c.MaxBytes = 1 << 30
	}
	f, err := Open(c, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}
