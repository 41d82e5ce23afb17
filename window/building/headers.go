package building

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// parsedFrame is a frame whose header could be read.
type parsedFrame struct {
	header frame.Header
	bytes  []byte
}

// parseHeaders sorts the frames by time, for each instant key frames first, and drops repetitions.
func parseHeaders(
	id *uuid.UUID, frames [][]byte, rep *window.Report,
) ([]parsedFrame, int64, error) {
	heads := make([]parsedFrame, 0, len(frames))
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			rep.Corrupt++
			continue
		}
		if *id == uuid.Nil {
			*id = h.Node
		}
		if h.Node != *id {
			return nil, 0, fmt.Errorf("window: a frame of node %s among those of node %s; build "+
				"one window per node", h.Node, *id)
		}
		if len(heads) > 0 && h.Window() != heads[0].header.Window() {
			return nil, 0, fmt.Errorf("window: a frame of window %d among those of window %d; "+
				"build each window on its own", h.Window(), heads[0].header.Window())
		}
		heads = append(heads, parsedFrame{h, b})
	}
	if len(heads) == 0 {
		return nil, 0, fmt.Errorf("window: not one of %d frames has a header that can be read",
			len(frames))
	}
	start := heads[0].header.Window()
	slices.SortFunc(heads, func(a, b parsedFrame) int {
		f, g := &a.header, &b.header
		return cmp.Or(cmp.Compare(f.At, g.At), cmp.Compare(min(f.KeyAge, 1), min(g.KeyAge, 1)),
			cmp.Compare(f.Check, g.Check), bytes.Compare(a.bytes, b.bytes))
	})
	n := len(heads)
	heads = slices.CompactFunc(heads, func(a, b parsedFrame) bool {
		return a.header.At == b.header.At && bytes.Equal(a.bytes, b.bytes)
	})
	rep.Duplicates += n - len(heads)
	return heads, start, nil
}
