package files

import (
	"log/slog"
	"os"
	"testing"

	"github.com/ringwatch/ringwatch/disk/durable/durabletest"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

func TestMain(m *testing.M) {
	if notes := os.Getenv(childNotes); notes != "" {
		must(durabletest.Record(os.Getenv(childDir), notes))
	}
	switch os.Getenv(childRole) {
	case "load":
		load()
	case "full":
		full()
	default:
		os.Exit(m.Run())
	}
}

var quiet = slog.New(slog.DiscardHandler)

// TestContract: a directory is what package stream asks for.
func TestContract(t *testing.T) {
	streamtest.Test(t, func(t *testing.T) stream.Engine {
		return mustOpen(t, Config{Dir: t.TempDir()})
	})
}

// TestCopyTopics: topics of a directory are copied to another.
func TestCopyTopics(t *testing.T) {
	streamtest.Copy(t, mustOpen(t, Config{Dir: t.TempDir()}), mustOpen(t, Config{Dir: t.TempDir()}))
}

func mustOpen(t *testing.T, c Config) *Files {
	t.Helper()
	return mustOpenLogged(t, c, quiet)
}

func mustOpenLogged(t *testing.T, c Config, log *slog.Logger) *Files {
	t.Helper()
	if c.MaxBytes == 0 {
		c.MaxBytes = 1 << 30
	}
	f, err := Open(c, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, f) })
	return f
}

func mustClose(t *testing.T, f *Files) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
