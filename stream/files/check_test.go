package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

// TestCheck: what a kill leaves is no damage; bytes that changed in a file are named, and a file
// that is gone.
func TestCheck(t *testing.T) {
	random, dir, h := streamtest.Random(t), t.TempDir(), newHeard()
	h.life(t, dir, "", 0, 3000)
	checked := func(dir string) map[string]string {
		t.Helper()
		said := map[string]string{}
		if err := Check(dir, func(path, what string) { said[path] = what }); err != nil {
			t.Fatal(err)
		}
		return said
	}
	if said := checked(dir); len(said) > 0 {
		t.Fatalf("of a directory whose process was killed: %v", said)
	}
	whole := offsets(t, dir)
	last := whole[len(whole)-1].file
	for range 60 {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		name := whole[random.IntN(len(whole))].file
		path := filepath.Join(copied, "topics", "load", name)
		from, to := hurt(t, random, path)
		touched := name != last // at the end of the last file damage looks like what a kill leaves
		for _, r := range whole {
			touched = touched || r.file == name && r.begin >= to
		}
		said := checked(copied)
		if touched && said[path] == "" || len(said) > 1 {
			t.Fatalf("bytes %d to %d of %s: %v", from, to, path, said)
		}
	}
	second := filepath.Join(dir, "topics", "load", filepath.Base(segmentPath("", 2)))
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	if said := checked(dir); said[second] != "it is missing" {
		t.Errorf("without %s: %v", second, said)
	}
	mustOpen(t, smallSegments(dir))
	if err := Check(dir, nil); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("of an open directory: %v", err)
	}
	if err := Check(t.TempDir(), nil); err == nil {
		t.Error("another directory is whole")
	}
}
