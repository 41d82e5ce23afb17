package files

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// checked returns what Check says of a directory, by path.
func checked(t *testing.T, dir string) map[string]string {
	t.Helper()
	said := map[string]string{}
	must(t, Check(dir, func(path, what string) { said[path] = what }))
	return said
}

// TestCheck: a whole directory has no damage; one flipped bit or a missing file is named, and no
// other file.
func TestCheck(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 6))
	dir := filled(t)
	if said := checked(t, dir); len(said) > 0 {
		t.Fatalf("of a whole directory: %v", said)
	}
	files, err := filepath.Glob(filepath.Join(dir, sorted.Dir, "*"+sorted.Suffix))
	must(t, err)
	for range 200 {
		path := files[random.IntN(len(files))]
		whole, err := os.ReadFile(path)
		must(t, err)
		hurt := append([]byte{}, whole...)
		at := random.IntN(len(hurt))
		hurt[at] ^= 1 << random.IntN(8)
		must(t, os.WriteFile(path, hurt, 0o600))
		if said := checked(t, dir); len(said) != 1 || said[path] == "" {
			t.Fatalf("bit at %d of %d bytes of %s: %v", at, len(hurt), path, said)
		}
		must(t, os.WriteFile(path, whole, 0o600))
	}
	for _, name := range []string{table.FileName, tree.ListName, formatName} {
		path := filepath.Join(dir, name)
		whole, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, whole[:len(whole)/2], 0o600))
		if said := checked(t, dir); said[path] == "" {
			t.Errorf("half of %s: %v", name, said)
		}
		must(t, os.WriteFile(path, whole, 0o600))
	}
	must(t, os.Remove(files[0]))
	if said := checked(t, dir); said[files[0]] != "it is missing" {
		t.Errorf("without %s: %v", files[0], said)
	}
	mustOpen(t, dir, Config{Log: (&lines{}).logger()})
	if err := Check(dir, nil); !errors.Is(err, disk.ErrInUse) {
		t.Errorf("of an open directory: %v", err)
	}
	if err := Check(t.TempDir(), nil); err == nil ||
		!strings.Contains(err.Error(), "no directory of rows") {
		t.Errorf("of another directory: %v", err)
	}
}
