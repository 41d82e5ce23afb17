package rollup

import (
	"math/big"
	"math/bits"
)

// Int128 is a two's complement integer: sums of gauges that are at Java's Long.MAX_VALUE, of which
// there are some, leave 64 bits.
type Int128 struct {
	Hi int64
	Lo uint64
}

func wide(v int64) Int128 { return Int128{v >> 63, uint64(v)} }

// Add returns a + b.
func (a Int128) Add(b Int128) Int128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	return Int128{int64(hi), lo}
}

// Sub returns a − b.
func (a Int128) Sub(b Int128) Int128 {
	lo, borrow := bits.Sub64(a.Lo, b.Lo, 0)
	hi, _ := bits.Sub64(uint64(a.Hi), uint64(b.Hi), borrow)
	return Int128{int64(hi), lo}
}

// times returns v × n.
func times(v int64, n uint32) Int128 {
	hi, lo := bits.Mul64(uint64(v), uint64(n))
	if v < 0 {
		hi -= uint64(n)
	}
	return Int128{int64(hi), lo}
}

// Big returns the number.
func (a Int128) Big() *big.Int {
	b := new(big.Int).Lsh(big.NewInt(a.Hi), 64)
	return b.Add(b, new(big.Int).SetUint64(a.Lo))
}

// String returns the decimal digits.
func (a Int128) String() string { return a.Big().String() }

// Float64 returns the nearest double.
func (a Int128) Float64() float64 {
	if a == wide(int64(a.Lo)) {
		return float64(int64(a.Lo))
	}
	f, _ := new(big.Float).SetInt(a.Big()).Float64()
	return f
}
