package frametest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"github.com/ringwatch/ringwatch/frame"
)

// Frames of who holds a valid key and means harm: small on the way, large when they are read.

// attack is the header of a hostile frame.
func attack(node uuid.UUID, cluster string, at int64) frame.Header {
	return frame.Header{Compression: frame.Zstd, Node: node, Cluster: cluster, Started: 1,
		Sequence: 1, At: at, Interval: 5000}
}

func mustAppend(f *frame.Frame) []byte {
	b, err := f.Append(nil, nil)
	if err != nil {
		panic(err) // a test's own frame
	}
	return b
}

// HistogramFrame is a key frame of so many entities with so many histograms each, of bounds
// buckets. With values each has counted one thing. 1,000 × 4,000 with values take 7 kB.
func HistogramFrame(node uuid.UUID, cluster string, at int64, entities, metrics, bounds int,
	values bool) []byte {
	f := &frame.Frame{Header: attack(node, cluster, at), Bounds: []frame.Bounds{{}},
		Templates: []frame.Template{{Type: "attack", Labels: []string{"number"}}}}
	for i := range bounds {
		f.Bounds[0].Upper = append(f.Bounds[0].Upper, int64(i))
	}
	t := &f.Templates[0]
	one := slices.Repeat([]frame.Buckets{{Index: []int32{int32(bounds)}, Count: []int64{1}}},
		entities)
	group := frame.Group{}
	for m := range metrics {
		t.Metrics = append(t.Metrics, frame.Metric{Name: fmt.Sprintf("m%04d", m),
			Kind: frame.Histogram})
		group.Columns = append(group.Columns, frame.Column{Metric: m, All: true, Histograms: one})
	}
	rows := frame.Entities{}
	for e := range entities {
		rows.Rows = append(rows.Rows, []string{fmt.Sprintf("%07d", e)})
	}
	f.Added = []frame.Entities{rows}
	if values {
		f.Values = []frame.Group{group}
	}
	return mustAppend(f)
}

// ZeroFrame is a delta frame whose payload unpacks to so many zeros. It says nothing and belongs to
// no key frame.
func ZeroFrame(node uuid.UUID, cluster string, at int64, bytes int) []byte {
	f := &frame.Frame{Header: attack(node, cluster, at)}
	f.KeyAge, f.KeyCheck = 1, 1
	b := mustAppendDelta(f)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // constant options
	}
	h, _, err := frame.Parse(b)
	if err != nil {
		panic(err)
	}
	// The header ends with raw_length, which is one byte here; it is written anew before the
	// payload.
	head := b[:len(b)-h.RawLength-1]
	head = binary.AppendUvarint(slices.Clone(head), uint64(bytes))
	head[12] = byte(frame.Zstd)
	head = append(head, z.EncodeAll(make([]byte, bytes), nil)...)
	return Seal(head)
}

// mustAppendDelta encodes a delta frame that says nothing.
func mustAppendDelta(f *frame.Frame) []byte {
	key := &frame.Frame{Header: f.Header}
	key.KeyAge, key.At = 0, f.KeyAt()
	f.Compression = frame.None
	b, err := f.Append(nil, key)
	if err != nil {
		panic(err)
	}
	return b
}

// Seal gives changed bytes the length and the checksum that they claim to have (FORMAT.md §3).
func Seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[8:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[8:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// Restamp returns a hostile frame as another node's and of another instant, without packing it
// again.
func Restamp(b []byte, node uuid.UUID, at int64) []byte {
	b = slices.Clone(b)
	h, _, err := frame.Parse(b)
	if err != nil {
		panic(err) // a test's own frame
	}
	copy(b[13:], node[:])
	// Cluster, started and sequence stand before the instant; the latter two are a byte each.
	offset := 13 + len(node) + 1 + len(h.Cluster) + 2
	if now := binary.AppendUvarint(nil,
		uint64(at)); len(now) != len(binary.AppendUvarint(nil, uint64(h.At))) {
		panic("the instants differ in length")
	} else {
		copy(b[offset:], now)
	}
	return Seal(b)
}
