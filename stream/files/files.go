// Package files keeps the stream's topics in a directory of one process, as files of records that
// only grow at their end. Begin with Files. Of our packages it imports stream, disk and
// disk/durable.
//
// What it promises: a message is durable when it is acknowledged, and nobody sees it before. One
// fsync does for all messages that came meanwhile. A crash loses only what was not acknowledged.
// Damage in a file loses the records that it hits; the log names the file, and it is set aside.
//
// What bites: the first member of a consumer group has all partitions, since all are in one
// process. One topic's partitions share its files, so reading one partition costs reading all.
package files

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/stream"
)

// Config says where the topics are.
type Config struct {
	Dir string
	// MaxBytes bounds the directory: what is set aside goes first, then the oldest file of a topic
	// that is not compacted. 0: there is no bound.
	MaxBytes int64
	// SegmentBytes is how large a file becomes. 0: what suits MaxBytes. It is written whole or,
	// in a crash, cut off; it is deleted whole.
	SegmentBytes int64
	// Registerer takes the directory's metrics; nil: nobody.
	Registerer prometheus.Registerer
	// KeepEvery is how often retention, size and damage are seen to. 0: every 10 s.
	KeepEvery time.Duration
}

const (
	largeSegment   = 64 << 20
	compactSegment = 4 << 20
	keepEvery      = 10 * time.Second
	// MinBytes is the least that Config.MaxBytes may be, if it is a bound.
	MinBytes = 64 << 20
)

// Files is a stream.Engine.
type Files struct {
	config  Config
	log     *slog.Logger
	lock    *disk.Lock
	dir     *directory
	commits stream.Publisher
	groups  groups
	stop    chan struct{}
	work    sync.WaitGroup

	mu     sync.Mutex
	topics map[string]*topic
	closed bool
}

// Open opens a directory, which it makes if need be, and begins to see to its files until Close.
func Open(c Config, log *slog.Logger) (*Files, error) {
	if c.KeepEvery == 0 {
		c.KeepEvery = keepEvery
	}
	if c.SegmentBytes == 0 {
		c.SegmentBytes = largeSegment
		if c.MaxBytes > 0 {
			c.SegmentBytes = min(largeSegment, c.MaxBytes/8)
		}
	}
	for _, dir := range []string{c.Dir, filepath.Join(c.Dir, "topics")} {
		if err := durable.Dir(dir); err != nil {
			return nil, fmt.Errorf("stream: cannot make a directory for the stream: %w", err)
		}
	}
	lock, err := disk.Take(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	f := &Files{config: c, log: log, lock: lock, stop: make(chan struct{}),
		topics: map[string]*topic{}, groups: newGroups()}
	f.dir = newDirectory(c.Dir, log, f.Bytes)
	if err = f.dir.metrics.Register(c.Registerer); err == nil {
		err = f.openCommits()
	}
	if err != nil {
		f.dir.metrics.Unregister()
		return nil, errors.Join(err, lock.Close())
	}
	f.work.Go(f.keep)
	return f, nil
}

// commitsTopic is what groups have committed. It lies beside the others, so that no name clashes.
var commitsTopic = stream.Topic{Name: "commits", Partitions: 1, Compact: true,
	MaxMessageBytes: 1 << 10, GiveUp: true, MaxBufferedBytes: 1 << 20,
	Partition: func([]byte, int) int32 { return 0 }}

func (f *Files) openCommits() error {
	t, err := f.openTopic(filepath.Join(f.config.Dir, commitsTopic.Name), commitsTopic)
	if err != nil {
		return err
	}
	f.commits = &publisher{topic: t, settings: commitsTopic}
	all, err := newCursor(t, map[int32]int64{0: 0}, time.Time{})
	if err != nil {
		return err
	}
	defer all.close()
	for {
		m, _, ok, err := all.read()
		if err != nil || !ok {
			return err
		}
		f.groups.take(&m)
	}
}

// openTopic opens a topic and starts its writer. The caller has the lock, or is alone.
func (f *Files) openTopic(dir string, settings stream.Topic) (*topic, error) {
	size := f.config.SegmentBytes
	if settings.Compact {
		size = min(size, compactSegment)
	}
	t, err := openTopic(dir, settings, size, f.groups.floor(settings.Name), f.dir)
	if err != nil {
		return nil, fmt.Errorf("stream: cannot open %s: %w", dir, err)
	}
	f.topics[settings.Name] = t
	f.work.Go(func() { t.write(f.stop) })
	return t, nil
}

// Ensure implements stream.Engine.
func (f *Files) Ensure(_ context.Context, want stream.Topic) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errClosed
	}
	t := f.topics[want.Name]
	if t == nil {
		if want.Name == commitsTopic.Name {
			return fmt.Errorf("%w: %s is a name of its own: choose another", stream.ErrTopic,
				want.Name)
		}
		var err error
		if t, err = f.openTopic(filepath.Join(f.config.Dir, "topics", want.Name),
			want); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.last().compact; have != want.Compact {
		return fmt.Errorf("%w: %s was made for another use: choose another name", stream.ErrTopic,
			want.Name)
	}
	if have := int32(len(t.ends)); have != want.Partitions {
		f.log.Warn("the topic differs from the configuration; change that back", "topic", want.Name,
			"setting", "partitions", "topic_has", have, "configured", want.Partitions)
	}
	t.settings.Retention = want.Retention
	return nil
}

// topic returns a topic that Ensure has made or found.
func (f *Files) topic(name string) (*topic, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errClosed
	}
	t := f.topics[name]
	if t == nil {
		return nil, fmt.Errorf("%w: %s", stream.ErrNoTopic, name)
	}
	return t, nil
}

// list returns the topics that are open.
func (f *Files) list() []*topic {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.topics))
}

// Bytes returns how large the directory is, with what is set aside in it.
func (f *Files) Bytes() int64 { return f.dir.size(f.list()) }

// Warning returns in sentences why a topic cannot be written, that there are as many bytes as
// there may be, and that files were damaged since Open; "": nothing of that is so.
func (f *Files) Warning() string {
	list := f.dir.health.Warnings(time.Now())
	for _, t := range f.list() {
		t.mu.Lock()
		err := t.trouble
		t.mu.Unlock()
		if err != nil {
			list = append([]string{err.Error() + ": it goes on by itself when that is over"},
				list...)
			break
		}
	}
	return strings.Join(list, "; ")
}

// Open implements stream.Engine. The topic must be there.
func (f *Files) Open(t stream.Topic) (stream.Publisher, error) {
	to, err := f.topic(t.Name)
	if err != nil {
		return nil, err
	}
	return &publisher{topic: to, settings: t}, nil
}

// Read implements stream.Engine.
func (f *Files) Read(
	ctx context.Context, r stream.Reading, take func(*stream.Message) error,
) error {
	t, err := f.topic(r.Topic)
	if err != nil {
		return err
	}
	at := r.At
	if at == nil {
		at = map[int32]int64{}
		for _, p := range t.partitions() {
			at[p] = stream.BySince
		}
	}
	c, err := newCursor(t, at, r.Since)
	if err != nil {
		return err
	}
	defer c.close()
	for !c.reached(r.Until) {
		m, more, ok, err := c.read()
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if !ok {
			if c.reached(r.Until) {
				return nil
			}
			select {
			case <-more:
				continue
			case <-ctx.Done():
				return ctx.Err()
			case <-f.stop:
				return errClosed
			}
		}
		if until, bounded := r.Until[m.Partition]; bounded && m.Offset >= until {
			continue
		}
		if err := take(&m); err != nil {
			return err
		}
	}
	return nil
}

// keep sees to the files until Close.
func (f *Files) keep() {
	ticker := time.NewTicker(f.config.KeepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-ticker.C:
		case <-f.dir.grown:
		}
		topics := f.list()
		for _, t := range topics {
			if err := t.keep(time.Now()); err != nil {
				f.log.Error("old files of the stream cannot be seen to; that is tried again",
					"directory", t.dir, "error", err)
			}
		}
		f.dir.shrink(topics, f.config.MaxBytes)
	}
}

// Close writes what waits, and gives the directory up.
func (f *Files) Close() error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	for _, t := range f.topics {
		t.mu.Lock()
		t.closed = true
		t.mu.Unlock()
	}
	f.mu.Unlock()
	close(f.stop)
	f.work.Wait()
	f.dir.metrics.Unregister()
	return f.lock.Close()
}
