package rows

import (
	"sync/atomic"
	"time"
)

// Work says what a call is for. The zero Work is what everything else depends on: it waits for
// nothing.
type Work struct {
	// Class and Client are told to the throttle, which may let the call wait or refuse it. No
	// Class: the throttle is not asked.
	Class, Client string
	// Patience is how long the call waits for the throttle; 0: as long as that lets it.
	Patience time.Duration
	// Answers takes what the engine's answers took; nil: nobody wants to know.
	Answers *Answers
}

// Answers adds up how long answers of an engine took, of calls that may be in many goroutines.
type Answers struct{ took, number atomic.Int64 }

// Add adds an answer; a nil Answers takes none.
func (a *Answers) Add(took time.Duration) {
	if a != nil {
		a.took.Add(int64(took))
		a.number.Add(1)
	}
}

// Mean returns what an answer took on average; 0 if there was none.
func (a *Answers) Mean() time.Duration {
	return time.Duration(a.took.Load() / max(1, a.number.Load()))
}
