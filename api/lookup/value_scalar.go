package lookup

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"net/netip"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// maxBigBytes bounds numbers without a size of their own: turning one into digits takes more than
// linear time.
const maxBigBytes = 16 << 10

func appendScalar(dst []byte, t gocql.Type, b []byte) ([]byte, error) {
	switch t {
	case gocql.TypeText, gocql.TypeVarchar, gocql.TypeAscii:
		return appendString(dst, string(b)), nil
	case gocql.TypeBlob, gocql.TypeCustom:
		return append(hex.AppendEncode(append(dst, `"0x`...), b), '"'), nil
	}
	if len(b) == 0 {
		return append(dst, "null"...), nil
	}
	if want := sizes[t]; want > 0 && len(b) != want {
		return nil, fmt.Errorf("has %d bytes, %s has %d", len(b), simpleNames[t], want)
	}
	switch t {
	case gocql.TypeTinyInt:
		return strconv.AppendInt(dst, int64(int8(b[0])), 10), nil
	case gocql.TypeSmallInt:
		return strconv.AppendInt(dst, int64(int16(binary.BigEndian.Uint16(b))), 10), nil
	case gocql.TypeInt:
		return strconv.AppendInt(dst, int64(int32(binary.BigEndian.Uint32(b))), 10), nil
	case gocql.TypeBigInt, gocql.TypeCounter:
		return append(strconv.AppendInt(append(dst, '"'), int64(binary.BigEndian.Uint64(b)), 10),
			'"'), nil
	case gocql.TypeBoolean:
		return strconv.AppendBool(dst, b[0] != 0), nil
	case gocql.TypeFloat:
		return appendFloat(dst, float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 32), nil
	case gocql.TypeDouble:
		return appendFloat(dst, math.Float64frombits(binary.BigEndian.Uint64(b)), 64), nil
	case gocql.TypeUUID, gocql.TypeTimeUUID:
		return append(append(append(dst, '"'), gocql.UUID(b).String()...), '"'), nil
	case gocql.TypeInet:
		ip, ok := netip.AddrFromSlice(b)
		if !ok {
			return nil, fmt.Errorf("has %d bytes, inet has 4 or 16", len(b))
		}
		return append(ip.AppendTo(append(dst, '"')), '"'), nil
	case gocql.TypeVarint:
		if len(b) > maxBigBytes {
			return nil, errors.New("is a number that is too long")
		}
		return append(twosComplement(b).Append(append(dst, '"'), 10), '"'), nil
	case gocql.TypeDecimal:
		if len(b) < 5 || len(b) > maxBigBytes {
			return nil, errors.New("is no decimal, or too long")
		}
		return append(appendDecimal(append(dst, '"'), twosComplement(b[4:]),
			int32(binary.BigEndian.Uint32(b))), '"'), nil
	case gocql.TypeTimestamp:
		at := time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()
		return append(at.AppendFormat(append(appendDay(append(dst, '"'), at), 'T'),
			"15:04:05.000Z"), '"'), nil
	case gocql.TypeDate:
		days := int64(binary.BigEndian.Uint32(b)) - 1<<31
		return append(appendDay(append(dst, '"'), time.Unix(days*24*60*60, 0).UTC()), '"'), nil
	case gocql.TypeTime:
		return append(time.Unix(0, int64(binary.BigEndian.Uint64(b))).UTC().AppendFormat(
			append(dst, '"'), "15:04:05.000000000"), '"'), nil
	case gocql.TypeDuration:
		return appendDuration(dst, b)
	}
	return append(hex.AppendEncode(append(dst, `"0x`...), b), '"'), nil
}

// appendString appends text as JSON.
func appendString(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' ||
			c == '&' {
			b, err := json.Marshal(text)
			if err != nil {
				panic(err) // no string fails
			}
			return append(dst, b...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}

// appendFloat appends the fewest digits that read back as v.
func appendFloat(dst []byte, v float64, size int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(dst, `"-Infinity"`...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, size)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, size)
}

func twosComplement(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// appendDecimal appends unscaled × 10^-scale as Java's BigDecimal does, so that it reads back
// with the same scale.
func appendDecimal(dst []byte, unscaled *big.Int, scale int32) []byte {
	digits := unscaled.Append(nil, 10)
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	exponent := int64(len(digits)-1) - int64(scale)
	switch {
	case scale == 0:
		return append(dst, digits...)
	case scale < 0 || exponent < -6:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		if exponent != 0 {
			dst = append(dst, 'E')
			if exponent > 0 {
				dst = append(dst, '+')
			}
			dst = strconv.AppendInt(dst, exponent, 10)
		}
		return dst
	}
	for len(digits) <= int(scale) { // six at most
		digits = append([]byte{'0'}, digits...)
	}
	point := len(digits) - int(scale)
	return append(append(append(dst, digits[:point]...), '.'), digits[point:]...)
}

// appendDay appends a date, years beyond four digits with a sign as ISO 8601 has them.
func appendDay(dst []byte, at time.Time) []byte {
	y, m, d := at.Date()
	if y < 0 || y > 9999 {
		return fmt.Appendf(dst, "%+05d-%02d-%02d", y, m, d)
	}
	return fmt.Appendf(dst, "%04d-%02d-%02d", y, m, d)
}

// appendDuration appends a duration as Cassandra writes it: 1y2mo3d4h5m6s7ms8us9ns.
func appendDuration(dst, b []byte) ([]byte, error) {
	var parts [3]int64
	for i := range parts {
		v, n := uvint(b)
		if n == 0 {
			return nil, errors.New("is no duration")
		}
		parts[i], b = int64(v>>1)^-int64(v&1), b[n:]
	}
	dst = append(dst, '"')
	if parts[0] < 0 || parts[1] < 0 || parts[2] < 0 {
		dst = append(dst, '-')
	}
	before := len(dst)
	size := func(v int64) uint64 {
		if v < 0 {
			return -uint64(v)
		}
		return uint64(v)
	}
	for i, units := range [3][]struct {
		name string
		size uint64
	}{
		{{"y", 12}, {"mo", 1}},
		{{"d", 1}},
		{{"h", 3600e9}, {"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}},
	} {
		rest := size(parts[i])
		for _, u := range units {
			if n := rest / u.size; n > 0 {
				dst, rest = append(strconv.AppendUint(dst, n, 10), u.name...), rest%u.size
			}
		}
	}
	if len(dst) == before {
		dst = append(dst, "0ns"...)
	}
	return append(dst, '"'), nil
}

// uvint reads Cassandra's unsigned variable-length integer and returns how many bytes it took, 0
// if it is not whole.
func uvint(b []byte) (uint64, int) {
	if len(b) == 0 {
		return 0, 0
	}
	more := bits.LeadingZeros8(^b[0])
	if len(b) < more+1 {
		return 0, 0
	}
	v := uint64(b[0]) & (0xff >> more)
	for _, c := range b[1 : more+1] {
		v = v<<8 | uint64(c)
	}
	return v, more + 1
}
