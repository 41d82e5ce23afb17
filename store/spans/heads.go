package spans

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Head is a head row and where it was found.
type Head struct {
	Place  Partition
	Start  int64
	Stamp  int64 // its write time, µs
	Row    layout.Head
	Damage error // why Row cannot be read
}

// At is where the span's rows are.
func (h *Head) At() int64 { return h.Start + h.Row.Edition }

// Heads reads the head rows of some partitions that begin at from ≤ start ≤ to, by start. Of two
// the newest counts.
func (t Task) Heads(ctx context.Context, places []Partition,
	from, to int64) (map[int64]*Head, error) {
	var mu sync.Mutex
	found := map[int64]*Head{}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(ReadsInFlight)
	for _, p := range places {
		eg.Go(func() error {
			query := rows.Query{Table: p.Table, Key: p.key(), Equal: []any{"", ""},
				From: from, To: to, Columns: []string{"at", "blob"}, Written: "blob"}
			return t.Engine.Read(gctx, t.Work, query, func(scan func(...any) bool) bool {
				h := &Head{Place: p}
				var b []byte
				if !scan(&h.Start, &b, &h.Stamp) {
					return false
				}
				h.Row, h.Damage = layout.ReadHead(b)
				mu.Lock()
				defer mu.Unlock()
				if known := found[h.Start]; known == nil || known.Stamp < h.Stamp {
					found[h.Start] = h
				}
				return true
			})
		})
	}
	return found, eg.Wait()
}
