package reading

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// A window that grows frame by frame says what one of all its frames says, in whatever order these
// come; and who asks again builds nothing.
func TestBuiltWindowsGrow(t *testing.T) {
	lease := memory.Unbounded()
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		s := &Source{Cache: spans.NewCache(1<<24, nil, nil)}
		n := windowtest.NewNode(func(n int) int { return random.IntN(n) })
		const start = 1_700_000_100_000
		var frames [][]byte
		at := int64(start)
		for i := range 2 + random.IntN(12) {
			frames = append(frames, n.Step(at, i == 0 || random.IntN(6) == 0).Bytes)
			at += 1000 + int64(random.IntN(9000))
		}
		for range random.IntN(3) { // frames overtake each other, or come twice
			i, j := random.IntN(len(frames)), random.IntN(len(frames))
			frames[i], frames[j] = frames[j], frames[i]
			if random.IntN(2) == 0 {
				frames = append(frames, frames[i])
			}
		}
		node := window.Node{Account: "acme", ID: n.ID}
		var want *frame.Wanted
		if random.IntN(2) == 0 {
			names := map[string]bool{}
			want = frame.NewWanted(func(name string) bool {
				if _, known := names[name]; !known {
					names[name] = random.IntN(2) == 0
				}
				return names[name]
			}, nil)
		}
		for have := 1 + random.IntN(2); have <= len(frames); have += 1 + random.IntN(3) {
			some := frames[:have]
			got, gotReport, err := s.Build(lease, node, start, some, want, "some")
			whole, report, failed := building.Wanted(lease, node, some, want)
			if err != nil || failed != nil {
				t.Fatal(err, failed)
			}
			if gotReport != report {
				t.Fatalf("of %d frames: %+v, not %+v", have, gotReport, report)
			}
			if diff := windowtest.Diff(samplesOf(t, got), samplesOf(t, whole)); diff != "" {
				t.Fatalf("of %d frames: %s", have, diff)
			}
			if again, _, _ := s.Build(lease, node, start, some, want, "some"); again != got {
				t.Fatalf("%d frames were built twice", have)
			}
			if other, _, _ := s.Build(lease, window.Node{Account: "other", ID: n.ID}, start,
				some, want,
				"some"); other == got {
				t.Fatal("another account got what is kept")
			}
			if other, _, _ := s.Build(lease, node, start, some, nil, "all"); other == got {
				t.Fatal("who asked for all got what was built of some")
			}
		}
	})
}

func samplesOf(t *rapid.T, w *window.Window) windowtest.Samples {
	list, err := windowtest.Of(selecting.Select(w, 0, 1<<60))
	if err != nil {
		t.Fatal(err)
	}
	return list
}
