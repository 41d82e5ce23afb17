package frame

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// headBytes is how much of a payload Extends unpacks: three counts.
const headBytes = 3

// headDecoders are zstd decoders that unpack the beginning of a payload and no more.
var headDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(MaxRawBytes), zstd.WithDecoderMaxWindow(MaxRawBytes))
	if err != nil {
		panic(err) // constant options
	}
	return d
}}

// Extends reports whether a frame brings entities, templates or bounds that its key frame does
// not have; a key frame always does. It needs no key frame and unpacks one block of the payload
// at most. The error wraps one of the package's sentinels.
func Extends(b []byte) (bool, error) {
	h, packed, err := Parse(b)
	if err != nil || h.IsKey() {
		return err == nil, err
	}
	// Behind its events a delta frame's payload begins with its dictionary (FORMAT.md §4.2): how
	// many bounds, templates and groups of entities there are. A count of zero is one byte.
	head, err := unpackHead(&h, packed, headBytes)
	if err == nil && len(head) < headBytes {
		err = fmt.Errorf("%w: the payload ends within its dictionary", ErrMalformed)
	}
	if err != nil {
		return false, err
	}
	return !bytes.Equal(head, make([]byte, headBytes)), nil
}

// identityBytes is how much of a payload ReadIdentity unpacks first: the identities of Cassandra
// nodes have some hundred bytes.
const identityBytes = 8 << 10

// maxIdentityBytes is the longest identity there can be.
const maxIdentityBytes = 2*(MaxLabelBytes+binary.MaxVarintLen64) +
	MaxFacts*(MaxNameBytes+MaxTextBytes+2*binary.MaxVarintLen64) + binary.MaxVarintLen64

// ReadIdentity returns what a key frame says of its node. It unpacks no more than that takes:
// whether the rest can be decoded stays open. The error wraps one of the package's sentinels.
func ReadIdentity(b []byte) (Identity, error) {
	h, packed, err := Parse(b)
	if err != nil {
		return Identity{}, err
	}
	if !h.IsKey() {
		return Identity{}, fmt.Errorf("%w: a delta frame does not say what its node is", ErrKey)
	}
	for size := identityBytes; ; size *= 8 {
		size = min(size, h.RawLength, maxIdentityBytes)
		head, err := unpackHead(&h, packed, size)
		if err != nil {
			return Identity{}, err
		}
		d := decoder{reader: reader{b: head}, f: &Frame{}}
		if d.identity(); d.err == nil {
			return d.f.Identity, nil
		}
		if size == min(h.RawLength, maxIdentityBytes) {
			return Identity{}, d.err
		}
	}
}

// unpackHead returns the first bytes of a payload behind its events: size, or as many as there are.
func unpackHead(h *Header, packed []byte, size int) ([]byte, error) {
	events := 0
	if h.HasEvents {
		head, err := unpackFirst(h, packed, min(h.RawLength, binary.MaxVarintLen32))
		if err != nil {
			return nil, err
		}
		events = eventsSize(head, min(h.RawLength, maxEventsBytes))
	}
	head, err := unpackFirst(h, packed, min(h.RawLength, events+size))
	if err != nil {
		return nil, err
	}
	return head[events:], nil
}

// unpackFirst returns the first bytes of a payload.
func unpackFirst(h *Header, packed []byte, size int) ([]byte, error) {
	var in io.Reader
	switch h.Compression {
	case None:
		in = bytes.NewReader(packed)
	case Deflate:
		in = flate.NewReader(bytes.NewReader(packed))
	case Zstd:
		d := headDecoders.Get().(*zstd.Decoder)
		defer headDecoders.Put(d)
		defer d.Reset(nil) // so that the pool keeps no frame
		if err := d.Reset(bytes.NewReader(packed)); err != nil {
			return nil, fmt.Errorf("%w: zstd: %v", ErrMalformed, err)
		}
		in = d
	default:
		return nil, fmt.Errorf("%w: unknown compression %d", ErrMalformed, h.Compression)
	}
	head := make([]byte, size)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, fmt.Errorf("%w: a payload of fewer than %d bytes: %v", ErrMalformed, size, err)
	}
	return head, nil
}
