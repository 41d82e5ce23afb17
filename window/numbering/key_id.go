package numbering

import "github.com/ringwatch/ringwatch/frame"

// KeyID is how a delta frame names its key frame.
type KeyID struct {
	At    int64
	check uint32
}

// KeyOf returns the name of a frame's key frame, which may be itself.
func KeyOf(h *frame.Header) KeyID {
	if h.IsKey() {
		return KeyID{h.At, h.Check}
	}
	return KeyID{h.KeyAt(), h.KeyCheck}
}
