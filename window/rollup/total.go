package rollup

import "math"

// total is what the samples of a cell add up to. What that is follows from the metric's kind, and
// each meaning has a function that makes it and a method that reads it. They share 16 bytes,
// because cells are many.
//
//	gauge            integerTotal   integerSum   the values' sum
//	double gauge     doubleTotal    doubleSum    the values' sum
//	counter          increaseTotal  increase     from the first sample to the last, modulo 2^64
//	histogram        increaseTotal  increase     of the sum, as a counter's
//	gauge histogram  sumsTotal      sumOfSums    the samples' sums added up, modulo 2^64
type total struct{ bits Int128 }

func integerTotal(sum Int128) total { return total{sum} }

func (t total) integerSum() Int128 { return t.bits }

func doubleTotal(sum float64) total {
	return total{Int128{Lo: math.Float64bits(canonical(sum))}}
}

func (t total) doubleSum() float64 { return math.Float64frombits(t.bits.Lo) }

func increaseTotal(n int64) total { return wordTotal(n) }

func (t total) increase() int64 { return t.word() }

func sumsTotal(n int64) total { return wordTotal(n) }

func (t total) sumOfSums() int64 { return t.word() }

// word returns the total as FORMAT.md has it, of every kind but gauges.
func (t total) word() int64 { return int64(t.bits.Lo) }

// wordTotal is the way back.
func wordTotal(word int64) total { return total{Int128{Lo: uint64(word)}} }
