// Package memorytest says in tests what something may take, in bytes and in time.
package memorytest

import (
	"runtime/metrics"
	"testing"
	"time"
)

// allocs is what the process has allocated so far, garbage included.
const allocs = "/gc/heap/allocs:bytes"

// Allocated returns how many bytes f allocates, garbage included. Nothing else may go on in the
// process meanwhile.
func Allocated(f func()) int64 {
	before := allocated()
	f()
	return int64(allocated() - before)
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: allocs}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Bound is what reading an input may take: Base bytes, and Factor bytes for each of the input's;
// and the time after which something has gone wrong, however slow the machine is.
type Bound struct {
	Base, Factor int64
	Time         time.Duration
}

// Within fails the test if f, which reads an input of so many bytes, takes more than the bound.
// Nothing else may go on in the process meanwhile.
func (b Bound) Within(tb testing.TB, input int, f func()) {
	tb.Helper()
	before, began := allocated(), time.Now()
	f()
	took, after := time.Since(began), allocated()
	if most := b.Base + b.Factor*int64(input); int64(after-before) > most {
		tb.Errorf("an input of %d bytes took %d bytes, %d are allowed", input, after-before, most)
	}
	if took > b.Time {
		tb.Errorf("an input of %d bytes took %s, %s is allowed", input, took, b.Time)
	}
}
