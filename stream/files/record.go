package files

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/stream"
)

// A record lies in a segment so, all numbers little-endian:
//
//	0  u32  CRC-32C of bytes 4 to 36
//	4  u32  CRC-32C of key and value
//	8  u32  partition
//	12 u32  bytes of the key
//	16 u32  bytes of the value; noValue: there is none, the key is gone
//	20 i64  offset
//	28 i64  time, in milliseconds since the Unix epoch
//	36      key, value
const headBytes = 36

const (
	noValue = math.MaxUint32
	// maxBody bounds what a head may say of its key and value: the largest message that a topic
	// takes has 64 MiB.
	maxBody = 80 << 20
)

// head is what a record has before its key and value.
type head struct {
	sum        uint32 // of the body
	partition  int32
	key, value int // bytes; a value of -1: there is none
	offset     int64
	time       int64 // ms
}

// body returns how many bytes follow the head.
func (h *head) body() int { return h.key + max(h.value, 0) }

// appendRecord appends a message as a record.
func appendRecord(dst []byte, m *stream.Message) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, headBytes)...)
	dst = append(append(dst, m.Key...), m.Value...)
	b := dst[at:]
	value := uint32(noValue)
	if m.Value != nil {
		value = uint32(len(m.Value))
	}
	binary.LittleEndian.PutUint32(b[4:], disk.Sum(b[headBytes:]))
	binary.LittleEndian.PutUint32(b[8:], uint32(m.Partition))
	binary.LittleEndian.PutUint32(b[12:], uint32(len(m.Key)))
	binary.LittleEndian.PutUint32(b[16:], value)
	binary.LittleEndian.PutUint64(b[20:], uint64(m.Offset))
	binary.LittleEndian.PutUint64(b[28:], uint64(m.Time.UnixMilli()))
	binary.LittleEndian.PutUint32(b, disk.Sum(b[4:headBytes]))
	return dst
}

// parseHead reads a head of a topic with so many partitions.
func parseHead(b []byte, partitions int) (head, error) {
	if disk.Sum(b[4:headBytes]) != binary.LittleEndian.Uint32(b) {
		return head{}, disk.ErrDamaged
	}
	partition := binary.LittleEndian.Uint32(b[8:])
	h := head{sum: binary.LittleEndian.Uint32(b[4:]), partition: int32(partition),
		key: int(binary.LittleEndian.Uint32(b[12:])), value: -1,
		offset: int64(binary.LittleEndian.Uint64(b[20:])),
		time:   int64(binary.LittleEndian.Uint64(b[28:]))}
	if value := binary.LittleEndian.Uint32(b[16:]); value != noValue {
		h.value = int(value)
	}
	if partition >= uint32(partitions) || h.body() > maxBody || h.offset < 0 {
		return head{}, disk.ErrDamaged
	}
	return h, nil
}

// message makes one of a head and its body, whose bytes it refers to.
func (h *head) message(body []byte) stream.Message {
	m := stream.Message{Partition: h.partition, Offset: h.offset, Time: time.UnixMilli(h.time),
		Key: body[:h.key:h.key]}
	if h.value >= 0 {
		m.Value = body[h.key:]
	}
	return m
}
