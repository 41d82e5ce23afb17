package window_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// ending is a context that ends when it has been asked so many times.
type ending struct {
	context.Context
	left, after int
}

func (e *ending) Err() error {
	if e.left--; e.left >= 0 {
		return nil
	}
	e.after++
	return context.DeadlineExceeded
}

// TestSelectEndsWithContext ends matching wherever it is, and looks at no more texts then.
func TestSelectEndsWithContext(t *testing.T) {
	n := frametest.New("c", 1, 50)
	n.Step()
	w, _, err := building.Window(window.Node{Account: "acme"}, [][]byte{n.Frame(5000)})
	if err != nil {
		t.Fatal(err)
	}
	m := labels.MustNewMatcher(labels.MatchRegexp, "table", ".*[0-9a-z]+.*")
	whole := &ending{Context: t.Context(), left: 1 << 30}
	series, err := selecting.LatestWithin(whole, w, nil, m)
	if err != nil || len(series) == 0 {
		t.Fatal(len(series), err)
	}
	asked := 1<<30 - whole.left
	if asked < 50 {
		t.Fatalf("the context was asked %d times for 50 tables", asked)
	}
	for left := range asked {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			ctx := &ending{Context: t.Context(), left: left}
			if series, err := selecting.LatestWithin(ctx, w, nil,
				m); !errors.Is(err, context.DeadlineExceeded) || series != nil {
				t.Errorf("%d series, %v", len(series), err)
			}
			// What has ended is asked again by each type and metric, not for each entity.
			if limit := 2*len(w.Types) + metrics(w) + 1; ctx.after > limit {
				t.Errorf("the context was asked %d times after its end, %d is enough", ctx.after,
					limit)
			}
		})
	}
}

func metrics(w *window.Window) (n int) {
	for _, t := range w.Types {
		n += len(t.Metrics)
	}
	return n
}
