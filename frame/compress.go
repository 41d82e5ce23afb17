package frame

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// The zstd coders are shared: EncodeAll and DecodeAll are safe for concurrent use and keep their
// own pools.
var (
	zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(2))
		if err != nil {
			panic(err) // constant options
		}
		return e
	})
	zstdDecoder = sync.OnceValue(func() *zstd.Decoder {
		// The window is bounded as well as the output: a frame may announce a huge one and use
		// none of it.
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2),
			zstd.WithDecoderMaxMemory(MaxRawBytes), zstd.WithDecoderMaxWindow(MaxRawBytes))
		if err != nil {
			panic(err) // constant options
		}
		return d
	})
)

// unpack returns the payload of h.RawLength bytes. It allocates as it goes, so a header that
// promises more than the bytes hold costs nothing.
func unpack(h *Header, packed []byte) ([]byte, error) { return unpackInto(nil, h, packed) }

// unpackInto is unpack that may write into the room there is in a buffer.
func unpackInto(room []byte, h *Header, packed []byte) ([]byte, error) {
	switch h.Compression {
	case None:
		return packed, nil
	case Deflate:
		in := bytes.NewReader(packed) // a ByteReader, so flate reads no further than its end
		raw, err := unpackStream(h, flate.NewReader(in))
		if err == nil && in.Len() > 0 {
			return nil, fmt.Errorf("%w: %d bytes after the packed payload", ErrMalformed, in.Len())
		}
		return raw, err
	case Zstd:
		var header zstd.Header
		if err := header.Decode(packed); err != nil || header.Skippable ||
			header.DictionaryID != 0 {
			return nil, fmt.Errorf("%w: the payload is not one zstd frame", ErrMalformed)
		}
		if header.HasFCS && header.FrameContentSize > uint64(h.RawLength) {
			return nil, fmt.Errorf("%w: the payload unpacks to %d bytes, raw_length is %d",
				ErrTooLarge, header.FrameContentSize, h.RawLength)
		}
		if header.HasFCS && header.FrameContentSize != uint64(h.RawLength) {
			return nil, fmt.Errorf("%w: the payload does not unpack to raw_length bytes",
				ErrMalformed)
		}
		if header.HasFCS {
			if need := min(h.RawLength, 256*len(packed)+4096); cap(room) < need {
				room = make([]byte, 0, need)
			}
			raw, err := zstdDecoder().DecodeAll(packed, room[:0])
			if err != nil {
				return nil, fmt.Errorf("%w: zstd: %v", ErrMalformed, err)
			}
			if len(raw) != h.RawLength {
				return nil, fmt.Errorf("%w: the payload does not unpack to raw_length bytes",
					ErrMalformed)
			}
			return raw, nil
		}
		z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(MaxRawBytes), zstd.WithDecoderMaxWindow(MaxRawBytes))
		if err != nil {
			return nil, fmt.Errorf("%w: zstd: %v", ErrMalformed, err)
		}
		defer z.Close()
		return unpackStream(h, z)
	}
	return nil, fmt.Errorf("%w: unknown compression %d", ErrMalformed, h.Compression)
}

// unpackStream reads exactly RawLength bytes and then the end.
func unpackStream(h *Header, z io.Reader) ([]byte, error) {
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(z, int64(h.RawLength)+1))
	switch {
	case n > int64(h.RawLength):
		return nil, fmt.Errorf("%w: the payload unpacks to more than raw_length, %d bytes",
			ErrTooLarge, h.RawLength)
	case errors.Is(err, io.ErrUnexpectedEOF) || err != nil:
		return nil, fmt.Errorf("%w: %s: %v", ErrMalformed, h.Compression, err)
	case n < int64(h.RawLength):
		return nil, fmt.Errorf("%w: the payload unpacks to %d bytes, raw_length is %d",
			ErrMalformed, n, h.RawLength)
	}
	return out.Bytes(), nil
}

// pack compresses raw, or returns it as it is with None when that would not make it smaller.
func pack(c Compression, raw []byte) (Compression, []byte) {
	var packed []byte
	switch c {
	case Deflate:
		var out bytes.Buffer
		z, err := flate.NewWriter(&out, flate.DefaultCompression)
		if err != nil {
			panic(err) // constant level
		}
		z.Write(raw) // a bytes.Buffer takes everything
		z.Close()
		packed = out.Bytes()
	case Zstd:
		packed = zstdEncoder().EncodeAll(raw, nil)
	default:
		return None, raw
	}
	if len(packed) >= len(raw) {
		return None, raw
	}
	return c, packed
}
