package files

import (
	"log/slog"
	"testing"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/rowstest"
)

// mustOpen opens a directory until the test's end.
func mustOpen(t *testing.T, dir string, c Config, tables ...*rows.Table) *Engine {
	t.Helper()
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(t.Output(),
			&slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	e, err := Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if err := e.Create(t.Context(), tables...); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestContract(t *testing.T) {
	for name, bytes := range map[string]int{"in memory": 0, "in files": 1 << 13} {
		t.Run(name, func(t *testing.T) {
			rowstest.Run(t, func(t *testing.T, admit rowstest.Admit,
				tables ...*rows.Table) rows.Engine {
				return mustOpen(t, t.TempDir(), Config{MemoryBytes: bytes, Admit: admit}, tables...)
			})
		})
	}
}
