package frame_test

import (
	"math/rand/v2"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestExtends: it says what decoding says, whatever the compression, and takes no hostile bytes
// for a frame.
func TestExtends(t *testing.T) {
	extending, plain := 0, 0
	for _, compression := range []frame.Compression{frame.None, frame.Deflate, frame.Zstd} {
		for seed := range uint64(20) {
			n := windowtest.NewNode(rand.New(rand.NewPCG(seed, 7)).IntN)
			n.Compression = compression
			var key *frame.Frame
			for i := range int64(30) {
				b := n.Step(1_700_000_100_000+i*5_000, false).Bytes
				if h, _, err := frame.Parse(b); err != nil {
					t.Fatal(err)
				} else if h.IsKey() {
					key = nil
				}
				f, err := frame.Decode(b, key)
				if err != nil {
					t.Fatal(err)
				}
				if f.IsKey() {
					key = f
				}
				want := f.IsKey() || len(f.Bounds)+len(f.Templates)+len(f.Added) > 0
				if got, err := frame.Extends(b); err != nil || got != want {
					t.Fatalf("%s, seed %d, frame %d: %t, %v; want %t", compression, seed, i, got,
						err, want)
				}
				switch {
				case f.IsKey():
				case want:
					extending++
				default:
					plain++
				}
				for cut := range b {
					if _, err := frame.Extends(b[:cut]); err == nil {
						t.Fatalf("%d of %d bytes pass for a frame", cut, len(b))
					}
				}
			}
		}
	}
	if extending == 0 || plain == 0 {
		t.Errorf("%d frames extend their key frame, %d do not: some of both are needed", extending,
			plain)
	}
}
