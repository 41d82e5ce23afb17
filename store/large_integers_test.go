package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/generations"
)

// TestLargeIntegersInCassandra: what a double or a decimal scaling gets wrong comes
// back as it was, in every generation.
func TestLargeIntegersInCassandra(t *testing.T) {
	for _, generation := range generations.Names() {
		c := newClock(base + frame.WindowMillis + 60_000)
		s := mustStore(t, c, func(config *Config) { config.Generation = generation })
		n := frametest.New("prod", 1, 3)
		list := []int64{0, 1, -1, 7, 1_500, 999_999_999_999, math.MaxInt64, math.MinInt64}
		random := rand.New(rand.NewPCG(5, 5))
		for range 2000 {
			list = append(list, int64(random.Uint64())>>random.IntN(64))
		}
		var frames [][]byte
		for i := range 15 {
			k := i
			for ti := range n.Templates {
				for e := range n.Entities[ti] {
					for m := range n.Entities[ti][e].Cells {
						if kind := n.Templates[ti].Metrics[m].Kind; kind == frame.Counter ||
							kind == frame.Gauge {
							n.Entities[ti][e].Cells[m].Int, k = list[k%len(list)], k+1
						}
					}
				}
			}
			frames = append(frames, n.Frame(base+int64(i)*20_000))
		}
		for _, b := range frames {
			if err := writing(s).WriteFrame(t.Context(), "acme", b); err != nil {
				t.Fatal(err)
			}
		}
		before, _, err := answers(s).Read(t.Context(), "acme", n.ID, 0, 1<<50)
		if err != nil {
			t.Fatal(err)
		}
		if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
			base); err != nil {
			t.Fatal(err)
		}
		after, report, err := answers(s).Read(t.Context(), "acme", n.ID, 0, 1<<50)
		if err != nil || report.Raw != 1 || report.Fresh != 0 || len(after) != len(before) ||
			len(after) == 0 {
			t.Fatalf("%s: %d series, then %d, %+v, %v", generation, len(before), len(after),
				report, err)
		}
		large := 0
		for i := range after {
			if !slices.Equal(after[i].Ints, before[i].Ints) ||
				!slices.Equal(after[i].At, before[i].At) {
				t.Errorf("%s: %s: %v, want %v", generation, after[i].Labels, after[i].Ints,
					before[i].Ints)
			}
			for _, v := range after[i].Ints {
				if v > 1<<53 {
					large++
				}
			}
		}
		if large == 0 {
			t.Error("no large integer was there")
		}
	}
}
