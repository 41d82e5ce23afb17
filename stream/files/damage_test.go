package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

// place is where a record is.
type place struct {
	file       string
	begin, end int64
	partition  int32
	offset     int64
}

// offsets reads all files of the topic of frames as they lie there.
func offsets(t *testing.T, dir string) (list []place) {
	t.Helper()
	dir = filepath.Join(dir, "topics", "load")
	ids, err := segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		s, err := readSegment(dir, id)
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(s.path)
		if err != nil {
			t.Fatal(err)
		}
		for scan := newScanner(file, len(s.base), s.begin(), s.size); ; {
			begin := scan.pos
			h, err := scan.head()
			if err != nil {
				break // the end, or what a kill has left
			}
			list = append(list, place{filepath.Base(s.path), begin, scan.pos, h.partition,
				h.offset})
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func lastSegment(t *testing.T, dir string) string {
	t.Helper()
	ids, err := segments(dir)
	if err != nil || len(ids) == 0 {
		t.Fatalf("%d segments, %v", len(ids), err)
	}
	return segmentPath(dir, ids[len(ids)-1])
}

// readAll returns what is served of a topic.
func readAll(t *testing.T, f *Files, topic string) (list []place) {
	t.Helper()
	p, err := f.Open(stream.Topic{Name: topic})
	if err != nil {
		t.Fatal(err)
	}
	ends, err := p.Fence(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	at := map[int32]int64{}
	for partition := range ends {
		at[partition] = 0
	}
	all := stream.Reading{Topic: topic, At: at, Until: ends}
	err = f.Read(t.Context(), all, func(m *stream.Message) error {
		list = append(list, place{partition: m.Partition, offset: m.Offset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// logged collects what is logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

// TestDamage flips bits and zeroes ranges in files at random: every record that no changed byte
// belongs to is served, the file is named in the log and set aside, and new records follow.
func TestDamage(t *testing.T) {
	random, dir, h := streamtest.Random(t), t.TempDir(), newHeard()
	h.life(t, dir, "", 0, 3000)
	mustClose(t, mustOpen(t, smallSegments(dir))) // and what the kill has left is gone
	whole := offsets(t, dir)
	for range 60 {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		name := whole[random.IntN(len(whole))].file
		from, to := hurt(t, random, filepath.Join(copied, "topics", "load", name))
		spared, follows := map[place]bool{}, false
		for _, r := range whole {
			follows = follows || r.file == name && r.begin >= to
			if r.file != name || r.end <= from || r.begin >= to {
				spared[place{partition: r.partition, offset: r.offset}] = true
			}
		}
		var log logged
		f := mustOpenLogged(t, smallSegments(copied), slog.New(slog.NewTextHandler(&log, nil)))
		c := loadConfig()
		streamtest.MustTopic(t, f, c)
		served := readAll(t, f, c.Topic)
		for _, r := range served {
			delete(spared, r)
		}
		if len(spared) > 0 {
			t.Fatalf("%s, bytes %d to %d: %d records that were not hit are not served",
				name, from, to, len(spared))
		}
		p, _ := streamtest.MustProducer(t, f, c)
		streamtest.MustPublish(t, p, "c0", 1)
		if again := readAll(t, f, c.Topic); len(again) != len(served)+1 {
			t.Fatalf("%s, bytes %d to %d: %d records are served after one more, want %d",
				name, from, to, len(again), len(served)+1)
		}
		if follows { // else it looks like what a kill leaves
			eventually.True(t, "the file is set aside", func() bool {
				names, err := filepath.Glob(filepath.Join(copied, disk.QuarantineName,
					"load-"+name+"*"))
				return err == nil && len(names) > 0
			})
			if after := readAll(t, f, c.Topic); len(after) != len(served)+1 {
				t.Errorf("%d records are served of what was mended, want %d", len(after),
					len(served)+1)
			}
		}
		eventually.True(t, "the log names the file", func() bool { return log.has(name) })
		mustClose(t, f)
	}
}

// hurt changes bytes of a file and returns the range.
func hurt(t *testing.T, random *rand.Rand, path string) (from, to int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	from = random.Int64N(int64(len(b)))
	to = from + 1
	if random.IntN(2) == 0 {
		to = min(from+1+random.Int64N(5000), int64(len(b)))
	}
	for i := from; i < to; i++ {
		b[i] ^= byte(1 + random.IntN(255))
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return from, to
}

// TestMissing: a file that somebody has deleted is named, and the others are served.
func TestMissing(t *testing.T) {
	dir, h := t.TempDir(), newHeard()
	h.life(t, dir, "", 0, 3000)
	mustClose(t, mustOpen(t, smallSegments(dir)))
	whole := offsets(t, dir)
	gone := whole[len(whole)/2].file
	if gone == whole[0].file || gone == whole[len(whole)-1].file {
		t.Fatal("there are too few files")
	}
	if err := os.Remove(filepath.Join(dir, "topics", "load", gone)); err != nil {
		t.Fatal(err)
	}
	want := slices.DeleteFunc(whole, func(r place) bool { return r.file == gone })
	var log logged
	f := mustOpenLogged(t, smallSegments(dir), slog.New(slog.NewTextHandler(&log, nil)))
	c := loadConfig()
	streamtest.MustTopic(t, f, c)
	if got := len(readAll(t, f, c.Topic)); got != len(want) {
		t.Errorf("%d records are served, want %d", got, len(want))
	}
	if !log.has("are missing") {
		t.Error("the log does not say that a file is missing")
	}
}

// TestNothingLeft: without any file of a topic, new records have offsets beyond those that a group
// has committed.
func TestNothingLeft(t *testing.T) {
	dir := t.TempDir()
	c := loadConfig()
	publishAndHandle := func(first int64) {
		t.Helper()
		f := mustOpen(t, smallSegments(dir))
		defer mustClose(t, f)
		streamtest.MustTopic(t, f, c)
		p, _ := streamtest.MustProducer(t, f, c)
		w := streamtest.NewWorker(streamtest.NewBoard())
		consumer, _ := streamtest.MustConsumer(t, f, streamtest.ConsumerConfig(c), w)
		stop := streamtest.Run(t, consumer)
		streamtest.MustPublish(t, p, "c0", 20)
		eventually.True(t, "all is handled", func() bool { return w.Handled() == 20 })
		stop()
		if at := w.Kept()[0].Offset; at != first {
			t.Errorf("the first offset is %d, want %d", at, first)
		}
	}
	publishAndHandle(0)
	if err := os.RemoveAll(filepath.Join(dir, "topics")); err != nil {
		t.Fatal(err)
	}
	publishAndHandle(20)
}

// TestOpen: what cannot be opened is one sentence.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	f := mustOpen(t, Config{Dir: dir})
	_, err := Open(Config{Dir: dir, MaxBytes: 1 << 30}, quiet)
	if !errors.Is(err, disk.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second time: %v", err)
	}
	c := loadConfig()
	streamtest.MustTopic(t, f, c)
	l := streamtest.LogConfig(c)
	if err := stream.EnsureLog(t.Context(), f, c, l); !errors.Is(err, stream.ErrTopic) {
		t.Errorf("a log in the topic of frames: %v", err)
	}
	mustClose(t, f)
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && path != dir {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	file := lastSegment(t, filepath.Join(dir, "topics", "load"))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[3] = '2'
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	f = mustOpen(t, Config{Dir: dir})
	if err := stream.EnsureTopic(t.Context(), f, c); !errors.Is(err, ErrVersion) ||
		stream.Retryable(err) || !strings.Contains(err.Error(), file) {
		t.Errorf("of a newer version: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(Config{Dir: filepath.Join(dir, "file"), MaxBytes: 1 << 30}, quiet)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("a file: %v", err)
	}
}

// TestRetention: files whose records are all too old go, and of too many bytes the oldest. Readers
// begin at what is left.
func TestRetention(t *testing.T) {
	dir := t.TempDir()
	all := smallSegments(dir)
	all.MaxBytes = 0 // no bound
	f, err := Open(all, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, f) })
	c := loadConfig()
	c.Retention = time.Hour
	streamtest.MustTopic(t, f, c)
	publish := func(n int, at time.Time) {
		t.Helper()
		var list []stream.Message
		for range n {
			list = append(list, stream.Message{Key: []byte("acme/c0"),
				Value: make([]byte, 10<<10), Time: at})
		}
		streamtest.Foreign(t, f, c, list...)
	}
	publish(50, time.Now().Add(-2*time.Hour))
	publish(50, time.Now())
	eventually.True(t, "what is old is gone", func() bool {
		return len(readAll(t, f, c.Topic)) < 56
	})
	if left := readAll(t, f, c.Topic); len(left) < 50 || left[len(left)-1].offset != 99 {
		t.Errorf("%d records are left, the last is %+v", len(left), left[len(left)-1])
	}
	if text := f.Warning(); text != "" {
		t.Errorf("without a bound the warning is %q", text)
	}
	mustClose(t, f)
	aside := filepath.Join(dir, disk.QuarantineName, c.Topic+"-0000000000000001.segment.1")
	if err := os.MkdirAll(filepath.Dir(aside), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(aside, make([]byte, 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	less, metrics := smallSegments(dir), prometheus.NewRegistry()
	less.MaxBytes, less.Registerer = 256<<10, metrics
	f = mustOpen(t, less)
	streamtest.MustTopic(t, f, c)
	eventually.True(t, "there are no more bytes than may be", func() bool {
		return len(readAll(t, f, c.Topic)) <= 25
	})
	if left := readAll(t, f, c.Topic); len(left) < 15 || left[len(left)-1].offset != 99 {
		t.Errorf("%d records are left, the last is %+v", len(left), left[len(left)-1])
	}
	if text := f.Warning(); !strings.Contains(text, "before their time") {
		t.Errorf("the warning is %q", text)
	}
	if _, err := os.Stat(aside); !errors.Is(err, fs.ErrNotExist) || f.Bytes() > less.MaxBytes {
		t.Errorf("there are %d bytes, and what was set aside is there: %v", f.Bytes(), err)
	}
	const removed = "ringwatch_stream_files_removed_total"
	if n := testutil.ToFloat64(f.dir.metrics.removed.WithLabelValues("max_bytes")); n < 3 {
		t.Errorf("%v files were removed", n)
	}
	if n, err := testutil.GatherAndCount(metrics, removed, "ringwatch_stream_bytes"); n != 3 ||
		err != nil {
		t.Errorf("%d metrics, %v", n, err)
	}
	w := streamtest.NewWorker(streamtest.NewBoard())
	consumer, _ := streamtest.MustConsumer(t, f, streamtest.ConsumerConfig(c), w)
	streamtest.Run(t, consumer)
	eventually.True(t, "what is left is handled", func() bool { return w.Handled() >= 15 })
}

// TestCompact: a log of few keys stays small, and its last entries stay, after a restart, too.
func TestCompact(t *testing.T) {
	dir := t.TempDir()
	f := mustOpen(t, smallSegments(dir))
	c := loadConfig()
	l := streamtest.LogConfig(c)
	l.Topic = "log"
	log, _ := streamtest.MustLog(t, f, c, l)
	const rounds, keys = 200, 7
	for round := range rounds {
		var list []stream.Entry
		for key := range keys {
			value := fmt.Sprintf("%d %s", round, strings.Repeat("x", 2000))
			list = append(list, streamtest.Entry("prod", fmt.Sprint("k", key), value))
		}
		if err := log.Publish(t.Context(), list...); err != nil {
			t.Fatal(err)
		}
	}
	topic, err := f.topic("log")
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "the topic is small", func() bool { return topic.bytes() < 4*64<<10 })
	for range 2 {
		entries, _, err := log.Last(t.Context(), nil)
		if err != nil || len(entries) != keys {
			t.Fatalf("%d last entries, want %d: %v", len(entries), keys, err)
		}
		for i, e := range entries {
			newest := strings.HasPrefix(string(e.Value), fmt.Sprintf("%d ", rounds-1))
			if e.Key != fmt.Sprint("k", i) || !newest || e.Offset != int64((rounds-1)*keys+i) {
				t.Errorf("entry %d is %s at %d: %.10s", i, e.Key, e.Offset, e.Value)
			}
		}
		mustClose(t, f)
		f = mustOpen(t, smallSegments(dir))
		log, _ = streamtest.MustLog(t, f, c, l)
	}
}
