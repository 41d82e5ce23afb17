package window_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// most is a lease that remembers the most that was taken of it at once.
type most struct {
	*memory.Lease
	bytes int64
}

func (m *most) Take(bytes int64) error {
	err := m.Lease.Take(bytes)
	m.bytes = max(m.bytes, m.Lease.Taken())
	return err
}

// TestBuildWithin: a window is built of one frame after the other within what it is allowed, and a
// window that needs more takes no more than that.
func TestBuildWithin(t *testing.T) {
	const at = start
	node := uuid.New()
	hostile := make([][]byte, 20)
	for i := range hostile {
		hostile[i] = frametest.HistogramFrame(node, "prod", frame.WindowOf(at)+int64(i)*5000+1, 500,
			500, 10, true)
	}
	ordinary := frametest.New("prod", 1, 1000)
	var frames [][]byte
	for i := range int64(60) {
		frames = append(frames, ordinary.Frame(frame.WindowOf(at)+i*5000+1))
		ordinary.Step()
	}
	for name, of := range map[string][][]byte{"hostile": hostile, "ordinary": frames} {
		t.Run(name, func(t *testing.T) {
			free := &most{Lease: memory.Bounded(1 << 40)}
			w, rep, err := building.Within(free, window.Node{}, of)
			if err != nil || rep.Lost() > 0 || len(w.Times) != len(of) {
				t.Fatal(rep, err)
			}
			t.Logf("%d frames: %d MiB at most, %d MiB in the end", len(of), free.bytes>>20,
				free.Taken()>>20)
			one := memory.Bounded(1 << 40)
			if _, err := frame.DecodeWithin(one, of[0], nil); err != nil {
				t.Fatal(err)
			}
			if two := 2 * one.Taken(); name == "hostile" && free.bytes-free.Taken() > two {
				t.Errorf("%d bytes beside the window, more than two frames, %d",
					free.bytes-free.Taken(), two)
			}
			for _, part := range []int64{2, 4} {
				bound := free.bytes / part
				took := memorytest.Allocated(func() {
					if _, _, err := building.Within(memory.Bounded(bound), window.Node{},
						of); !errors.Is(err, frame.ErrMemory) ||
						!errors.Is(err, memory.ErrTooLarge) {
						t.Errorf("with %d bytes: %v", bound, err)
					}
				})
				// Lists that grow leave garbage, and so does each frame that has been read.
				if garbage := one.Taken() * int64(len(of)); took > 3*bound+garbage {
					t.Errorf("it took %d bytes and was allowed %d", took, bound)
				}
			}
			if _, _, err := building.Within(memory.Bounded(free.bytes), window.Node{},
				of); err != nil {
				t.Errorf("what was enough is not: %v", err)
			}
		})
	}
}

// TestManyKeyFrames: a key frame is kept no longer than frames need it, so that an agent which
// restarts for each frame takes no more than one that does not.
func TestManyKeyFrames(t *testing.T) {
	node := frametest.New("prod", 1, 500)
	var deltas, keys [][]byte
	for i := range int64(60) {
		deltas = append(deltas, node.Frame(frame.WindowOf(start)+i*5000+1))
		node.Step()
	}
	node = frametest.New("prod", 1, 500)
	for i := range int64(60) {
		node.Restart(frame.WindowOf(start) + i*5000)
		keys = append(keys, node.Frame(frame.WindowOf(start)+i*5000+1))
		node.Step()
	}
	var took [2]int64
	for i, frames := range [][][]byte{deltas, keys} {
		allow := &most{Lease: memory.Bounded(1 << 40)}
		if _, rep, err := building.Within(allow, window.Node{}, frames); err != nil ||
			rep.Lost() > 0 {
			t.Fatal(rep, err)
		}
		took[i] = allow.bytes
	}
	if took[1] > 2*took[0] {
		t.Errorf("60 key frames take %d bytes, one takes %d", took[1], took[0])
	}
}

// TestSelectWithin: an answer asks for its memory as it grows.
func TestSelectWithin(t *testing.T) {
	node := uuid.New()
	ordinary := frametest.New("prod", 1, 500)
	var frames [][]byte
	for i := range int64(30) {
		frames = append(frames, ordinary.Frame(frame.WindowOf(start)+i*5000+1))
		ordinary.Step()
	}
	for name, of := range map[string][][]byte{
		"ordinary": frames,
		"bounds":   {frametest.HistogramFrame(node, "prod", start, 30_000, 1, 1024, false)},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := mustBuild(t, of)
			free := memory.Bounded(1 << 40)
			var list []window.Series
			took := memorytest.Allocated(func() {
				var err error
				if list, err = selecting.SelectWithin(t.Context(), w, free, 0, 1<<60); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%d series: said %d KiB, took %d KiB", len(list), free.Taken()>>10, took>>10)
			if said := free.Taken(); took > said+said/4+1<<20 {
				t.Errorf("it took %d bytes and asked for %d", took, said)
			}
			bound := free.Taken() / 4
			took = memorytest.Allocated(func() {
				if list, err := selecting.SelectWithin(t.Context(), w, memory.Bounded(bound), 0,
					1<<60); !errors.Is(err, memory.ErrTooLarge) || list != nil {
					t.Errorf("with %d bytes: %v", bound, err)
				}
			})
			if took > bound+bound/4+1<<20 {
				t.Errorf("it took %d bytes and was allowed %d", took, bound)
			}
		})
	}
}
