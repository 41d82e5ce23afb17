package samples

import (
	"bytes"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/window"
)

// FuzzHistogram reads hostile bytes as a row's histogram. What can be read is written as the same
// bytes, unless they name an empty bucket.
func FuzzHistogram(f *testing.F) {
	h := window.NewHistogram([]int64{0, 3, 0, 0, 1 << 40, -2}, 77)
	f.Add(appendHistogram(nil, &h), uint16(6))
	f.Add([]byte{}, uint16(1))
	bound := memorytest.Bound{Base: 1 << 20, Factor: 64, Time: time.Minute}
	f.Fuzz(func(t *testing.T, b []byte, size uint16) {
		buckets := int(size%1025) + 1
		var h window.Histogram
		var err error
		bound.Within(t, len(b), func() { h, err = decodeHistogram(b, buckets) })
		if err != nil {
			return
		}
		again, err := decodeHistogram(appendHistogram(nil, &h), buckets)
		if err != nil || again.Sum != h.Sum || !bytes.Equal(appendHistogram(nil, &again),
			appendHistogram(nil, &h)) {
			t.Errorf("%v became %v, %v", h, again, err)
		}
	})
}
