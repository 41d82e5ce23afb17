package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// copyBytes bounds the messages that are on their way from one engine to another.
const copyBytes = 8 << 20

// CopyFrames publishes messages of a topic of frames in the topic of the same name of another
// engine, in order and with their times, and returns how many. It copies the messages since a time,
// and those before it that one of the groups has yet to read. Then it makes each group go on in the
// other engine where it was in this one. Both topics must be there, and the groups must have no
// members. A second call publishes the messages again.
//
// Both topics must have the same number of partitions, because the groups' state is by partition.
// Otherwise the error is an ErrTopic.
func CopyFrames(
	ctx context.Context,
	from, to Engine,
	c Config,
	since time.Time,
	groups ...string,
) (int, error) {
	if err := samePartitions(ctx, from, to, c.Topic); err != nil {
		return 0, err
	}
	source, err := from.Open(c.topic())
	if err != nil {
		return 0, err
	}
	defer source.Close()
	ends, err := source.Fence(ctx, nil)
	if err != nil {
		return 0, err
	}
	h := &copier{needed: map[string]Position{}, next: map[string]Position{}, last: Position{}}
	unread, all := map[int32]int64{}, map[int32]int64{}
	for p, end := range ends {
		unread[p], all[p] = end, BySince
	}
	for _, group := range groups {
		at, err := from.Committed(ctx, c.Topic, group)
		if err != nil {
			return 0, err
		}
		h.needed[group], h.next[group] = Position{}, Position{}
		for p := range ends {
			h.needed[group][p] = at[p] // nothing: all
			unread[p] = min(unread[p], at[p])
		}
	}
	// What all have read, but for the last of it, and then all that somebody has not.
	for _, r := range []Reading{{At: all, Since: since, Until: unread}, {At: unread, Until: ends}} {
		r.Topic = c.Topic
		if err := h.copy(ctx, from, to, c.topic(), r); err != nil {
			return h.n, err
		}
	}
	for _, group := range groups {
		if err := to.SetCommitted(ctx, c.Topic, group, h.positions(group)); err != nil {
			return h.n, err
		}
	}
	return h.n, nil
}

// CopyLog publishes all entries of a log in the log of the same name of another engine, in order
// and with their times, and returns how many. Both topics must be there.
func CopyLog(ctx context.Context, from, to Engine, c Config, l LogConfig) (int, error) {
	source, err := from.Open(l.topic(c))
	if err != nil {
		return 0, err
	}
	defer source.Close()
	ends, err := source.Fence(ctx, nil)
	if err != nil {
		return 0, err
	}
	at := map[int32]int64{}
	for p := range ends {
		at[p] = 0
	}
	h := &copier{last: Position{}}
	err = h.copy(ctx, from, to, l.topic(c), Reading{Topic: l.Topic, At: at, Until: ends})
	return h.n, err
}

func samePartitions(ctx context.Context, from, to Engine, topic string) error {
	here, _, err := from.About(ctx, topic)
	if err != nil {
		return err
	}
	there, _, err := to.About(ctx, topic)
	if err == nil && here != there {
		err = fmt.Errorf(
			"%w: %s has %d partitions here and %d there: make it with as many",
			ErrTopic,
			topic,
			here,
			there,
		)
	}
	return err
}

// copier counts what is copied, and finds where groups go on.
type copier struct {
	mu     sync.Mutex
	n      int
	failed error
	needed map[string]Position // by group: what it has yet to read
	next   map[string]Position // where the first of that is in the other engine
	last   Position            // the offset after the last message in the other engine
}

// copy publishes what a reading gives.
func (h *copier) copy(ctx context.Context, from, to Engine, t Topic, r Reading) error {
	t.GiveUp = false // an engine may count from the message's time
	p, err := to.Open(t)
	if err != nil {
		return err
	}
	defer p.Close()
	room := semaphore.NewWeighted(copyBytes)
	err = from.Read(ctx, r, func(m *Message) error {
		weight := min(copyBytes, int64(len(m.Key)+len(m.Value)+100))
		if err := errors.Join(room.Acquire(ctx, weight), h.error()); err != nil {
			return err
		}
		out := &Message{Time: m.Time, Key: slices.Clone(m.Key), Value: slices.Clone(m.Value)}
		partition, offset := m.Partition, m.Offset
		p.Publish(out, func(err error) {
			h.published(partition, offset, out, err)
			room.Release(weight)
		})
		return nil
	})
	return errors.Join(err, room.Acquire(ctx, copyBytes), h.error())
}

func (h *copier) error() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

// published notes where a message is that was at an offset of a partition.
func (h *copier) published(partition int32, offset int64, m *Message, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.failed = err
		return
	}
	h.n++
	h.last[partition] = max(h.last[partition], m.Offset+1)
	for group, needed := range h.needed {
		if at, known := h.next[group][partition]; offset >= needed[partition] &&
			(!known || m.Offset < at) {
			h.next[group][partition] = m.Offset
		}
	}
}

// positions returns where a group goes on. It is silent of partitions of which nothing was copied.
func (h *copier) positions(group string) Position {
	at := Position{}
	for p, last := range h.last {
		if next, needs := h.next[group][p]; needs {
			last = next
		}
		at[p] = last
	}
	return at
}
