package wire

import (
	"context"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/stream"
)

// TestBehind: what nobody has told of may be on its way, but not where nobody ever tells.
func TestBehind(t *testing.T) {
	now := time.Now()
	old := now.Add(-2 * behindAfter)
	of := stream.PartitionOf("acme", "shop", 4)
	other := (of + 1) % 4
	for name, c := range map[string]struct {
		told    stream.Progress
		streams bool
		since   int64
		is      bool
	}{
		"nobody told, nobody will":      {stream.Progress{}, false, 0, false},
		"this process has not told yet": {stream.Progress{}, true, 0, true},
		"others were told of": {stream.Progress{Partitions: 4,
			Through: map[int32]time.Time{other: now}}, false, 0, true},
		"told just now": {stream.Progress{Partitions: 4,
			Through: map[int32]time.Time{of: now}}, true, now.UnixMilli(), false},
		"told long ago": {stream.Progress{Partitions: 4,
			Through: map[int32]time.Time{of: old}}, false, old.UnixMilli(), true},
		"all told just now": {stream.Progress{Partitions: 4,
			Through: map[int32]time.Time{0: now, 1: now, 2: now, 3: now}}, true, now.UnixMilli(),
			false},
		"told long ago, by a process ago": {stream.Progress{Partitions: 4,
			Through: map[int32]time.Time{of: old}}, true, old.UnixMilli(), true},
	} {
		told := func(context.Context) (stream.Progress, error) { return c.told, nil }
		since, is := behind(told, c.streams)(t.Context(), "acme", "shop")
		if since != c.since || is != c.is {
			t.Errorf("%s: %d, %v; want %d, %v", name, since, is, c.since, c.is)
		}
		// Of any cluster it is the partition that is furthest behind.
		want := c.is || c.told.Partitions > 0 && len(c.told.Through) < c.told.Partitions
		if _, any := behind(told, c.streams)(t.Context(), "acme", ""); any != want {
			t.Errorf("%s: any cluster is behind: %v, want %v", name, any, want)
		}
	}
}
