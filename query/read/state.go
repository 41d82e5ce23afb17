package read

import "github.com/ringwatch/ringwatch/frame"

// A node is up while frames come, late when some are missing, down when nothing came for a minute,
// or for six intervals of a slower agent. While it is not down, it may say more of itself, see
// Refine; then it runs, so its up is 1.
const (
	StateUp         = "up"
	StateLate       = "late"
	StatePaused     = "paused"      // its agent reads nothing, so nothing else is known of it
	StateJoining    = "joining"     // it takes over its share of the ring
	StateLeaving    = "leaving"     // it gives its share away
	StateNotServing = "not_serving" // it runs, and clients or other nodes do not reach it
	StateDown       = "down"

	lateIntervals = 3
	downIntervals = 6
	downMillis    = 60_000
)

// StateOf returns the state of a node of which nothing was heard for age, and which sends every
// interval, both in ms.
func StateOf(age, interval int64) string {
	switch {
	case age <= lateIntervals*interval:
		return StateUp
	case age <= max(downIntervals*interval, downMillis):
		return StateLate
	}
	return StateDown
}

// States are all of them, the worst last.
var States = []string{StateUp, StateLeaving, StateJoining, StatePaused, StateLate, StateNotServing,
	StateDown}

// Refine returns the state of a node that is in a state by its age alone, with what it says of
// itself.
func Refine(state string, n *frame.Identity) string {
	if state == StateDown {
		return state
	}
	if _, is := n.Paused(); is {
		return StatePaused
	}
	switch n.Fact(frame.FactNotServing) {
	case "":
		return state
	case frame.Joining:
		return StateJoining
	case frame.Leaving:
		return StateLeaving
	}
	return StateNotServing
}

// Span is a time from one instant to another one, in ms since the epoch. To is 0 where it lasts.
type Span struct{ From, To int64 }

// Listening is when somebody could have heard of nodes, as far as that is known. Times are in ms
// since the epoch, 0 if they are not known.
type Listening struct {
	Away  []Span // when nobody could, the oldest first
	Since int64  // since when somebody could without a break; what was before it is in Away alone
	Until int64  // until when that is known
}

// StateAt is StateOf at an instant of a node that was last heard of at another one. A node is down
// only if nothing was heard of it for long enough in one stretch of time in which somebody could
// have: until it had the time to be heard of again it is late.
func (l *Listening) StateAt(at, heard, interval int64) string {
	state := StateOf(max(0, at-heard), interval)
	if state != StateDown {
		return state
	}
	from := heard
	if at >= l.Since {
		from = max(from, l.Since)
	}
	if l.Until > 0 {
		at = min(at, l.Until)
	}
	for _, s := range l.Away {
		if s.From >= at {
			break
		}
		if StateOf(s.From-from, interval) == StateDown {
			return StateDown
		}
		if s.To == 0 {
			return StateLate
		}
		from = max(from, s.To)
	}
	if StateOf(at-from, interval) == StateDown {
		return StateDown
	}
	return StateLate
}
