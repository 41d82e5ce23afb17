package query

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/storage"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/rollup"
	"github.com/ringwatch/ringwatch/window"
)

// TestRolledSamplesAreEven holds that a window shorter than two periods has two samples of a counter
// wherever it lies, as far apart as all others: rate() takes what is uneven for missing.
func TestRolledSamplesAreEven(t *testing.T) {
	level := rollup.FiveMinutes
	s := rollup.Series{Metric: &window.Metric{Name: "a_total", Kind: frame.Counter}, Level: level}
	for i := range int64(4) {
		s.Points = append(s.Points, rollup.Point{
			Start: i * level.Millis, Count: 60, First: 600 * i, Last: 600 * (i + 1), Increase: 600,
		})
	}
	for _, r := range []time.Duration{time.Minute, 5 * time.Minute, 320 * time.Second, 599 * time.Second} {
		of := rolled(&s, view{}, &storage.SelectHints{Range: r.Milliseconds()}, 4*level.Millis)
		apart := of.at(1) - of.at(0)
		if 2*apart > r.Milliseconds() {
			t.Errorf("%s: samples are %d ms apart", r, apart)
		}
		for i := range of.len() {
			if i > 0 {
				if d := of.at(i) - of.at(i-1); d < apart-2 || d > apart+2 {
					t.Errorf("%s: sample %d comes %d ms after the one before, the others %d", r, i, d, apart)
				}
			}
			if want := 0.002 * float64(of.at(i)); of.float(i) < want-0.01 || of.float(i) > want+0.01 {
				t.Errorf("%s: at %d the value is %g, want %g", r, of.at(i), of.float(i), want)
			}
		}
	}
}
