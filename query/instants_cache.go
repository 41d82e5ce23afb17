package query

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
)

// hourMillis is how long an instantsHour is.
const hourMillis = 60 * 60_000

func hourOf(at int64) int64 { return at - mod(at, hourMillis) }

// instantsCache keeps when nodes sent frames, by node and hour, bounded in bytes: what was not
// used for longest goes first. Whoever takes an hour asks first whether anything has changed since
// it was read (Sources.Unchanged).
type instantsCache struct {
	of *otter.Cache[hourKey, *instantsHour] // nil: nothing is kept
}

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

func newInstantsCache(most int64) (instantsCache, error) {
	if most <= 0 {
		return instantsCache{}, nil
	}
	c, err := otter.New(&otter.Options[hourKey, *instantsHour]{
		MaximumWeight: uint64(most),
		Weigher: func(k hourKey, h *instantsHour) uint32 {
			return uint32(instantsCost + len(k.account) + cap(h.packed))
		},
	})
	if err != nil {
		return instantsCache{}, fmt.Errorf("query: keep %d bytes of when nodes were heard of: %w",
			most, err)
	}
	return instantsCache{c}, nil
}

func (k *instantsCache) get(key hourKey) *instantsHour {
	h, _ := k.of.GetIfPresent(key)
	return h
}

func (k *instantsCache) put(key hourKey, h *instantsHour) { k.of.Set(key, h) }

// with returns an hour, or a new one if h is nil, with those of the instants that are in it, from
// from on, where h ends, and before until. began is when they were read.
func (h *instantsHour) with(hour, from, until, began int64, instants []int64) *instantsHour {
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
