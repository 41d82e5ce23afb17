package building

import (
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// builder makes a window frame by frame: each frame is a pass, which a typeBuilder for each entity
// type enters in its columns.
type builder struct {
	allow        window.Allowance
	want         *frame.Wanted
	known        *frame.Dictionaries // of key frames that were read before; nil: none
	rep          *window.Report
	frames       []parsedFrame
	last         map[numbering.KeyID]int // the last frame that needs a key frame
	keys         map[numbering.KeyID]*keyFrame
	window       *window.Window
	dictionaries numbering.Dictionaries
	types        map[*numbering.Dictionary]*typeBuilder
	// Bytes that are free after the next frame. A pass's values are compared with those of the pass
	// before, so a decoded frame is needed for one frame more.
	freeAfterNext int64
	// 1 + the number of the latest key frame that a pass needed: it says what the node is
	newest int
}

// frame takes the next frame in order of time.
func (b *builder) frame(i int) error {
	h := &b.frames[i].header
	id := numbering.KeyOf(h)
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
	case len(times) == window.MaxInstants:
		b.rep.Excess++
		return nil
	case key == nil:
		b.rep.MissingKey++
		return nil
	}
	p := key.pass
	if !h.IsKey() {
		f, bytes, err := b.decode(i, key.pass.Frame)
		defer func() { b.release(bytes) }()
		if err != nil || f == nil {
			return err
		}
		p = numbering.NewPass(f, key.pass)
	}
	b.window.Times = append(times, h.At)
	b.window.Node.Cluster, b.window.Node.Interval = h.Cluster, h.Interval
	if key.index >= b.newest {
		b.newest = key.index + 1
		b.window.Node.Identity = key.pass.Frame.Identity
	}
	return b.pass(p)
}

// pass enters what a pass says in the columns.
func (b *builder) pass(p *numbering.Pass) error {
	taken := b.dictionaries.Bytes
	p.Key.Resolve(&b.dictionaries)
	p.Resolve(&b.dictionaries)
	if err := b.take(b.dictionaries.Bytes - taken); err != nil {
		return err
	}
	instant := int32(len(b.window.Times) - 1)
	for _, d := range b.dictionaries.List {
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
	b.window.Types = b.dictionaries.Finish(&b.window.Node)
	byDictionary := map[*window.Dictionary]*window.Type{}
	for _, t := range b.window.Types {
		byDictionary[t.Dictionary] = t
	}
	for _, d := range b.dictionaries.List {
		b.types[d].finish(byDictionary[d.Result])
	}
	if b.allow != nil {
		b.allow.Give(b.freeAfterNext)
	}
}
