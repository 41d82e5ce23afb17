package files

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// lines is what a log was told.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

const damagedPuts = 1500

// filled makes a directory with files of rows of several sizes, and a log.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	e := mustOpen(t, dir, Config{MemoryBytes: childFull}, wideTable())
	for n := range int64(damagedPuts) {
		must(t, e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...))
	}
	eventually.True(t, "files are written",
		func() bool { return e.tree.Frozen() == nil })
	e.Close()
	return dir
}

// lost reads all rows and returns how many are missing. Those that are there must be right.
func lost(t *testing.T, e *Engine) (n int) {
	t.Helper()
	for p := range int64(damagedPuts) {
		found := 0
		q := rows.Query{Table: wideTable(), Key: []any{p}, Columns: []string{"c", "x", "y"}}
		must(t, e.Read(t.Context(), rows.Work{}, q, func(scan func(...any) bool) bool {
			var c, y int64
			var x []byte
			if !scan(&c, &x, &y) {
				return false
			}
			if y != p || string(x) != string(content(p, c)) {
				t.Fatalf("row %d of partition %d: %d %q", c, p, y, x)
			}
			found++
			return true
		}))
		n += inPut - found
	}
	return n
}

// harm damages a file, and returns what it did.
func harm(t *testing.T, random *rand.Rand, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	what := ""
	switch random.IntN(5) {
	case 0:
		what = "flipped"
		b[random.IntN(len(b))] ^= 1 << random.IntN(8)
	case 1:
		what = "cut"
		b = b[:random.IntN(len(b))]
	case 2:
		what = "zeroed"
		from := random.IntN(len(b))
		clear(b[from:min(len(b), from+1+random.IntN(512))])
	case 3:
		what = "grown"
		b = append(b, make([]byte, 1+random.IntN(100))...)
	case 4:
		must(t, os.Remove(path))
		return "missing"
	}
	must(t, os.WriteFile(path, b, 0o600))
	return what
}

// TestDamage: whatever happens to whichever file, the directory opens, what is read is right, only
// what was in that place of that file is lost, and the log names the file.
func TestDamage(t *testing.T) {
	dir := filled(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	var paths []string
	kinds := map[string]int{} // how many files are left depends on what was merged meanwhile
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if info, _ := os.Stat(path); err == nil && !d.IsDir() && info.Size() > 0 {
			paths = append(paths, path)
			kinds[filepath.Ext(path)]++
		}
		return err
	}))
	if kinds[sorted.Suffix] == 0 || kinds[log.Suffix] == 0 || len(kinds) < 3 {
		t.Fatalf("only %v", paths)
	}
	for _, path := range paths {
		for range 12 {
			damageOne(t, random, dir, path)
		}
	}
}

func damageOne(t *testing.T, random *rand.Rand, dir, path string) {
	copied := copyOf(t, dir)
	relative, err := filepath.Rel(dir, path)
	must(t, err)
	of := filepath.Join(copied, relative)
	before, err := os.ReadFile(of)
	must(t, err)
	what := harm(t, random, of)
	after, _ := os.ReadFile(of)
	var said lines
	e := mustOpen(t, copied, Config{Log: said.logger()}, wideTable())
	defer e.Close()
	gone := lost(t, e)
	const inBlock = 150 // rows at most: 4 KiB
	most := 0
	inRows := strings.HasSuffix(relative, sorted.Suffix)
	inLog := strings.HasSuffix(relative, log.Suffix)
	switch {
	case inRows && (what == "flipped" || what == "zeroed"):
		most = inBlock
	case inLog && what == "flipped":
		most = inPut // a group; one goroutine has put
	case inLog && what == "zeroed":
		most = 12 * inPut
	case inRows && what != "grown" || inLog && what != "grown":
		most = damagedPuts * inPut
	}
	if gone > most {
		t.Fatalf("%s %s: %d rows are lost, %d may be", relative, what, gone, most)
	}
	if bytes.Equal(before, after) || relative == disk.LockName {
		return
	}
	// A log's end may be cut by a crash, and a group that is its last by nobody else.
	if name := filepath.Base(of); !strings.Contains(said.String(), name) && !inLog &&
		!(what == "missing" && !inRows) {
		t.Fatalf("%s %s: the log does not name it: %s", relative, what, said.String())
	}
	if inRows && what != "missing" {
		eventually.True(t, "the damaged file is set aside", func() bool {
			_, err := os.Stat(filepath.Join(copied, disk.QuarantineName, filepath.Base(of)))
			return err == nil
		})
		if _, err := os.Stat(of); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s %s is still in use: %v", relative, what, err)
		}
	}
	if now := lost(t, e); now != gone {
		t.Fatalf("%s %s: %d rows were missing, and when it was mended %d", relative, what,
			gone, now)
	}
}
