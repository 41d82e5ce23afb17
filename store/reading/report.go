package reading

import (
	"fmt"

	"github.com/ringwatch/ringwatch/store/calendar"
)

// Report says what an answer was made of.
type Report struct {
	Raw, Fresh int // windows answered from each layer
	Kept       int // closed windows, or periods of rollups, that this process has read before
	// blobs that could not be decoded or were not there; at most maxDamage are kept
	Damage  []error
	Damaged int // their number
	// Instants are the times of the frames that the windows were made of, in ms, from ≤ at ≤ to,
	// ascending, each once, whatever matched. A series without a value at one of them was not
	// there.
	Instants []int64
	From     int64 // ms: what is older has expired, and is no part of the answer
	// frames of these windows that could not be read: damaged, or without their key frame
	Lost int
	// Keyless are those whose key frame may yet come, since agents send what is fresh beside what
	// waits.
	Keyless int
}

// backlogMillis is how long after a window's end its key frame is waited for, in ms: package query
// expects no older frames either.
const backlogMillis = 20 * 60_000

// keyless counts frames of a window that wait for their key frame.
func (r *Report) keyless(start, now int64, frames int) {
	if start+calendar.WindowMillis >= now-backlogMillis {
		r.Keyless += frames
	}
}

// Partial reports whether something that is stored is missing in the answer.
func (r *Report) Partial() bool { return r.Damaged+r.Keyless > 0 }

// Missing says in words what is missing; nothing if the answer is whole.
func (r *Report) Missing() []string {
	var list []string
	for _, err := range r.Damage {
		list = append(list, err.Error())
	}
	if more := r.Damaged - len(r.Damage); more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	if r.Keyless > 0 {
		list = append(list,
			fmt.Sprintf("%d frames, whose key frame has not come yet: ask again later",
				r.Keyless))
	}
	return list
}

const maxDamage = 10

func (r *Report) damage(errs ...error) {
	r.Damaged += len(errs)
	r.Damage = append(r.Damage, errs[:min(len(errs), maxDamage-len(r.Damage))]...)
}
