package frametest

import (
	"testing"

	"github.com/ringwatch/ringwatch/frame"
)

func TestFramesAreValid(t *testing.T) {
	n := New("c", 1, 5)
	var key *frame.Frame
	for i := range int64(130) {
		n.Step()
		f, err := frame.Decode(n.Frame(1_700_000_000_000+i*5000), key)
		if err != nil {
			t.Fatal(i, err)
		}
		if f.IsKey() {
			key = f
		}
	}
}
