package building

import (
	"errors"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window/numbering"
)

// keyFrame is a decoded key frame that later frames need.
type keyFrame struct {
	pass  *numbering.Pass
	index int
	bytes int64
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
	id := numbering.KeyOf(&b.frames[i].header)
	f, bytes, err := b.decode(i, nil)
	if err != nil || f == nil {
		b.release(bytes)
		return err
	}
	b.drop(id)
	b.keys[id] = &keyFrame{pass: numbering.NewKeyPass(f), index: i, bytes: bytes}
	return nil
}

// drop forgets a key frame that is not needed any more.
func (b *builder) drop(id numbering.KeyID) {
	if k := b.keys[id]; k != nil {
		b.release(k.bytes)
		delete(b.keys, id)
	}
}
