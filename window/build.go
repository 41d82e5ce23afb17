package window

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Report counts what Build made of the frames it was given. Frames − Duplicates − Corrupt − MissingKey − Excess are the window's instants.
type Report struct {
	Frames     int
	Duplicates int // of an instant that another frame had given already
	Corrupt    int // could not be decoded
	MissingKey int // delta frames whose key frame was not among the frames
	Excess     int // beyond MaxInstants
}

// Lost returns how many frames say nothing in the window though they were sent.
func (r *Report) Lost() int { return r.Corrupt + r.MissingKey + r.Excess }

// Build makes a window from frames of one node and one window, in any order, with repetitions. Frames that cannot be decoded are skipped and counted.
// node gives the account and, if it has one, the node's id; all else comes from the frames. It is an error if frames of different nodes or windows are mixed, and if there is
// not one header that can be read.
//
// Entities with the same labels are the same series, whatever key frame they are in.
func Build(node Node, frames [][]byte) (*Window, Report, error) {
	rep := Report{Frames: len(frames)}
	heads, start, err := readHeads(&node.ID, frames, &rep)
	if err != nil {
		return nil, rep, err
	}
	passes, keys := decode(heads, &rep)
	w := &Window{Node: node, Start: start}
	for _, p := range passes {
		w.Times = append(w.Times, p.At)
	}
	if len(passes) > 0 {
		w.Node.Cluster, w.Node.Interval = passes[len(passes)-1].Cluster, passes[len(passes)-1].Interval
		w.Node.Identity = keys[len(keys)-1].Identity
	}
	var ds drafts
	for _, k := range keys {
		k.know(&ds)
	}
	for _, p := range passes {
		p.know(&ds)
	}
	w.Types = ds.finish(&w.Node)
	byDraft := map[*Dictionary]*Type{}
	for _, t := range w.Types {
		byDraft[t.Dictionary] = t
	}
	for _, d := range ds.list {
		b := typeBuilder{Type: byDraft[d.Dictionary], draft: d, keys: keys, passes: passes}
		b.build()
	}
	return w, rep, nil
}

// head is a frame whose header could be read.
type head struct {
	frame.Header
	b []byte
}

// readHeads sorts the frames by time, for each instant key frames first, and drops repetitions.
func readHeads(id *uuid.UUID, frames [][]byte, rep *Report) ([]head, int64, error) {
	heads := make([]head, 0, len(frames))
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
			return nil, 0, fmt.Errorf("window: a frame of node %s among those of node %s; build one window per node", h.Node, *id)
		}
		if len(heads) > 0 && h.Window() != heads[0].Window() {
			return nil, 0, fmt.Errorf("window: a frame of window %d among those of window %d; build each window on its own", h.Window(), heads[0].Window())
		}
		heads = append(heads, head{h, b})
	}
	if len(heads) == 0 {
		return nil, 0, fmt.Errorf("window: not one of %d frames has a header that can be read", len(frames))
	}
	start := heads[0].Window()
	slices.SortFunc(heads, func(a, b head) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(min(a.KeyAge, 1), min(b.KeyAge, 1)), cmp.Compare(a.Check, b.Check), bytes.Compare(a.b, b.b))
	})
	n := len(heads)
	heads = slices.CompactFunc(heads, func(a, b head) bool { return a.At == b.At && bytes.Equal(a.b, b.b) })
	rep.Duplicates += n - len(heads)
	return heads, start, nil
}

// keyID is how a delta frame names its key frame.
type keyID struct {
	at    int64
	check uint32
}

// decode returns a pass per instant and the key frames that they need, both in order of time.
func decode(heads []head, rep *Report) ([]*pass, []*pass) {
	keys := map[keyID]*pass{}
	var keyList, passes []*pass
	for i := range heads { // key frames first: a delta frame may only sort before its key frame if it is hostile, but then it may
		h := &heads[i]
		if !h.IsKey() {
			continue
		}
		f, err := frame.Decode(h.b, nil)
		if err != nil {
			rep.Corrupt++
			h.b = nil
			continue
		}
		p := &pass{Frame: f}
		p.key = p
		keys[keyID{h.At, h.Check}] = p
		keyList = append(keyList, p)
	}
	needed := map[*pass]bool{}
	for i := range heads {
		h := &heads[i]
		var p *pass
		switch {
		case h.b == nil:
			continue
		case len(passes) > 0 && passes[len(passes)-1].At == h.At:
			rep.Duplicates++
			continue
		case len(passes) == MaxInstants:
			rep.Excess++
			continue
		case h.IsKey():
			p = keys[keyID{h.At, h.Check}]
		default:
			k := keys[keyID{h.KeyAt(), h.KeyCheck}]
			if k == nil {
				rep.MissingKey++
				continue
			}
			f, err := frame.Decode(h.b, k.Frame)
			if err != nil {
				rep.Corrupt++
				continue
			}
			p = &pass{Frame: f, key: k}
		}
		needed[p.key] = true
		passes = append(passes, p)
	}
	keyList = slices.DeleteFunc(keyList, func(k *pass) bool { return !needed[k] })
	return passes, keyList
}
