package values

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
)

// A key is the values of a row's key columns one after the other, in a form whose bytes are in the
// order of the values; none is the begin of another. Texts and bytes end in 0 1, and a 0 in them is
// 0 255. Numbers are big-endian with their sign flipped. A descending column's bytes are inverted.

const signBit = 1 << 63

// AppendKey appends a key column's value.
func AppendKey(dst []byte, c *rows.Column, v any) ([]byte, error) {
	from := len(dst)
	switch c.Kind {
	case rows.Text:
		s, is := v.(string)
		if !is {
			return dst, mismatch(c, v)
		}
		dst = appendEscaped(dst, s)
	case rows.Blob:
		b, is := v.([]byte)
		if !is {
			return dst, mismatch(c, v)
		}
		dst = appendEscaped(dst, string(b))
	case rows.UUID:
		id, is := v.(uuid.UUID)
		if !is {
			return dst, mismatch(c, v)
		}
		dst = append(dst, id[:]...)
	case rows.Time, rows.Int64, rows.Int32:
		n, is := integer(v)
		if !is || c.Kind == rows.Int32 && int64(int32(n)) != n {
			return dst, mismatch(c, v)
		}
		dst = binary.BigEndian.AppendUint64(dst, uint64(n)^signBit)
	case rows.Double:
		f, is := v.(float64)
		if !is {
			return dst, mismatch(c, v)
		}
		n := math.Float64bits(f)
		if n&signBit != 0 {
			n = ^n
		} else {
			n ^= signBit
		}
		dst = binary.BigEndian.AppendUint64(dst, n)
	default:
		return dst, fmt.Errorf("rows: column %s is of a kind that no key has", c.Name)
	}
	if c.Descending {
		invert(dst[from:])
	}
	return dst, nil
}

func appendEscaped(dst []byte, s string) []byte {
	for i := range len(s) {
		if dst = append(dst, s[i]); s[i] == 0 {
			dst = append(dst, 255)
		}
	}
	return append(dst, 0, 1)
}

func invert(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// AppendKeys appends values of the first of several key columns.
func AppendKeys(dst []byte, columns []rows.Column, values []any) ([]byte, error) {
	var err error
	for i, v := range values {
		if dst, err = AppendKey(dst, &columns[i], v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// ReadKey reads a key column's value in the form of Append, and returns what is left.
func ReadKey(c *rows.Column, key []byte) (value, rest []byte, err error) {
	flip := byte(0)
	if c.Descending {
		flip = 255
	}
	switch c.Kind {
	case rows.Text, rows.Blob:
		value = []byte{}
		for i := 0; i+1 < len(key); i++ {
			b := key[i] ^ flip
			if b == 0 {
				i++
				if key[i]^flip == 1 {
					return value, key[i+1:], nil
				}
			}
			value = append(value, b)
		}
		return nil, nil, fmt.Errorf("%w: a key's text has no end", disk.ErrDamaged)
	}
	size := 8
	if c.Kind == rows.UUID {
		size = 16
	}
	if len(key) < size {
		return nil, nil, fmt.Errorf("%w: a key is cut", disk.ErrDamaged)
	}
	value = append(value, key[:size]...)
	if c.Descending {
		invert(value)
	}
	switch {
	case c.Kind == rows.UUID:
	case c.Kind != rows.Double || value[0]&128 != 0:
		value[0] ^= 128
	default:
		invert(value)
	}
	if c.Kind == rows.Int32 {
		value = value[4:]
	}
	return value, key[size:], nil
}

// After returns the least key that is behind all that begin with a prefix; nil: there is none.
func After(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 255 {
			out := append([]byte{}, prefix[:i+1]...)
			out[i]++
			return out
		}
	}
	return nil
}

func integer(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case int32:
		return int64(n), true
	case int:
		return int64(n), true
	}
	return 0, false
}

func mismatch(c *rows.Column, v any) error {
	return fmt.Errorf("rows: column %s does not take a %T", c.Name, v)
}

// Range is keys from From on and before To; no To: to the end.
type Range struct{ From, To []byte }

// Behind reports whether a key comes after the range.
func (r *Range) Behind(key []byte) bool { return r.To != nil && bytes.Compare(key, r.To) >= 0 }
