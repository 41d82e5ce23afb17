package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/stream"
)

const (
	// groupEvery is how far apart the beginnings of two fsyncs of a topic are at least: messages
	// that come meanwhile share the second one.
	groupEvery = 10 * time.Millisecond
	// groupBytes bounds what is written at once, and the memory that takes.
	groupBytes = 16 << 20
	// retryEvery is how often a write that failed is tried again, for messages that are not given
	// up.
	retryEvery = 100 * time.Millisecond
	// troubleFor is how long a failed write counts in Ready: who asks may be why none is tried.
	troubleFor = 10 * time.Second
)

// errClosed is what is given up because of Close.
var errClosed = errors.New("stream: closed")

// Publish implements stream.Publisher.
func (p *publisher) Publish(m *stream.Message, done func(error)) {
	if err := p.enqueue(m, done); err != nil {
		done(err)
	}
}

func (p *publisher) enqueue(m *stream.Message, done func(error)) error {
	t := p.topic
	one := &pending{Message: *m, from: p, bytes: headBytes + len(m.Key) + len(m.Value)}
	one.done = func(err error) {
		if err == nil {
			m.Partition, m.Offset = one.Partition, one.Offset
		}
		done(err)
	}
	if one.Time.IsZero() {
		one.Time = time.Now()
	}
	if one.bytes > int(p.settings.MaxMessageBytes) {
		return stream.Because(
			fmt.Errorf("stream: a message has %d bytes, more than %d, its topic's "+
				"bound", one.bytes, p.settings.MaxMessageBytes), stream.ErrRefused)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one.Partition = p.settings.Partition(m.Key, len(t.ends))
	switch {
	case p.closed || t.closed:
		return errClosed
	case t.queued+one.bytes > p.settings.MaxBufferedBytes:
		return stream.Because(fmt.Errorf("stream: %d bytes wait to be written to %s", t.queued,
			t.dir), stream.ErrFull)
	}
	t.queue = append(t.queue, one)
	t.queued += one.bytes
	t.wake()
	return nil
}

// wake makes the writer look at the queue.
func (t *topic) wake() {
	select {
	case t.work <- struct{}{}:
	default:
	}
}

// Fence implements stream.Publisher: what is published is before the ends.
func (p *publisher) Fence(_ context.Context, partitions []int32) (stream.Position, error) {
	p.topic.mu.Lock()
	defer p.topic.mu.Unlock()
	at := stream.Position{}
	for i, end := range p.topic.ends {
		at[int32(i)] = end
	}
	if partitions == nil {
		return at, nil
	}
	some := stream.Position{}
	for _, i := range partitions {
		end, ok := at[i]
		if !ok {
			return nil, fmt.Errorf("stream: the topic has no partition %d", i)
		}
		some[i] = end
	}
	return some, nil
}

// Ready implements stream.Publisher: it returns why the last write failed, if that was just now.
func (p *publisher) Ready(context.Context) error {
	p.topic.mu.Lock()
	defer p.topic.mu.Unlock()
	switch {
	case p.topic.closed:
		return errClosed
	case p.topic.trouble != nil && time.Since(p.topic.since) < troubleFor:
		return p.topic.trouble
	}
	return nil
}

// Close implements stream.Publisher.
func (p *publisher) Close() {
	t := p.topic
	t.mu.Lock()
	p.closed = true
	var keep, gone []*pending
	for _, one := range t.queue {
		if one.from == p {
			gone = append(gone, one)
			t.queued -= one.bytes
		} else {
			keep = append(keep, one)
		}
	}
	t.queue = keep
	t.mu.Unlock()
	for _, one := range gone {
		one.done(errClosed)
	}
}

// write is the topic's writer: it writes what is in the queue, group by group, until stop is
// closed, and then what is left.
func (t *topic) write(stop <-chan struct{}) {
	var last time.Time
	for stopping := false; !stopping; {
		select {
		case <-t.work:
		case <-stop:
			stopping = true
		}
		for {
			if wait := groupEvery - time.Since(last); wait > 0 && !stopping {
				stopping = pause(stop, wait)
			}
			last = time.Now()
			group := t.take()
			if len(group) == 0 {
				break
			}
			err := t.append(group)
			if again := t.answer(group, err, stopping); again && !stopping {
				stopping = pause(stop, retryEvery)
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.file.Close() // all that was answered is durable
}

// pause waits and reports whether stop was closed.
func pause(stop <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return true
	case <-timer.C:
		return false
	}
}

// take takes a group from the queue.
func (t *topic) take() []*pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, bytes := 0, 0
	for n < len(t.queue) && (n == 0 || int64(bytes+t.queue[n].bytes) <= min(groupBytes, t.size)) {
		bytes += t.queue[n].bytes
		n++
	}
	group := t.queue[:n:n]
	t.queue = t.queue[n:]
	return group
}

// answer tells who waits for a group. Messages that are not given up go back to the front of the
// queue; it reports whether any did.
func (t *topic) answer(group []*pending, err error, stopping bool) (again bool) {
	t.mu.Lock()
	if (err == nil) != (t.trouble == nil) {
		if err != nil {
			t.log.Error("the stream cannot be written; it is tried again", "directory", t.dir,
				"error", err)
		} else {
			t.log.Info("the stream can be written again", "directory", t.dir)
		}
	}
	t.trouble, t.since = err, time.Now()
	var back, told []*pending
	for _, one := range group {
		if err != nil && !one.from.settings.GiveUp && !one.from.closed && !stopping {
			back = append(back, one)
			continue
		}
		told = append(told, one)
		t.queued -= one.bytes
	}
	if len(back) > 0 {
		t.queue = append(back, t.queue...)
	}
	t.mu.Unlock()
	for _, one := range told {
		one.done(err)
	}
	return len(back) > 0
}

// append makes a group durable, or nothing of it.
func (t *topic) append(group []*pending) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("stream: cannot write to %s: %w", t.dir, err)
			_ = t.heal() // at once, for a disk that is full; else before the next group
		}
	}()
	if err := t.heal(); err != nil {
		return err
	}
	bytes := 0
	for _, one := range group {
		bytes += one.bytes
	}
	s, full := t.room(bytes)
	if full {
		if err := t.roll(); err != nil {
			return err
		}
		s, _ = t.room(bytes)
	}
	ends := slices.Clone(t.ends)
	if cap(t.buf) > 1<<20 && bytes < 1<<20 { // a large one is not kept
		t.buf = nil
	}
	t.buf = t.buf[:0]
	for _, one := range group {
		one.Offset = ends[one.Partition]
		ends[one.Partition]++
		t.buf = appendRecord(t.buf, &one.Message)
	}
	t.broken = true
	if _, err := t.file.WriteAt(t.buf, s.size); err != nil {
		return err
	}
	if err := durable.Bytes(t.file); err != nil {
		return err
	}
	t.broken = false
	t.mu.Lock()
	defer t.mu.Unlock()
	s.size += int64(len(t.buf))
	t.ends = ends
	for _, one := range group {
		t.saw(one.Time.UnixMilli())
	}
	close(t.changed)
	t.changed = make(chan struct{})
	return nil
}

// heal cuts off what a failed write may have left. After a failed fsync the pages count as clean
// although they are not, so they are written again.
func (t *topic) heal() error {
	if !t.broken {
		return nil
	}
	s, _ := t.room(0)
	if err := t.file.Truncate(s.size); err != nil {
		return err
	}
	if err := durable.Bytes(t.file); err != nil {
		return err
	}
	t.broken = false
	return nil
}

// room returns the last segment, and whether it has none for so many bytes, or its first record is
// so old that the segment must end for retention to get at it.
func (t *topic) room(bytes int) (last *segment, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, age := t.last(), t.settings.Retention/24
	if s.size == s.begin() {
		return s, false
	}
	return s, s.size+int64(bytes) > t.size || age > 0 && time.Since(time.UnixMilli(s.oldest)) > age
}
