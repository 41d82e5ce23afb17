package window_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestWith reads a span in two turns, each with some of its metrics and types: together they say
// what the span says, also before an instant.
func TestWith(t *testing.T) {
	eachSpan(t, func(t *rapid.T, pick windowtest.Pick, w *window.Window, rep window.Report,
		_ windowtest.Samples) {
		e := blobs.Encode(w, rep)
		k := keep(e)
		first := map[[2]int]bool{}
		for _, p := range e.Parts {
			if _, known := first[[2]int{p.PartID.Type, p.PartID.Metric}]; !known {
				first[[2]int{p.PartID.Type, p.PartID.Metric}] = pick(2) == 0
			}
		}
		of := func(turn bool) *window.Window {
			var types []int
			for i := range k.head(t, w.Start).Types {
				some := false
				for of, is := range first {
					some = some || of[0] == i && is == turn
				}
				if some || !turn {
					types = append(types, i)
				}
			}
			part, damage := blobs.FromParts("acme", k.head(t, w.Start), types, k.find,
				k.parts(func(p *blobs.Part) bool {
					return first[[2]int{p.PartID.Type, p.PartID.Metric}] == turn
				}))
			if len(damage) > 0 {
				t.Fatal(damage)
			}
			return part
		}
		both := of(true).JoinColumns(of(false))
		if d := seriesDiffer(all(both), all(w)); d != "" {
			t.Fatal(d)
		}
		if len(w.Times) == 0 {
			return
		}
		at := w.Times[pick(len(w.Times))] + int64(pick(2))
		if d := seriesDiffer(all(both.Before(at)), selecting.Select(w, 0, at-1)); d != "" {
			t.Fatal("before an instant: " + d)
		}
		if both.Bytes() < int64(8*len(w.Times)) {
			t.Fatalf("%d bytes", both.Bytes())
		}
	})
}
