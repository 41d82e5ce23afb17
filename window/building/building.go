// Package building makes a window of frames. Start with Window. Frames are sorted by time, each is
// a pass (package numbering), and a builder for each entity type enters passes in its columns. It
// costs what the frames say, and not what there is.
package building

import (
	"fmt"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// Window makes a window from frames of one node and one window, in any order, with repetitions.
// Frames that cannot be decoded are skipped and counted. node gives the account and, if it has
// one, the node's id; all else comes from the frames. It is an error if frames of different nodes
// or windows are mixed, and if there is not one header that can be read.
//
// Entities with the same labels are the same series, whatever key frame they are in.
func Window(node window.Node, frames [][]byte) (*window.Window, window.Report, error) {
	return Within(nil, node, frames)
}

// Within is Window with as much memory as the allowance gives; nil gives any. Frames are decoded
// one after the other, so that beside the window itself there are only one of them and the key
// frames that later ones need. What the window takes stays taken. An error of the
// allowance wraps frame.ErrMemory.
func Within(
	allow window.Allowance, node window.Node, frames [][]byte,
) (*window.Window, window.Report, error) {
	return Wanted(allow, node, frames, nil)
}

// Wanted is Within for who asks only for some metrics: the window has no others, nor types that
// have only others, and is made in a fraction of the time. nil wants all.
func Wanted(allow window.Allowance, node window.Node, frames [][]byte,
	want *frame.Wanted) (*window.Window, window.Report, error) {
	return build(allow, node, frames, want, nil)
}

// Known is Within for who reads the frames of many nodes: dictionaries that known has are not read
// again.
func Known(
	allow window.Allowance, node window.Node, frames [][]byte, known *frame.Dictionaries,
) (*window.Window, window.Report, error) {
	return build(allow, node, frames, nil, known)
}

func build(
	allow window.Allowance, node window.Node, frames [][]byte, want *frame.Wanted,
	known *frame.Dictionaries,
) (*window.Window, window.Report, error) {
	rep := window.Report{Frames: len(frames)}
	parsed, start, err := parseHeaders(&node.ID, frames, &rep)
	if err != nil {
		return nil, rep, err
	}
	b := builder{allow: allow, want: want, known: known, rep: &rep, frames: parsed,
		keys: map[numbering.KeyID]*keyFrame{}, last: map[numbering.KeyID]int{},
		types: map[*numbering.Dictionary]*typeBuilder{}}
	b.window = &window.Window{Node: node, Start: start, Length: frame.WindowMillis}
	b.dictionaries.Want = want
	for i := range parsed {
		b.last[numbering.KeyOf(&parsed[i].header)] = i
	}
	for i := range parsed {
		if err := b.frame(i); err != nil {
			return nil, rep, fmt.Errorf("window: build window %d: %w", start, err)
		}
	}
	b.finish()
	return b.window, rep, nil
}
