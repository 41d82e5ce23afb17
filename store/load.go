package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/stream"
)

// expired reports whether a frame is older than the raw TTL: it could never be read.
func (s *Store) expired(h *frame.Header) bool {
	return h.At < s.clock.Millis()-s.config.RawTTL.Milliseconds()
}

// Loaded is what became of a recording's frames.
type Loaded struct {
	Bytes   int64 // read
	Frames  int   // in Cassandra
	Expired int   // refused: older than the raw TTL
	Ahead   int   // refused: made in the future
	Damaged int   // checksum does not match, or larger than Cassandra takes
}

// Refused is how many frames were not loaded.
func (l Loaded) Refused() int { return l.Expired + l.Ahead + l.Damaged }

// ErrRecording says that bytes are no recording: the frames before that place are loaded, those
// after it cannot be found.
var ErrRecording = errors.New("store: not a recording")

// A batch of a load is at most that many frames and bytes.
const (
	loadFrames = 1000
	loadBytes  = 16 << 20
)

// Load writes a recording, frames one after another (FORMAT.md §3), as if they had come from the
// stream, and closes their windows. It may be repeated and may overlap what is stored already.
// progress, which may be nil, is called after each batch. While Cassandra is away it waits. When
// ctx ends it closes, within ten seconds, what it has written and returns ctx's error: the same
// call made again does the rest. A window that is not over is waited for.
func (s *Store) Load(ctx context.Context, account string, recording io.Reader,
	progress func(Loaded)) (Loaded, error) {
	l := loader{store: s, writer: newWriter(s, Bulk(account+"/load"), true), account: account,
		in: bufio.NewReaderSize(recording, 1<<20)}
	if progress == nil {
		progress = func(Loaded) {}
	}
	err := l.run(ctx, progress)
	if ctx.Err() != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_, closeErr := l.writer.Drain(closing, s.clock.Now())
		return l.done, errors.Join(ctx.Err(), closeErr)
	}
	return l.done, errors.Join(err, l.finish(ctx))
}

type loader struct {
	store   *Store
	writer  *Writer
	account string
	in      *bufio.Reader
	done    Loaded
	batch   []stream.Record
	offset  int64
}

func (l *loader) run(ctx context.Context, progress func(Loaded)) error {
	for {
		size, broken := 0, error(nil)
		l.batch = l.batch[:0]
		for len(l.batch) < loadFrames && size < loadBytes && broken == nil {
			var b []byte
			if b, broken = l.next(); b != nil {
				l.batch = append(l.batch, stream.Record{Account: l.account, Offset: l.offset,
					Value: b})
				l.offset++
				size += len(b)
			}
		}
		if err := l.writer.Handle(ctx, l.batch); err != nil {
			return err
		}
		l.done.Frames += len(l.batch)
		if err := l.writer.CloseDue(ctx, l.store.clock.Now()); err != nil {
			return err
		}
		progress(l.done)
		if broken == io.EOF {
			return nil
		}
		if broken != nil {
			return broken
		}
	}
}

// next returns a frame that can be stored, or nil; an error ends the recording, io.EOF as it
// should.
func (l *loader) next() ([]byte, error) {
	head, err := l.in.Peek(12)
	if len(head) == 0 && err == io.EOF {
		return nil, io.EOF
	}
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: cannot be read after byte %d: %w", ErrRecording, l.done.Bytes,
			err)
	}
	n, err := frame.Length(head)
	if err != nil {
		return nil, fmt.Errorf("%w: byte %d: %w", ErrRecording, l.done.Bytes, err)
	}
	b := make([]byte, n)
	if read, err := io.ReadFull(l.in, b); err != nil {
		return nil, fmt.Errorf("%w: the frame at byte %d is cut after %d of %d bytes", ErrRecording,
			l.done.Bytes, read, n)
	}
	l.done.Bytes += int64(n)
	h, _, err := frame.Parse(b)
	switch {
	case err != nil || n > MaxFrameBytes:
		l.done.Damaged++
	case l.store.expired(&h):
		l.done.Expired++
	case h.At > l.store.clock.Millis()+calendar.AheadMillis:
		l.done.Ahead++
	default:
		return b, nil
	}
	return nil, nil
}

// finish closes all windows, those that are not over when they are.
func (l *loader) finish(ctx context.Context) error {
	for {
		open, err := l.writer.Drain(ctx, l.store.clock.Now())
		if err != nil || open == 0 {
			return err
		}
		t := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
			t.Stop()
			return ctx.Err()
		case <-t.C:
		}
	}
}
