package lookup

import (
	"encoding/binary"
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/ring"
)

// appendRow appends a row as a JSON object, columns in their order.
func appendRow(dst []byte, row ring.Row) ([]byte, error) {
	dst = append(dst, '{')
	for i, c := range row.Columns() {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, c.Name), ':')
		var err error
		if dst, err = appendValue(dst, c.Type, row.Raw(i)); err != nil {
			return nil, fmt.Errorf("column %s %w", c.Name, err)
		}
	}
	return append(dst, '}'), nil
}

// appendValue appends a value as Cassandra sent it as JSON. What it is follows from the type alone:
//
//	tinyint, smallint, int, float, double   number; "NaN", "Infinity", "-Infinity"
//	bigint, counter, varint, decimal        string with all digits, since many readers of JSON round beyond 2^53
//	text, ascii, uuid, timeuuid, inet       string
//	blob                                    string, 0x…
//	timestamp, date, time, duration         string: 2026-09-03T00:48:05.250Z, 2026-09-03, 13:30:54.234000000, 1mo2d3h
//	boolean                                 true, false
//	list, set, tuple, vector                list
//	map, UDT                                object; a map's keys are the strings that its keys' JSON is or says
//
// and null. An empty value of a type that has no empty ones, which old clients could write, is
// null, too.
func appendValue(dst []byte, t gocql.TypeInfo, b []byte) ([]byte, error) {
	if b == nil {
		return append(dst, "null"...), nil
	}
	switch t := t.(type) {
	case gocql.CollectionType:
		return appendCollection(dst, t, b)
	case gocql.TupleTypeInfo:
		return appendTuple(dst, t, b)
	case gocql.UDTTypeInfo:
		return appendUDT(dst, t, b)
	case gocql.VectorType:
		return appendVector(dst, t, b)
	}
	return appendScalar(dst, t.Type(), b)
}

var errTorn = errors.New("is shorter than it says")

// next takes one value off b, which has its length before it; nil is null.
func next(b []byte) (value, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errTorn
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	if n < 0 {
		return nil, b, nil
	}
	if int(n) > len(b) {
		return nil, nil, errTorn
	}
	return b[:n:n], b[n:], nil
}

// appendCollection appends a list or set as a list, a map as an object.
func appendCollection(dst []byte, t gocql.CollectionType, b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, errTorn
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	open, end := byte('['), byte(']')
	if t.Type() == gocql.TypeMap {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for i := range n {
		if i > 0 {
			dst = append(dst, ',')
		}
		v, rest, err := next(b)
		if err != nil {
			return nil, err
		}
		if t.Type() == gocql.TypeMap {
			if dst, err = appendName(dst, t.Key, v); err != nil {
				return nil, err
			}
			dst = append(dst, ':')
			if v, rest, err = next(rest); err != nil {
				return nil, err
			}
		}
		if dst, err = appendValue(dst, t.Elem, v); err != nil {
			return nil, err
		}
		b = rest
	}
	return append(dst, end), nil
}

// appendName appends a map's key as the name of an object's member: a string as it is, anything
// else its JSON as a string.
func appendName(dst []byte, t gocql.TypeInfo, b []byte) ([]byte, error) {
	name, err := appendValue(nil, t, b)
	if err != nil {
		return nil, err
	}
	if name[0] == '"' {
		return append(dst, name...), nil
	}
	return appendString(dst, string(name)), nil
}

// appendTuple appends a list. A value that was written before the tuple had all of its parts has
// nulls.
func appendTuple(dst []byte, t gocql.TupleTypeInfo, b []byte) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range t.Elems {
		if i > 0 {
			dst = append(dst, ',')
		}
		var v []byte
		var err error
		if len(b) > 0 {
			if v, b, err = next(b); err != nil {
				return nil, err
			}
		}
		if dst, err = appendValue(dst, e, v); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// appendUDT appends an object with all fields. Those that the type did not have when the value
// was written are null.
func appendUDT(dst []byte, t gocql.UDTTypeInfo, b []byte) ([]byte, error) {
	dst = append(dst, '{')
	for i, e := range t.Elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, e.Name), ':')
		var v []byte
		var err error
		if len(b) > 0 {
			if v, b, err = next(b); err != nil {
				return nil, err
			}
		}
		if dst, err = appendValue(dst, e.Type, v); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendVector appends a list. Values of types with one size stand close together, others have
// their length before them.
func appendVector(dst []byte, t gocql.VectorType, b []byte) ([]byte, error) {
	size := vectorSize(t.SubType)
	dst = append(dst, '[')
	for i := range t.Dimensions {
		if i > 0 {
			dst = append(dst, ',')
		}
		n := uint64(size)
		if size == 0 {
			length, read := uvint(b)
			if read == 0 {
				return nil, errTorn
			}
			n, b = length, b[read:]
		}
		if n > uint64(len(b)) {
			return nil, errTorn
		}
		var err error
		if dst, err = appendValue(dst, t.SubType, b[:n:n]); err != nil {
			return nil, err
		}
		b = b[n:]
	}
	return append(dst, ']'), nil
}

// vectorSize is how many bytes a value of the type takes within a vector, 0 if that varies.
// Cassandra counts fewer types as fixed than there are.
func vectorSize(t gocql.TypeInfo) int {
	if v, ok := t.(gocql.VectorType); ok {
		return v.Dimensions * vectorSize(v.SubType)
	}
	switch t.Type() {
	case gocql.TypeTinyInt, gocql.TypeSmallInt, gocql.TypeDate, gocql.TypeTime, gocql.TypeCounter:
		return 0
	}
	return sizes[t.Type()]
}
