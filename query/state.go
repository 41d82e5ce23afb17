package query

// A node is up while frames come, late when some are missing, down when nothing came for a minute,
// or for six intervals of a slower agent.
const (
	StateUp   = "up"
	StateLate = "late"
	StateDown = "down"

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
