package durabletest

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/disk/durable"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestLose: what was made durable is always there; all else is there at times, and at times is
// not.
func TestLose(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	seen := map[string]bool{}
	for range 100 {
		one(t, random, seen)
	}
	for _, what := range []string{"tail", "part", "none", "zeros", "new", "no new", "back",
		"gone", "old",
		"other", "dir", "no dir"} {
		if !seen[what] {
			t.Errorf("never seen: %s", what)
		}
	}
}

func one(t *testing.T, random *rand.Rand, seen map[string]bool) {
	dir, notes := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "notes")
	name := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(name("gone"), []byte("gone"), 0o600))
	must(t, os.WriteFile(name("replaced"), []byte("old"), 0o600))
	must(t, Record(dir, notes))
	must(t, durable.Dir(name("dir/lasts")))
	a, err := os.Create(name("a"))
	must(t, err)
	defer a.Close()
	write := func(text string) {
		_, err := a.WriteString(text)
		must(t, err)
	}
	write("durable")
	must(t, durable.Bytes(a))
	must(t, durable.Names(dir))
	write("tail")
	must(t, os.WriteFile(name("new"), []byte("new"), 0o600))
	must(t, os.Remove(name("gone")))
	must(t, os.WriteFile(name("tmp"), []byte("other"), 0o600))
	must(t, os.Rename(name("tmp"), name("replaced")))
	must(t, os.Mkdir(name("mayNot"), 0o700))
	_, err = Lose(random, dir, notes)
	must(t, err)
	b, err := os.ReadFile(name("a"))
	must(t, err)
	rest, whole := bytes.CutPrefix(b, []byte("durable"))
	if part := strings.TrimRight(string(rest), "\x00"); !whole || !strings.HasPrefix("tail", part) {
		t.Fatalf("a has %q", b)
	} else {
		seen["zeros"] = seen["zeros"] || len(rest) > len(part)
		seen["tail"], seen["none"] = seen["tail"] || part == "tail", seen["none"] || len(rest) == 0
		seen["part"] = seen["part"] || len(rest) > 0 && len(rest) < 4
	}
	there := func(path, yes, no string) {
		if _, err := os.Stat(name(path)); err == nil {
			seen[yes] = true
		} else {
			seen[no] = true
		}
	}
	there("new", "new", "no new")
	there("gone", "back", "gone")
	there("mayNot", "dir", "no dir")
	if b, err := os.ReadFile(name("replaced")); err == nil && string(b) == "old" {
		seen["old"] = true
	} else {
		seen["other"] = true
	}
	if _, err := os.Stat(name("dir/lasts")); err != nil {
		t.Fatal(err)
	}
}

// TestKilledInRecord: a process that is killed before Record has returned has lost nothing, and the
// next one records from the beginning.
func TestKilledInRecord(t *testing.T) {
	dir, notes := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "notes")
	must(t, os.MkdirAll(dir, 0o700))
	for i := range 100 {
		must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte("durable"), 0o600))
	}
	must(t, os.MkdirAll(filepath.Join(notes, "files"), 0o700))
	must(t, os.WriteFile(eventsFile(notes)+".begun", []byte(`{"Dir":"`+dir+`","Na`), 0o600))
	must(t, End(notes))
	lost, err := Lose(rand.New(rand.NewPCG(1, 1)), dir, notes)
	must(t, err)
	if lost != (Lost{}) {
		t.Errorf("lost were %s", lost)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 100 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if _, err := os.Stat(notes); !os.IsNotExist(err) {
		t.Errorf("the notes are left, %v", err)
	}
}
