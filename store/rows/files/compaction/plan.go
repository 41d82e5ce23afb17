package compaction

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// Bounds of merging.
const (
	fanIn     = 4  // so many files of a size are merged
	inMerge   = 32 // at most
	smallTier = 18 // log2 of bytes: smaller files are of one size

	worthShrinking = 64 << 10 // bytes of a file that only hides
)

// mergeable returns files that should be merged; nil: there are none. A damaged file comes first,
// alone.
func mergeable(rows *tree.Tree, tables *table.Catalog, now int64) []*sorted.File {
	type place struct {
		table       string
		from, width int64
	}
	groups := map[place][]*sorted.File{}
	for _, f := range rows.Files() {
		if f.Damaged() {
			return []*sorted.File{f}
		}
		if f.Dead(now) && f.Width > 0 {
			// Mostly it hides what was written in the same moment, and goes with that.
			if !f.Shrunk && f.Size > worthShrinking && now > f.Expires+2*f.Width &&
				rows.Hides(f) {
				return []*sorted.File{f}
			}
			continue
		}
		p := place{f.Table, f.From, f.Width}
		groups[p] = append(groups[p], f)
	}
	for p, files := range groups {
		slices.SortFunc(files, func(a, b *sorted.File) int { return cmp.Compare(a.Size, b.Size) })
		t := tables.Named(p.table)
		switch {
		case len(files) < 2:
		case p.width == 0:
			if n := sameSize(files); n > 0 {
				return files[:n]
			}
		case p.from > 0 && now+int64(t.TTL/time.Second) >= p.from+p.width+endedAfter &&
			t.AgeUnit >= time.Hour:
			// Nothing comes here any more: one file is read fastest.
			rest := int64(0)
			for _, f := range files[:len(files)-1] {
				rest += f.Size
			}
			if len(files) > fanIn || rest > files[len(files)-1].Size/8 {
				return files[:min(len(files), inMerge)]
			}
		default:
			if n := sameSize(files); n > 0 {
				return files[:n]
			}
		}
	}
	return nil
}

// endedAfter is how long after the end of a part of a TTL no more rows of it are expected, seconds.
const endedAfter = 60

// sameSize returns how many of the smallest files should be merged: those up to the end of the
// first size that so many have; 0: none. Sizes are powers of four.
func sameSize(files []*sorted.File) int {
	tier := func(f *sorted.File) int { return max(0, bits.Len64(uint64(f.Size))-smallTier) / 2 }
	for from := 0; from < len(files); {
		to := from
		for to < len(files) && tier(files[to]) == tier(files[from]) {
			to++
		}
		if to-from >= fanIn {
			return min(to, inMerge)
		}
		from = to
	}
	return 0
}
