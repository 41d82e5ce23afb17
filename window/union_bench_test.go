package window_test

import (
	"fmt"
	"testing"

	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/uniting"
)

// hourOfTables is twelve windows of a node that lives as a recorded one does.
func hourOfTables(b *testing.B, name string, tables int, interval int64) ([]*window.Window, int) {
	b.Helper()
	shape, err := fleet.Read("../bench/recordings/"+name+".rwf", name, tables, interval)
	if err != nil {
		b.Fatal(err)
	}
	n := fleet.NewNode(shape, 1, 1)
	var list []*window.Window
	for at := int64(hour); at < hour+window.HourMillis; {
		var frames [][]byte
		for of := frame.WindowOf(at); frame.WindowOf(at) == of; at += interval {
			one, err := n.Frame(at)
			if err != nil {
				b.Fatal(err)
			}
			frames = append(frames, one)
			n.Step()
		}
		w, _ := mustBuild(b, frames)
		list = append(list, w)
	}
	return list, shape.Series
}

// eachHour runs f with nodes of 2,200 and of 11,200 series.
func eachHour(b *testing.B, f func(b *testing.B, list []*window.Window)) {
	for _, name := range []string{"idle", "busy"} {
		for _, size := range []struct {
			tables   int
			interval int64
		}{{10, 20_000}, {100, 20_000}, {100, 5000}} {
			list, series := hourOfTables(b, name, size.tables, size.interval)
			cells := series * int(window.HourMillis/size.interval)
			what := fmt.Sprintf("%s/series=%d/every=%ds", name, series, size.interval/1000)
			b.Run(what, func(b *testing.B) {
				b.ReportAllocs()
				f(b, list)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(cells),
					"ns/cell")
			})
		}
	}
}

// BenchmarkUnion makes an hour of twelve windows.
func BenchmarkUnion(b *testing.B) {
	eachHour(b, func(b *testing.B, list []*window.Window) {
		for b.Loop() {
			uniting.Windows(hour, window.HourMillis, list)
		}
	})
}

// BenchmarkUnionLate adds a frame that was late to an hour.
func BenchmarkUnionLate(b *testing.B) {
	eachHour(b, func(b *testing.B, list []*window.Window) {
		late := uniting.Slice(list[5], list[5].Times[3], 1)
		var rest []*window.Window
		for i, w := range list {
			if i == 5 {
				rest = append(rest, uniting.Slice(w, w.Start, w.Times[3]-w.Start),
					uniting.Slice(w, w.Times[4], w.Start+w.Length-w.Times[4]))
			} else {
				rest = append(rest, w)
			}
		}
		u := uniting.Windows(hour, window.HourMillis, rest)
		for b.Loop() {
			uniting.Windows(hour, window.HourMillis, []*window.Window{u, late})
		}
	})
}

// BenchmarkSlice takes an hour apart into twelve windows.
func BenchmarkSlice(b *testing.B) {
	eachHour(b, func(b *testing.B, list []*window.Window) {
		u := uniting.Windows(hour, window.HourMillis, list)
		for b.Loop() {
			for _, w := range list {
				uniting.Slice(u, w.Start, w.Length)
			}
		}
	})
}

// BenchmarkDecodeWindows is what reading the twelve windows costs, beside which Union's cost is.
func BenchmarkDecodeWindows(b *testing.B) {
	eachHour(b, func(b *testing.B, list []*window.Window) {
		var all []*kept
		for _, w := range list {
			all = append(all, keep(blobs.Encode(w, window.Report{})))
		}
		for b.Loop() {
			for i, w := range list {
				all[i].open(b, w.Start)
			}
		}
	})
}
