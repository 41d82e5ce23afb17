package fresh

import (
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
)

func TestHeardAt(t *testing.T) {
	for _, c := range []struct{ at, received, want int64 }{{1000, 0, 1000}, {1000, 5000, 1000},
		{7000, 5000, 7000}, {7001, 5000, 5000}} {
		if h := heardAt(c.at, c.received); h.by != c.want || h.ahead() != (c.want != c.at) {
			t.Errorf("%+v: %+v", c, h)
		}
		if got := HeardBy(&frame.Header{At: c.at}, time.UnixMilli(c.received)); c.received > 0 &&
			got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
