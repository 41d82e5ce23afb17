package literal

import (
	"math"
	"strconv"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// AppendNumber appends the i-th value of a counter or a gauge.
func AppendNumber(dst []byte, s *window.Series, i int) []byte {
	if s.Metric.Kind == frame.GaugeDouble {
		return AppendDouble(dst, s.Doubles[i])
	}
	return AppendDecimal(dst, s.Ints[i], s.Metric.Exponent)
}

// AppendDecimal appends v × 10^exponent exactly, in the fewest digits and without an exponent:
// 1500 × 10^-3 is 1.5.
func AppendDecimal(dst []byte, v int64, exponent int) []byte {
	if v == 0 {
		return append(dst, '0')
	}
	var buffer [32]byte
	return AppendDigits(dst, strconv.AppendInt(buffer[:0], v, 10), exponent)
}

// AppendDigits appends what AppendDecimal does for a whole number of any size, given as its digits.
func AppendDigits(dst, digits []byte, exponent int) []byte {
	if len(digits) == 1 && digits[0] == '0' {
		return append(dst, '0')
	}
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	for exponent < 0 && digits[len(digits)-1] == '0' {
		digits, exponent = digits[:len(digits)-1], exponent+1
	}
	if exponent >= 0 {
		dst = append(dst, digits...)
		for range exponent {
			dst = append(dst, '0')
		}
		return dst
	}
	point := len(digits) + exponent
	if point <= 0 {
		dst = append(dst, '0', '.')
		for range -point {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
	dst = append(append(dst, digits[:point]...), '.')
	return append(dst, digits[point:]...)
}

// AppendDouble appends v in the fewest digits that read back as v.
func AppendDouble(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "+Inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-Inf"...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-9 || a >= 1e21) {
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}

// AppendEstimate appends an interpolated value: six significant digits are more than a bucket
// knows.
func AppendEstimate(dst []byte, v float64) []byte {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		rounded = v // cannot happen
	}
	return AppendDouble(dst, rounded)
}
