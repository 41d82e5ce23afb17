package client

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
)

// TestOrigin: what is said to do next fits how the program came here.
func TestOrigin(t *testing.T) {
	dir := t.TempDir()
	put := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("src/Makefile")
	put("src/go.mod")
	unit := put("ringwatch.service")
	for _, c := range []struct {
		program, unit, start string
	}{
		{put("src/bin/ringwatch"), unit, "make up"},
		{put("usr/bin/ringwatch"), unit, "systemctl start ringwatch"},
		{put("home/ringwatch"), filepath.Join(dir, "none"), "ringwatch all"},
	} {
		of := program.OriginOf(c.program, c.unit)
		if of.Start != c.start || c.start != "make up" && strings.Contains(of.First, "make ") ||
			strings.Count(of.First, "\n") != 1 {
			t.Errorf("%s: %+v", c.program, of)
		}
	}
	// This test's program is in no source.
	if err := noKeyError("http://x"); strings.Contains(err.Error(), "make up") {
		t.Error(err)
	}
}
