package spans

import (
	"iter"
	"slices"
	"sync"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Span is a window or an hour as it is stored. Spans of one answer may know the same
// instants; they say the same of them.
type Span struct {
	Start, Length int64
	Stamp         int64          // when it was read what it was made of, µs; 0: nobody knows
	Stamps        []int64        // of an hour: the same of each window in it
	Head          *blobs.Head    // nil: it cannot be decoded
	Window        *window.Window // nil: as Head, or the query was HeadsOnly
	Damage        []error        // what could not be decoded or was not there
	Kept          bool           // nothing was read for it: this process had it
}

// StampOf returns when the frames were read that the span has of a window; 0: it has none.
func (k *Span) StampOf(start int64) int64 {
	if k.Length == calendar.WindowMillis {
		return k.Stamp
	}
	if i := int((start - k.Start) / calendar.WindowMillis); i >= 0 && i < len(k.Stamps) {
		return k.Stamps[i]
	}
	return 0
}

// Windows are those that the span has instants of, by their starts.
func (k *Span) Windows() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for times := k.Head.Times; len(times) > 0; {
			start := calendar.Floor(times[0], calendar.WindowMillis)
			if !yield(start) {
				return
			}
			n, _ := slices.BinarySearch(times, start+calendar.WindowMillis)
			times = times[n:]
		}
	}
}

// Collect returns a take that adds to a list. Who reads spans may call it from several goroutines.
func Collect(list *[]Span) func(Span) {
	var mu sync.Mutex
	return func(k Span) {
		mu.Lock()
		defer mu.Unlock()
		*list = append(*list, k)
	}
}
