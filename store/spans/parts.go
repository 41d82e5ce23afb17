package spans

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// partsInQuery is up to how many parts of a type are named in a query.
const partsInQuery = 64

// Parts reads what is wanted of spans in one partition that begin at from ≤ start ≤ to, and
// calls take with each part and where its span's rows are (Head.At). cost is what a byte of a
// part comes to when it is decoded; the task's lease gives that. bad is called with what cannot be
// read or is not there.
func (t Task) Parts(ctx context.Context, p Partition, from, to int64, want *layout.Wanted,
	cost int64, take func(at int64, part blobs.StoredPart), bad func(at int64, err error)) error {
	var full error
	for typ, names := range want.Rows() {
		slices.Sort(names)
		// by name: a partition holds many spans of each metric
		for some := range slices.Chunk(names, partsInQuery) {
			// Editions are behind the start.
			query := rows.Query{Table: p.Table, Key: p.key(), Equal: []any{typ}, In: some,
				From: from, To: to + window.HourMillis - 1, Columns: []string{"part", "at", "blob"}}
			err := t.Engine.Read(ctx, t.Work, query, func(scan func(...any) bool) bool {
				var name string
				var at int64
				var b []byte
				if !scan(&name, &at, &b) {
					return false
				}
				for part, err := range want.Take(typ, name, at, b) {
					if err != nil {
						bad(at, fmt.Errorf("part %q of type %s: %w", name, typ, err))
						break
					}
					if full = t.Lease.Take(cost * int64(len(part.Blob))); full != nil {
						return false
					}
					take(at, part)
				}
				return true
			})
			if err = cmp.Or(err, full); err != nil {
				return err
			}
		}
	}
	want.Missing(func(typ, part string, at int64) {
		bad(at, fmt.Errorf("part %q of type %s in %s is not there", part, typ, p.Table.Name))
	})
	return nil
}
