package reading

import (
	"hash/maphash"
	"slices"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/uniting"
)

// Windows that are not closed are asked for more often than any others, and a node adds a frame to
// its newest one every few seconds. So a window that was built of frames is kept beside the columns
// of closed ones, by what was wanted of it. Whoever has the same frames takes it as it is. Whoever
// has these and some more builds a window of the others and unites both.
//
// What is kept is named by the bytes of its frames, so it needs no mark: other frames are another
// window.

// built is a window that was built of frames.
type built struct {
	window *window.Window
	report window.Report
	frames map[uint64]bool // sums of the bytes of each
}

// frameSeed makes sums that nobody can foretell who sends frames.
var frameSeed = maphash.MakeSeed()

// Build is building.Wanted for frames of one window, which begins at start (ms). wanted names
// what want wants: who names the same wants the same. What is kept is shared, and nobody changes
// it.
func (s *Source) Build(allow window.Allowance, node window.Node, start int64, frames [][]byte,
	want *frame.Wanted, wanted string) (*window.Window, window.Report, error) {
	if s.Cache == nil {
		return building.Wanted(allow, node, frames, want)
	}
	id := spans.ID{Account: node.Account, Node: node.ID, Start: start,
		Length: calendar.WindowMillis, In: builtOf + wanted}
	sums := make(map[uint64]bool, len(frames))
	var more [][]byte // that what is kept lacks
	of, _ := s.Cache.Get(id).(*built)
	for _, b := range frames {
		sum := maphash.Bytes(frameSeed, b)
		if !sums[sum] && (of == nil || !of.frames[sum]) {
			more = append(more, b)
		}
		sums[sum] = true
	}
	if of != nil && len(sums) == len(of.frames)+len(more) { // it has nothing that these lack
		if len(more) == 0 && len(frames) == of.report.Frames {
			return of.window, of.report, nil
		}
		grown, err := of.grown(allow, node, frames, more, want)
		if err != nil {
			return nil, window.Report{}, err
		}
		if grown != nil {
			grown.frames = sums
			grown.report.Duplicates = len(frames) - len(sums)
			s.keepBuilt(id, grown)
			return grown.window, grown.report, nil
		}
	}
	w, rep, err := building.Wanted(allow, node, frames, want)
	if err == nil {
		s.keepBuilt(id, &built{window: w, report: rep, frames: sums})
	}
	return w, rep, err
}

// builtOf begins spans.ID.In of windows that were built of frames; a table's name does not.
const builtOf = "frames/"

func (s *Source) keepBuilt(id spans.ID, of *built) {
	s.Cache.Put(id, of, spans.EntryCost+int(of.bytes())+len(id.In))
}

// grown returns what is kept with some more frames, of all; nil if that must be built of all: where
// a frame could not be read, or two have one instant.
func (of *built) grown(allow window.Allowance, node window.Node, all, more [][]byte,
	want *frame.Wanted) (*built, error) {
	if of.report.Lost()+of.report.Duplicates > 0 {
		return nil, nil
	}
	news := len(more)
	for _, b := range more {
		h, _, err := frame.Parse(b)
		if err != nil {
			return nil, nil
		}
		if _, found := slices.BinarySearch(of.window.Times, h.At); found {
			return nil, nil
		}
	}
	for _, b := range all { // the others' key frames
		if h, _, err := frame.Parse(b); err == nil && h.IsKey() && !slices.ContainsFunc(more,
			func(m []byte) bool { return &m[0] == &b[0] }) {
			more = append(more, b)
		}
	}
	w, rep, err := building.Wanted(allow, node, more, want)
	if err != nil || rep.Lost()+rep.Duplicates > 0 {
		return nil, err
	}
	if err := allow.Take(of.window.Bytes() + w.Bytes()); err != nil {
		return nil, err
	}
	both := uniting.Windows(of.window.Start, of.window.Length, []*window.Window{of.window, w})
	if len(both.Times) != len(of.window.Times)+news || len(both.Times) > window.MaxInstants {
		return nil, nil
	}
	rep.Frames = len(all)
	return &built{window: both, report: rep}, nil
}

// bytes is about what it takes.
func (of *built) bytes() int64 {
	n := of.window.Bytes() + 32*int64(len(of.frames))
	for _, t := range of.window.Types {
		n += 200 + 120*int64(len(t.Metrics)) + 24*int64(len(t.Rows))
		for _, row := range t.Rows {
			for _, text := range row {
				n += 16 + int64(len(text))
			}
		}
	}
	return n
}
