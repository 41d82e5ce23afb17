package window_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// countdown is a context that ends after it was asked so often.
type countdown struct {
	context.Context
	asked, ends int
}

func (c *countdown) Err() error {
	if c.asked++; c.asked > c.ends {
		return context.Canceled
	}
	return nil
}

// TestDecodingEnds: once its context has ended, making a window of its parts decodes no other
// metric, and making one of frames no other frame.
func TestDecodingEnds(t *testing.T) {
	n := windowtest.NewNode(rand.New(rand.NewPCG(1, 2)).IntN)
	var frames [][]byte
	for i := range 40 {
		frames = append(frames, n.Step(int64(i+1)*5000, false).Bytes)
	}
	w, rep, err := building.Window(window.Node{}, frames)
	if err != nil {
		t.Fatal(err)
	}
	k := keep(blobs.Encode(w, rep))
	h, parts := k.head(t, w.Start), k.parts(nil)
	for _, ends := range []int{0, 3} {
		c := &countdown{Context: t.Context(), ends: ends}
		got, _, err := blobs.FromPartsContext(c, "acme", h, nil, k.find, parts)
		if !errors.Is(err, context.Canceled) || got != nil || c.asked != ends+1 {
			t.Errorf("parts: %v after %d metrics, not %d", err, c.asked-1, ends)
		}
		c = &countdown{Context: t.Context(), ends: ends}
		_, _, err = building.Within(memory.Until(c, memory.Unbounded()), window.Node{}, frames)
		if !errors.Is(err, context.Canceled) || c.asked != ends+1 {
			t.Errorf("frames: %v, and memory was asked for %d times, not %d", err, c.asked, ends+1)
		}
	}
	c := &countdown{Context: t.Context(), ends: 1 << 30}
	if _, damage, err := blobs.FromPartsContext(c, "acme", h, nil, k.find, parts); err != nil ||
		len(damage) > 0 || c.asked < 5 {
		t.Error(err, damage, c.asked)
	}
}
