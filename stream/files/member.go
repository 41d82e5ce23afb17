package files

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/stream"
)

// maxPolled bounds the bytes of one Poll, whatever a member may fetch: there is no network whose
// latency fetching ahead would hide.
const maxPolled = 8 << 20

// About implements stream.Engine.
func (f *Files) About(_ context.Context, topic string) (partitions int, empty bool, err error) {
	t, err := f.topic(topic)
	if errors.Is(err, stream.ErrNoTopic) {
		return 0, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ends), slices.Equal(t.segments[0].base, t.ends), nil
}

// Committed implements stream.Engine.
func (f *Files) Committed(_ context.Context, topic, group string) (stream.Position, error) {
	return f.groups.committed(groupKey{topic, group}), nil
}

// SetCommitted implements stream.Engine.
func (f *Files) SetCommitted(ctx context.Context, topic, group string, at stream.Position) error {
	_, err := f.commit(ctx, groupKey{topic, group}, at)
	return err
}

// member is a stream.Member.
type member struct {
	stream.Membership
	files *Files
	key   groupKey

	topic  *topic
	cursor *cursor // once all partitions are its
}

// Join implements stream.Engine.
func (f *Files) Join(of stream.Membership) (stream.Member, error) {
	m := &member{Membership: of, files: f, key: groupKey{of.Topic, of.Group}}
	f.groups.mu.Lock()
	defer f.groups.mu.Unlock()
	f.groups.of[m.key] = append(f.groups.of[m.key], m)
	return m, nil
}

// Poll implements stream.Member.
func (m *member) Poll(ctx context.Context, wait time.Duration) (stream.Polled, error) {
	if wait <= 0 {
		return stream.Polled{}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for m.cursor == nil {
		next, turn := m.turn()
		if turn {
			if err := m.begin(); err != nil {
				return stream.Polled{}, err
			}
			break
		}
		select {
		case <-next:
		case <-ctx.Done():
			return stream.Polled{}, nil
		}
	}
	return m.poll(ctx)
}

// turn reports whether this is the first member, and returns a channel that is closed when one has
// left.
func (m *member) turn() (<-chan struct{}, bool) {
	g := &m.files.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed, g.of[m.key][0] == m
}

// begin takes all partitions.
func (m *member) begin() (err error) {
	if m.topic, err = m.files.topic(m.Topic); err != nil {
		return err
	}
	var since time.Time
	if m.Since != nil {
		since = m.Since()
	}
	at, partitions := m.files.groups.committed(m.key), m.topic.partitions()
	if at == nil {
		at = map[int32]int64{}
	}
	for _, p := range partitions {
		if _, known := at[p]; !known {
			at[p] = 0
		}
		if m.Again != nil && m.Again(p) {
			at[p] = stream.BySince
		}
	}
	if m.cursor, err = newCursor(m.topic, at, since); err != nil {
		return err
	}
	if m.Since != nil && m.Again == nil { // both: not before what is committed, and not before then
		for p := range m.cursor.since {
			m.cursor.since[p] = true
		}
	}
	m.Assigned(partitions)
	return nil
}

// poll reads what there is, and waits for the first record.
func (m *member) poll(ctx context.Context) (stream.Polled, error) {
	var got stream.Polled
	bytes := 0
	for len(got.Messages) < m.MaxMessages && bytes < min(maxPolled, int(m.MaxFetchBytes)) {
		one, more, ok, err := m.cursor.read()
		if err != nil {
			return got, fmt.Errorf("stream: cannot read %s: %w", m.Topic, err)
		}
		if ok {
			one.Key, one.Value = slices.Clone(one.Key), slices.Clone(one.Value)
			got.Messages = append(got.Messages, one)
			bytes += len(one.Key) + len(one.Value)
			continue
		}
		if len(got.Messages) > 0 {
			break
		}
		select {
		case <-more:
		case <-ctx.Done():
			return got, nil
		}
	}
	got.Behind = map[int32]int64{}
	m.topic.mu.Lock()
	defer m.topic.mu.Unlock()
	for _, one := range got.Messages {
		got.Behind[one.Partition] = m.topic.ends[one.Partition] - one.Offset - 1
	}
	return got, nil
}

// Allow implements stream.Member. Partitions go only when the member leaves.
func (m *member) Allow() {}

// Commit implements stream.Member: offsets are messages of a compacted topic.
func (m *member) Commit(ctx context.Context, offsets map[int32]int64) ([]int32, error) {
	if m.cursor == nil {
		return nil, errors.New("stream: the member has no partitions")
	}
	return m.files.commit(ctx, m.key, offsets)
}

// commit writes down where a group goes on, and returns the partitions for which that is durable.
func (f *Files) commit(ctx context.Context, k groupKey, offsets map[int32]int64) ([]int32, error) {
	type answer struct {
		partition int32
		message   *stream.Message
		err       error
	}
	answers := make(chan answer, len(offsets))
	for p, offset := range offsets {
		one := &stream.Message{Key: k.commitKey(p),
			Value: binary.LittleEndian.AppendUint64(nil, uint64(offset))}
		f.commits.Publish(one, func(err error) { answers <- answer{p, one, err} })
	}
	var kept []int32
	var failed error
	for range offsets {
		select {
		case a := <-answers:
			if a.err != nil {
				failed = a.err
				continue
			}
			f.groups.take(a.message)
			kept = append(kept, a.partition)
		case <-ctx.Done():
			return kept, ctx.Err()
		}
	}
	return kept, failed
}

// Committed implements stream.Member.
func (m *member) Committed() map[int32]int64 { return m.files.groups.committed(m.key) }

// Ends implements stream.Member.
func (m *member) Ends(context.Context) (map[int32]int64, error) {
	t, err := m.files.topic(m.Topic)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ends := make(map[int32]int64, len(t.ends))
	for p, end := range t.ends {
		ends[int32(p)] = end
	}
	return ends, nil
}

// Leave implements stream.Member.
func (m *member) Leave(ctx context.Context) error {
	if m.cursor != nil {
		m.Revoked(ctx, m, m.topic.partitions(), true)
		m.cursor.close()
	}
	g := &m.files.groups
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[m.key] = slices.DeleteFunc(g.of[m.key], func(other *member) bool { return other == m })
	close(g.changed)
	g.changed = make(chan struct{})
	return nil
}
