package send

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ringwatch/ringwatch/frame"
)

// Spool says where frames wait for which there is no room in memory.
type Spool struct {
	// Directory is this process's own; empty: there is no spool.
	Directory string `yaml:"directory"`
	MaxBytes  int64  `yaml:"max_bytes"`
}

// DefaultSpool returns one without a directory.
func DefaultSpool() Spool { return Spool{MaxBytes: 256 << 20} }

// Validate returns what is wrong.
func (c *Spool) Validate() error {
	if c.MaxBytes < 2*segmentBytes {
		return fmt.Errorf("spool: max_bytes is %d: use at least %d", c.MaxBytes, 2*segmentBytes)
	}
	return nil
}

// segmentBytes is how large a file becomes before the next one begins.
const segmentBytes = 4 << 20

const segmentSuffix = ".frames"

// spool is a directory of files, each with frames one behind the other, as a recording has them.
// The oldest file is sent first, and removed once all of it is sent.
type spool struct {
	config  Spool
	metrics *metrics

	mu       sync.Mutex
	segments []segment // oldest first; the last one is written
	file     *os.File  // of the last one; nil: the next frame begins another
	next     uint64
	wake     chan struct{}
}

type segment struct {
	path   string
	frames int
	bytes  int64
}

func openSpool(c Spool, m *metrics) (*spool, error) {
	if err := os.MkdirAll(c.Directory, 0o750); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s := &spool{config: c, metrics: m, wake: make(chan struct{}, 1)}
	list, err := filepath.Glob(filepath.Join(c.Directory, "*"+segmentSuffix))
	if err != nil {
		return nil, err
	}
	slices.Sort(list)
	for _, path := range list {
		one := segment{path: path}
		err := eachFrame(path, func(b []byte) error {
			one.frames++
			one.bytes += int64(len(b))
			return nil
		})
		if err != nil && !errors.Is(err, errTorn) {
			return nil, fmt.Errorf("spool: %w", err)
		}
		s.segments = append(s.segments, one)
		m.frames.Add(float64(one.frames))
		_, _ = fmt.Sscanf(strings.TrimSuffix(filepath.Base(path), segmentSuffix), "%d", &s.next)
		s.next++
	}
	s.count()
	s.wake <- struct{}{}
	return s, nil
}

// errTorn says that a file ends within a frame, as after a crash.
var errTorn = errors.New("the file ends within a frame")

// eachFrame calls f with each frame of a file.
func eachFrame(path string, f func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReader(file)
	for {
		head, err := r.Peek(12)
		if len(head) == 0 && err == io.EOF {
			return nil
		}
		n, err := frame.Length(head)
		if err != nil {
			return fmt.Errorf("%s: %w", path, errTorn)
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(r, b); err != nil {
			return fmt.Errorf("%s: %w", path, errTorn)
		}
		if err := f(b); err != nil {
			return err
		}
	}
}

func (s *spool) count() {
	n, bytes := 0, int64(0)
	for _, one := range s.segments {
		n, bytes = n+one.frames, bytes+one.bytes
	}
	s.metrics.spooled.Set(float64(n))
	s.metrics.spoolBytes.Set(float64(bytes))
}

// put appends a frame. The oldest file goes for it if there is no more room.
func (s *spool) put(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.count()
	if s.file == nil || s.segments[len(s.segments)-1].bytes >= segmentBytes {
		s.end()
		path := filepath.Join(s.config.Directory, fmt.Sprintf("%020d%s", s.next, segmentSuffix))
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o640)
		if err != nil {
			return err
		}
		s.next++
		s.file, s.segments = file, append(s.segments, segment{path: path})
	}
	last := &s.segments[len(s.segments)-1]
	if _, err := s.file.Write(b); err != nil {
		_ = s.file.Truncate(last.bytes)
		return err
	}
	last.frames++
	last.bytes += int64(len(b))
	total := int64(0)
	for _, one := range s.segments {
		total += one.bytes
	}
	for total > s.config.MaxBytes && len(s.segments) > 1 {
		total -= s.segments[0].bytes
		s.metrics.dropped.WithLabelValues("spool_full").Add(float64(s.segments[0].frames))
		s.remove()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// end ends the file that is written.
func (s *spool) end() {
	if s.file != nil {
		_ = s.file.Close() // what was written is in the file
		s.file = nil
	}
}

func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
}

// remove removes the oldest file.
func (s *spool) remove() {
	if len(s.segments) == 1 {
		s.end()
	}
	_ = os.Remove(s.segments[0].path)
	s.segments = s.segments[1:]
	s.count()
}

// oldest returns the oldest file, which is written no more from then on.
func (s *spool) oldest() (segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.segments) == 0 {
		return segment{}, false
	}
	if len(s.segments) == 1 {
		s.end()
	}
	return s.segments[0], true
}

// done removes a file, unless it had to go already.
func (s *spool) done(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.segments) == 0 || s.segments[0].path != path {
		return false
	}
	s.remove()
	return true
}

// drain sends what the spool has, the oldest first.
func (s *Sender) drain(ctx context.Context) {
	backoff := leastBackoff
	for {
		one, is := s.spool.oldest()
		if !is {
			select {
			case <-s.spool.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		sent, refused, moved := 0, 0, 0
		err := eachFrame(one.path, func(b []byte) error {
			for {
				err := s.client.Post(ctx, b)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				if !Again(err) {
					if sent++; err != nil {
						refused++
					}
					backoff = leastBackoff
					return nil
				}
				pause(ctx, backoff, err)
				backoff = min(2*backoff, mostBackoff)
				if ofNode(err) && ctx.Err() == nil { // others of the spool come first
					moved++
					return s.spool.put(b)
				}
			}
		})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.log.Warn("a file of the spool cannot be read to its end, and is removed",
				"frames_sent", sent, "error", err)
		}
		if s.spool.done(one.path) {
			s.metrics.sent.Add(float64(sent - refused))
			s.metrics.dropped.WithLabelValues("refused").Add(float64(refused))
			s.metrics.dropped.WithLabelValues("disk").Add(
				float64(max(0, one.frames-sent-moved)))
		}
	}
}
