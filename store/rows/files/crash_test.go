package files

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable/durabletest"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
)

// kills is how often TestKilledUnderLoad kills a process.
func kills() int {
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		return 1000
	}
	return 20
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("ROWS_FILES_CHILD"); dir != "" {
		if notes := os.Getenv("ROWS_FILES_NOTES"); notes != "" {
			if err := durabletest.Record(dir, notes); err != nil {
				panic(err)
			}
		}
		child(dir)
	}
	os.Exit(m.Run())
}

// wideTable has rows of several value columns, so that a row that is half there would be seen.
func wideTable() *rows.Table {
	return &rows.Table{
		Name:       "wide",
		Partition:  []rows.Column{{Name: "p", Kind: rows.Int64}},
		Clustering: []rows.Column{{Name: "c", Kind: rows.Int64}},
		Values:     []rows.Column{{Name: "x", Kind: rows.Blob}, {Name: "y", Kind: rows.Int64}},
		TTL:        24 * time.Hour, AgeUnit: time.Hour, Grace: time.Hour,
		Compression: rows.Zip(1, 4),
	}
}

// A put of the load is rows 0 … inPut−1 of a partition that no other put has, all of its number.
const (
	inPut     = 3
	loaders   = 4
	childFull = 64 << 10 // of memory, so that files are written and merged all the time
)

func content(partition, row int64) []byte {
	return []byte(strings.Repeat(fmt.Sprintf("%d/%d ", partition, row), 5+int(partition%40)))
}

func putOf(partition int64) (list []rows.Row) {
	for c := range int64(inPut) {
		list = append(list,
			rows.Row{Key: []any{partition, c}, Values: []any{content(partition, c), partition}})
	}
	return list
}

// child writes puts until it is killed, and prints the number of each that was acknowledged. Its
// input is the first number.
func child(dir string) {
	e, err := Open(dir,
		Config{MemoryBytes: childFull, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err == nil {
		err = e.Create(context.Background(), wideTable())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var next int64
	fmt.Scan(&next)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range loaders {
		wg.Go(func() {
			for {
				mu.Lock()
				n := next
				next++
				mu.Unlock()
				if err := e.Put(context.Background(), rows.Work{}, wideTable(),
					putOf(n)...); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				fmt.Printf("%d\n", n) // one write, so a line is whole
			}
		})
	}
	wg.Wait()
}

// load runs a child on a directory until it has acknowledged so many puts, kills it, and returns
// all that it has acknowledged. notes, if they are named, are durabletest.Record's.
func load(t *testing.T, dir, notes string, first int64, enough int) (acknowledged []int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ROWS_FILES_CHILD="+dir, "ROWS_FILES_NOTES="+notes)
	var complaints strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(fmt.Sprintln(first)), &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		var n int64
		if _, err := fmt.Sscan(line, &n); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if acknowledged = append(acknowledged, n); len(acknowledged) == enough {
			if notes == "" {
				cmd.Process.Kill()
			} else {
				must(t, durabletest.End(notes))
			}
		}
	}
	cmd.Wait()
	if len(acknowledged) < enough || complaints.Len() > 0 {
		t.Fatalf("the child acknowledged %d puts and says %s", len(acknowledged),
			complaints.String())
	}
	return acknowledged
}

// look reads a partition of the load: 0 rows, or inPut right ones.
func look(t *testing.T, e *Engine, partition int64) int64 {
	t.Helper()
	n := int64(0)
	q := rows.Query{Table: wideTable(), Key: []any{partition}, Columns: []string{"c", "x", "y"}}
	must(t, e.Read(t.Context(), rows.Work{}, q, func(scan func(...any) bool) bool {
		var c, y int64
		var x []byte
		if !scan(&c, &x, &y) {
			return false
		}
		if c != n || y != partition || string(x) != string(content(partition, c)) {
			t.Fatalf("row %d of partition %d: %d %d %q", n, partition, c, y, x)
		}
		n++
		return true
	}))
	if n != 0 && n != inPut {
		t.Fatalf("partition %d has %d rows: a mutation is half there", partition, n)
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all reads partitions and returns which are missing.
func missing(t *testing.T, e *Engine, list []int64) (gone []int64) {
	t.Helper()
	for _, n := range list {
		if look(t, e, n) == 0 {
			gone = append(gone, n)
		}
	}
	return gone
}

// TestKilledUnderLoad: whatever moment a process is killed at, all that it acknowledged is there,
// once; so it is when the power fails, and all that was not synced is lost.
func TestKilledUnderLoad(t *testing.T) {
	t.Run("Killed", func(t *testing.T) { killUnderLoad(t, false) })
	t.Run("WithoutPower", func(t *testing.T) { killUnderLoad(t, true) })
}

func killUnderLoad(t *testing.T, power bool) {
	dir, notes := filepath.Join(t.TempDir(), "data"), ""
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	var all []int64
	var lost durabletest.Lost
	inFiles := 0
	for range kills() {
		first := int64(0)
		if len(all) > 0 {
			first = all[len(all)-1] + 1000
		}
		if power {
			notes = filepath.Join(t.TempDir(), "notes")
		}
		some := load(t, dir, notes, first, 1+random.IntN(800))
		if power {
			l, err := durabletest.Lose(random, dir, notes)
			must(t, err)
			lost.Add(l)
		}
		e := mustOpen(t, dir, Config{MemoryBytes: childFull}, wideTable())
		if all = append(all, some...); len(missing(t, e, some)) > 0 {
			t.Fatalf("lost: %v", missing(t, e, some))
		}
		inFiles = max(inFiles, len(e.tree.Files()))
		e.Close()
	}
	e := mustOpen(t, dir, Config{}, wideTable())
	if gone := missing(t, e, all); len(gone) > 0 {
		t.Fatalf("lost of %d: %v", len(all), gone)
	}
	t.Logf("%d puts after %d kills, %d files; lost were %s", len(all), kills(),
		len(e.tree.Files()), lost)
	if inFiles == 0 || power && (lost.Bytes == 0 || lost.Given == 0) {
		t.Error("all was in the log, or nothing was lost that could be")
	}
}

// TestLogCutAtAnyByte: a file system that loses what was not synced leaves a log that ends
// anywhere, or has zeros at its end. What was synced before is there, mutations whole and in
// order.
func TestLogCutAtAnyByte(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Config{}, wideTable())
	path := log.Path(dir, 1)
	var ends []int64 // of the log, when a put was acknowledged
	for n := range int64(40) {
		must(t, e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...))
		ends = append(ends, size(t, path))
	}
	e.Close()
	whole, err := os.ReadFile(path)
	must(t, err)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for i := range 150 {
		cut := random.Int64N(int64(len(whole)) + 1)
		b := append([]byte{}, whole[:cut]...)
		if i%2 == 1 { // the length is there, the bytes are not
			b = append(b, make([]byte, len(whole)-int(cut))...)
		}
		copied := copyOf(t, dir)
		must(t, os.WriteFile(filepath.Join(copied, log.Dir, filepath.Base(path)), b, 0o600))
		again := mustOpen(t, copied, Config{}, wideTable())
		for n, end := range ends {
			// Zeros at a group's end are there in any case.
			want := end <= int64(len(b)) && bytes.Equal(b[:end], whole[:end])
			if is := look(t, again, int64(n)) > 0; is != want {
				t.Fatalf("cut at %d: put %d, which ends at %d: there is %v", cut, n, end, is)
			}
		}
		must(t, again.Put(t.Context(), rows.Work{}, wideTable(), putOf(1000)...))
		again.Close()
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Size()
}

func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	must(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// TestOneProcess: a directory has one process, and a second one is told which.
func TestOneProcess(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Config{})
	_, err := Open(dir, Config{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d (", os.Getpid())) ||
		strings.Contains(err.Error(), "\n") {
		t.Fatalf("a second one: %v", err)
	}
	e.Close()
	mustOpen(t, dir, Config{}).Close()
}

// TestModes: nobody else reads what is there.
func TestModes(t *testing.T) {
	before := syscall.Umask(0)
	defer syscall.Umask(before)
	dir := filepath.Join(t.TempDir(), "data")
	e := mustOpen(t, dir, Config{MemoryBytes: 1 << 12}, wideTable())
	for n := range int64(50) {
		must(t, e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...))
	}
	e.Close()
	files := 0
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	}))
	if files < 6 {
		t.Errorf("%d files", files)
	}
}

// TestNewerFormat: what a newer program wrote is not touched.
func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, Config{}).Close()
	must(t, new(disk.Disk).Replace(filepath.Join(dir, formatName),
		fmt.Appendf(nil, formatText, format+1)))
	if _, err := Open(dir, Config{}); err == nil || !strings.Contains(err.Error(), "newer") ||
		strings.Contains(err.Error(), "\n") {
		t.Fatalf("a newer directory: %v", err)
	}
}
