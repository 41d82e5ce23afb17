// Package calendar says which windows, hours and days time is divided into, how long what is stored
// of them lives, and by how much the clocks of processes may differ. Times are in milliseconds
// since the Unix epoch, but for stamps, which are in microseconds.
//
// It imports frame, window and store/rows alone.
package calendar

import (
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

const (
	// WindowMillis is how long a window is, DayMillis a day, in milliseconds.
	WindowMillis = int64(frame.WindowMillis)
	DayMillis    = 24 * window.HourMillis
)

// Floor returns the last multiple of a length that is not after an instant.
func Floor(at, length int64) int64 { return at - ((at%length)+length)%length }

// Hour returns the begin of the hour that holds an instant.
func Hour(at int64) int64 { return Floor(at, window.HourMillis) }

// Day returns the begin of the day, of UTC, that holds an instant. A window's columns refer to the
// dictionaries of its day.
func Day(at int64) int64 { return Floor(at, DayMillis) }

// Windows returns the windows that hold the instants from … to.
func Windows(from, to int64) []int64 {
	var list []int64
	for w := frame.WindowOf(from); w <= to; w += frame.WindowMillis {
		list = append(list, w)
	}
	return list
}

// Within reports whether all of the instants a are among b; both ascend.
func Within(a, b []int64) bool {
	return !slices.ContainsFunc(a, func(at int64) bool {
		_, found := slices.BinarySearch(b, at)
		return !found
	})
}

// Text writes an instant for people.
func Text(at int64) string { return time.UnixMilli(at).UTC().Format(time.RFC3339) }
