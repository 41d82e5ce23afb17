package query

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

// StateAt is StateOf at an instant of a node that was last heard of at another one, both in ms. A
// node is not called down for a time in which nobody could have heard of it: until it had the time
// to be heard of again it is late.
func (r *Reader) StateAt(at, heard, interval int64) string {
	state := StateOf(max(0, at-heard), interval)
	if state != StateDown || r.sources.Pulse == nil {
		return state
	}
	since, until := r.sources.Pulse()
	if until.IsZero() { // nothing is known of it
		return state
	}
	deaf := at > until.UnixMilli() && StateOf(max(0, until.UnixMilli()-heard), interval) != StateDown
	back := !since.IsZero() && at >= since.UnixMilli() && heard < since.UnixMilli() &&
		StateOf(at-since.UnixMilli(), interval) != StateDown
	if deaf || back {
		return StateLate
	}
	return state
}
