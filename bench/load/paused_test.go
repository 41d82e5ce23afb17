package main

import (
	"testing"
	"time"
)

// Of 24 pairs the median lies between the 7th and the 18th in 19 of 20 cases: tables of the sign
// test say so.
func TestLikely(t *testing.T) {
	var on, off []round
	for i := range 24 {
		on = append(on, round{ops: (i*7)%24 + 1, took: time.Second})
		off = append(off, round{ops: 1, took: time.Second})
	}
	if low, high := likely(on, off, round.rate); low != 7 || high != 18 {
		t.Errorf("%g to %g, not 7 to 18", low, high)
	}
	if low, high := likely(on[:3], off[:3], round.rate); low != 1 || high != 15 {
		t.Errorf("of three pairs %g to %g, not all of 1 to 15", low, high)
	}
}
