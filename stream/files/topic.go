package files

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/stream"
)

// topic is a directory of segments. Its writer appends to the last one, cursors read all, and the
// keeper deletes, compacts and mends those before the last.
type topic struct {
	dir  string
	of   *directory // which is told of what it drops
	log  *slog.Logger
	size int64 // of a segment

	mu       sync.Mutex
	settings stream.Topic
	segments []*segment    // in order, at least one
	ends     []int64       // by partition: the offset after the last durable record
	newest   int64         // the newest time of durable records, ms
	changed  chan struct{} // closed when ends grow
	queue    []*pending
	queued   int // bytes that wait or are being written
	closed   bool
	trouble  error // of the last attempt to write
	since    time.Time
	work     chan struct{} // something is in the queue

	// The writer alone uses these.
	file   *os.File // of the last segment
	broken bool     // it may have more than is durable
	buf    []byte

	compactAt int64 // the keeper's: bytes of closed segments that are worth compacting
}

// pending is a message that waits.
type pending struct {
	stream.Message
	from  *publisher
	done  func(error)
	bytes int
}

// publisher is a stream.Publisher.
type publisher struct {
	topic    *topic
	settings stream.Topic
	closed   bool // topic.mu guards it
}

// openTopic opens what a directory has, or begins it. No new record gets an offset below floor.
func openTopic(
	dir string, settings stream.Topic, size int64, floor map[int32]int64, of *directory,
) (*topic, error) {
	if err := durable.Dir(dir); err != nil {
		return nil, err
	}
	t := &topic{dir: dir, of: of, log: of.log, size: size, settings: settings,
		changed: make(chan struct{}), work: make(chan struct{}, 1)}
	if err := t.load(); err != nil {
		return nil, err
	}
	if len(t.segments) == 0 {
		t.ends = make([]int64, settings.Partitions)
		raise(t.ends, floor)
		return t, t.roll()
	}
	t.settings.Partitions = int32(len(t.segments[0].base))
	if err := t.recover(); err != nil {
		return nil, err
	}
	if raise(t.ends, floor) || t.last().damaged {
		return t, t.roll()
	}
	return t, nil
}

// raise makes offsets at least floor, and reports whether it had to.
func raise(offsets []int64, floor map[int32]int64) (raised bool) {
	for p := range offsets {
		if low := floor[int32(p)]; offsets[p] < low {
			offsets[p], raised = low, true
		}
	}
	return raised
}

// last is the segment that is written. The caller has the lock.
func (t *topic) last() *segment { return t.segments[len(t.segments)-1] }

// partitions returns all partitions.
func (t *topic) partitions() []int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]int32, len(t.ends))
	for p := range list {
		list[p] = int32(p)
	}
	return list
}

// load reads the headers of all segments. One that has none gets one.
func (t *topic) load() error {
	if _, err := disk.List(t.dir); err != nil {
		return err
	}
	ids, err := segments(t.dir)
	if err != nil {
		return err
	}
	var headless []int
	replaced := uint64(math.MaxUint64) // from here on
	for _, id := range slices.Backward(ids) {
		if id >= replaced {
			if err := os.Remove(segmentPath(t.dir, id)); err != nil {
				return err
			}
			continue
		}
		s, err := readSegment(t.dir, id)
		switch {
		case errors.Is(err, disk.ErrDamaged):
			s, err = headerless(t.dir, id)
			if err != nil {
				return err
			}
		case err != nil:
			return err
		}
		if replaced != math.MaxUint64 && id+1 != replaced {
			t.of.tellDamage()
			t.log.Error("files of the stream are missing; what they had is lost",
				"directory", t.dir,
				"after", filepath.Base(s.path))
		}
		replaced = s.first
		t.segments = append(t.segments, s)
	}
	slices.Reverse(t.segments)
	partitions := int(t.settings.Partitions)
	for i, s := range t.segments {
		if s.base == nil {
			headless = append(headless, i)
		} else {
			partitions = len(s.base)
		}
	}
	for _, i := range headless {
		if err := t.behead(i, partitions); err != nil {
			return err
		}
	}
	return nil
}

// headerless is a segment of which the name and the age are known.
func headerless(dir string, id uint64) (*segment, error) {
	path := segmentPath(dir, id)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &segment{id: id, first: id, path: path, size: info.Size(),
		before: info.ModTime().UnixMilli()}, nil
}

// behead gives the segment at i, whose header is damaged, one that follows from its records and its
// neighbours.
func (t *topic) behead(i, partitions int) error {
	s := t.segments[i]
	s.compact, s.base = t.settings.Compact, make([]int64, partitions)
	for p := range s.base {
		s.base[p] = -1
	}
	_, err := s.each(func(h *head, _ []byte) error {
		if at := &s.base[h.partition]; *at < 0 {
			*at = h.offset
		}
		return nil
	})
	if err != nil {
		return err
	}
	known := make([]int64, partitions)
	switch {
	case i+1 < len(t.segments) && t.segments[i+1].base != nil:
		known = t.segments[i+1].base
	case i > 0:
		copy(known, t.segments[i-1].base)
		_, err = t.segments[i-1].each(func(h *head, _ []byte) error {
			known[h.partition] = max(known[h.partition], h.offset+1)
			return nil
		})
	}
	for p := range s.base {
		if s.base[p] < 0 {
			s.base[p] = known[p]
		}
	}
	if err != nil {
		return err
	}
	t.segments[i], err = t.mend(s)
	return err
}

// each calls f with the whole records of a segment, and returns how many bytes are none.
func (s *segment) each(f func(*head, []byte) error) (lost int64, err error) {
	file, err := os.Open(s.path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if s.size <= s.begin() {
		return 0, nil
	}
	scan := newScanner(file, len(s.base), s.begin(), s.size)
	for {
		h, err := scan.head()
		var body []byte
		if err == nil {
			body, err = scan.body(&h)
		}
		switch {
		case errors.Is(err, io.EOF):
			return lost, nil
		case errors.Is(err, disk.ErrDamaged):
			n, err := scan.resync()
			if err != nil {
				return lost, err
			}
			lost += n
			continue
		case err != nil:
			return lost, err
		}
		if err := f(&h, body); err != nil {
			return lost, err
		}
	}
}

// mend makes a file of the whole records of a damaged one, in its place, and sets that aside. Who
// reads the damaged one goes on with it.
func (t *topic) mend(s *segment) (*segment, error) {
	away, err := t.of.quarantine.Link(s.path, filepath.Base(t.dir)+"-")
	if err != nil {
		return nil, err
	}
	mended := &segment{id: s.id, first: s.first, path: s.path, compact: s.compact, before: s.before,
		base: s.base, oldest: s.oldest}
	var lost int64
	err = mended.create(&t.of.disk, func(out *os.File) error {
		w := recordWriter{file: out}
		var err error
		if lost, err = s.each(w.record); err != nil {
			return err
		}
		return w.flush()
	})
	if err != nil {
		return nil, err
	}
	if !s.damaged {
		t.of.tellDamage()
	}
	t.log.Error("a file of the stream was damaged; what is whole in it is served",
		"file", s.path, "aside", away, "lost_bytes", lost)
	return mended, nil
}

// recordWriter copies records into a file.
type recordWriter struct {
	file  *os.File
	buf   []byte
	bytes int64
}

func (w *recordWriter) record(h *head, body []byte) error {
	m := h.message(body)
	w.buf = appendRecord(w.buf, &m)
	w.bytes += int64(headBytes + len(body))
	if len(w.buf) < 1<<20 {
		return nil
	}
	return w.flush()
}

func (w *recordWriter) flush() error {
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// recover finds the end of the last segment. What a crash has left there of a record is cut off;
// all the rest is made durable before anybody sees it.
func (t *topic) recover() error {
	s := t.last()
	file, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	t.file = file
	t.ends, t.newest = slices.Clone(s.base), s.before
	scan := newScanner(file, len(s.base), s.begin(), s.size)
	for {
		whole := scan.pos
		h, err := scan.head()
		if err == nil {
			_, err = scan.body(&h)
		}
		if errors.Is(err, disk.ErrDamaged) {
			if _, err := scan.resync(); err != nil {
				return err
			}
			if scan.pos < scan.end { // whole records follow: this is no write that was cut off
				if !s.damaged {
					t.of.tellDamage()
				}
				s.damaged = true
				continue
			}
			t.log.Warn("a record at the end was never whole and is cut off", "file", s.path,
				"bytes", scan.end-whole)
			s.size = whole
			err = errors.Join(file.Truncate(whole), io.EOF)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		t.saw(h.time)
		t.ends[h.partition] = max(t.ends[h.partition], h.offset+1)
	}
	return durable.Bytes(file)
}

// saw notes the time of a record in the last segment.
func (t *topic) saw(ms int64) {
	if s := t.last(); s.oldest == 0 {
		s.oldest = ms
	}
	t.newest = max(t.newest, ms)
}

// roll begins a new last segment.
func (t *topic) roll() error {
	s := &segment{id: 1, compact: t.settings.Compact, before: t.newest, base: slices.Clone(t.ends)}
	t.mu.Lock()
	if len(t.segments) > 0 {
		s.id = t.last().id + 1
	}
	t.mu.Unlock()
	s.first, s.path = s.id, segmentPath(t.dir, s.id)
	if err := s.create(&t.of.disk, nil); err != nil {
		return fmt.Errorf("stream: cannot begin a file: %w", err)
	}
	file, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if t.file != nil {
		_ = t.file.Close() // all is durable
	}
	t.file = file
	t.mu.Lock()
	defer t.mu.Unlock()
	t.segments = append(slices.Clip(t.segments), s)
	select {
	case t.of.grown <- struct{}{}:
	default:
	}
	return nil
}

// newestOf returns the newest time up to the end of the segment at i. The caller has the lock.
func (t *topic) newestOf(i int) int64 {
	if i+1 < len(t.segments) {
		return t.segments[i+1].before
	}
	return t.newest
}
