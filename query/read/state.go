package read

// A node is up while frames come, late when some are missing, down when nothing came for a minute,
// or for six intervals of a slower agent. It is paused while frames come that say that its agent
// reads nothing: then all that is known of it is that it runs, so its up is 1.
const (
	StateUp     = "up"
	StateLate   = "late"
	StatePaused = "paused"
	StateDown   = "down"

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

// Span is a time from one instant to another one, in ms since the epoch. To is 0 where it lasts.
type Span struct{ From, To int64 }
