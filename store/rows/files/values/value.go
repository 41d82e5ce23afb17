// Package values has the bytes of values: in a row's key, where bytes compare as values do, and in
// its cells. FORMAT.md describes them. Of our packages it imports store/rows, disk and frame/codec.
package values

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows"
)

// MaxRow is how many bytes a row may have, as in Cassandra.
const MaxRow = 16 << 20

// MaxColumns bounds the number of a value column.
const MaxColumns = 1 << 10

// Errors are a reader's of what lies in a directory.
var Errors = codec.Errors{Version: disk.ErrDamaged, Malformed: disk.ErrDamaged}

// Take reads bytes behind their length. They are a part of what r reads.
func Take(r *codec.Reader) []byte { return r.Take(r.Count("bytes", len(r.Rest))) }

// Append appends a value: texts and bytes as they are, numbers big-endian, lists and maps with
// their number and the lengths before it.
func Append(dst []byte, c *rows.Column, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		if c.Kind == rows.Text {
			return append(dst, v...), nil
		}
	case []byte:
		if c.Kind == rows.Blob {
			return append(dst, v...), nil
		}
	case uuid.UUID:
		if c.Kind == rows.UUID {
			return append(dst, v[:]...), nil
		}
	case float64:
		if c.Kind == rows.Double {
			return binary.BigEndian.AppendUint64(dst, math.Float64bits(v)), nil
		}
	case []string:
		if c.Kind == rows.Texts {
			dst = codec.AppendUvarint(dst, uint64(len(v)))
			for _, s := range v {
				dst = codec.AppendText(dst, s)
			}
			return dst, nil
		}
	case map[string]string:
		if c.Kind == rows.TextMap {
			dst = codec.AppendUvarint(dst, uint64(len(v)))
			for _, k := range slices.Sorted(maps.Keys(v)) {
				dst = codec.AppendText(codec.AppendText(dst, k), v[k])
			}
			return dst, nil
		}
	case map[string][]byte:
		if c.Kind == rows.BlobMap {
			dst = codec.AppendUvarint(dst, uint64(len(v)))
			for _, k := range slices.Sorted(maps.Keys(v)) {
				dst = codec.AppendText(codec.AppendText(dst, k), string(v[k]))
			}
			return dst, nil
		}
	}
	if n, is := integer(v); is {
		switch {
		case c.Kind == rows.Time || c.Kind == rows.Int64:
			return binary.BigEndian.AppendUint64(dst, uint64(n)), nil
		case c.Kind == rows.Int32 && int64(int32(n)) == n:
			return binary.BigEndian.AppendUint32(dst, uint32(n)), nil
		}
	}
	return dst, mismatch(c, v)
}

// Decode returns a value as its kind's Go type. What it returns shares no memory with b.
func Decode(kind rows.Kind, b []byte) (any, error) {
	switch kind {
	case rows.Text:
		return string(b), nil
	case rows.Blob:
		return append([]byte{}, b...), nil
	case rows.UUID:
		if len(b) == 16 {
			return uuid.UUID(b), nil
		}
	case rows.Time, rows.Int64:
		if len(b) == 8 {
			return int64(binary.BigEndian.Uint64(b)), nil
		}
	case rows.Int32:
		if len(b) == 4 {
			return int32(binary.BigEndian.Uint32(b)), nil
		}
	case rows.Double:
		if len(b) == 8 {
			return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
		}
	case rows.Texts, rows.TextMap, rows.BlobMap:
		return decodeMany(kind, b)
	}
	return nil, fmt.Errorf("%w: a value of %d bytes, which its kind never has", disk.ErrDamaged,
		len(b))
}

func decodeMany(kind rows.Kind, b []byte) (any, error) {
	r := codec.New(b, &Errors)
	n := r.Count("values", MaxRow)
	list, texts, blobs := []string{}, map[string]string{}, map[string][]byte{}
	for range n {
		switch s := string(Take(&r)); kind {
		case rows.Texts:
			list = append(list, s)
		case rows.TextMap:
			texts[s] = string(Take(&r))
		default:
			blobs[s] = append([]byte{}, Take(&r)...)
		}
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	switch kind {
	case rows.Texts:
		return list, nil
	case rows.TextMap:
		return texts, nil
	}
	return blobs, nil
}

// Assign scans a value to where a caller wants it; there says whether the row has it.
func Assign(kind rows.Kind, b []byte, there bool, into any) error {
	if into == nil {
		return nil
	}
	to := reflect.ValueOf(into)
	if to.Kind() != reflect.Pointer || to.IsNil() {
		return fmt.Errorf("rows: a value cannot be scanned into a %T", into)
	}
	to = to.Elem()
	if !there {
		to.SetZero()
		return nil
	}
	v, err := Decode(kind, b)
	if err != nil {
		return err
	}
	switch p := into.(type) {
	case *string:
		if s, is := v.(string); is {
			*p = s
			return nil
		}
	case *[]byte:
		if s, is := v.([]byte); is {
			*p = s
			return nil
		}
	case *int64:
		if n, is := integer(v); is {
			*p = n
			return nil
		}
	}
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	from := reflect.ValueOf(v)
	if !from.CanConvert(to.Type()) ||
		(from.Kind() == reflect.String) != (to.Kind() == reflect.String) {
		return fmt.Errorf("rows: a value cannot be scanned into a %T", into)
	}
	to.Set(from.Convert(to.Type()))
	return nil
}
