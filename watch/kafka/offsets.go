package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// offsetsRequest asks for all that groups have committed. It is kmsg's, but the answer is read into
// flat lists: kmsg would make a structure with a string for each of two million partitions.
type offsetsRequest struct {
	kmsg.OffsetFetchRequest
	topics map[string]*topic // of this reading; nobody changes it while requests are on their way
}

// MaxVersion implements kmsg.Request. From 10 on, topics have ids instead of names.
func (*offsetsRequest) MaxVersion() int16 { return 9 }

// ResponseKind implements kmsg.Request.
func (r *offsetsRequest) ResponseKind() kmsg.Response {
	return &offsetsResponse{version: r.Version, topics: r.topics}
}

// offsetsResponse is what groups have committed.
type offsetsResponse struct {
	version int16
	topics  map[string]*topic
	groups  []committed
}

// committed is what one group has committed.
type committed struct {
	group  string
	err    error
	topics []committedTopic
	// of all topics, one after the other
	partitions []int32
	offsets    []int64
	// partitions that are not there (any more), that the broker gave no offset for, or gave twice
	gone, failed, twice int
}

type committedTopic struct {
	topic *topic
	until int // its partitions end there in the lists
}

// Key implements kmsg.Response.
func (*offsetsResponse) Key() int16 { return 9 }

// MaxVersion implements kmsg.Response.
func (*offsetsResponse) MaxVersion() int16 { return 9 }

// SetVersion implements kmsg.Response.
func (r *offsetsResponse) SetVersion(v int16) { r.version = v }

// GetVersion implements kmsg.Response.
func (r *offsetsResponse) GetVersion() int16 { return r.version }

// IsFlexible implements kmsg.Response.
func (*offsetsResponse) IsFlexible() bool { return true }

// AppendTo implements kmsg.Response; nobody writes one.
func (*offsetsResponse) AppendTo(b []byte) []byte { return b }

// RequestKind implements kmsg.Response.
func (*offsetsResponse) RequestKind() kmsg.Request { return &offsetsRequest{} }

// ReadFrom implements kmsg.Response.
func (r *offsetsResponse) ReadFrom(src []byte) error {
	if r.version < 8 {
		return fmt.Errorf("the broker is older than Kafka 3.0 (OffsetFetch version %d)", r.version)
	}
	b := kbin.Reader{Src: src}
	b.Int32() // throttled for
	for range b.CompactArrayLen() {
		if !b.Ok() {
			break
		}
		r.groups = append(r.groups, committed{group: b.CompactString()})
		r.groups[len(r.groups)-1].read(&b, r.topics)
	}
	skipTags(&b)
	return b.Complete()
}

func (c *committed) read(b *kbin.Reader, topics map[string]*topic) {
	var seen []uint64 // a bit for each partition of a topic
	for range b.CompactArrayLen() {
		if !b.Ok() {
			return
		}
		t := topics[b.UnsafeCompactString()]
		n := int(b.CompactArrayLen())
		if t != nil && c.partitions == nil {
			// each takes at least 18 bytes: a length that the answer cannot hold takes no memory
			room := min(n, len(b.Src)/18)
			c.partitions, c.offsets = make([]int32, 0, room), make([]int64, 0, room)
		}
		if t != nil {
			seen = append(seen[:0], make([]uint64, t.partitions()/64+1)...)
		}
		for range n {
			if !b.Ok() {
				return
			}
			partition, offset := b.Int32(), b.Int64()
			b.Int32()                                  // leader's epoch
			if metadata := b.Uvarint(); metadata > 1 { // 0 is none, else its length and 1
				b.Span(int(metadata - 1))
			}
			code := b.Int16()
			skipTags(b)
			switch {
			case offset < 0 && code == 0: // none committed
			case t == nil, partition < 0, int(partition) >= t.partitions():
				c.gone++
			case code != 0:
				c.failed++
			case seen[partition/64]&(1<<(partition%64)) != 0:
				c.twice++
			default:
				seen[partition/64] |= 1 << (partition % 64)
				c.partitions = append(c.partitions, partition)
				c.offsets = append(c.offsets, offset)
			}
		}
		skipTags(b)
		before := 0
		if len(c.topics) > 0 {
			before = c.topics[len(c.topics)-1].until
		}
		if len(c.partitions) > before {
			c.topics = append(c.topics, committedTopic{topic: t, until: len(c.partitions)})
		}
	}
	c.err = kerr.ErrorForCode(b.Int16())
	skipTags(b)
}

// skipTags is kmsg.SkipTags that ends where the answer does, however many tags it claims to have.
func skipTags(b *kbin.Reader) {
	for n := b.Uvarint(); n > 0 && b.Ok(); n-- {
		b.Uvarint()
		b.Span(int(b.Uvarint()))
	}
}
