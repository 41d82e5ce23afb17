package rollups

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// Head is the head row of a run.
type Head struct {
	*spans.Head
	Run *rollup.RunHead // nil: it cannot be read
}

// Heads returns the heads of runs that begin at from ≤ start ≤ to.
func (r Runs) Heads(ctx context.Context, account string, node uuid.UUID, level rollup.Level,
	from, to int64) (map[int64]*Head, error) {
	t := r.tables.Of(level)
	var places []spans.Partition
	for bucket := t.BucketOf(from); bucket <= to; bucket += t.bucket {
		places = append(places, spans.NewPartition(t.Rows, account, node, bucket))
	}
	stored, err := r.task.Heads(ctx, places, from, to)
	found := make(map[int64]*Head, len(stored))
	for start, row := range stored {
		h := &Head{Head: row}
		if row.Damage == nil {
			h.Run, row.Damage = rollup.DecodeRunHead(level, start, row.Row.Blob)
		}
		if row.Damage != nil {
			row.Damage = fmt.Errorf("head of %s from %s: %w", level.Name, calendar.Text(start),
				row.Damage)
		}
		found[start] = h
	}
	return found, err
}
