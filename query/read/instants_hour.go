package read

import (
	"encoding/binary"
	"slices"

	"github.com/google/uuid"
)

// hourMillis is how long an instantsHour is.
const hourMillis = 60 * 60_000

func hourOf(at int64) int64 { return at - (at%hourMillis+hourMillis)%hourMillis }

// hourKey names an hour of a node. When nodes sent frames is kept by node and hour. Whoever takes
// an hour asks first whether anything has changed since it was read (Sources.Unchanged).
type hourKey struct {
	account string
	node    uuid.UUID
	hour    int64 // where it begins, ms
}

// instantsHour is what is known of an hour of a node. Nobody changes it. Times are in ms.
type instantsHour struct {
	hour   int64
	until  int64 // it has every instant of the hour before
	began  int64 // when the oldest of its readings began
	packed []byte
	last   int64 // the last instant, and the distance before it, which the next one continues
	apart  int64
}

// instantsCost is what a block takes beside its instants, in bytes.
const instantsCost = 250

// instantsBytes is what an entry takes.
func instantsBytes(k hourKey, h *instantsHour) int64 {
	return int64(instantsCost + len(k.account) + cap(h.packed))
}

// extended returns an hour, or a new one if h is nil, with those of the instants that are in it,
// from from on, where h ends, and before until. began is when they were read.
func (h *instantsHour) extended(hour, from, until, began int64, instants []int64) *instantsHour {
	next := instantsHour{hour: hour, began: began, last: hour}
	if h != nil && from == h.until {
		next = *h
		next.began = min(h.began, began)
	}
	next.until = until
	i, _ := slices.BinarySearch(instants, from)
	j, _ := slices.BinarySearch(instants, until)
	// Nodes send at regular distances, so how a distance differs from the one before takes a byte.
	packed := make([]byte, len(next.packed), len(next.packed)+max(0, j-i)*5/4+8)
	copy(packed, next.packed)
	for ; i < j; i++ {
		apart := instants[i] - next.last
		packed = binary.AppendVarint(packed, apart-next.apart)
		next.last, next.apart = instants[i], apart
	}
	next.packed = slices.Clip(packed)
	return &next
}

// appendTo appends the instants from from on and before until.
func (h *instantsHour) appendTo(list []int64, from, until int64) []int64 {
	at, apart := h.hour, int64(0)
	for b := h.packed; len(b) > 0; {
		more, n := binary.Varint(b)
		b = b[n:]
		apart += more
		if at += apart; at >= until {
			break
		}
		if at >= from {
			list = append(list, at)
		}
	}
	return list
}
