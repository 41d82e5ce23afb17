package stream

import (
	"context"
	"time"
)

// Engine keeps topics of messages. A topic has a fixed number of partitions; a partition's messages
// have offsets that grow and never repeat. Its methods may be called from many goroutines.
type Engine interface {
	// Ensure makes a topic or checks the one there is. Several processes may do so at once. A topic
	// that would lose messages is an ErrTopic; one that only differs is logged and left alone.
	Ensure(ctx context.Context, t Topic) error

	// Open returns a way to publish to a topic. It waits for nothing: the engine may come later.
	Open(t Topic) (Publisher, error)

	// Read calls f with messages, in order within each partition, until all that were asked for
	// have come, f fails or ctx ends, and returns why. Their bytes are valid until f returns.
	// What is no longer kept is left out. It takes messages from nobody.
	Read(ctx context.Context, r Reading, f func(*Message) error) error

	// Join makes a member of a consumer group.
	Join(m Membership) (Member, error)

	// About tells of a topic into how many partitions it is divided, 0 if it is not there, and
	// whether it has no messages.
	About(ctx context.Context, topic string) (partitions int, empty bool, err error)

	// Committed returns by partition what a group has committed of a topic.
	Committed(ctx context.Context, topic, group string) (Position, error)

	// SetCommitted makes a group that has no members go on elsewhere.
	SetCommitted(ctx context.Context, topic, group string, at Position) error
}

// Topic says what a topic is to be like.
type Topic struct {
	Name            string
	Partitions      int32
	Retention       time.Duration // how long messages are kept; 0: for ever
	Lengthen        bool          // one that is there is given Retention if its own is shorter
	Compact         bool          // the last message of each key is kept, older ones need not be
	MaxMessageBytes int32         // of a key and value, with what the engine has around them

	// The rest is for who publishes.
	Timeout time.Duration // of one attempt
	// a message is given up after Timeout; else it is tried until Close
	GiveUp           bool
	MaxBufferedBytes int                                    // of messages that wait for the engine
	Partition        func(key []byte, partitions int) int32 // where a message goes
}

// Message is what a topic has.
type Message struct {
	Partition int32 // the Topic's Partition chooses it
	Offset    int64 // the engine chooses it
	Time      time.Time
	Key       []byte
	Value     []byte // nil: the key is gone
}

// Publisher publishes to one topic.
type Publisher interface {
	// Publish takes a message and calls done once: with nil when the engine keeps it, so that it
	// outlives a crash (then the message says at which offset of which partition), or with why it
	// was given up (then the engine may keep it all the same). Until then the message must not be
	// changed. If too much waits already, done is called at once, with an ErrFull. A message
	// without a time gets the present one.
	Publish(m *Message, done func(error))
	// Fence returns an offset for each of the partitions; nil means all. All that was published
	// before the call lies before it, and Read reaches it.
	Fence(ctx context.Context, partitions []int32) (Position, error)
	// Ready returns nil when the engine answers.
	Ready(ctx context.Context) error
	// Close gives up what waits. Publish fails from then on.
	Close()
}

// Reading says which messages are read.
type Reading struct {
	Topic string
	// At has by partition the offset to begin at, or BySince. nil: all partitions, BySince.
	At map[int32]int64
	// Since is the time at or after which the first message was published that BySince means.
	Since time.Time
	// Until has for each partition of At the offset to stop before. nil: it goes on with what
	// comes.
	Until map[int32]int64
}

// BySince, as an offset of Reading.At, begins at the first message at or after Reading.Since.
const BySince = int64(-1)

// Membership says how to be a member of a consumer group.
type Membership struct {
	Topic, Group string

	SessionTimeout time.Duration // after that a process that is dead loses its partitions
	// for which the engine waits for Allow before it takes partitions
	RebalanceTimeout time.Duration
	MaxFetchBytes    int32 // fetched ahead
	MaxMessages      int   // of one Poll

	// A partition starts where the group has committed it, else at its first message. Since, if not
	// nil, makes it start at the first message at or after a time, where that lies behind, or where
	// Again says so.
	Since func() time.Time
	Again func(partition int32) bool

	// Assigned is told of partitions that the member has now, before messages of them come.
	Assigned func(partitions []int32)
	// Revoked is told that partitions go to another member, never between Poll and Allow. mayCommit
	// says that this member still has them and may commit.
	Revoked func(ctx context.Context, m Member, partitions []int32, mayCommit bool)
}

// Member is a member of a consumer group. One goroutine uses it, but for Committed and Ends.
type Member interface {
	// Poll waits at most so long for messages. When it returns, the member keeps its partitions
	// until Allow. After an error this member is of no use any more.
	Poll(ctx context.Context, wait time.Duration) (Polled, error)
	// Allow lets partitions come and go until the next Poll.
	Allow()
	// Commit makes the group go on at these offsets, and returns the partitions for which that is
	// durable.
	Commit(ctx context.Context, offsets map[int32]int64) ([]int32, error)
	// Committed returns what the group has committed of this member's partitions.
	Committed() map[int32]int64
	// Ends returns by partition of the topic the offset after its last message; -1: not known now.
	Ends(ctx context.Context) (map[int32]int64, error)
	// Leave gives all partitions back, and ends what Join has begun.
	Leave(ctx context.Context) error
}

// Polled is what Poll returns. Its bytes are the caller's.
type Polled struct {
	Messages []Message
	// Behind is by partition how many messages follow the last one here.
	Behind map[int32]int64
	// Troubles are errors that the engine gets over by itself.
	Troubles []error
}
