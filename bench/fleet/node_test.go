package fleet

import (
	"bytes"
	"math"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// TestFleetIsLikeItsRecording: frames decode, counters never fall, nodes differ, and the same number gives the same frames.
func TestFleetIsLikeItsRecording(t *testing.T) {
	for _, name := range []string{"idle", "busy"} {
		s, err := Read("../recordings/"+name+".rwf", name, 5, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		if s.Series < 1000 || s.ticks < 10 {
			t.Fatalf("%s: %d series, %d ticks", name, s.Series, s.ticks)
		}
		a, again, b := NewNode(s, 1, 0), NewNode(s, 1, 0), NewNode(s, 1, 1)
		start := frame.WindowOf(1_800_000_000_000)
		var frames [][]byte
		falls, moved, ticks := 0, 0, 40
		for i := range ticks {
			at := start + int64(i)*20_000
			fa, err := a.Frame(at)
			if err != nil {
				t.Fatal(err)
			}
			fagain, _ := again.Frame(at)
			fb, _ := b.Frame(at)
			if !bytes.Equal(fa, fagain) || bytes.Equal(fa, fb) {
				t.Fatalf("%s: tick %d does not follow from its number alone", name, i)
			}
			frames = append(frames, fa)
			a.Step()
			again.Step()
			b.Step()
		}
		var parts [][]window.Series
		for _, part := range ByWindow(frames) {
			w, rep, err := window.Build(window.Node{Account: "a"}, part)
			if err != nil || rep.Corrupt+rep.MissingKey+rep.Duplicates > 0 {
				t.Fatalf("%s: %v %+v", name, err, rep)
			}
			parts = append(parts, w.Select(0, math.MaxInt64))
		}
		all := window.Join(parts...)
		for _, x := range all {
			if x.Metric.Kind != frame.Counter {
				continue
			}
			for i := 1; i < len(x.Ints); i++ {
				if x.Ints[i] < x.Ints[i-1] {
					falls++
				}
				if x.Ints[i] != x.Ints[i-1] {
					moved++
				}
			}
		}
		if falls > 0 || moved == 0 || len(all) != s.Series {
			t.Errorf("%s: %d falls, %d moves, %d series of %d", name, falls, moved, len(all), s.Series)
		}
	}
}
