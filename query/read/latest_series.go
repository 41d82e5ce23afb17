package read

import (
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// LatestSeries is what a question selects of a node's latest state. It is shared, nobody changes
// it.
type LatestSeries struct {
	At       int64             // of the newest frame, ms; 0: none is known
	Interval int64             // how often the node sends, ms
	Lists    [][]window.Series // by the question's selectors
	Missing  []string          // why there may be a newer one, in words
	version  StateVersion
}

// latestKey names what a question selects of a node's latest state. It is kept for whoever asks the
// same before the node has sent again: dashboards have several panels, and several people look at
// one.
type latestKey struct {
	account, question string
	node              uuid.UUID
}

// latestCost is what an entry takes beside its series, in bytes.
const latestCost = 500

// latestBytes is what an entry takes.
func latestBytes(k latestKey, s *LatestSeries) int64 {
	bytes := int64(latestCost + len(k.account) + len(k.question))
	for _, list := range s.Lists {
		for i := range list {
			bytes += list[i].Bytes()
		}
	}
	return bytes
}

// saysZero reports whether there are values and all of them are 0.
func (l *LatestSeries) saysZero() bool {
	n := 0
	for _, list := range l.Lists {
		for i := range list {
			s := &list[i]
			n++
			switch {
			case s.Metric.Kind == frame.GaugeDouble && s.Doubles[0] == 0:
			case s.Metric.Kind == frame.Gauge && s.Ints[0] == 0:
			default:
				return false
			}
		}
	}
	return n > 0
}
