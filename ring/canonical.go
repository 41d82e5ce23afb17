package ring

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/big"
	"slices"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// canonical is a value as Cassandra keeps it: a set's elements, and a map's entries by their keys,
// are sorted by their type's order, each once. The driver sends them as they come. What cannot be
// taken apart stays as it is. That costs a hop at most, since such keys are not grouped.
func canonical(typ gocql.TypeInfo, data []byte) []byte {
	switch t := typ.(type) {
	case gocql.CollectionType:
		width := 1
		if t.Type() == gocql.TypeMap {
			width = 2
		}
		if len(data) < 4 {
			return data
		}
		elements, ok := cut(data[4:], width*int(binary.BigEndian.Uint32(data)))
		if !ok {
			return data
		}
		for i, e := range elements {
			if e == nil {
				return data
			}
			if width == 2 && i%2 == 0 {
				elements[i] = canonical(t.Key, e)
			} else {
				elements[i] = canonical(t.Elem, e)
			}
		}
		entries := make([][][]byte, 0, len(elements))
		for e := range slices.Chunk(elements, width) {
			entries = append(entries, e)
		}
		if t.Type() != gocql.TypeList {
			by := t.Elem
			if width == 2 {
				by = t.Key
			}
			slices.SortStableFunc(entries, func(a, b [][]byte) int {
				return compare(by, a[0], b[0])
			})
			entries = slices.CompactFunc(entries, func(a, b [][]byte) bool {
				return compare(by, a[0], b[0]) == 0
			})
		}
		b := binary.BigEndian.AppendUint32(nil, uint32(len(entries)))
		for _, e := range entries {
			b = join(b, e)
		}
		return b
	case gocql.TupleTypeInfo:
		return canonicalFields(t.Elems, data)
	case gocql.UDTTypeInfo:
		fields := make([]gocql.TypeInfo, len(t.Elements))
		for i, f := range t.Elements {
			fields[i] = f.Type
		}
		return canonicalFields(fields, data)
	}
	return data
}

func canonicalFields(types []gocql.TypeInfo, data []byte) []byte {
	fields, ok := cut(data, -1)
	if !ok || len(fields) > len(types) {
		return data
	}
	for i, f := range fields {
		if f != nil {
			fields[i] = canonical(types[i], f)
		}
	}
	return join(nil, fields)
}

// cut takes n values with their lengths apart, all there are if n is negative; a null is nil.
func cut(data []byte, n int) (values [][]byte, ok bool) {
	for ; n > 0 || n < 0 && len(data) > 0; n-- {
		if len(data) < 4 {
			return nil, false
		}
		size := int32(binary.BigEndian.Uint32(data))
		data = data[4:]
		if size < 0 {
			values = append(values, nil)
			continue
		}
		if int(size) > len(data) {
			return nil, false
		}
		values, data = append(values, data[:size:size]), data[size:]
	}
	return values, len(data) == 0
}

func join(dst []byte, values [][]byte) []byte {
	for _, v := range values {
		if v == nil {
			dst = binary.BigEndian.AppendUint32(dst, math.MaxUint32)
			continue
		}
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(v))), v...)
	}
	return dst
}

// compare orders two values of a type as Cassandra does.
func compare(typ gocql.TypeInfo, a, b []byte) int {
	if len(a) == 0 || len(b) == 0 {
		return cmp.Compare(len(a), len(b))
	}
	switch t := typ.(type) {
	case gocql.CollectionType:
		return compareCollections(t, a, b)
	case gocql.TupleTypeInfo:
		return compareFields(t.Elems, a, b)
	case gocql.UDTTypeInfo:
		fields := make([]gocql.TypeInfo, len(t.Elements))
		for i, f := range t.Elements {
			fields[i] = f.Type
		}
		return compareFields(fields, a, b)
	}
	switch typ.Type() {
	case gocql.TypeTinyInt, gocql.TypeSmallInt, gocql.TypeInt, gocql.TypeBigInt,
		gocql.TypeTimestamp:
		return cmp.Or(cmp.Compare(int8(a[0]), int8(b[0])), bytes.Compare(a[1:], b[1:]))
	case gocql.TypeFloat:
		return compareFloats(float64(math.Float32frombits(binary.BigEndian.Uint32(a))),
			float64(math.Float32frombits(binary.BigEndian.Uint32(b))))
	case gocql.TypeDouble:
		return compareFloats(math.Float64frombits(binary.BigEndian.Uint64(a)),
			math.Float64frombits(binary.BigEndian.Uint64(b)))
	case gocql.TypeVarint:
		return integer(a).Cmp(integer(b))
	case gocql.TypeDecimal:
		return compareDecimals(a, b)
	case gocql.TypeUUID:
		if n := cmp.Compare(a[6]>>4, b[6]>>4); n != 0 {
			return n
		}
		if a[6]>>4 == 1 {
			return cmp.Or(cmp.Compare(ticks(a), ticks(b)), bytes.Compare(a, b))
		}
	case gocql.TypeTimeUUID:
		if n := cmp.Compare(ticks(a), ticks(b)); n != 0 {
			return n
		}
		for i := 8; i < 16; i++ { // as signed bytes
			if n := cmp.Compare(int8(a[i]), int8(b[i])); n != 0 {
				return n
			}
		}
		return 0
	}
	return bytes.Compare(a, b)
}

func compareCollections(t gocql.CollectionType, a, b []byte) int {
	if len(a) < 4 || len(b) < 4 {
		return bytes.Compare(a, b)
	}
	width := 1
	if t.Type() == gocql.TypeMap {
		width = 2
	}
	left, okLeft := cut(a[4:], width*int(binary.BigEndian.Uint32(a)))
	right, okRight := cut(b[4:], width*int(binary.BigEndian.Uint32(b)))
	if !okLeft || !okRight {
		return bytes.Compare(a, b)
	}
	for i := range min(len(left), len(right)) {
		by := t.Elem
		if width == 2 && i%2 == 0 {
			by = t.Key
		}
		if n := compare(by, left[i], right[i]); n != 0 {
			return n
		}
	}
	return cmp.Compare(len(left), len(right))
}

func compareFields(types []gocql.TypeInfo, a, b []byte) int {
	left, okLeft := cut(a, -1)
	right, okRight := cut(b, -1)
	if !okLeft || !okRight {
		return bytes.Compare(a, b)
	}
	for i := range min(len(left), len(right), len(types)) {
		if left[i] == nil || right[i] == nil {
			if n := cmp.Compare(boolInt(left[i] != nil), boolInt(right[i] != nil)); n != 0 {
				return n
			}
			continue
		}
		if n := compare(types[i], left[i], right[i]); n != 0 {
			return n
		}
	}
	return cmp.Compare(len(left), len(right))
}

// compareFloats is Java's order: -0 before 0, NaN last.
func compareFloats(a, b float64) int {
	if math.IsNaN(a) || math.IsNaN(b) {
		return cmp.Compare(boolInt(math.IsNaN(a)), boolInt(math.IsNaN(b)))
	}
	return cmp.Or(cmp.Compare(a, b),
		cmp.Compare(boolInt(!math.Signbit(a)), boolInt(!math.Signbit(b))))
}

func integer(data []byte) *big.Int {
	n := new(big.Int).SetBytes(data)
	if data[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return n
}

func compareDecimals(a, b []byte) int {
	if len(a) < 5 || len(b) < 5 {
		return bytes.Compare(a, b)
	}
	scaleA, scaleB := int64(int32(binary.BigEndian.Uint32(a))),
		int64(int32(binary.BigEndian.Uint32(b)))
	left, right := integer(a[4:]), integer(b[4:])
	if n := cmp.Compare(left.Sign(), right.Sign()); n != 0 || left.Sign() == 0 {
		return n
	}
	// Where the scales differ by more digits than a key has bytes for, times ten, the scale decides
	// alone. So no power of ten below is large.
	apart := scaleA - scaleB
	if apart > 10*maxKeyBytes || apart < -10*maxKeyBytes {
		return left.Sign() * cmp.Compare(scaleB, scaleA)
	}
	ten := func(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }
	if apart > 0 {
		right.Mul(right, ten(apart))
	} else {
		left.Mul(left, ten(-apart))
	}
	return left.Cmp(right)
}

// ticks is a version 1 UUID's time.
func ticks(u []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(u[6:])&0x0fff)<<48 |
		uint64(binary.BigEndian.Uint16(u[4:]))<<32 | uint64(binary.BigEndian.Uint32(u))
}
