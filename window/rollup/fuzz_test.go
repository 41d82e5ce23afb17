package rollup_test

import (
	"math"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
)

// FuzzBlobs reads hostile bytes as a run's head and as a part. What can be read is written and read
// again as the same.
func FuzzBlobs(f *testing.F) {
	s, start, _ := damagedRun(f)
	f.Add(byte(0), s.heads[start])
	for i, p := range s.parts[start] {
		f.Add(byte(2*i+1), p.Blob)
	}
	head, err := rollup.DecodeRunHead(rollup.FiveMinutes, start, s.heads[start])
	if err != nil {
		f.Fatal(err)
	}
	// An entry of two bytes has a cell of some hundred bytes in each of twelve periods.
	bound := memorytest.Bound{Base: 4 << 20, Factor: 2048, Time: time.Minute}
	f.Fuzz(func(t *testing.T, what byte, b []byte) {
		h, parts := head, s.parts[start]
		if what%2 == 1 {
			p := parts[int(what/2)%len(parts)]
			p.Blob = b
			parts = []blobs.StoredPart{p}
		}
		var got []*rollup.Rollup
		bound.Within(t, len(b), func() {
			if what%2 == 0 {
				if h, err = rollup.DecodeRunHead(rollup.FiveMinutes, start, b); err != nil {
					return
				}
			}
			var damage []error
			got, damage = rollup.FromRun(h, nil, s.find, parts)
			for _, err := range damage {
				if !known(err) {
					t.Fatal(err)
				}
			}
		})
		if err != nil {
			if !known(err) {
				t.Fatal(err)
			}
			return
		}
		before, err := rolluptest.Of(rollup.Select(got, 0, math.MaxInt64))
		if err != nil || what%2 == 0 {
			return // a head may name a type twice, and so a series
		}
		again := newStored(rollup.FiveMinutes)
		again.put(got)
		if d := rolluptest.Diff(points(t, again.all(t)...), before); d != "" {
			t.Fatal(d)
		}
	})
}
