package files

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/stream"
)

// cursor reads the durable records of some partitions in the order in which they were written.
type cursor struct {
	topic *topic
	next  []int64 // by partition: the offset that comes next; unread: not this one
	// since[p]: records older than from are left out, up to the first that is not. Those that
	// became durable after the cursor began are never left out.
	since []bool
	until []int64
	from  int64 // ms

	segment *segment
	file    *os.File
	scan    *scanner
}

const unread = int64(-2)

// newCursor begins at offsets by partition; stream.BySince: at the first record at or after a time.
// Partitions that at does not have are not read.
func newCursor(t *topic, at map[int32]int64, since time.Time) (*cursor, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := &cursor{topic: t, next: make([]int64, len(t.ends)), since: make([]bool, len(t.ends)),
		until: t.ends, from: since.UnixMilli()}
	for p := range c.next {
		c.next[p] = unread
	}
	for p, offset := range at {
		if p < 0 || int(p) >= len(c.next) {
			return nil, errors.New("the topic has no such partition")
		}
		c.next[p], c.since[p] = max(offset, 0), offset == stream.BySince
	}
	return c, nil
}

func (c *cursor) close() {
	if c.file != nil {
		_ = c.file.Close()
	}
	c.file = nil
}

// read returns the next record, whose bytes are valid until the next call. At the end it returns
// false and a channel that is closed when there is more.
func (c *cursor) read() (stream.Message, <-chan struct{}, bool, error) {
	for {
		if c.scan == nil {
			if err := c.enter(); err != nil {
				return stream.Message{}, nil, false, err
			}
		}
		h, err := c.scan.head()
		if err == nil && !c.wants(&h) {
			continue
		}
		var body []byte
		if err == nil {
			body, err = c.scan.body(&h)
		}
		switch {
		case err == nil:
			c.next[h.partition] = h.offset + 1
			return h.message(body), nil, true, nil
		case errors.Is(err, io.EOF):
			if more, err := c.advance(); more != nil || err != nil {
				return stream.Message{}, more, false, err
			}
		case errors.Is(err, disk.ErrDamaged):
			if err := c.leap(); err != nil {
				return stream.Message{}, nil, false, err
			}
		default:
			return stream.Message{}, nil, false, err
		}
	}
}

// wants reports whether a record is due.
func (c *cursor) wants(h *head) bool {
	p := h.partition
	if c.next[p] == unread || h.offset < c.next[p] {
		return false
	}
	if c.since[p] && h.time < c.from && h.offset < c.until[p] {
		c.next[p] = h.offset + 1
		return false
	}
	c.since[p] = false
	return true
}

// enter opens the segment in which the first record that is due may be.
func (c *cursor) enter() error {
	c.topic.mu.Lock()
	defer c.topic.mu.Unlock()
	list, start := c.topic.segments, len(c.topic.segments)-1
	for p, next := range c.next {
		for next != unread && start > 0 && !c.since[p] && list[start].base[p] > next {
			start--
		}
		for c.since[p] && start > 0 && c.topic.newestOf(start-1) >= c.from {
			start--
		}
	}
	return c.open(list[start])
}

// open opens a segment. The caller has the topic's lock, so the keeper cannot remove it before.
func (c *cursor) open(s *segment) error {
	c.close()
	file, err := os.Open(s.path)
	if err != nil {
		return err
	}
	c.segment, c.file, c.scan = s, file, newScanner(file, len(s.base), s.begin(), s.size)
	return nil
}

// advance goes on behind the end of what was known of the segment. At the end of the topic it
// returns a channel that is closed when there is more.
func (c *cursor) advance() (<-chan struct{}, error) {
	t := c.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.scan.pos < c.segment.size {
		c.scan.seek(c.scan.pos, c.segment.size)
		return nil, nil
	}
	for _, s := range t.segments {
		if s.id > c.segment.id {
			return nil, c.open(s)
		}
	}
	for p := range c.next {
		if c.next[p] != unread {
			c.next[p] = max(c.next[p], t.ends[p])
		}
	}
	return t.changed, nil
}

// leap goes on behind a damaged place, and has the keeper mend the file.
func (c *cursor) leap() error {
	at := c.scan.pos
	lost, err := c.scan.resync()
	if err != nil {
		return err
	}
	t := c.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.segment.damaged {
		c.segment.damaged = true
		t.of.tellDamage()
		t.log.Error("a file of the stream is damaged; reading goes on behind the damage",
			"file", c.segment.path, "at", at, "bytes", lost)
	}
	return nil
}

// reached reports whether all partitions are where they are to stop.
func (c *cursor) reached(until map[int32]int64) bool {
	for p, offset := range until {
		if c.next[p] < offset {
			return false
		}
	}
	return until != nil
}
