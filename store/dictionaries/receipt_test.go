package dictionaries

import (
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/window"
)

// TestReceipt: what is no whole receipt counts for nothing.
func TestReceipt(t *testing.T) {
	known := []window.Hash{{1}, {1, 2}, {9}}
	b := appendReceipt(nil, 1000, known)
	if got := receiptOf(b, 1000); !slices.Equal(got, known) {
		t.Errorf("got %v", got)
	}
	if receiptOf(b, 999) == nil || receiptOf(b, 1001) != nil {
		t.Error("its time to live does not decide")
	}
	for i := range b {
		for _, h := range receiptOf(b[:i], 1000) {
			if !slices.Contains(known, h) {
				t.Errorf("%d bytes of it name %v", i, h)
			}
		}
	}
	if receiptOf(append([]byte{2}, b[1:]...), 1000) != nil {
		t.Error("another version counts")
	}
}
