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

// StateAt is StateOf at an instant of a node that was last heard of at another one, both in ms. A
// node is not called down for a time in which nobody could have heard of it: until it had the time
// to be heard of again it is late.
func (r *Reader) StateAt(at, heard, interval int64) string {
	state := StateOf(max(0, at-heard), interval)
	if state != StateDown {
		return state
	}
	deaf := func(from int64) bool {
		return at > from && StateOf(max(0, from-heard), interval) != StateDown
	}
	back := func(to int64) bool {
		return at >= to && heard < to && StateOf(at-to, interval) != StateDown
	}
	if r.source.sources.Away != nil {
		for _, s := range r.source.sources.Away() {
			if (s.To == 0 || at < s.To) && deaf(s.From) || s.To != 0 && back(s.To) {
				return StateLate
			}
		}
	}
	if r.source.sources.Pulse == nil {
		return state
	}
	since, until := r.source.sources.Pulse()
	if until.IsZero() { // nothing is known of it
		return state
	}
	if deaf(until.UnixMilli()) || !since.IsZero() && back(since.UnixMilli()) {
		return StateLate
	}
	return state
}

// Span is a time from one instant to another one, in ms since the epoch. To is 0 where it lasts.
type Span struct{ From, To int64 }
