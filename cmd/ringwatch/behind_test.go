package main

import (
	"context"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// TestBehind: what nobody has told of may be on its way, but not where nobody ever tells.
func TestBehind(t *testing.T) {
	now := time.Now().UnixMilli()
	old := now - 2*behindAfter.Milliseconds()
	of := stream.PartitionOf("acme", "shop", 4)
	other := (of + 1) % 4
	for name, c := range map[string]struct {
		told    store.Progress
		streams bool
		since   int64
		is      bool
	}{
		"nobody told, nobody will":      {store.Progress{}, false, 0, false},
		"this process has not told yet": {store.Progress{}, true, 0, true},
		"others were told of": {store.Progress{Partitions: 4,
			Through: map[int32]int64{other: now}}, false, 0, true},
		"told just now": {store.Progress{Partitions: 4,
			Through: map[int32]int64{of: now}}, true, now, false},
		"told long ago": {store.Progress{Partitions: 4,
			Through: map[int32]int64{of: old}}, false, old, true},
		"all told just now": {store.Progress{Partitions: 4,
			Through: map[int32]int64{0: now, 1: now, 2: now, 3: now}}, true, now, false},
		"told long ago, by a process ago": {store.Progress{Partitions: 4,
			Through: map[int32]int64{of: old}}, true, old, true},
	} {
		told := func(context.Context) (store.Progress, error) { return c.told, nil }
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
