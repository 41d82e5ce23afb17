package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/disk/durable/durabletest"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/streamtest"
)

// A process that a test starts finds its orders here.
const (
	childRole  = "RINGWATCH_TEST_FILES_ROLE"
	childDir   = "RINGWATCH_TEST_FILES_DIR"
	childLife  = "RINGWATCH_TEST_FILES_LIFE"
	childNotes = "RINGWATCH_TEST_FILES_NOTES" // durabletest.Record's; empty: there are none
)

const loadClusters = 8

func loadConfig() stream.Config {
	c := stream.DefaultConfig()
	c.Topic, c.Partitions, c.PublishTimeout = "load", 4, time.Minute
	return c
}

// smallSegments make a test see many of them.
func smallSegments(dir string) Config {
	return Config{Dir: dir, MaxBytes: 1 << 30, SegmentBytes: 64 << 10,
		KeepEvery: 10 * time.Millisecond}
}

// load publishes frames of some clusters and entries of a log, consumes the frames, and says on
// standard output what was acknowledged and what had its effect, until it is killed.
func load() {
	f, err := Open(smallSegments(os.Getenv(childDir)), quiet)
	must(err)
	c := loadConfig()
	must(stream.EnsureTopic(context.Background(), f, c))
	l := streamtest.LogConfig(c)
	l.Topic = "log"
	must(stream.EnsureLog(context.Background(), f, c, l))
	producer, err := stream.NewProducer(f, c, prometheus.NewRegistry())
	must(err)
	log, err := stream.NewLog(f, c, l, prometheus.NewRegistry())
	must(err)
	life := os.Getenv(childLife)
	for i := range loadClusters {
		go func() {
			cluster := fmt.Sprint("c", i)
			for n := 0; ; n++ {
				value := fmt.Sprintf("%s.%06d", life, n)
				b := append([]byte(value+" "), make([]byte, n%3000)...)
				must(producer.Publish(context.Background(), "acme", cluster, b))
				say("frame %s %s", cluster, value)
				if n%10 == 0 {
					must(log.Publish(context.Background(),
						streamtest.Entry(cluster, "last", value)))
					say("entry %s %s", cluster, value)
				}
			}
		}()
	}
	cc := streamtest.ConsumerConfig(c)
	consumer, err := stream.NewConsumer(f, cc, &sayer{streamtest.NewWorker(streamtest.NewBoard())},
		prometheus.NewRegistry(), quiet)
	must(err)
	must(consumer.Run(context.Background()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// say prints a line at once, and whole.
func say(format string, args ...any) {
	_, err := os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n")
	must(err)
}

// sayer's effect is what it says.
type sayer struct{ *streamtest.Worker }

func (s *sayer) Handle(ctx context.Context, records []stream.Record) error {
	if err := s.Worker.Handle(ctx, records); err != nil {
		return err
	}
	if err := s.Board.Err(); err != nil {
		return err
	}
	for _, r := range records {
		value, _, _ := strings.Cut(string(r.Value), " ")
		say("effect %d %d %s %s", r.Partition, r.Offset, r.Cluster, value)
	}
	return nil
}

// heard is what killed processes have said.
type heard struct {
	frames  map[string][]string // acknowledged, by cluster, in order
	entries map[string]string   // the last acknowledged, by cluster
	effects map[string]bool     // "cluster value"
	resumes map[int32]int64     // by partition: one more than the highest offset with an effect
}

func newHeard() *heard {
	return &heard{map[string][]string{}, map[string]string{}, map[string]bool{}, map[int32]int64{}}
}

// life runs the child until it has said so many lines, kills it, and takes what it said.
func (h *heard) life(t *testing.T, dir, notes string, life, lines int) {
	t.Helper()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), childRole+"=load", childDir+"="+dir,
		fmt.Sprintf("%s=%04d", childLife, life), childNotes+"="+notes)
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(streamtest.Patience, func() { _ = process.Process.Kill() })
	defer late.Stop()
	next := map[int32]int64{}
	said := bufio.NewReader(out)
	for n := 0; ; n++ {
		line, err := said.ReadString('\n')
		if errors.Is(err, io.EOF) { // what is left is no whole line
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == lines { // the rest of what it said is read
			if notes == "" {
				_ = process.Process.Kill()
			} else {
				must(durabletest.End(notes))
			}
		}
		words := strings.Fields(line)
		switch words[0] {
		case "frame":
			h.frames[words[1]] = append(h.frames[words[1]], words[2])
		case "entry":
			h.entries[words[1]] = words[2]
		case "effect":
			p, _ := strconv.ParseInt(words[1], 10, 32)
			offset, _ := strconv.ParseInt(words[2], 10, 64)
			partition := int32(p)
			want, later := next[partition]
			if !later && offset > h.resumes[partition] || later && offset != want {
				t.Errorf("life %d: offset %d of partition %d, %d is next, %d had its effect before",
					life, offset, partition, want, h.resumes[partition])
			}
			next[partition] = offset + 1
			h.effects[words[3]+" "+words[4]] = true
		}
	}
	_ = process.Wait() // it was killed
	for p, offset := range next {
		h.resumes[p] = max(h.resumes[p], offset)
	}
}

// check opens a directory and finds all that was acknowledged: frames in order, each once, and the
// last entry of each cluster or a newer one.
func (h *heard) check(t *testing.T, dir string) {
	t.Helper()
	f := mustOpen(t, smallSegments(dir))
	defer mustClose(t, f)
	c := loadConfig()
	streamtest.MustTopic(t, f, c)
	kept := map[string][]string{}
	p, err := f.Open(stream.Topic{Name: c.Topic})
	if err != nil {
		t.Fatal(err)
	}
	ends, err := p.Fence(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	last := map[int32]int64{}
	all := stream.Reading{Topic: c.Topic, At: map[int32]int64{0: 0, 1: 0, 2: 0, 3: 0}, Until: ends}
	err = f.Read(t.Context(), all, func(m *stream.Message) error {
		cluster := strings.TrimPrefix(string(m.Key), "acme/")
		value, _, _ := strings.Cut(string(m.Value), " ")
		kept[cluster] = append(kept[cluster], value)
		if before, ok := last[m.Partition]; ok && m.Offset <= before {
			t.Errorf("offset %d of partition %d comes after %d", m.Offset, m.Partition, before)
		}
		last[m.Partition] = m.Offset
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for cluster, want := range h.frames {
		have, at := kept[cluster], 0
		for i := 1; i < len(have); i++ {
			if have[i] <= have[i-1] {
				t.Fatalf("%s: %s comes after %s", cluster, have[i], have[i-1])
			}
		}
		for _, value := range want {
			for at < len(have) && have[at] != value {
				at++
			}
			if at == len(have) {
				t.Fatalf("%s: frame %s was acknowledged and is not there", cluster, value)
			}
		}
	}
	l := streamtest.LogConfig(c)
	l.Topic = "log"
	log, _ := streamtest.MustLog(t, f, c, l)
	entries, _, err := log.Last(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	newest := map[string]string{}
	for _, e := range entries {
		newest[e.Cluster] = string(e.Value)
	}
	for cluster, want := range h.entries {
		if newest[cluster] < want {
			t.Errorf("%s: the last entry is %q, and %q was acknowledged", cluster, newest[cluster],
				want)
		}
	}
}

// TestKilled kills a process under load, again and again: what it acknowledged is there, in order,
// and its consumer goes on where it was. So it is when the power fails each time, and all that was
// not synced is lost.
func TestKilled(t *testing.T) {
	t.Run("Killed", func(t *testing.T) { killed(t, false) })
	t.Run("WithoutPower", func(t *testing.T) { killed(t, true) })
}

func killed(t *testing.T, power bool) {
	lives := 25
	switch {
	case testing.Short():
		lives = 5
	case os.Getenv("RINGWATCH_TEST_FULL") != "":
		lives = 1000
	}
	random, dir, h := streamtest.Random(t), filepath.Join(t.TempDir(), "stream"), newHeard()
	var lost durabletest.Lost
	// What a power failure takes is drawn: it goes on until it has taken something of each kind.
	for life := 0; life < lives || power && lost.Given == 0 && life < 20*lives; life++ {
		if !power {
			h.life(t, dir, "", life, 1+random.IntN(2000))
			continue
		}
		notes := filepath.Join(t.TempDir(), "notes")
		h.life(t, dir, notes, life, 1+random.IntN(2000))
		l, err := durabletest.Lose(random, dir, notes)
		if err != nil {
			t.Fatal(err)
		}
		lost.Add(l)
		if life%10 == 0 {
			h.check(t, dir)
		}
	}
	if power && (lost.Bytes == 0 || lost.Given == 0) {
		t.Errorf("only %s were lost", lost)
	}
	t.Logf("lost were %s", lost)
	h.check(t, dir)
	frames := 0
	for _, list := range h.frames {
		frames += len(list)
	}
	t.Logf("%d lives, %d frames, %d effects", lives, frames, len(h.effects))
	// All of them have an effect in the end.
	f := mustOpen(t, smallSegments(dir))
	c := loadConfig()
	streamtest.MustTopic(t, f, c)
	w := streamtest.NewWorker(streamtest.NewBoard())
	consumer, _ := streamtest.MustConsumer(t, f, streamtest.ConsumerConfig(c), w)
	stop := streamtest.Run(t, consumer)
	eventually.True(t, "the rest is handled", func() bool {
		for _, r := range w.Kept() {
			value, _, _ := strings.Cut(string(r.Value), " ")
			h.effects[r.Cluster+" "+value] = true
		}
		for cluster, list := range h.frames {
			for _, value := range list {
				if !h.effects[cluster+" "+value] {
					return false
				}
			}
		}
		return true
	})
	stop()
}

// TestCut cuts copies of a directory that a process left in the middle of writing, at any byte of
// the file that is written: all that was there whole before is served, and new records follow.
func TestCut(t *testing.T) {
	random, dir, h := streamtest.Random(t), t.TempDir(), newHeard()
	h.life(t, dir, "", 0, 3000)
	whole := offsets(t, dir)
	for range 60 {
		copied := t.TempDir()
		if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		file := lastSegment(t, filepath.Join(copied, "topics", "load"))
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		at := random.Int64N(info.Size() + 1)
		if err := os.Truncate(file, at); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, r := range whole {
			if r.file != filepath.Base(file) || r.end <= at {
				want++
			}
		}
		f := mustOpen(t, smallSegments(copied))
		c := loadConfig()
		streamtest.MustTopic(t, f, c)
		if got := len(readAll(t, f, c.Topic)); got != want {
			t.Fatalf("cut at %d of %d: %d records are served, want %d", at, info.Size(), got, want)
		}
		p, _ := streamtest.MustProducer(t, f, c)
		streamtest.MustPublish(t, p, "c0", 1)
		if got := len(readAll(t, f, c.Topic)); got != want+1 {
			t.Fatalf("cut at %d of %d: %d records are served after one more, want %d",
				at, info.Size(), got, want+1)
		}
		mustClose(t, f)
	}
}
