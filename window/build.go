package window

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
)

// Report counts what Build made of the frames it was given. Frames − Duplicates − Corrupt −
// MissingKey − Excess are the window's instants.
type Report struct {
	Frames     int
	Duplicates int // of an instant that another frame had given already
	Corrupt    int // could not be decoded
	MissingKey int // delta frames whose key frame was not among the frames
	Excess     int // beyond MaxInstants
}

// Lost returns how many frames say nothing in the window though they were sent.
func (r *Report) Lost() int { return r.Corrupt + r.MissingKey + r.Excess }

// Allowance is asked before memory is taken, and told what is free again; see frame.Allowance. A
// *memory.Lease is one. Its errors wrap what it says of itself.
type Allowance interface {
	Take(bytes int64) error
	Give(bytes int64)
}

// Build makes a window from frames of one node and one window, in any order, with repetitions.
// Frames that cannot be decoded are skipped and counted. node gives the account and, if it has
// one, the node's id; all else comes from the frames. It is an error if frames of different nodes
// or windows are mixed, and if there is not one header that can be read.
//
// Entities with the same labels are the same series, whatever key frame they are in.
func Build(node Node, frames [][]byte) (*Window, Report, error) {
	return BuildWithin(nil, node, frames)
}

// BuildWithin is Build with as much memory as the allowance gives; nil gives any. Frames are
// decoded one after the other, so that beside the window itself there are only one of them and
// the key frames that later ones need. What the window takes stays taken. An error of the
// allowance wraps frame.ErrMemory.
func BuildWithin(allow Allowance, node Node, frames [][]byte) (*Window, Report, error) {
	return BuildWanted(allow, node, frames, nil)
}

// BuildWanted is BuildWithin for who asks only for some metrics: the window has no others, nor
// types that have only others, and is made in a fraction of the time. nil wants all.
func BuildWanted(allow Allowance, node Node, frames [][]byte,
	want *frame.Wanted) (*Window, Report, error) {
	return build(allow, node, frames, want, nil)
}

// BuildKnown is BuildWithin for who reads the frames of many nodes: dictionaries that known has are
// not read again.
func BuildKnown(
	allow Allowance, node Node, frames [][]byte, known *frame.Dictionaries,
) (*Window, Report, error) {
	return build(allow, node, frames, nil, known)
}

func build(
	allow Allowance, node Node, frames [][]byte, want *frame.Wanted, known *frame.Dictionaries,
) (*Window, Report, error) {
	rep := Report{Frames: len(frames)}
	parsed, start, err := parseHeaders(&node.ID, frames, &rep)
	if err != nil {
		return nil, rep, err
	}
	b := builder{allow: allow, want: want, known: known, rep: &rep, frames: parsed,
		keys: map[keyID]*keyFrame{}, last: map[keyID]int{},
		types: map[*dictionaryBuilder]*typeBuilder{}}
	b.window, b.dictionaries.want = &Window{Node: node, Start: start, Length: frame.WindowMillis},
		want
	for i := range parsed {
		b.last[keyOf(&parsed[i].header)] = i
	}
	for i := range parsed {
		if err := b.frame(i); err != nil {
			return nil, rep, fmt.Errorf("window: build window %d: %w", start, err)
		}
	}
	b.finish()
	return b.window, rep, nil
}

// parsedFrame is a frame whose header could be read.
type parsedFrame struct {
	header frame.Header
	bytes  []byte
}

// parseHeaders sorts the frames by time, for each instant key frames first, and drops repetitions.
func parseHeaders(id *uuid.UUID, frames [][]byte, rep *Report) ([]parsedFrame, int64, error) {
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

// keyID is how a delta frame names its key frame.
type keyID struct {
	at    int64
	check uint32
}

// keyOf returns the name of a frame's key frame, which may be itself.
func keyOf(h *frame.Header) keyID {
	if h.IsKey() {
		return keyID{h.At, h.Check}
	}
	return keyID{h.KeyAt(), h.KeyCheck}
}

// builder makes a window frame by frame: each frame is a pass, which a typeBuilder for each entity
// type enters in its columns.
type builder struct {
	allow        Allowance
	want         *frame.Wanted
	known        *frame.Dictionaries // of key frames that were read before; nil: none
	rep          *Report
	frames       []parsedFrame
	last         map[keyID]int // the last frame that needs a key frame
	keys         map[keyID]*keyFrame
	window       *Window
	dictionaries dictionaryBuilders
	types        map[*dictionaryBuilder]*typeBuilder
	// Bytes that are free after the next frame. A pass's values are compared with those of the pass
	// before, so a decoded frame is needed for one frame more.
	freeAfterNext int64
	// 1 + the number of the latest key frame that a pass needed: it says what the node is
	newest int
}

// keyFrame is a decoded key frame that later frames need.
type keyFrame struct {
	pass  *pass
	index int
	bytes int64
}

// frame takes the next frame in order of time.
func (b *builder) frame(i int) error {
	h := &b.frames[i].header
	id := keyOf(h)
	free := b.freeAfterNext
	b.freeAfterNext = 0
	defer func() {
		if b.last[id] == i {
			b.drop(id)
		}
		if b.allow != nil {
			b.allow.Give(free)
		}
	}()
	if h.IsKey() { // even if another frame of its instant came before, delta frames may name it
		if err := b.decodeKey(i); err != nil {
			return err
		}
		if b.keys[id] == nil {
			return nil
		}
	}
	times := b.window.Times
	key := b.keys[id]
	switch {
	case len(times) > 0 && times[len(times)-1] == h.At:
		b.rep.Duplicates++
		return nil
	case len(times) == MaxInstants:
		b.rep.Excess++
		return nil
	case key == nil:
		b.rep.MissingKey++
		return nil
	}
	p := key.pass
	if !h.IsKey() {
		f, bytes, err := b.decode(i, key.pass.frame)
		defer func() { b.release(bytes) }()
		if err != nil || f == nil {
			return err
		}
		p = &pass{frame: f, key: key.pass}
	}
	b.window.Times = append(times, h.At)
	b.window.Node.Cluster, b.window.Node.Interval = h.Cluster, h.Interval
	if key.index >= b.newest {
		b.newest = key.index + 1
		b.window.Node.Identity = key.pass.frame.Identity
	}
	return b.pass(p)
}

// decode decodes frame number i. It returns nil without an error if that cannot be done, which is
// counted, and what the frame takes.
func (b *builder) decode(i int, key *frame.Frame) (f *frame.Frame, bytes int64, err error) {
	allow, encoded := counting{b.allow, &bytes}, b.frames[i].bytes
	if b.known != nil && key == nil {
		f, err = frame.DecodeKnown(allow, encoded, b.known)
	} else {
		f, err = frame.DecodeWanted(allow, encoded, key, b.want)
	}
	if err != nil && !errors.Is(err, frame.ErrMemory) {
		b.rep.Corrupt++
		err = nil
	}
	return f, bytes, err
}

// decodeKey decodes a key frame and keeps it. It replaces one with the same name.
func (b *builder) decodeKey(i int) error {
	id := keyOf(&b.frames[i].header)
	f, bytes, err := b.decode(i, nil)
	if err != nil || f == nil {
		b.release(bytes)
		return err
	}
	b.drop(id)
	b.keys[id] = &keyFrame{pass: newKeyPass(f), index: i, bytes: bytes}
	return nil
}

// drop forgets a key frame that is not needed any more.
func (b *builder) drop(id keyID) {
	if k := b.keys[id]; k != nil {
		b.release(k.bytes)
		delete(b.keys, id)
	}
}

// pass enters what a pass says in the columns.
func (b *builder) pass(p *pass) error {
	taken := b.dictionaries.bytes
	p.key.resolve(&b.dictionaries)
	p.resolve(&b.dictionaries)
	if err := b.take(b.dictionaries.bytes - taken); err != nil {
		return err
	}
	instant := int32(len(b.window.Times) - 1)
	for _, d := range b.dictionaries.list {
		t := b.types[d]
		if t == nil {
			t = &typeBuilder{dictionary: d}
			b.types[d] = t
		}
		if err := b.take(t.step(p, instant)); err != nil {
			return err
		}
	}
	return nil
}

// finish sorts rows and changes.
func (b *builder) finish() {
	b.window.Types = b.dictionaries.finish(&b.window.Node)
	byDictionary := map[*Dictionary]*Type{}
	for _, t := range b.window.Types {
		byDictionary[t.Dictionary] = t
	}
	for _, d := range b.dictionaries.list {
		b.types[d].finish(byDictionary[d.result])
	}
	if b.allow != nil {
		b.allow.Give(b.freeAfterNext)
	}
}

func (b *builder) take(bytes int64) error {
	if b.allow == nil || bytes == 0 {
		return nil
	}
	if err := b.allow.Take(bytes); err != nil {
		return fmt.Errorf("%w: %w", frame.ErrMemory, err)
	}
	return nil
}

// release says that a decoded frame is not needed any more.
func (b *builder) release(bytes int64) { b.freeAfterNext += bytes }

// counting counts what an allowance has given.
type counting struct {
	allow Allowance
	bytes *int64
}

// Take implements frame.Allowance.
func (c counting) Take(bytes int64) error {
	if c.allow == nil {
		return nil
	}
	err := c.allow.Take(bytes)
	if err == nil {
		*c.bytes += bytes
	}
	return err
}
