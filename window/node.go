package window

import (
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Node says whose values a window holds.
type Node struct {
	Account  string
	Cluster  string
	ID       uuid.UUID
	Interval int64 // milliseconds between frames as configured
	frame.Identity
}
