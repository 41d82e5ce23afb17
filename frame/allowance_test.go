package frame_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/memory/memorytest"
)

const (
	attackAt = 1_800_000_000_000
	// room is what a decoder takes for itself, whatever it reads: a zstd decoder's tables above
	// all.
	room = 4 << 20
)

// TestDecodeWithin: what a frame takes is asked for before it is taken, whatever it is made of.
func TestDecodeWithin(t *testing.T) {
	node := uuid.New()
	ordinary := frametest.New("prod", 1, 2000)
	key := ordinary.Frame(attackAt)
	ordinary.Step()
	delta := ordinary.Frame(attackAt + 5000)
	keyFrame, err := frame.Decode(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		b   []byte
		key *frame.Frame
	}{
		"key":   {key, nil},
		"delta": {delta, keyFrame},
		"histograms": {frametest.HistogramFrame(node, "prod", attackAt, 1000, 1000, 10,
			true), nil},
		"entities": {frametest.HistogramFrame(node, "prod", attackAt, 500_000, 1, 1024,
			false), nil},
		"entities of values": {frametest.HistogramFrame(node, "prod", attackAt, 200_000, 20, 1024,
			true), nil},
		"metrics": {frametest.HistogramFrame(node, "prod", attackAt, 1, 4096, 1024,
			true), nil},
	} {
		t.Run(name, func(t *testing.T) {
			free := memory.Bounded(1 << 40)
			var f *frame.Frame
			took := memorytest.Allocated(func() {
				var err error
				if f, err = frame.DecodeWithin(free, of.b, of.key); err != nil {
					t.Fatal(err)
				}
			})
			runtime.KeepAlive(f)
			said := free.Taken()
			t.Logf("%d bytes of frame, %d of payload: said %d, took %d", len(of.b), f.RawLength,
				said, took)
			if took > said+said/4+room {
				t.Errorf("it took %d bytes and asked for %d", took, said)
			}
			for _, part := range []int64{2, 3, 10} {
				bound := said / part
				took := memorytest.Allocated(func() {
					if f, err := frame.DecodeWithin(memory.Bounded(bound), of.b,
						of.key); !errors.Is(err, frame.ErrMemory) ||
						!errors.Is(err, memory.ErrTooLarge) || f != nil {
						t.Errorf("with %d bytes: %v", bound, err)
					}
				})
				if took > bound+bound/4+room {
					t.Errorf("it took %d bytes and was allowed %d", took, bound)
				}
			}
		})
	}
}
