package selecting

import "github.com/ringwatch/ringwatch/window"

// place is where a line stands in a window.
type place struct {
	in     *window.Type
	metric int
	row    int32
}
