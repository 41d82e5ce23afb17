package columns

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// HourHead is the head row of an hour.
type HourHead struct {
	*spans.Head
	Hour *blobs.Head // nil: it cannot be read
}

// HourHeads returns the heads of a node's hours from … to.
func (g Generation) HourHeads(ctx context.Context, account string, node uuid.UUID,
	from, to int64) (map[int64]*HourHead, error) {
	buckets, err := g.buckets(ctx, account, node, from, to)
	if err != nil || len(buckets) == 0 {
		return nil, err
	}
	var places []spans.Partition
	for _, start := range partitionsOf(buckets) {
		places = append(places, spans.NewPartition(g.tables.Hours, account, node, start))
	}
	stored, err := g.task.Heads(ctx, places, from, to)
	found := make(map[int64]*HourHead, len(stored))
	for start, row := range stored {
		h := &HourHead{Head: row}
		if row.Damage == nil {
			h.Hour, row.Damage = blobs.DecodeHead(start, row.Row.Blob)
		}
		if row.Damage != nil {
			row.Damage = fmt.Errorf("head of hour %s: %w", calendar.Text(start), row.Damage)
		}
		found[start] = h
	}
	return found, err
}

// has reports whether the hour has something of a window.
func (h *HourHead) has(start int64) bool {
	if h == nil || h.Hour == nil {
		return false
	}
	i, _ := slices.BinarySearch(h.Hour.Times, start)
	return i < len(h.Hour.Times) && h.Hour.Times[i] < start+calendar.WindowMillis
}
