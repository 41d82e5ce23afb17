package fleet

import (
	"slices"

	"github.com/ringwatch/ringwatch/frame"
)

// ByWindow sorts frames into windows.
func ByWindow(frames [][]byte) map[int64][][]byte {
	m := map[int64][][]byte{}
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			panic(err) // made a moment ago
		}
		m[h.Window()] = append(m[h.Window()], slices.Clip(b))
	}
	return m
}
