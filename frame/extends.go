package frame

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// headBytes is how much of a payload Extends unpacks: three counts.
const headBytes = 3

// headDecoders are zstd decoders that unpack the beginning of a payload and no more.
var headDecoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxRawBytes), zstd.WithDecoderMaxWindow(MaxRawBytes))
	if err != nil {
		panic(err) // constant options
	}
	return d
}}

// Extends reports whether a frame brings entities, templates or bounds that its key frame does not
// have; a key frame always does. It needs no key frame and unpacks one block of the payload at most.
// The error wraps one of the package's sentinels.
func Extends(b []byte) (bool, error) {
	h, packed, err := Parse(b)
	if err != nil || h.IsKey() {
		return err == nil, err
	}
	// A delta frame's payload begins with its dictionary (FORMAT.md §4.2): how many bounds, templates
	// and groups of entities there are. A count of zero is one byte.
	head, err := unpackHead(&h, packed)
	if err != nil {
		return false, err
	}
	return !bytes.Equal(head, make([]byte, headBytes)), nil
}

func unpackHead(h *Header, packed []byte) ([]byte, error) {
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
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(in, head); err != nil {
		return nil, fmt.Errorf("%w: a payload of fewer than %d bytes: %v", ErrMalformed, headBytes, err)
	}
	return head, nil
}
