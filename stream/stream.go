// Package stream publishes frames and hands them to consumers, and keeps small topics beside
// them. It is the waist between the roles and what keeps the messages, an Engine: package kafka
// has Kafka, package files a directory of this process. Package streamtest has the contract that
// both pass. Begin with Consumer. It imports none of our packages; kafka imports access/certs.
//
// What it promises:
//   - Publish returns nil only when the engine keeps the frame: Kafka's in-sync replicas have it,
//     or the disk has.
//   - The frames of a cluster keep their order and are seen by one consumer of a group at a time.
//   - A consumer sees every published frame at least once. An offset is committed only when the
//     effect of everything before it is done, and never beyond the oldest frame that the handler
//     still needs (of an open window, say).
//   - What a consumer holds is bounded by what the engine fetches ahead and one batch.
//
// What bites:
//   - At least once: handlers see frames again after a restart, a rebalance, or a Publish whose
//     answer got lost. Effects are idempotent.
//   - The partition of a cluster follows from the number of partitions. Adding some moves
//     clusters, and for a moment a cluster's old and new frames may be with two consumers.
//   - Kafka measures a message after batching: Config.MaxMessageBytes must exceed the largest
//     frame by a little.
package stream

import (
	"encoding/binary"
	"errors"
	"strings"
)

// Causes of an engine's errors, for errors.Is. An engine's error keeps its own words: see Because.
var (
	// ErrRefused says that the engine never takes what it was given.
	ErrRefused = errors.New("stream: refused for good")
	// ErrFull says that too much waits for the engine already.
	ErrFull = errors.New("stream: too much is waiting")
	// ErrNoTopic says that there is no topic of the configured name.
	ErrNoTopic = errors.New("stream: there is no such topic")
	// ErrTopic says that the topic exists and is not fit for its use. The error around it says what
	// to change.
	ErrTopic = errors.New("stream: the topic has unsuitable settings")
)

// Because gives an engine's error a cause, for errors.Is, and leaves its words.
func Because(err, cause error) error { return &caused{err, cause} }

type caused struct{ err, cause error }

func (c *caused) Error() string        { return c.err.Error() }
func (c *caused) Unwrap() error        { return c.err }
func (c *caused) Is(target error) bool { return target == c.cause }

// Retryable reports whether the same call may succeed later without anyone changing what is sent.
// It is false only for what the engine will never take; a missing permission or topic is the
// operator's to mend, and then the same bytes are welcome.
func Retryable(err error) bool {
	return err != nil && !errors.Is(err, ErrEntry) && !errors.Is(err, ErrRefused)
}

// recordKey is the key of a cluster's frames. Account names have no slash, clusters may.
func recordKey(account, cluster string) []byte { return []byte(account + "/" + cluster) }

func splitKey(key []byte) (account, cluster string, ok bool) {
	account, cluster, ok = strings.Cut(string(key), "/")
	return account, cluster, ok && account != "" && cluster != ""
}

// PartitionOf returns the partition that has the frames of an account's cluster, of a topic of so
// many partitions: that which Publish chooses, and every other Kafka client for the same key.
func PartitionOf(account, cluster string, partitions int) int32 {
	return partitionOfKey(recordKey(account, cluster), partitions)
}

func partitionOfKey(key []byte, partitions int) int32 {
	if partitions < 1 {
		return 0
	}
	return int32(int(murmur2(key)&0x7fffffff) % partitions)
}

// murmur2 is the hash by which Kafka's clients choose a partition.
func murmur2(b []byte) uint32 {
	const mix = 0x5bd1e995
	h := 0x9747b28c ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * mix
		h = h*mix ^ (k^k>>24)*mix
	}
	if len(b) > 0 {
		for i := len(b) - 1; i >= 0; i-- {
			h ^= uint32(b[i]) << (8 * i)
		}
		h *= mix
	}
	h = (h ^ h>>13) * mix
	return h ^ h>>15
}
